"""The numbers of a leaderboard: the front of each algorithm and seed on one range, and comparisons of pairs."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from benchmark.metrics import Metric
from benchmark.statistics.holm import holm
from benchmark.statistics.paired import mean_interval, paired_p
from reports.analysis.trade_off import best_within_budget, least_communication, log_communication, mean_height
from reports.drawing.labels import algorithm_label
from reports.read.variants import split_into_curves, without_threshold

LEVEL = 0.95
"""Share of an algorithm's best reward at which its communication is compared."""

SETTING = ["family", "threshold", "global_dim"]
"""Columns in which the runs of a contender differ, besides the seed."""

Interval = tuple[float, float, float]


@dataclass(frozen=True)
class Contender:
    """An algorithm on a stream, or a variant of one. Values have the sign with which higher is better: rewards, or
    negative regrets.

    `areas` holds the mean height of the front between log10(1 + C_T) `low` and `high`, by seed; `area`, `best` and
    `communication_for_95` (C_T for 95 % of the best) are means over seeds with their intervals; `best_setting` is a
    threshold, or the best variant of an algorithm without one; `left_out` are the seeds in which a setting is missing.
    """

    name: str
    settings: int
    low: float
    high: float
    areas: dict[int, float]
    best: Interval
    best_setting: float | str
    communication_for_95: Interval
    left_out: tuple[int, ...] = ()

    @property
    def area(self) -> Interval:
        """Mean height of the front over seeds, with its interval."""
        return mean_interval(list(self.areas.values()))


def contenders(runs: pd.DataFrame, metric: Metric) -> list[Contender]:
    """Return all algorithms on one stream, measured on their common range.

    Each variant of an algorithm with thresholds is a contender. Without a threshold, variants are settings: the
    algorithm is one contender, with one front over all of them.
    """
    runs = runs.assign(value=metric.sign * runs[metric.name])
    parts = {
        f"{algorithm_label(curve.algorithm)} {curve.variant}".strip(): _with_all_settings(curve.runs)
        for curve in split_into_curves(runs, without_threshold(runs))
    }
    budgets = [log_communication(complete["communication"]) for _, complete, _ in parts.values()]
    lowest_budgets = [
        float(log_communication(runs_of_seed["communication"]).min())
        for _, complete, _ in parts.values()
        for _, runs_of_seed in complete.groupby("seed")
    ]
    low, high = max(lowest_budgets, default=0.0), max((float(budget.max()) for budget in budgets), default=0.0)
    return [_contender(name, *part, low, high) for name, part in parts.items()]


def _with_all_settings(runs: pd.DataFrame) -> tuple[int, pd.DataFrame, tuple[int, ...]]:
    """Return the number of settings, the runs of seeds that have them all, and the seeds left out.

    A missing setting alone would lower the front of a seed. If every seed lacks one, all are kept.
    """
    settings = len(runs[SETTING].drop_duplicates())
    counts = runs.groupby("seed").size()
    partial = tuple(sorted(int(str(seed)) for seed, count in counts.items() if count < settings))
    if len(partial) == len(counts):
        return settings, runs, ()
    return settings, runs[~runs["seed"].isin(partial)], partial


def _contender(
    name: str, settings: int, runs: pd.DataFrame, left_out: tuple[int, ...], low: float, high: float
) -> Contender:
    areas, log_transfers = {}, []
    for seed, part in runs.groupby("seed"):
        values = part["value"].to_numpy()
        areas[int(str(seed))] = mean_height(*best_within_budget(part["communication"], values), low, high)
        best = values.max()
        level = best * LEVEL if best > 0 else best / LEVEL
        log_transfers.append(float(log_communication(least_communication(part["communication"], values, level))))
    settings_runs = [part for _, part in runs.groupby(SETTING, dropna=False)]
    at_best = max(settings_runs, key=lambda part: float(part["value"].mean()))
    threshold, variant = float(at_best["threshold"].iloc[0]), str(at_best["variant"].iloc[0])
    mean, least, most = (10**power - 1 for power in mean_interval(log_transfers))
    return Contender(
        name=name,
        settings=settings,
        low=low,
        high=high,
        areas=areas,
        best=mean_interval(at_best["value"]),
        best_setting=variant if variant and np.isnan(threshold) else threshold,
        communication_for_95=(mean, float(np.maximum(least, 0.0)), most),
        left_out=left_out,
    )


def compare_pairs(all_contenders: Sequence[Contender]) -> list[dict[str, Any]]:
    """Compare every two contenders on their common seeds; p with Holm's correction."""
    rows: list[dict[str, Any]] = []
    for pair in itertools.combinations(all_contenders, 2):
        common = sorted(set(pair[0].areas) & set(pair[1].areas))
        first, second = (np.array([contender.areas[seed] for seed in common]) for contender in pair)
        mean, low, high = mean_interval(first - second)
        row: dict[str, Any] = {"first": pair[0].name, "second": pair[1].name, "seeds": len(common)}
        rows.append(
            row | {"difference": mean, "difference_low": low, "difference_high": high, "p": paired_p(first, second)}
        )
    for index, corrected in enumerate(holm([row["p"] for row in rows])):
        rows[index]["p"] = corrected
        rows[index]["better"] = _better(rows[index])
    return rows


def _better(row: dict[str, Any]) -> str:
    if not row["p"] < 0.05:
        return "no significant difference"
    return str(row["first"] if row["difference"] > 0 else row["second"])
