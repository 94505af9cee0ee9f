"""Tests of what the paper says of its users: who loses reward, and who lies where in the embedding."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from reports.context import Context
from reports.embedding import embed_users
from reports.finding import UNDECIDED, Finding, judged
from reports.group_totals import group_totals
from reports.results import Results
from reports.table import interval_text


def group_losses(direction: Mapping[str, Any], runs: pd.DataFrame, results: Results, context: Context) -> Finding:
    """The share of reward lost by the less active groups minus that lost by the most active, for each seed."""
    totals = group_totals(results, context, direction["dataset"])
    totals = totals[totals["algorithm"] == direction["algorithm"]]
    if totals.empty:
        return Finding(why_not="the data set that the runs were made from is not at hand")
    lost = []
    for _, same in totals.groupby("seed"):
        shares = [
            1 - _reward(same, direction["to"], direction[part]) / _reward(same, direction["from"], direction[part])
            for part in ("less_active", "most_active")
        ]
        lost.append(shares)
    known = [pair for pair in lost if all(math.isfinite(share) for share in pair)]
    if not known:
        return Finding(why_not="not all of the thresholds were run")
    less, most = (np.mean([pair[place] for pair in known]) for place in (0, 1))
    ours = f"lost {less:.1%} and {most:.1%}: difference "
    how = "share of reward lost by the less active groups minus that lost by the most active"
    return judged([one - other for one, other in known], 1, ours, how)


def nearer_to_centre(direction: Mapping[str, Any], runs: pd.DataFrame, results: Results, context: Context) -> Finding:
    """The mean distance from the centre of the embedding, of the other users minus that of the most active."""
    prepared = context.prepared(direction["dataset"])
    if prepared is None:
        return Finding(why_not="the data set that the runs were made from is not at hand")
    users = embed_users(prepared).users
    distance = np.hypot(users["x"].to_numpy(), users["y"].to_numpy())
    activity = users["interactions"].to_numpy()
    low, high = direction["most_active"]
    most = (activity >= low) & (activity < high)
    if not most.any() or most.all():
        return Finding(why_not="no user is that active")
    mean, spread = distance[~most].mean() - distance[most].mean(), _standard_error(distance, most)
    ours = interval_text(mean, mean - 1.96 * spread, mean + 1.96 * spread)
    how = f"mean distance from the centre, others minus most active; interval over {len(distance):,} users, not seeds"
    verdict = None if abs(mean) <= 1.96 * spread else bool(mean > 0)
    return Finding(f"difference {ours}", how, 0, verdict, "" if verdict is not None else UNDECIDED)


def _reward(totals: pd.DataFrame, threshold: float, activity: Sequence[int]) -> float:
    inside = (totals["least"] >= activity[0]) & (totals["least"] < activity[1])
    found = totals[inside & (totals["threshold"] == float(threshold))]["reward"]
    return float(found.sum()) if len(found) and found.sum() else math.nan


def _standard_error(distance: Any, most: Any) -> float:
    parts = (distance[most], distance[~most])
    return math.sqrt(sum(float(part.var(ddof=1)) / len(part) for part in parts if len(part) > 1))
