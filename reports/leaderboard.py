"""The numbers of a leaderboard: fronts of each algorithm and seed on one range, and comparisons of pairs."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from reports.labels import algorithm_label
from reports.seeds import mean_interval
from reports.trade_off import best_within_budget, least_communication, log_communication, mean_height
from reports.variants import without_threshold

ENOUGH = 0.95
SETTING = ["variant", "threshold", "global_dim"]
"""What sets the runs of a contender apart, beside the seed."""

Interval = tuple[float, float, float]


@dataclass(frozen=True)
class Contender:
    """An algorithm on a stream, or a variant of one. Values are rewards, or regrets with a minus: more is better.

    `areas` holds the mean height of the front between log10(1 + C_T) `low` and `high`, by seed; `area`, `best` and
    `enough` (C_T for 95 % of the best) are means over seeds with their intervals; `best_setting` is a threshold, or of
    an algorithm without one what its best variant is called; `left_out` are seeds in which a setting is missing.
    """

    name: str
    settings: int
    low: float
    high: float
    areas: dict[int, float]
    best: Interval
    best_setting: float | str
    enough: Interval
    left_out: tuple[int, ...] = ()

    @property
    def area(self) -> Interval:
        """Mean height of the front over seeds, with its interval."""
        return mean_interval(list(self.areas.values()))


def contenders(runs: pd.DataFrame, metric: str) -> list[Contender]:
    """Return all algorithms that were run on one stream, measured on their common range.

    Each variant of an algorithm with thresholds is a contender of its own. Without a threshold, variants are settings:
    the algorithm is one contender, with one front over all of them.
    """
    runs = runs.assign(value=-runs["regret"] if metric == "regret" else runs[metric])
    apart = runs["variant"].mask(runs["algorithm"].isin(without_threshold(runs)), "")
    parts = {
        f"{algorithm_label(str(algorithm))} {variant}".strip(): _with_all_settings(same)
        for (algorithm, variant), same in runs.groupby([runs["algorithm"], apart])
    }
    budgets = [log_communication(same["communication"]) for _, same, _ in parts.values()]
    firsts = [
        float(log_communication(each["communication"]).min())
        for _, same, _ in parts.values()
        for _, each in same.groupby("seed")
    ]
    low, high = max(firsts, default=0.0), max((float(budget.max()) for budget in budgets), default=0.0)
    return [_contender(name, *part, low, high) for name, part in parts.items()]


def _with_all_settings(runs: pd.DataFrame) -> tuple[int, pd.DataFrame, tuple[int, ...]]:
    """Return the number of settings, the runs of seeds that have them all, and the seeds left out.

    A seed without some setting would have a lower front for that alone. If every seed lacks one, all are kept.
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
    areas, enough = {}, []
    for seed, same in runs.groupby("seed"):
        values = same["value"].to_numpy()
        areas[int(str(seed))] = mean_height(*best_within_budget(same["communication"], values), low, high)
        best = values.max()
        level = best * ENOUGH if best > 0 else best / ENOUGH
        enough.append(float(log_communication(least_communication(same["communication"], values, level))))
    by_setting = [same for _, same in runs.groupby(SETTING, dropna=False)]
    at_best = max(by_setting, key=lambda same: float(same["value"].mean()))
    threshold, variant = float(at_best["threshold"].iloc[0]), str(at_best["variant"].iloc[0])
    mean, least, most = (10**each - 1 for each in mean_interval(enough))
    return Contender(
        name=name,
        settings=settings,
        low=low,
        high=high,
        areas=areas,
        best=mean_interval(at_best["value"]),
        best_setting=variant if variant and np.isnan(threshold) else threshold,
        enough=(mean, float(np.maximum(least, 0.0)), most),
        left_out=left_out,
    )


def compare_pairs(found: Sequence[Contender]) -> list[dict[str, Any]]:
    """Compare every two contenders on their common seeds; p after Holm's correction."""
    rows: list[dict[str, Any]] = []
    for one, other in itertools.combinations(found, 2):
        common = sorted(set(one.areas) & set(other.areas))
        differences = [one.areas[seed] - other.areas[seed] for seed in common]
        mean, low, high = mean_interval(differences) if common else (np.nan, np.nan, np.nan)
        row = {"first": one.name, "second": other.name, "seeds": len(common)}
        rows.append(
            row | {"difference": mean, "difference_low": low, "difference_high": high, "p": paired_p(differences)}
        )
    for row, corrected in zip(rows, holm([row["p"] for row in rows]), strict=True):
        row["p"] = corrected
        row["better"] = _better(row)
    return rows


def paired_p(differences: Sequence[float]) -> float:
    """Return the two-sided p of a paired t test; NaN from fewer than two seeds."""
    from scipy.special import stdtr

    if len(differences) < 2:
        return float("nan")
    spread = float(np.std(differences, ddof=1)) / np.sqrt(len(differences))
    mean = float(np.mean(differences))
    if spread == 0:
        return 1.0 if mean == 0 else 0.0
    return float(2 * stdtr(len(differences) - 1, -abs(mean / spread)))


def holm(values: Sequence[float]) -> list[float]:
    """Correct p values for their number, after Holm; NaN stay NaN and do not count."""
    known = sorted((value, place) for place, value in enumerate(values) if value == value)
    corrected, highest = [float("nan")] * len(values), 0.0
    for rank, (value, place) in enumerate(known):
        highest = max(highest, min(1.0, (len(known) - rank) * value))
        corrected[place] = highest
    return corrected


def _better(row: dict[str, Any]) -> str:
    if not row["p"] < 0.05:
        return "not decided"
    return str(row["first"] if row["difference"] > 0 else row["second"])
