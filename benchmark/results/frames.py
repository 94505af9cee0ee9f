"""Tables of runs: one row per run, one row per setting, and the best setting of each method within budgets."""

import math
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from benchmark.metrics import metric, objective
from benchmark.plan.algorithm_names import number_text
from benchmark.records.record import RunRecord
from benchmark.statistics.budgets import full_transfers, is_within
from benchmark.statistics.intervals import MIN_SEEDS_FOR_INTERVAL, mean_interval, paired_interval

COST = "full_transfers_per_client"
"""The numbers moved per client, in full transfers {V, b}."""

IDENTITY = ("experiment", "dataset", "source", "algorithm", "method", "setting")
SETTING = ("dataset", "algorithm", "setting")
EQUAL_TO_GAMMA = ("gamma_upload", "gamma_download")
"""Left out where they are simply γ."""


def run_table(records: Sequence[RunRecord]) -> pd.DataFrame:
    """Return one row per run: its identity, hyper-parameters and metrics; the objective's name is in `attrs`."""
    names = _settings(records)
    rows = [_row(record, name) for record, name in zip(records, names, strict=True)]
    first = [*IDENTITY, "seed", COST]
    table = pd.DataFrame(rows, columns=None if rows else first)
    columns = [*first, *(name for name in table.columns if name not in first)]
    return table[columns].reset_index(drop=True)


def _row(record: RunRecord, setting: str) -> dict[str, Any]:
    method, stream = record.method, record.stream
    return {
        **{name: value for name, value in method.parameters.items() if name not in record.metrics},
        **stream.sizes,
        **record.metrics,
        "experiment": record.experiment,
        "dataset": stream.name,
        "source": stream.source,
        "algorithm": method.name,
        "method": method.card.label,
        "setting": setting,
        "seed": record.seed,
        COST: cost(record),
    }


def cost(record: RunRecord) -> float:
    """Return the full transfers per client of a run; records of older versions only have the number of transfers."""
    metrics, clients = record.metrics, record.stream.size("clients")
    numbers, dimension = metrics.get("numbers_per_client"), record.stream.size("dimension")
    if numbers is not None and dimension > 0:
        return full_transfers(numbers, dimension)
    return metrics.get("communication", math.nan) / clients if clients > 0 else math.nan


def _settings(records: Sequence[RunRecord]) -> list[str]:
    groups: dict[tuple[str, str], list[int]] = defaultdict(list)
    for index, record in enumerate(records):
        groups[record.stream.name, record.method.name].append(index)
    names = [""] * len(records)
    for indices in groups.values():
        group = [records[index] for index in indices]
        values = [{**record.stream.options, **record.method.parameters} for record in group]
        parameters = {record.method.front_parameter for record in group}
        for index, name in zip(indices, setting_names([*map(_front, group)], values, parameters), strict=True):
            names[index] = name
    return names


def _front(record: RunRecord) -> str:
    value = record.method.front_value
    if value is None:
        return ""
    number = record.method.front_number
    return f"{record.method.card.symbol}={value if math.isnan(number) else f'{number:g}'}"


def setting_names(
    fronts: Sequence[str], values: Sequence[Mapping[str, Any]], front_parameters: Collection[str]
) -> list[str]:
    """Name the runs of a method on a stream.

    Args:
        fronts: for each run its value on the front with its symbol, such as γ=5, or an empty text.
        values: for each run all hyper-parameters and options of the stream.
        front_parameters: the parameters that fronts run through.
    """
    rows = [{name: value for name, value in row.items() if not _is_gamma(name, row)} for row in values]
    names = {name for row in rows for name in row if name not in front_parameters}
    texts = {name: {number_text(row.get(name)) for row in rows} for name in names}
    differing = sorted(name for name, distinct in texts.items() if len(distinct) > 1)
    return [
        ", ".join([*([front] if front else []), *(f"{name}={number_text(row.get(name))}" for name in differing)])
        for front, row in zip(fronts, rows, strict=True)
    ]


def _is_gamma(name: str, row: Mapping[str, Any]) -> bool:
    return name in EQUAL_TO_GAMMA and row.get(name) == row.get("gamma")


def setting_table(runs: pd.DataFrame) -> pd.DataFrame:
    """Return one row per setting: means over seeds with 95 % intervals, and paired differences to a reference.

    The reference of a data set is the first setting without communication, or the first one if all communicate; its
    row has `is_reference`. Differences are seed by seed, over the seeds that both have.
    """
    tables = [_settings_of_data_set(part) for _, part in runs.groupby("dataset", sort=False)]
    columns = [*SETTING, "method", "objective", "seeds", COST, "mean", "low", "high"]
    columns += ["difference", "difference_low", "difference_high", "is_reference"]
    return pd.concat(tables, ignore_index=True)[columns] if tables else pd.DataFrame(columns=columns)


def _settings_of_data_set(runs: pd.DataFrame) -> pd.DataFrame:
    name = objective(runs["source"]).name
    by_setting = {key: part.set_index("seed") for key, part in runs.groupby([*SETTING], sort=False)}
    rows = []
    for key, part in by_setting.items():
        values = part[name] if name in part else pd.Series(np.nan, index=part.index)
        mean, low, high = interval(values)
        row = {**dict(zip(SETTING, key, strict=True)), "method": part["method"].iloc[0], "objective": name}
        rows.append(row | {"seeds": len(part), COST: part[COST].mean(), "mean": mean, "low": low, "high": high})
    table = pd.DataFrame(rows)
    silent = table.index[table[COST] == 0]
    reference = silent[0] if len(silent) else 0
    against = tuple(table.loc[reference, [*SETTING]])
    differences = [_difference(by_setting[key], by_setting[against], name) for key in by_setting]
    table[["difference", "difference_low", "difference_high"]] = np.array(differences, dtype=float)
    table["is_reference"] = table.index == reference
    return table


def interval(values: Any) -> tuple[float, float, float]:
    """Return a mean with its interval; no interval from fewer than three seeds."""
    mean, low, high = mean_interval(values)
    return (mean, low, high) if len(values) >= MIN_SEEDS_FOR_INTERVAL else (mean, math.nan, math.nan)


def _difference(first: pd.DataFrame, second: pd.DataFrame, name: str) -> tuple[float, float, float]:
    seeds = first.index.intersection(second.index)
    if not len(seeds) or name not in first:
        return math.nan, math.nan, math.nan
    mean, low, high = paired_interval(first.loc[seeds, name], second.loc[seeds, name])
    return (mean, low, high) if len(seeds) >= MIN_SEEDS_FOR_INTERVAL else (mean, math.nan, math.nan)


def best_within(settings: pd.DataFrame, transfers_per_client: float) -> pd.DataFrame:
    """Return for each data set and method its best setting whose mean communication stays within a budget."""
    is_allowed = [is_within(value, transfers_per_client) for value in settings[COST]]
    allowed = settings[is_allowed].dropna(subset=["mean"])
    signs = np.array([metric(name).sign for name in allowed["objective"]], dtype=float)
    ranked = allowed.assign(score=signs * allowed["mean"]).sort_values(["score", COST], ascending=[False, True])
    best = ranked.drop_duplicates(["dataset", "algorithm"])
    return best.drop(columns="score")
