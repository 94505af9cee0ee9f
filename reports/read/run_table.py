"""Turn records into the table that every report uses."""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence

import pandas as pd

from benchmark.metrics import metric_names
from benchmark.records.record import SIZES, Configuration, RunRecord
from benchmark.records.stream_names import TASK_OPTIONS
from benchmark.records.stream_names import stream_name as stream_name
from reports.read.differences import describe, differing_names
from reports.read.experiment_files import effects_of, words_of
from reports.read.methods import remember_methods

FAMILY = ("experiment", "dataset", "stream", "source", "algorithm", "family")
"""Columns that are equal in runs that differ only in their seed and in the values on an axis: a curve."""

GROUP = (*FAMILY, "threshold", "global_dim")
"""Columns that are equal in runs that differ only in their seed: means over seeds are grouped by them."""

IDENTITY = (
    "run_id",
    "experiment",
    "key",
    "algorithm",
    "configuration",
    "family",
    "variant",
    "threshold",
    "dataset",
    "stream",
    "source",
    "seed",
    "global_dim",
    *SIZES,
    "fingerprint",
    "prepared",
    "artifact_uri",
)
"""Columns that do not depend on the registry of metrics.

`stream` is the name of the data set, with the options that change its task, see `stream_name`. `configuration` is
everything but the seed. `family` is the configuration without the values that are on an axis or in
the name of the stream. `variant` is for display only: how the families of an algorithm on a stream differ.
"""

SHOWN_ELSEWHERE = (
    "global_dim",
    "stream_global_dim",
    "stream_client_distribution",
    "stream_clients_drawn",
    "stream_exponent",
    *(f"stream_{name}" for name, _ in TASK_OPTIONS),
)
"""Values on an axis, or in the name of the stream."""

EQUAL_TO_GAMMA = ("gamma_upload", "gamma_download")
"""Left out of a family where they are simply γ."""


def columns() -> list[str]:
    """Return the columns of the table: those that identify a run, and one for each metric."""
    return [*IDENTITY, *metric_names()]


def as_runs(records: Sequence[RunRecord]) -> pd.DataFrame:
    """Return one row per finished run, in the order in which they ended."""
    remember_methods(records)
    metrics, families = metric_names(), dict[Configuration, Configuration]()
    rows = []
    for record in records:
        configuration, stream = record.configuration, record.stream
        if configuration not in families:
            families[configuration] = family_of(record)
        row: dict[str, object] = {
            "run_id": record.run_id,
            "experiment": record.experiment,
            "key": record.key,
            "algorithm": record.method.name,
            "configuration": configuration,
            "family": families[configuration],
            "variant": "",
            "threshold": record.method.front_number,
            "dataset": stream.name,
            "stream": stream_name(stream),
            "source": stream.source,
            "seed": record.seed,
            "global_dim": _global_dim(configuration),
            **{name: stream.sizes.get(name, 0) for name in SIZES},
            "fingerprint": stream.fingerprint,
            "prepared": stream.prepared,
            "artifact_uri": record.artifact_uri,
            **{name: record.metrics.get(name, math.nan) for name in metrics},
        }
        rows.append(row)
    table = pd.DataFrame(rows, columns=columns())
    return table.assign(variant=variants(table))


def family_of(record: RunRecord) -> Configuration:
    """Return the configuration without the values that are shown on an axis or in the name of the stream.

    A front value that is not a number, such as one value per client, cannot be on an axis: it stays.
    """
    configuration, method = record.configuration, record.method
    hidden = {*SHOWN_ELSEWHERE}
    if method.front_parameter and not math.isnan(method.front_number):
        hidden.add(method.front_parameter)
    if configuration.get("gamma", 0) is None:
        hidden.add("gamma")
    hidden |= {name for name in EQUAL_TO_GAMMA if configuration.get(name) == configuration.get("gamma")}
    return configuration.without(*hidden)


def variants(runs: pd.DataFrame) -> list[str]:
    """Describe for each run, for display, how its family differs from the others of its algorithm and stream."""
    streams = list(zip(runs["experiment"], runs["stream"], runs["source"], runs["algorithm"], strict=True))
    families: dict[tuple[str, ...], dict[Configuration, None]] = defaultdict(dict)
    for stream, family in zip(streams, runs["family"], strict=True):
        families[stream][family] = None
    texts = {
        (stream, family): describe(family, names, words_of(stream[0]))
        for stream, distinct in families.items()
        for names in [_names(stream[0], distinct)]
        for family in distinct
    }
    return [texts[pair] for pair in zip(streams, runs["family"], strict=True)]


def keep_latest(runs: pd.DataFrame) -> pd.DataFrame:
    """Keep the latest run of each configuration and seed: data or engine may have changed since an earlier one."""
    runs = runs.drop_duplicates(["experiment", "key"], keep="last")
    identity = ["experiment", "dataset", "source", "algorithm", "configuration", "seed"]
    return runs.drop_duplicates(identity, keep="last").reset_index(drop=True)


def failures(records: Iterable[RunRecord], finished: Iterable[RunRecord]) -> pd.DataFrame:
    """Return the runs that failed and were not finished since."""
    finished_keys = {(record.experiment, record.key) for record in finished}
    rows = {
        (record.experiment, record.key): (
            record.experiment,
            f"{record.name} on {record.stream.name or '?'}",
            record.error or record.status,
        )
        for record in records
        if record.status == "FAILED"
    }
    unfinished = [row for key, row in rows.items() if key not in finished_keys]
    return pd.DataFrame(unfinished, columns=["experiment", "name", "error"])


def _names(experiment: str, families: Iterable[Configuration]) -> list[str]:
    """Return the names to show: those that differ, and those whose effect a study measures, in any case."""
    effects = effects_of(experiment)
    return differing_names(families, always=[*effects, *(f"stream_{name}" for name in effects)])


def _global_dim(configuration: Configuration) -> float:
    """Return d_g of the method or else, for a method without it, of the stream."""
    values = (configuration.get(name) for name in ("global_dim", "stream_global_dim"))
    return next((float(value) for value in values if isinstance(value, int | float)), math.nan)
