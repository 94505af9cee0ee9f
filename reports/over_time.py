"""Which runs are shown over time, and their curves averaged over seeds."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from reports.labels import algorithm_label, threshold_text
from reports.results import Results
from reports.seeds import t_quantile

ROLES = {"least": "--", "best": "-", "largest": ":"}
"""The least and the largest threshold and the one with the best result, with their lines."""


@dataclass(frozen=True)
class Series:
    """One setting over time: step, and of reward and communication the means with the ends of their intervals."""

    algorithm: str
    label: str
    role: str
    seeds: tuple[int, ...]
    curves: pd.DataFrame


def chosen_series(results: Results, runs: pd.DataFrame, metric: str, by: str) -> list[Series]:
    """Return, for each algorithm, its least and largest threshold (or d_g) and the best one by a final metric."""
    wanted = []
    for (algorithm, variant), same in runs.groupby(["algorithm", "variant"]):
        means = same.groupby(by, dropna=False)[metric].mean()
        best = means.idxmin() if metric == "regret" else means.idxmax()
        roles = {means.index.min(): "least", means.index.max(): "largest", best: "best"}
        for value, role in sorted(roles.items(), key=lambda each: str(each[1]), reverse=True):
            at = same[same[by].isna()] if pd.isna(value) else same[same[by] == value]
            wanted.append((str(algorithm), _label(str(algorithm), str(variant), float(value), by), role, at))
    if not wanted:
        return []
    curves = results.curves(pd.concat([at for *_, at in wanted])["run_id"].unique())
    made = [_series(algorithm, label, role, at, curves) for algorithm, label, role, at in wanted]
    return [series for series in made if len(series.curves)]


def _label(algorithm: str, variant: str, value: float, by: str) -> str:
    symbol = "d_g" if by == "global_dim" else "D" if algorithm.startswith("sync") else "γ"
    at = "" if np.isnan(value) else f" {symbol}={threshold_text(value)}"
    return algorithm_label(algorithm) + at + (f" ({variant})" if variant else "")


def _series(algorithm: str, label: str, role: str, runs: pd.DataFrame, curves: pd.DataFrame) -> Series:
    mine = curves.merge(runs[["run_id", "steps", "reward", "normalised_reward"]], on="run_id")
    is_reward = mine["metric"] == "reward_curve"
    # What a random choice has collected up to a step: on real data every pool holds one positive.
    by_chance = mine["reward"] / mine["normalised_reward"] * mine["step"] / mine["steps"]
    normalised = mine[is_reward].assign(metric="normalised_curve", value=mine["value"] / by_chance)
    mine = pd.concat([mine, normalised], ignore_index=True)
    table = mine.groupby(["metric", "step"])["value"].agg(["mean", "std", "count"]).reset_index()
    half = table["std"] / np.sqrt(table["count"]) * [t_quantile(max(int(n) - 1, 1)) for n in table["count"]]
    table = table.assign(low=table["mean"] - half, high=table["mean"] + half).drop(columns=["std", "count"])
    return Series(algorithm, label, role, tuple(sorted(int(each) for each in runs["seed"])), table)


def curve_of(series: Series, metric: str) -> pd.DataFrame:
    """Return one curve of a series: step, mean, low, high."""
    return series.curves[series.curves["metric"] == metric].sort_values("step")
