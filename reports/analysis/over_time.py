"""The selection of runs that are shown over time, and their mean curves over seeds."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from reports.analysis.seeds import t_quantile
from reports.drawing.labels import algorithm_label, front_text, threshold_text
from reports.read.results import Results

ROLES = {"least": "--", "best": "-", "largest": ":"}
"""Line styles of the smallest threshold, the one with the best result and the largest."""


@dataclass(frozen=True)
class Series:
    """One setting over time: the means of reward and communication per step, with the ends of their intervals."""

    algorithm: str
    label: str
    role: str
    seeds: tuple[int, ...]
    curves: pd.DataFrame


def chosen_series(results: Results, runs: pd.DataFrame, metric: str, by: str) -> list[Series]:
    """Return, for each algorithm, its smallest and largest threshold (or d_g) and the best one by a final metric."""
    selection = []
    for (algorithm, variant), part in runs.groupby(["algorithm", "variant"]):
        means = part.groupby(by, dropna=False)[metric].mean()
        best = means.idxmin() if metric == "regret" else means.idxmax()
        roles = {means.index.min(): "least", means.index.max(): "largest", best: "best"}
        for value, role in sorted(roles.items(), key=lambda item: str(item[1]), reverse=True):
            runs_at_value = part[part[by].isna()] if pd.isna(value) else part[part[by] == value]
            label = _label(str(algorithm), str(variant), float(value), by)
            selection.append((str(algorithm), label, role, runs_at_value))
    if not selection:
        return []
    curves = results.curves(pd.concat([runs_at_value for *_, runs_at_value in selection])["run_id"].unique())
    all_series = [_series(*entry, curves) for entry in selection]
    return [series for series in all_series if len(series.curves)]


def _label(algorithm: str, variant: str, value: float, by: str) -> str:
    at = f"d_g={threshold_text(value)}" if by == "global_dim" else front_text(algorithm, value)
    at = "" if np.isnan(value) else f" {at}"
    return algorithm_label(algorithm) + at + (f" ({variant})" if variant else "")


def _series(algorithm: str, label: str, role: str, runs: pd.DataFrame, curves: pd.DataFrame) -> Series:
    points = curves.merge(runs[["run_id", "steps", "reward", "normalised_reward"]], on="run_id")
    is_reward = points["metric"] == "reward_curve"
    # The expected reward of a random choice up to a step: in real data every pool has one positive item.
    by_chance = points["reward"] / points["normalised_reward"] * points["step"] / points["steps"]
    normalised = points[is_reward].assign(metric="normalised_curve", value=points["value"] / by_chance)
    points = pd.concat([points, normalised], ignore_index=True)
    table = points.groupby(["metric", "step"])["value"].agg(["mean", "std", "count"]).reset_index()
    half = table["std"] / np.sqrt(table["count"]) * [t_quantile(max(int(n) - 1, 1)) for n in table["count"]]
    table = table.assign(low=table["mean"] - half, high=table["mean"] + half).drop(columns=["std", "count"])
    return Series(algorithm, label, role, tuple(sorted(int(seed) for seed in runs["seed"])), table)


def curve_of(series: Series, metric: str) -> pd.DataFrame:
    """Return one curve of a series: step, mean, low, high."""
    return series.curves[series.curves["metric"] == metric].sort_values("step")
