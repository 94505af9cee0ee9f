"""The selection of runs that are shown over time, and their mean curves over seeds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from benchmark.metrics import Metric
from benchmark.results.frames import threshold_text
from benchmark.statistics.intervals import t_quantile
from reports.labels import Methods, variant_text
from reports.read.results import Results

NORMALISED_CURVE = "normalised_curve"
"""Normalised reward up to each step: not recorded, but computed from the curve of reward."""

ROLES = {"least": "--", "best": "-", "largest": ":"}
"""Line styles of the smallest threshold, the one with the best result and the largest."""


MAX_SERIES = 8
"""More cannot be told apart: then there is one per family, and contenders come first."""


@dataclass(frozen=True)
class Series:
    """One setting over time: the means of its curves per step, with the ends of their intervals."""

    algorithm: str
    label: str
    role: str
    family: int
    """The number of its family: those of one family have the same colour."""
    seeds: tuple[int, ...]
    curves: pd.DataFrame
    recorded: Mapping[str, int]
    """The number of its runs that have each curve."""


@dataclass(frozen=True)
class Selected:
    """A setting to show: a family at one value of its axis."""

    algorithm: str
    label: str
    role: str
    family: int
    runs: pd.DataFrame


def chosen_series(results: Results, runs: pd.DataFrame, metric: Metric, by: str) -> tuple[list[Series], int]:
    """Return, for each family, its smallest and largest threshold (or d_g) and the best one by a final metric.

    Also return the number of families that are left out, as there are too many.
    """
    everything = [
        selected
        for number, ((algorithm, _), part) in enumerate(runs.groupby(["algorithm", "family"]))
        for selected in _of_family(str(algorithm), number, part, metric, by, results.methods)
    ]
    selection = everything if len(everything) <= MAX_SERIES else [each for each in everything if each.role == "best"]
    in_order = sorted(selection, key=lambda each: results.methods.info(each.algorithm).role != "contender")
    selection = in_order[:MAX_SERIES] if len(selection) > MAX_SERIES else selection
    if not selection:
        return [], 0
    curves = results.curves(pd.concat([each.runs for each in selection])["run_id"].unique())
    all_series = [_series(each, curves) for each in selection]
    left_out = len({each.family for each in everything}) - len({each.family for each in selection})
    return [series for series in all_series if len(series.curves)], left_out


def _of_family(
    algorithm: str, number: int, runs: pd.DataFrame, metric: Metric, by: str, methods: Methods
) -> list[Selected]:
    variant = str(runs["variant"].iloc[0])
    means = runs.groupby(by)[metric.name].mean()
    if means.empty:
        return [Selected(algorithm, _label(algorithm, variant, np.nan, by, methods), "best", number, runs)]
    best = float(str((metric.sign * means).idxmax()))
    roles = {float(means.index.min()): "least", float(means.index.max()): "largest", best: "best"}
    return [
        Selected(algorithm, _label(algorithm, variant, value, by, methods), role, number, runs[runs[by] == value])
        for value, role in sorted(roles.items(), key=lambda item: item[1], reverse=True)
    ]


def _label(algorithm: str, variant: str, value: float, by: str, methods: Methods) -> str:
    at = f"d_g={threshold_text(value)}" if by == "global_dim" else methods.front_text(algorithm, value)
    at = "" if np.isnan(value) else f" {at}"
    return methods.label(algorithm) + at + (f" ({variant_text(variant)})" if variant else "")


def _series(selected: Selected, curves: pd.DataFrame) -> Series:
    runs = selected.runs
    points = curves.merge(runs[["run_id", "steps", "reward", "normalised_reward"]], on="run_id")
    recorded = {str(name): len(part) for name, part in points.groupby("metric")["run_id"].unique().items()}
    is_reward = points["metric"] == "reward_curve"
    # The expected reward of a random choice up to a step: in real data every pool has one positive item.
    by_chance = points["reward"] / points["normalised_reward"] * points["step"] / points["steps"]
    normalised = points[is_reward].assign(metric=NORMALISED_CURVE, value=points["value"] / by_chance)
    points = pd.concat([points, normalised], ignore_index=True)
    table = points.groupby(["metric", "step"])["value"].agg(["mean", "std", "count"]).reset_index()
    half = table["std"] / np.sqrt(table["count"]) * [t_quantile(max(int(n) - 1, 1)) for n in table["count"]]
    table = table.assign(low=table["mean"] - half, high=table["mean"] + half).drop(columns=["std", "count"])
    seeds = tuple(sorted(int(seed) for seed in runs["seed"]))
    return Series(selected.algorithm, selected.label, selected.role, selected.family, seeds, table, recorded)


def runs_without(all_series: Sequence[Series], metric: Metric) -> int:
    """Return how many of the runs have no curve of this metric."""
    return sum(len(series.seeds) - series.recorded.get(metric.curve_name, 0) for series in all_series)


def curve_of(series: Series, metric: str) -> pd.DataFrame:
    """Return one curve of a series: step, mean, low, high."""
    return series.curves[series.curves["metric"] == metric].sort_values("step")
