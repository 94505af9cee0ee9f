"""Appendix Table 2: users, data, uploads and reward of each activity group, on every real data set."""

from typing import Any

import pandas as pd

from benchmark.results.frames import means
from benchmark.statistics.intervals import MIN_SEEDS_FOR_INTERVAL, number_of_seeds
from reports.analysis.claims import ARMS
from reports.analysis.users import EXPERIMENT, group_totals, has_few_users
from reports.labels import dataset_label
from reports.paper import paper, stream_of
from reports.read.results import Results
from reports.subjects import USERS
from reports.write.table import Table, make_table

ORDER = 40
SUM = "sum"


def tables(results: Results) -> list[Table]:
    """Return a table for each data set and method of the study."""
    all_tables = []
    for stream, runs in results.runs_of(EXPERIMENT).groupby("stream"):
        if has_few_users(str(runs["dataset"].iloc[0]), results):
            continue
        totals = group_totals(results, str(stream))
        if totals.empty:
            results.note_absent(
                f"{stream}: no table of users by activity because its data or client totals are missing"
            )
            continue
        for number, ((algorithm, _), part) in enumerate(totals.groupby(["algorithm", "family"])):
            name = f"user_groups_{stream}" + (f"_{number + 1}" if number else "")
            arms = int(runs["arms"].iloc[0])
            method = f"{results.methods.label(str(algorithm))} {part['variant'].iloc[0]}".strip()
            all_tables.append(_table(name, str(stream), method, part, arms, results))
    return all_tables


def _table(name: str, stream: str, method: str, totals: pd.DataFrame, arms: int, results: Results) -> Table:
    papers = _paper_rows() if stream == stream_of(paper()["groups"]["dataset"]) else {}
    dataset = str(totals["dataset"].iloc[0])
    rows = []
    for threshold in sorted(totals["threshold"].unique(), reverse=True):
        groups = totals[totals["threshold"] == threshold]
        sums = groups.groupby("seed", as_index=False)[["users", "interactions", "uploads", "reward"]].sum()
        for min_activity, group_rows in [*groups.groupby("least"), (SUM, sums)]:
            rows.append(_row(float(threshold), str(min_activity), group_rows, arms, papers))
    label = results.label(dataset, str(totals["source"].iloc[0]))
    by_quantile = f"by quantile ({totals['group'].nunique()} of 10 groups have users)"
    grouping_text = "in tens" if results.manifests[dataset]["groups"] == "tens" else by_quantile
    seeds = totals["seed"].nunique()
    means = f"means over {number_of_seeds([seeds])}" + " with 95 % intervals" * (seeds >= MIN_SEEDS_FOR_INTERVAL)
    caption = (
        f"{method}. Users grouped by their number of interactions, {grouping_text}. Uploads and reward of the users of "
        f"each group, {means}. Normalised reward: reward divided by that of random choice among {arms} arms on the "
        f"group's data."
    )
    notes = paper()["groups"]["remarks"] if papers else ()
    title = f"Appendix Table 2: users by activity, {dataset_label(stream)}"
    about: dict[str, Any] = {"experiments": (EXPERIMENT,), "subject": USERS}
    return make_table(name, title, caption, pd.DataFrame(rows), notes, label=label, counts=["uploads"], **about)


def _row(
    threshold: float,
    min_activity: str,
    totals: pd.DataFrame,
    arms: int,
    papers: dict[tuple[float, str], dict[str, Any]],
) -> dict[str, Any]:
    """Return the row of one group at one threshold, with the paper's numbers next to ours if it has any."""
    users, data = int(totals["users"].iloc[0]), int(totals["interactions"].iloc[0])
    row: dict[str, Any] = {
        "threshold": threshold,
        "group": SUM if min_activity == SUM else totals["group"].iloc[0],
        "users": users,
        "data": data,
    }
    stated = papers.get((threshold, min_activity), {})
    row |= means({metric: totals[metric] for metric in ("uploads", "reward")})
    row["normalised reward"] = row["reward"] / (data / arms) if data else float("nan")
    if papers:
        names = ("users", "data", "uploads", "reward", "normalised reward")
        row |= {f"paper: {name}": stated.get(name, float("nan")) for name in names}
    return row


def _paper_rows() -> dict[tuple[float, str], dict[str, Any]]:
    """Return the paper's rows by threshold and least activity."""
    groups = paper()["groups"]
    rows = {}
    for group in [*groups["rows"], {"least": SUM, **groups["sum"]}]:
        for column, threshold in enumerate(groups["thresholds"]):
            values = {"uploads": group["uploads"][column], "reward": group["reward"][column]}
            values |= {"users": group["users"], "data": group["data"]}
            values["normalised reward"] = values["reward"] / (group["data"] / ARMS)
            rows[float(threshold), str(group["least"])] = values
    return rows
