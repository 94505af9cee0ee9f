"""Turn stored runs into the table that every report uses."""

import math
from collections import defaultdict
from collections.abc import Sequence

import pandas as pd

from benchmark.records.tags import FINGERPRINT, KEY, SOURCE
from reports.read.experiment_files import effects_of
from reports.read.methods import method, remember_methods
from reports.read.stored_runs import StoredRun

SIZES = ("steps", "clients", "arms", "dimension")
METRICS = (
    "reward",
    "normalised_reward",
    "regret",
    "uploads",
    "downloads",
    "communication",
    "scalars_moved",
    "am_unsettled",
    "microseconds_per_step",
)
CONFIGURATION = ("experiment", "dataset", "source", "algorithm", "variant", "threshold", "global_dim")
"""Columns that are equal in runs that differ only in their seed: means over seeds are grouped by them."""

COLUMNS = (
    "run_id",
    "experiment",
    "key",
    "algorithm",
    "variant",
    "threshold",
    "dataset",
    "source",
    "seed",
    "global_dim",
    "configuration",
    *SIZES,
    *METRICS,
    "fingerprint",
    "artifact_uri",
)
SHOWN_ELSEWHERE = {
    "algorithm",
    "dataset",
    "seed",
    "threshold",
    "global_dim",
    "stream_global_dim",
    "stream_client_distribution",
}
"""Parameters with their own column, or part of the name of the stream."""


def as_runs(stored: Sequence[StoredRun]) -> pd.DataFrame:
    """Return one row per finished run, in the order in which they ended."""
    remember_methods(stored)
    variants = _variants(stored)
    rows = []
    for run in stored:
        parameters = run.parameters
        row: dict[str, object] = {
            "run_id": run.run_id,
            "experiment": run.experiment,
            "key": run.tags.get(KEY, run.run_id),
            "algorithm": parameters.get("algorithm", ""),
            "variant": variants[run.run_id],
            "threshold": number(parameters.get("threshold")),
            "dataset": parameters.get("dataset", ""),
            "source": run.tags.get(SOURCE, ""),
            "seed": int(number(parameters.get("seed"), 0)),
            "global_dim": number(parameters.get("global_dim")),
            "configuration": parameters,
            **{name: int(number(parameters.get(name), 0)) for name in SIZES},
            **{name: run.metrics.get(name, math.nan) for name in METRICS},
            "fingerprint": run.tags.get(FINGERPRINT, ""),
            "artifact_uri": run.artifact_uri,
        }
        rows.append(row)
    return pd.DataFrame(rows, columns=[*COLUMNS])


def keep_latest(runs: pd.DataFrame) -> pd.DataFrame:
    """Keep the latest run of each configuration and seed: data or engine may have changed since an earlier one."""
    runs = runs.drop_duplicates(["experiment", "key"], keep="last")
    return runs.drop_duplicates([*CONFIGURATION, "seed"], keep="last").reset_index(drop=True)


def failures(stored: Sequence[StoredRun], finished: pd.DataFrame) -> pd.DataFrame:
    """Return the runs that failed and were not finished since."""
    done = set(zip(finished["experiment"], finished["key"], strict=True))
    rows = {
        (run.experiment, run.tags.get(KEY, run.run_id)): (
            run.experiment,
            f"{run.name} on {run.parameters.get('dataset', '?')}",
            run.tags.get("fedbandit.error", run.status),
        )
        for run in stored
        if run.kind == "run" and run.status == "FAILED"
    }
    unfinished = [row for key, row in rows.items() if key not in done]
    return pd.DataFrame(unfinished, columns=["experiment", "name", "error"])


def number(text: str | None, otherwise: float = math.nan) -> float:
    """Read a parameter that may be missing, empty, `None` or a list with one value per client."""
    try:
        return float(text or "")
    except ValueError:
        return otherwise


def _variants(stored: Sequence[StoredRun]) -> dict[str, str]:
    """Describe the other differences between runs with the same experiment, data set and algorithm."""
    runs_by_stream: dict[tuple[str, ...], list[StoredRun]] = defaultdict(list)
    for run in stored:
        names = (run.parameters.get("algorithm", ""), run.parameters.get("dataset", ""))
        runs_by_stream[(run.experiment, *names, run.tags.get(SOURCE, ""))].append(run)
    variants = {}
    for (experiment, algorithm, _, source), runs in runs_by_stream.items():
        # In simulations the number of clients that appear differs between seeds; in real data it is the data's size.
        values: dict[str, set[str]] = defaultdict(set)
        hidden = SHOWN_ELSEWHERE | {method(algorithm).parameter} | ({"clients"} if source == "simulated" else set())
        parameters = {name for run in runs for name in run.parameters if name not in hidden}
        # A threshold that is not a number, such as one value per client, cannot be on an axis: it names a variant.
        parameters |= {"threshold"} if any(_is_text(run.parameters.get("threshold")) for run in runs) else set()
        for run in runs:
            for name in parameters:
                values[name].add(_value(run, name))
        effects = effects_of(experiment)  # the settings of a study are named even if all runs so far have the same
        differences = sorted(
            name for name, distinct in values.items() if len(distinct) > 1 or name.removeprefix("stream_") in effects
        )
        for run in runs:
            pairs = [(name.removeprefix("stream_"), _value(run, name)) for name in differences]
            variants[run.run_id] = ", ".join(f"{name}={value}" for name, value in pairs if value)
    return variants


def _value(run: StoredRun, name: str) -> str:
    """Return a parameter; γ_U and γ_D only if they differ from γ."""
    value = run.parameters.get(name, "")
    is_gamma = name in ("gamma_upload", "gamma_download") and value == run.parameters.get("gamma")
    return "" if is_gamma else value


def _is_text(threshold: str | None) -> bool:
    return bool(threshold) and math.isnan(number(threshold))
