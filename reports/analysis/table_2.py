"""Appendix Table 2, cell by cell: the paper's number, ours and a verdict."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import pandas as pd

from benchmark.statistics.equivalence import communication_margin, reward_margin
from reports.analysis.claims import TABLE_2, Judged, caveat_of, judged_count, judged_number
from reports.analysis.group_totals import group_totals
from reports.labels import dataset_label, threshold_text
from reports.paper import PAPER, paper, stream_of
from reports.read.context import Context
from reports.read.results import Results

ARMS = 25
"""Arms per pool in the paper: a group's random choice earns its data divided by this."""


def judged_cells(results: Results, context: Context) -> list[Judged]:
    """Return users, data, uploads and normalised reward of each group; none if the report is not about the study."""
    table = paper()["groups"]
    stream = stream_of(table["dataset"])
    if table["experiment"] not in context.experiments or stream is None:
        return []
    totals = group_totals(results, context, stream)
    totals = totals[totals["algorithm"] == table["algorithm"]]
    caveat = caveat_of(context, totals)
    first = Judged(TABLE_2, table["experiment"], table["place"], "", PAPER, dataset_label(stream), caveat=caveat)
    return [cell for group in _groups(table) for cell in _cells(first, totals, group, table["thresholds"])]


def _groups(table: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [*table["rows"], {"least": None, **table["sum"]}]


def _cells(first: Judged, totals: pd.DataFrame, group: Mapping[str, Any], thresholds: list[float]) -> Iterator[Judged]:
    least = group["least"]
    name = "all groups" if least is None else f"group {least}–{least + 10}"
    ours = totals if least is None else totals[totals["least"] == least]
    for what, column in (("users", "users"), ("data", "interactions")):
        yield _count(first, f"{what} of {name}", group[what], ours, column)
    for number, threshold in enumerate(thresholds):
        at = ours[ours["threshold"] == float(threshold)]
        by_seed = at.groupby("seed")[["uploads", "reward", "interactions"]].sum()
        where = f"of {name} at γ={threshold_text(float(threshold))}"
        yield _number(first, f"uploads {where}", group["uploads"][number], by_seed["uploads"], communication_margin)
        stated = group["reward"][number] / (group["data"] / ARMS)
        normalised = by_seed["reward"] / (by_seed["interactions"] / ARMS)
        yield _number(first, f"normalised reward {where}", stated, normalised, reward_margin)


def _count(first: Judged, claim: str, stated: int, totals: pd.DataFrame, column: str) -> Judged:
    row = _with(first, claim, stated)
    if totals.empty:
        return _with(first, claim, stated, remark="no run, or no data of this group")
    one_run = totals[totals["run_id"] == totals["run_id"].iloc[0]]  # the same in every run
    return judged_count(row, int(one_run[column].sum()))


def _number(
    first: Judged, claim: str, stated: float, values: "pd.Series[float]", margin: Callable[[float], float]
) -> Judged:
    return judged_number(_with(first, claim, stated), values, margin(stated), first.caveat)


def _with(first: Judged, claim: str, stated: float, remark: str = "") -> Judged:
    return replace(first, claim=claim, paper=stated, remark=remark)
