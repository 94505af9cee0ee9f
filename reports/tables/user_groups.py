"""Appendix Table 2: users, data, uploads and reward of each activity group, on every real data set."""

from typing import Any

import pandas as pd

from reports.context import Context
from reports.group_totals import EXPERIMENT, group_totals
from reports.labels import algorithm_label, dataset_label
from reports.paper import paper
from reports.results import Results
from reports.seeds import mean_interval
from reports.table import Table

ORDER = 40
SUM = "sum"


def tables(results: Results, context: Context) -> list[Table]:
    """Return a table for each data set, and for each algorithm that was run on it."""
    study = results.runs[results.runs["experiment"] == EXPERIMENT]
    made = []
    for dataset in sorted(study["dataset"].unique()):
        totals = group_totals(results, context, dataset)
        if totals.empty:
            context.say_absent(f"{dataset}: no users by activity group, for want of its data or of client totals")
            continue
        for number, ((algorithm, variant), same) in enumerate(totals.groupby(["algorithm", "variant"])):
            name = f"user_groups_{dataset}" + (f"_{number + 1}" if number else "")
            arms = int(study.loc[study["dataset"] == dataset, "arms"].iloc[0])
            who = f"{algorithm_label(str(algorithm))} {variant}".strip()
            made.append(_table(name, dataset, who, same, arms, context))
    return made


def _table(name: str, dataset: str, who: str, totals: pd.DataFrame, arms: int, context: Context) -> Table:
    papers = _paper_rows() if dataset == paper()["groups"]["dataset"] else {}
    rows = []
    for threshold in sorted(totals["threshold"].unique(), reverse=True):
        at = totals[totals["threshold"] == threshold]
        whole = at.groupby("seed", as_index=False)[["users", "interactions", "uploads", "reward"]].sum()
        for least, same in [*at.groupby("least"), (SUM, whole)]:
            rows.append(_row(float(threshold), str(least), same, arms, papers))
    label = context.label(dataset, str(totals["source"].iloc[0]))
    groups = totals["group"].nunique()
    how = (
        "in tens" if context.manifests[dataset]["groups"] == "tens" else f"by quantiles, of ten groups {groups} remain"
    )
    seeds = totals["seed"].nunique()
    means = f"means over {seeds} seeds with 95 % intervals" if seeds > 1 else "one seed"
    caption = (
        f"{who}. Users grouped by their number of interactions, {how}. Uploads that users of a group triggered and "
        f"reward they obtained, {means}; normalised reward "
        f" divides by what a random choice among {arms} arms earns on the group's data."
    )
    notes = [*([label] if label else []), *(paper()["groups"]["inconsistencies"] if papers else ())]
    title = f"Appendix Table 2: users by activity, {dataset_label(dataset)}" + (f" – {label}" if label else "")
    return Table(name, title, caption, pd.DataFrame(rows), tuple(notes), (EXPERIMENT,))


def _row(
    threshold: float, least: str, same: pd.DataFrame, arms: int, papers: dict[tuple[float, str], dict[str, Any]]
) -> dict[str, Any]:
    """One group at one threshold, the paper's numbers beside ours where it has any."""
    users, data = int(same["users"].iloc[0]), int(same["interactions"].iloc[0])
    row: dict[str, Any] = {
        "threshold": threshold,
        "group": SUM if least == SUM else same["group"].iloc[0],
        "users": users,
        "data": data,
    }
    beside = papers.get((threshold, least), {})
    for metric in ("uploads", "reward"):
        row |= dict(zip((metric, f"{metric}_low", f"{metric}_high"), mean_interval(same[metric]), strict=True))
    row["normalised reward"] = row["reward"] / (data / arms) if data else float("nan")
    if papers:
        row |= {f"paper: {name}": beside.get(name, float("nan")) for name in ("users", "data", "uploads", "reward")}
    return row


def _paper_rows() -> dict[tuple[float, str], dict[str, Any]]:
    """The paper's rows by threshold and least activity."""
    groups = paper()["groups"]
    found = {}
    for each in [*groups["rows"], {"least": SUM, **groups["sum"]}]:
        for place, threshold in enumerate(groups["thresholds"]):
            values = {"uploads": each["uploads"][place], "reward": each["reward"][place]}
            found[float(threshold), str(each["least"])] = {"users": each["users"], "data": each["data"], **values}
    return found
