"""Directions that the paper states, tested: one function for each kind of test named in paper.toml.

Each computes, for every seed, a number that is above zero if the run came out as the paper says, and judges by the
95 % interval of its mean over seeds: as stated if all of it is above zero, otherwise if all of it is below.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from reports.context import Context
from reports.finding import Finding, judged
from reports.labels import algorithm_label, threshold_text
from reports.results import Results
from reports.seeds import mean_interval
from reports.table import cell_text, interval_text
from reports.trade_off import log_ratio_at_equal_regret
from reports.user_directions import group_losses, nearer_to_centre

FREQUENT = "frequent"
"""As a threshold: the lowest one above 1 (γ), or the lowest (D), that was run."""


def check_direction(direction: Mapping[str, Any], results: Results, context: Context) -> Finding:
    """Test one direction of paper.toml."""
    runs = results.runs[results.runs["experiment"] == direction["experiment"]]
    if "dataset" in direction:
        runs = runs[runs["dataset"] == direction["dataset"]]
    if runs.empty:
        return Finding(why_not="no finished run")
    return TESTS[str(direction["test"])](direction, runs, results, context)


def trend(direction: Mapping[str, Any], runs: pd.DataFrame, results: Results, context: Context) -> Finding:
    """Kendall's τ between threshold (or d_g) and a metric, for each seed."""
    along, metric = direction["along"], direction["metric"]
    low, high = direction.get("between", (-math.inf, math.inf))
    chosen = runs[(runs["algorithm"] == direction["algorithm"]) & (runs["variant"] == "") & runs[along].notna()]
    chosen = chosen[(chosen[along] >= low * (1 - 1e-9)) & (chosen[along] <= high * (1 + 1e-9))]
    points = chosen.groupby("seed")[along].nunique()
    if chosen.empty or points.max() < 3:
        return Finding(why_not="fewer than three settings were run")
    values = [
        kendall(same[along].to_numpy(dtype=float), same[metric].to_numpy(dtype=float))
        for _, same in chosen.groupby("seed")
    ]
    words = {"threshold": "the threshold", "global_dim": "d_g"}[along]
    shown = "C_T" if metric == "communication" else metric.replace("_", " ")
    how = f"Kendall's τ of {shown} with {words}, {int(points.max())} settings"
    return judged(values, direction["sign"], "τ = ", how)


def equal_regret(direction: Mapping[str, Any], runs: pd.DataFrame, results: Results, context: Context) -> Finding:
    """C_T of one method over C_T of another where both have the same regret, interpolated, for each common seed."""
    less, more = direction["less"], direction["more"]
    ratios, reached, shares = [], [], []
    for _, same in runs[runs["variant"] == ""].groupby("seed"):
        sides = [same[same["algorithm"] == name] for name in (less, more)]
        levels, ratio = log_ratio_at_equal_regret(
            *((side["communication"].to_numpy(), side["regret"].to_numpy()) for side in sides)
        )
        if len(levels):
            ratios.append(float(ratio.mean()))
            reached += [float(levels[0]), float(levels[-1])]
            shares.append(float((ratio < 0).mean()))
    if not ratios:
        return Finding(why_not="there is no regret that both methods reach")
    mean, low, high = (10**each for each in mean_interval(ratios))
    names = f"C_T of {algorithm_label(less)} over C_T of {algorithm_label(more)}"
    how = (
        f"{names} at equal regret ({cell_text(min(reached))} to {cell_text(max(reached))}), interpolated, geometric "
        f"mean over that range; less on {np.mean(shares):.0%} of it"
    )
    finding = judged([-each for each in ratios], 1, "", how)
    return Finding(f"ratio {interval_text(mean, low, high)}", how, len(ratios), finding.as_stated, finding.why_not)


def contrast(direction: Mapping[str, Any], runs: pd.DataFrame, results: Results, context: Context) -> Finding:
    """Normalised reward of one setting minus that of another, for each common seed."""
    sides = [_setting(runs, direction[side]) for side in ("better", "worse")]
    for side, chosen in zip(("better", "worse"), sides, strict=True):
        if chosen.empty:
            wanted = direction[side]
            return Finding(why_not=f"no run of {algorithm_label(wanted['algorithm'])} at {wanted['threshold']}")
    better, worse = (side.set_index("seed")["normalised_reward"] for side in sides)
    common = sorted(set(better.index) & set(worse.index))
    if not common:
        return Finding(why_not="no seed was run with both settings")
    differences = [float(better[seed] - worse[seed]) for seed in common]
    names = [f"{algorithm_label(side['algorithm'].iloc[0])} at {_at(side)}" for side in sides]
    means = f"{cell_text(float(better[common].mean()))} and {cell_text(float(worse[common].mean()))}"
    return judged(differences, 1, f"{means}: difference ", f"normalised reward of {names[0]} minus {names[1]}")


def by_eye(direction: Mapping[str, Any], runs: pd.DataFrame, results: Results, context: Context) -> Finding:
    """A statement that no number settles."""
    return Finding(why_not=str(direction["why"]))


def kendall(along: Sequence[float] | Any, metric: Sequence[float] | Any) -> float:
    """Return Kendall's τ-b."""
    one, other = np.asarray(along, dtype=float), np.asarray(metric, dtype=float)
    # ∞ minus ∞ is no number, so that order is taken of ranks.
    one, other = (np.unique(each, return_inverse=True)[1] for each in (one, other))
    signs = [np.sign(each[:, None] - each[None, :]) for each in (one, other)]
    norm = math.sqrt(float((signs[0] ** 2).sum()) * float((signs[1] ** 2).sum()))
    return float((signs[0] * signs[1]).sum()) / norm if norm else math.nan


TESTS: dict[str, Callable[[Mapping[str, Any], pd.DataFrame, Results, Context], Finding]] = {
    "trend": trend,
    "equal_regret": equal_regret,
    "contrast": contrast,
    "group_losses": group_losses,
    "nearer_to_centre": nearer_to_centre,
    "by_eye": by_eye,
}


def _setting(runs: pd.DataFrame, wanted: Mapping[str, Any]) -> pd.DataFrame:
    runs = runs[(runs["algorithm"] == wanted["algorithm"]) & (runs["variant"] == "")]
    if wanted["threshold"] == FREQUENT:
        above = runs[runs["threshold"] > (0 if wanted["algorithm"].startswith("sync") else 1)]
        lowest: pd.DataFrame = above[above["threshold"] == above["threshold"].min()]
        return lowest
    exact: pd.DataFrame = runs[runs["threshold"] == float(wanted["threshold"])]
    return exact


def _at(runs: pd.DataFrame) -> str:
    symbol = "D" if runs["algorithm"].iloc[0].startswith("sync") else "γ"
    return f"{symbol}={threshold_text(float(runs['threshold'].iloc[0]))}"
