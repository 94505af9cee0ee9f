"""The table of a sweep: for each data set, methods × budgets, each cell the best setting within that budget."""

import math
from collections.abc import Collection, Iterable, Sequence

import pandas as pd

from benchmark.metrics import Metric, metric
from benchmark.protocol import load_protocol
from benchmark.records.record import RunRecord
from benchmark.results.frames import best_within
from benchmark.statistics.intervals import number_of_seeds
from benchmark.statistics.verdicts import no_statement
from data_pipelines.data_label import STAND_IN
from data_pipelines.support.text import BOLD, GREEN, coloured, cut, wrapped

BUDGETS = (0.0, 10.0, 100.0, math.inf)
"""Transfers per client."""

HEADER = ("none", "≤ 10", "≤ 100", "unlimited")
LABEL_WIDTH, CELL_WIDTH = 20, 15
CAPTION = "* best mean in its column; settings chosen on these seeds, see fedbandit board"


def budget_lines(
    settings: pd.DataFrame,
    budgets: Sequence[float] = BUDGETS,
    header: Sequence[str] = HEADER,
    rules: pd.DataFrame | None = None,
    generated: Collection[str] = (),
) -> list[str]:
    """Return the lines of one table for all data sets in a table of settings; none without settings.

    `rules` are the settings of rules without a model: the best of them is named where it has a better mean than every
    method. Results on `generated` data sets have a label, and none of them is marked as the best.
    """
    if settings.empty:
        return []
    first = "transfers per client"
    lines = [coloured(first.ljust(LABEL_WIDTH) + "".join(cell.rjust(CELL_WIDTH) for cell in header), BOLD)]
    for dataset, part in settings.groupby("dataset", sort=False):
        goal = metric(part["objective"].iloc[0])
        is_generated = dataset in generated
        label = f" – {STAND_IN}" if is_generated else ""
        heading = f"{dataset}: {goal.label}, {goal.direction} ({number_of_seeds(part['seeds'])}){label}"
        lines.append(wrapped(heading, "    "))
        if rules is not None and not is_generated:
            lines += _rule(part, rules[rules["dataset"] == dataset], goal)
        lines += _rows(part, budgets, can_lead=not is_generated)
    lines.append(CAPTION)
    needed = load_protocol().comparison.min_report_seeds
    few = settings.loc[settings["seeds"] < needed, "seeds"]
    return lines if few.empty else [*lines, no_statement(few, needed)]


def generated_in(records: Iterable[RunRecord]) -> set[str]:
    """Return the names of the generated data sets among these runs."""
    return {record.stream.name for record in records if record.stream.source == "stand-in"}


def _rule(settings: pd.DataFrame, rules: pd.DataFrame, goal: Metric) -> list[str]:
    """Return a line on the best rule without a model if its mean is better than that of every setting."""
    ranked = rules.assign(score=goal.sign * rules["mean"]).sort_values("score", ascending=False)
    best = (goal.sign * settings["mean"]).max()
    if ranked.empty or not ranked["score"].iloc[0] > best:
        return []
    rule = ranked.iloc[0]
    means = f"{rule['method']} {short(rule['mean'])}, methods {short(abs(best))}"
    return [wrapped(f"a rule without a model has the best mean: {means}", "    ", "  ")]


def _rows(settings: pd.DataFrame, budgets: Sequence[float], *, can_lead: bool) -> list[str]:
    best = [best_within(settings, budget).set_index("algorithm") for budget in budgets]
    leaders = [short(column["mean"].iloc[0]) if len(column) else "" for column in best]
    methods = settings.drop_duplicates("algorithm").set_index("algorithm")["method"]
    lines = []
    for algorithm, label in methods.items():
        cells = [
            _cell(column, str(algorithm), leader if can_lead and len(methods) > 1 else "")
            for column, leader in zip(best, leaders, strict=True)
        ]
        lines.append("  " + cut(str(label), LABEL_WIDTH - 2).ljust(LABEL_WIDTH - 2) + "".join(cells).rstrip())
    return lines


def _cell(column: pd.DataFrame, algorithm: str, leader: str) -> str:
    """Return a cell; it is marked if its mean has the digits of the leader of its column."""
    if algorithm not in column.index:
        return "–".rjust(CELL_WIDTH)
    mean, setting = column["mean"][algorithm], column["setting"][algorithm]
    is_best = short(mean) == leader
    text = cut(f"{short(mean)} {setting}".strip(), CELL_WIDTH - 3) + (" *" if is_best else "")
    cell = text.rjust(CELL_WIDTH) if is_best else f"{text}  ".rjust(CELL_WIDTH)
    return coloured(cell, BOLD, GREEN) if is_best else cell


def short(value: float) -> str:
    """Write a mean in at most six characters."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
