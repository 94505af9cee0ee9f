"""Tests of the paper's claims about users: which groups lose reward, and where they are in the embedding."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmark.statistics.verdicts import ClaimVerdict
from data_pipelines.prepare.prepared import Prepared
from reports.analysis.embedding import ASSIGNMENTS, by_chance_of, distances, item_features
from reports.analysis.evidence import Evidence, evidence
from reports.analysis.group_totals import totals_of
from reports.read.context import Context
from reports.read.results import Results
from reports.write.table import cell_text, interval_text


def group_losses(direction: Mapping[str, Any], runs: pd.DataFrame, results: Results, context: Context) -> Evidence:
    """The share of reward lost by the less active groups minus that lost by the most active, for each seed."""
    experiment, stream = (str(runs[column].iloc[0]) for column in ("experiment", "stream"))
    totals = totals_of(runs, experiment, stream, results, context)
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
    ours = f"{losses_text(less_active_loss, most_active_loss)}: difference "
    method = "share of reward lost by the less active groups minus that lost by the most active"
    return evidence([loss[0] - loss[1] for loss in losses], 1, ours, method)


def losses_text(first: float, second: float) -> str:
    """Write two shares of reward that were lost; a negative one was gained."""
    verbs = ["gained" if share < 0 else "lost" for share in (first, second)]
    other_verb = "" if verbs[0] == verbs[1] else f"{verbs[1]} "
    return f"{verbs[0]} {abs(first):.1%} and {other_verb}{abs(second):.1%}"


def nearer_to_centre(direction: Mapping[str, Any], runs: pd.DataFrame, results: Results, context: Context) -> Evidence:
    """The mean distance from the centre of the embedding, of the other users minus that of the most active.

    The mean of many items is near the centre for any user. So the difference counts only if it is outside the range
    of differences for random assignments of the same items to the users, with the same number of items per user.
    """
    dataset = str(runs["dataset"].iloc[0])
    prepared = context.prepared(dataset)
    if dataset not in context.centre and prepared is None:
        return Evidence(why_not="the data set used by these runs is not available")
    if dataset not in context.centre:
        assert prepared is not None
        context.centre[dataset] = _difference(prepared, direction["most_active"], context)
    if not context.centre[dataset]:
        return Evidence(why_not="all users, or none, belong to the most active groups")
    ours, mean, low_by_chance, high_by_chance = context.centre[dataset]
    at_random = interval_text(mean, low_by_chance, high_by_chance)
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


def _difference(prepared: Prepared, most_active: Sequence[int], context: Context) -> list[float]:
    """Return our difference, and its mean and 95 % range by chance; empty if the users are all of one kind."""
    is_most_active = (prepared.activity >= most_active[0]) & (prepared.activity < most_active[1])
    if not is_most_active.any() or is_most_active.all():
        return []

    def difference(of_users: NDArray[np.float64]) -> float:
        return float(of_users[~is_most_active].mean() - of_users[is_most_active].mean())

    by_chance = [difference(each) for each in by_chance_of(prepared, context.by_chance)]
    low, high = np.quantile(by_chance, [0.025, 0.975])
    ours = difference(distances(prepared, item_features(prepared)))
    return [ours, float(np.mean(by_chance)), float(low), float(high)]


def _reward(totals: pd.DataFrame, threshold: float, activity: Sequence[int]) -> float:
    in_range = (totals["least"] >= activity[0]) & (totals["least"] < activity[1])
    rewards = totals[in_range & (totals["threshold"] == float(threshold))]["reward"]
    return float(rewards.sum()) if len(rewards) and rewards.sum() else math.nan
