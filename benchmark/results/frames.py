"""One table of runs, one of settings with means over seeds, and the best setting of each method within a budget.

A setting is named here only, and a mean over seeds is computed here only.
"""

import math
from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from algorithms.hyperparameters import number_text
from benchmark.metrics import metric, metric_names, objective
from benchmark.plan.experiment import experiment_names, load_experiment
from benchmark.plan.runs import MAX_TEXT, front_text
from benchmark.records.provenance import SOURCE, VERSION
from benchmark.records.record import SIZES, TASKS, Configuration, RunRecord, stream_name
from benchmark.statistics.budgets import full_transfers, is_within
from benchmark.statistics.intervals import MIN_SEEDS_FOR_INTERVAL, mean_interval, paired_interval, t_quantile
from data_pipelines.support.text import cut

COST = "full_transfers_per_client"
"""The numbers moved per client, in full transfers {V, b}."""

NEEDED = "needed_messages_per_client"
"""The same for the transfers that are needed for the same choices."""

FAMILY = ("experiment", "dataset", "stream", "source", "algorithm", "family")
"""Columns that are equal in runs that differ only in their seed and in the values on an axis: a curve."""

GROUP = (*FAMILY, "threshold", "global_dim")
"""Columns that are equal in runs that differ only in their seed: means over seeds are grouped by them."""

SETTING = ("dataset", "algorithm", "setting")
"""The same for the runs of one experiment, in the words of `setting`."""

SHOWN_ELSEWHERE = (
    "global_dim",
    "stream_global_dim",
    "stream_client_distribution",
    "stream_clients_drawn",
    "stream_exponent",
    *(f"stream_{name}" for name, _ in TASKS),
)
"""Values on an axis, or in the name of the stream."""

EQUAL_TO_GAMMA = ("gamma_upload", "gamma_download")
"""Left out where they are simply γ."""

PREFIX = "stream_"
"""Prefix of stream options in configurations, so that they do not collide with hyper-parameters."""

Words = Mapping[str, Mapping[str, str]]
"""The words for values, as they are written in TOML, by option."""

NO_WORDS: Words = {}


def run_frame(records: Sequence[RunRecord]) -> pd.DataFrame:
    """Return one row per run, in the order of the records: the columns below, and one for each metric, also the user's.

    `stream` is the name of the data set, with the options that change its task, see `stream_name`. `method` is the
    label of the algorithm, and `setting` names its hyper-parameters. `configuration` is everything but the seed.
    `family` is the configuration without the values that are on an axis or in the name of the stream. `variant` is for
    display only: how the families of an algorithm on a stream differ.
    """
    own = sorted({name for record in records for name in record.own_metrics})
    of_configurations = {record.configuration: record for record in records}
    families = {configuration: family_of(record) for configuration, record in of_configurations.items()}
    table = pd.DataFrame(
        {
            "run_id": [record.run_id for record in records],
            "experiment": [record.experiment for record in records],
            "key": [record.key for record in records],
            "algorithm": [record.method.name for record in records],
            "method": [record.method.info.label for record in records],
            "setting": setting_texts(records, [record.stream.name for record in records]),
            "configuration": [record.configuration for record in records],
            "family": [families[record.configuration] for record in records],
            "variant": "",
            "threshold": [record.method.front_number for record in records],
            "dataset": [record.stream.name for record in records],
            "stream": [stream_name(record.stream) for record in records],
            "source": [record.stream.source for record in records],
            "seed": [record.seed for record in records],
            "global_dim": [_global_dim(record.configuration) for record in records],
            **{name: [record.stream.sizes.get(name, 0) for record in records] for name in SIZES},
            "fingerprint": [record.stream.fingerprint for record in records],
            "prepared": [record.stream.prepared for record in records],
            "artifact_uri": [record.artifact_uri for record in records],
            COST: [cost(record) for record in records],
            NEEDED: [needed_cost(record) for record in records],
            **{name: [record.metrics.get(name, math.nan) for record in records] for name in (*metric_names(), *own)},
        },
        dtype=None if records else object,
    )
    return table.assign(variant=variants(table))


def tidy_frame(records: Sequence[RunRecord]) -> pd.DataFrame:
    """Return one row per run for users: its identity, hyper-parameters, sizes, and the metrics that were recorded."""
    first = ["experiment", "dataset", "source", "algorithm", "method", "setting", "seed", COST]
    first += ["key", "fingerprint", "prepared"]
    values = [
        {"code": record.method.code_version, "versions": versions_text(record), "choices": record.choices}
        | {**record.method.parameters, **record.stream.sizes, **record.metrics}
        for record in records
    ]
    further = pd.DataFrame(values, index=range(len(records)))
    return run_frame(records)[first].join(further[[name for name in further.columns if name not in first]])


def versions_text(record: RunRecord) -> str:
    """Return the versions with which a run was executed, and the start of the hash of this project's source."""
    versions = {tag.removeprefix(VERSION): text for tag, text in record.provenance.items() if tag.startswith(VERSION)}
    source = {"source": record.provenance[SOURCE][:16]} if SOURCE in record.provenance else {}
    return ", ".join(f"{name} {text}" for name, text in (versions | source).items())


def latest_runs(records: Iterable[RunRecord]) -> list[RunRecord]:
    """Keep the latest run of each configuration and seed: data or engine may have changed since an earlier one."""
    kept: list[RunRecord] = []
    keys, identities = set[Hashable](), set[Hashable]()
    for record in reversed(list(records)):
        stream, method = record.stream, record.method
        key = (record.experiment, record.key)
        identity = (record.experiment, stream.name, stream.source, method.name, record.configuration, record.seed)
        if key not in keys and identity not in identities:
            kept.append(record)
            identities.add(identity)
        keys.add(key)
    return kept[::-1]


def cost(record: RunRecord) -> float:
    """Return the full transfers per client of a run."""
    dimension = record.stream.size("dimension")
    return full_transfers(record.metrics.get("numbers_per_client", math.nan), dimension) if dimension > 0 else math.nan


def needed_cost(record: RunRecord) -> float:
    """Return the needed full messages per client of a run; NaN if they were not recorded."""
    clients = record.stream.size("clients")
    per_decision = record.metrics.get("needed_per_decision", math.nan)
    return per_decision * record.stream.size("steps") / clients if clients > 0 else math.nan


def family_of(record: RunRecord) -> Configuration:
    """Return the configuration without the values that are shown on an axis or in the name of the stream.

    A front value that is not a number, such as one value per client, cannot be on an axis: it stays.
    """
    configuration, method = record.configuration, record.method
    hidden = {*SHOWN_ELSEWHERE, *_equal_to_gamma(configuration)}
    if method.info.parameter and not math.isnan(method.front_number):
        hidden.add(method.info.parameter)
    if configuration.get("gamma", 0) is None:
        hidden.add("gamma")
    return configuration.without(*hidden)


def _equal_to_gamma(values: Mapping[str, Any]) -> set[str]:
    return {name for name in EQUAL_TO_GAMMA if values.get(name) == values.get("gamma")}


def _global_dim(configuration: Configuration) -> float:
    """Return d_g of the method or else, for a method without it, of the stream."""
    values = (configuration.get(name) for name in ("global_dim", "stream_global_dim"))
    return next((float(value) for value in values if isinstance(value, int | float)), math.nan)


def setting_text(*parts: str) -> str:
    """Join the value on the front and the values that differ to the text of a setting."""
    return cut(", ".join(filter(None, parts)), MAX_TEXT)


def setting_texts(records: Sequence[RunRecord], streams: Sequence[str], hidden: Collection[str] = ()) -> list[str]:
    """Name the setting of each run: its value on the front, and the values in which runs of its method differ.

    Args:
        records: the runs.
        streams: the name of the stream of each run that is shown with its setting: runs on other streams do not count.
        hidden: options of streams that are shown elsewhere.
    """
    groups: dict[tuple[str, str], list[int]] = defaultdict(list)
    for index, (record, stream) in enumerate(zip(records, streams, strict=True)):
        groups[stream, record.method.name].append(index)
    texts = [""] * len(records)
    for indices in groups.values():
        values = [_texts_of(records[index], hidden) for index in indices]
        names = differing_names(values)
        for index, value in zip(indices, values, strict=True):
            method = records[index].method
            texts[index] = setting_text(front_text(method.info.symbol, method.front_value), describe(value, names))
    return texts


def _texts_of(record: RunRecord, hidden: Collection[str]) -> dict[str, str]:
    """Return the hyper-parameters of a run without its front, and the options of its stream."""
    options = {name: value for name, value in record.stream.options.items() if name not in hidden}
    values = {**options, **record.method.parameters}
    return {name: number_text(value) for name, value in without_front(values, record.method.info.parameter).items()}


def without_front(values: Mapping[str, Any], front_parameter: str) -> dict[str, Any]:
    """Leave out the value on the front; γ_U and γ_D name a setting only if they differ from γ."""
    left_out = {front_parameter, *_equal_to_gamma(values)}
    return {name: value for name, value in values.items() if name not in left_out}


def variants(runs: pd.DataFrame) -> list[str]:
    """Describe for each run, for display, how its family differs from the others of its algorithm and stream."""
    columns = (runs[name] for name in ("experiment", "stream", "source", "algorithm"))
    streams: list[tuple[str, ...]] = list(zip(*columns, strict=True))
    families: dict[tuple[str, ...], dict[Configuration, None]] = defaultdict(dict)
    for stream, family in zip(streams, runs["family"], strict=True):
        families[stream][family] = None
    texts: dict[tuple[tuple[str, ...], Configuration], str] = {}
    for stream, distinct in families.items():
        effects, words = _effects_and_words(stream[0])
        names = differing_names(distinct, always=[*effects, *(f"{PREFIX}{name}" for name in effects)])
        texts |= {(stream, family): describe(family, names, words) for family in distinct}
    return [texts[pair] for pair in zip(streams, runs["family"], strict=True)]


@cache
def _effects_and_words(experiment: str) -> tuple[tuple[str, ...], Words]:
    """Return the settings whose effect a shipped study measures, which are always shown, and its words for values."""
    if experiment not in experiment_names():
        return (), NO_WORDS
    shipped = load_experiment(experiment)
    return tuple(shipped.effects_of), shipped.words


def differing_names(configurations: Iterable[Mapping[str, Any]], always: Collection[str] = ()) -> list[str]:
    """Return the names whose values differ, or are missing in some; those in `always` in any case."""
    values: dict[str, set[Any]] = {}
    counts: dict[str, int] = {}
    number = 0
    for number, configuration in enumerate(configurations, start=1):  # noqa: B007 - used after the loop
        for name, value in configuration.items():
            values.setdefault(name, set()).add(value)
            counts[name] = counts.get(name, 0) + 1
    differing = {name for name, distinct in values.items() if len(distinct) > 1 or counts[name] < number}
    return sorted(differing | (values.keys() & set(always)))


def describe(configuration: Mapping[str, Any], names: Iterable[str], words: Words = NO_WORDS) -> str:
    """Return some values as text, in words or as `name=value`; names without a value are left out."""
    return ", ".join(
        value_text(name.removeprefix(PREFIX), number_text(configuration[name]), words)
        for name in names
        if name in configuration
    )


def value_text(name: str, value: str, words: Words) -> str:
    """Return the value of an option in the words of an experiment file; as `name=value` if it has none."""
    as_written = value.lower() if value in ("True", "False") else value
    return words.get(name, {}).get(as_written, f"{name}={value}")


def means(values: Mapping[str, ArrayLike]) -> dict[str, float]:
    """Return for each metric m its mean over seeds `m`, and the ends `m_low` and `m_high` of its 95 % interval.

    The ends are NaN below three seeds.
    """
    row = {}
    for name, numbers in values.items():
        row[name], row[f"{name}_low"], row[f"{name}_high"] = mean_interval(numbers)
    return row


def mean_curve(values: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the means over seeds at each step, and the ends of their 95 % intervals, given a row of values per seed.

    NaN is ignored. The ends are NaN below three seeds.
    """
    curves = np.ma.masked_invalid(np.asarray(values, dtype=float))
    counts = curves.count(axis=0)
    quantiles = {n: t_quantile(n - 1) if n >= MIN_SEEDS_FOR_INTERVAL else math.nan for n in np.unique(counts).tolist()}
    half = [quantiles[count] for count in counts.tolist()] * curves.std(axis=0, ddof=1).filled(np.nan) / counts**0.5
    mean = curves.mean(axis=0).filled(np.nan)
    return mean, mean - half, mean + half


def over_seeds(
    runs: pd.DataFrame,
    metrics: Sequence[str],
    by: Sequence[str] = GROUP,
    shown: Sequence[str] = ("variant",),
    *,
    sort: bool = True,
) -> pd.DataFrame:
    """Average over seeds.

    Returns one row per group of runs with equal values in the columns `by`, with the columns `shown` of its first run,
    `seeds` (their number), `seed_list`, and for each metric m its `means`, and `m_seeds`, its values in the order of
    `seed_list`.
    """
    numbers = runs.groupby([*by], dropna=False, sort=sort).ngroup().to_numpy()
    seeds = runs["seed"].to_numpy()
    labels = {name: runs[name].to_numpy() for name in (*by, *shown)}
    values = {name: runs[name].to_numpy() for name in metrics}
    rows = []
    ordered = np.argsort(numbers, kind="stable")
    for group in np.split(ordered, np.flatnonzero(np.diff(numbers[ordered])) + 1) if len(runs) else ():
        by_seed = group[np.argsort(seeds[group], kind="stable")]
        rows.append(
            {name: column[group[0]] for name, column in labels.items()}
            | {"seeds": len(group), "seed_list": tuple(int(seed) for seed in seeds[by_seed])}
            | means({name: column[group] for name, column in values.items()})
            | {f"{name}_seeds": tuple(column[by_seed]) for name, column in values.items()}
        )
    ends = [f"{metric}{end}" for metric in metrics for end in ("", "_low", "_high", "_seeds")]
    return pd.DataFrame(rows, columns=[*by, *shown, "seeds", "seed_list", *ends])


ENDS = ("", "_low", "_high")
"""Of the columns of a mean and its interval."""

DIFFERENCE = ["difference", "difference_low", "difference_high"]


def setting_columns(cost: str = COST) -> list[str]:
    """Return the columns of a table of settings, whose communication is in the column `cost`."""
    return [*SETTING, "method", "objective", "seeds", cost, "mean", "low", "high", *DIFFERENCE, "is_reference"]


def setting_frame(
    runs: pd.DataFrame, by: Sequence[str] = SETTING, cost: str = COST, own_metrics: Sequence[str] = ()
) -> pd.DataFrame:
    """Return one row per setting: means over seeds with 95 % intervals, and paired differences to a reference.

    The reference of a data set is the first setting without communication, or the first one if all communicate; its
    row has `is_reference`. Differences are seed by seed, over the seeds that both have. `values` is the objective by
    seed. Settings are in the order of their first runs. `own_metrics` are those of the user to average, too.
    """
    own = [f"{name}{end}" for name in own_metrics for end in ENDS]
    columns = [*setting_columns(cost), *own, "values"]
    tables = [
        _settings_of_data_set(part, by, cost, own_metrics)[columns] for _, part in runs.groupby("dataset", sort=False)
    ]
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=columns)


def _settings_of_data_set(runs: pd.DataFrame, by: Sequence[str], cost: str, own_metrics: Sequence[str]) -> pd.DataFrame:
    goal = objective(runs["source"]).name
    shown = [name for name in (*SETTING, "method") if name not in by]
    table = over_seeds(runs, [goal, cost, *own_metrics], by, shown, sort=False)
    table = table.rename(columns={goal: "mean", f"{goal}_low": "low", f"{goal}_high": "high"}).assign(objective=goal)
    pairs = zip(table[f"{goal}_seeds"], table["seed_list"], strict=True)
    values = [pd.Series(numbers, index=seeds, dtype=float) for numbers, seeds in pairs]
    silent = table.index[table[cost] == 0]
    reference = silent[0] if len(silent) else 0
    pairs_of_seeds = [each.align(values[reference], join="inner") for each in values]
    table[DIFFERENCE] = np.array([paired_interval(*pair) for pair in pairs_of_seeds], dtype=float)
    table["is_reference"] = table.index == reference
    table["values"] = pd.Series(values, index=table.index, dtype=object)
    return table


def cost_column(settings: pd.DataFrame) -> str:
    """Return the column of a table of settings that has their communication."""
    return NEEDED if NEEDED in settings else COST


def best_within(settings: pd.DataFrame, transfers_per_client: float) -> pd.DataFrame:
    """Return for each data set and method its best setting whose mean communication stays within a budget."""
    cost = cost_column(settings)
    is_allowed = [is_within(value, transfers_per_client) for value in settings[cost]]
    allowed = settings[is_allowed].dropna(subset=["mean"])
    signs = np.array([metric(name).sign for name in allowed["objective"]], dtype=float)
    ranked = allowed.assign(score=signs * allowed["mean"]).sort_values(["score", cost], ascending=[False, True])
    best = ranked.drop_duplicates(["dataset", "algorithm"])
    return best.drop(columns="score")
