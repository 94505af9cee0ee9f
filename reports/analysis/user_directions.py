"""Tests of the paper's claims about users: which groups lose reward, and where they are in the embedding."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmark.statistics.verdicts import ClaimVerdict
from reports.analysis.embedding import ASSIGNMENTS, by_chance_of, distances, item_features
from reports.analysis.evidence import Evidence, evidence
from reports.analysis.group_totals import group_totals
from reports.read.context import Context
from reports.read.results import Results
from reports.write.table import cell_text, interval_text


def group_losses(direction: Mapping[str, Any], runs: pd.DataFrame, results: Results, context: Context) -> Evidence:
    """The share of reward lost by the less active groups minus that lost by the most active, for each seed."""
    totals = group_totals(results, context, str(runs["stream"].iloc[0]))
    totals = totals[totals["algorithm"] == direction["algorithm"]]
    if totals.empty:
        return Evidence(why_not="the data set used by these runs is not available")
    losses = []
    for _, seed_totals in totals.groupby("seed"):
        shares = [
            1
            - _reward(seed_totals, direction["to"], direction[users])
            / _reward(seed_totals, direction["from"], direction[users])
            for users in ("less_active", "most_active")
        ]
        if all(math.isfinite(share) for share in shares):
            losses.append(shares)
    if not losses:
        return Evidence(why_not="not all of the thresholds were run")
    less_active_loss, most_active_loss = np.mean(losses, axis=0)
    ours = f"lost {less_active_loss:.1%} and {most_active_loss:.1%}: difference "
    method = "share of reward lost by the less active groups minus that lost by the most active"
    return evidence([loss[0] - loss[1] for loss in losses], 1, ours, method)


def nearer_to_centre(direction: Mapping[str, Any], runs: pd.DataFrame, results: Results, context: Context) -> Evidence:
    """The mean distance from the centre of the embedding, of the other users minus that of the most active.

    The mean of many items is near the centre for any user. So the difference counts only if it is outside the range
    of differences for random assignments of the same items to the users, with the same number of items per user.
    """
    prepared = context.prepared(str(runs["dataset"].iloc[0]))
    if prepared is None:
        return Evidence(why_not="the data set used by these runs is not available")
    activity, (low, high) = prepared.activity, direction["most_active"]
    is_most_active = (activity >= low) & (activity < high)
    if not is_most_active.any() or is_most_active.all():
        return Evidence(why_not="all users, or none, belong to the most active groups")

    def difference(of_users: NDArray[np.float64]) -> float:
        return float(of_users[~is_most_active].mean() - of_users[is_most_active].mean())

    ours = difference(distances(prepared, item_features(prepared)))
    by_chance = [difference(each) for each in by_chance_of(prepared, context.by_chance)]
    low_by_chance, high_by_chance = np.quantile(by_chance, [0.025, 0.975])
    at_random = interval_text(float(np.mean(by_chance)), float(low_by_chance), float(high_by_chance))
    method = (
        "mean distance from the centre, others minus most active; random: mean and 95 % range of "
        f"{ASSIGNMENTS} random assignments of items to users"
    )
    text = f"difference {cell_text(ours)}; random assignments: {at_random}"
    if low_by_chance <= ours <= high_by_chance:
        why = "random assignments of items to users produce equally large differences"
        return Evidence(text, method, verdict=ClaimVerdict.UNDECIDED, why_not=why)
    verdict = ClaimVerdict.REPRODUCED if ours > high_by_chance else ClaimVerdict.OPPOSITE
    return Evidence(text, method, verdict=verdict)


def _reward(totals: pd.DataFrame, threshold: float, activity: Sequence[int]) -> float:
    in_range = (totals["least"] >= activity[0]) & (totals["least"] < activity[1])
    rewards = totals[in_range & (totals["threshold"] == float(threshold))]["reward"]
    return float(rewards.sum()) if len(rewards) and rewards.sum() else math.nan
