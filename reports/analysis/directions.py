"""Tests of the directions that the paper states: one function per kind of test in paper.toml.

Each computes one number per seed, which is above zero if the runs agree with the paper, and the 95 % interval of its
mean over seeds: the evidence is for the paper if the whole interval is above zero, against it if it is below.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from reports.analysis.evidence import Evidence, judge
from reports.analysis.seeds import mean_interval
from reports.analysis.trade_off import log_ratio_at_equal_regret
from reports.analysis.user_directions import group_losses, nearer_to_centre
from reports.drawing.labels import algorithm_label, front_text
from reports.read.context import Context
from reports.read.methods import method
from reports.read.results import Results
from reports.write.table import cell_text, interval_text

FREQUENT = "frequent"
"""As a threshold: the lowest γ above 1, or the lowest D, in the runs."""


def check_direction(direction: Mapping[str, Any], results: Results, context: Context) -> Evidence:
    """Test one direction of paper.toml."""
    runs = results.runs[results.runs["experiment"] == direction["experiment"]]
    if "dataset" in direction:
        runs = runs[runs["dataset"] == direction["dataset"]]
    if runs.empty:
        return Evidence(why_not="no finished run")
    evidence = TESTS[str(direction["test"])](direction, runs, results, context)
    if "undetermined" in direction and evidence.supports_paper is not None:
        return replace(
            evidence, supports_paper=None, why_not=f"not determined by the paper: {direction['undetermined']}"
        )
    return evidence


def trend(direction: Mapping[str, Any], runs: pd.DataFrame, results: Results, context: Context) -> Evidence:
    """Kendall's τ between threshold (or d_g) and a metric, for each seed."""
    from scipy.stats import kendalltau  # takes a second to import

    along, metric = direction["along"], direction["metric"]
    low, high = direction.get("between", (-math.inf, math.inf))
    chosen = runs[(runs["algorithm"] == direction["algorithm"]) & (runs["variant"] == "") & runs[along].notna()]
    chosen = chosen[(chosen[along] >= low * (1 - 1e-9)) & (chosen[along] <= high * (1 + 1e-9))]
    points = chosen.groupby("seed")[along].nunique()
    if chosen.empty or points.max() < 3:
        return Evidence(why_not="fewer than three settings were run")
    values = [float(kendalltau(part[along], part[metric]).statistic) for _, part in chosen.groupby("seed")]
    words = {"threshold": "the threshold", "global_dim": "d_g"}[along]
    name = "C_T" if metric == "communication" else metric.replace("_", " ")
    method = f"Kendall's τ of {name} with {words}, {int(points.max())} settings"
    return judge(values, direction["sign"], "τ = ", method)


def equal_regret(direction: Mapping[str, Any], runs: pd.DataFrame, results: Results, context: Context) -> Evidence:
    """C_T of one method over C_T of another at equal regret, interpolated, for each common seed."""
    less, more = direction["less"], direction["more"]
    ratios, regrets, shares = [], [], []
    for _, part in runs[runs["variant"] == ""].groupby("seed"):
        sides = [part[part["algorithm"] == name] for name in (less, more)]
        levels, ratio = log_ratio_at_equal_regret(
            *((side["communication"].to_numpy(), side["regret"].to_numpy()) for side in sides)
        )
        if len(levels):
            ratios.append(float(ratio.mean()))
            regrets += [float(levels[0]), float(levels[-1])]
            shares.append(float((ratio < 0).mean()))
    if not ratios:
        return Evidence(why_not="the two methods have no regret level in common")
    mean, low, high = (10**value for value in mean_interval(ratios))
    names = f"C_T of {algorithm_label(less)} over C_T of {algorithm_label(more)}"
    method = (
        f"{names} at equal regret ({cell_text(min(regrets))} to {cell_text(max(regrets))}), interpolated, geometric "
        f"mean over that range; less on {np.mean(shares):.0%} of it"
    )
    evidence = judge([-ratio for ratio in ratios], 1, "", method)
    return replace(evidence, ours=f"ratio {interval_text(mean, low, high)}")


def contrast(direction: Mapping[str, Any], runs: pd.DataFrame, results: Results, context: Context) -> Evidence:
    """Normalised reward of one setting minus that of another, for each common seed."""
    sides = [_setting(runs, direction[side]) for side in ("better", "worse")]
    for name, side in zip(("better", "worse"), sides, strict=True):
        if side.empty:
            algorithm, threshold = direction[name]["algorithm"], direction[name]["threshold"]
            return Evidence(why_not=f"no run of {algorithm_label(algorithm)} at {threshold}")
    better, worse = (side.set_index("seed")["normalised_reward"] for side in sides)
    common = sorted(set(better.index) & set(worse.index))
    if not common:
        return Evidence(why_not="the two settings have no seed in common")
    differences = [float(better[seed] - worse[seed]) for seed in common]
    names = [f"{algorithm_label(side['algorithm'].iloc[0])} at {_at(side)}" for side in sides]
    means = f"{cell_text(float(better[common].mean()))} and {cell_text(float(worse[common].mean()))}"
    return judge(differences, 1, f"{means}: difference ", f"normalised reward of {names[0]} minus {names[1]}")


def not_testable(direction: Mapping[str, Any], runs: pd.DataFrame, results: Results, context: Context) -> Evidence:
    """A claim that cannot be tested numerically."""
    return Evidence(why_not=str(direction["why"]))


TESTS: dict[str, Callable[[Mapping[str, Any], pd.DataFrame, Results, Context], Evidence]] = {
    "trend": trend,
    "equal_regret": equal_regret,
    "contrast": contrast,
    "group_losses": group_losses,
    "nearer_to_centre": nearer_to_centre,
    "not_testable": not_testable,
}


def _setting(runs: pd.DataFrame, setting: Mapping[str, Any]) -> pd.DataFrame:
    runs = runs[(runs["algorithm"] == setting["algorithm"]) & (runs["variant"] == "")]
    if setting["threshold"] == FREQUENT:
        candidates = runs[runs["threshold"] > min(method(setting["algorithm"]).ends)]
        lowest: pd.DataFrame = candidates[candidates["threshold"] == candidates["threshold"].min()]
        return lowest
    exact: pd.DataFrame = runs[runs["threshold"] == float(setting["threshold"])]
    return exact


def _at(runs: pd.DataFrame) -> str:
    return front_text(str(runs["algorithm"].iloc[0]), float(runs["threshold"].iloc[0]))
