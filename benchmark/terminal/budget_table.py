"""The table of a sweep: for each data set, methods × budgets, each cell the best setting within that budget."""

import math
from collections.abc import Sequence

import pandas as pd

from benchmark.answers.tables import best_within
from benchmark.metrics import metric
from benchmark.terminal.text import BOLD, GREEN, coloured, number_of, wrapped

BUDGETS = (0.0, 10.0, 100.0, math.inf)
"""Transfers per client."""

HEADER = ("none", "≤ 10", "≤ 100", "unlimited")
LABEL_WIDTH, CELL_WIDTH = 20, 15
CAPTION = "* best in its column; settings were chosen on these seeds, see fedbandit board"


def budget_lines(
    settings: pd.DataFrame, budgets: Sequence[float] = BUDGETS, header: Sequence[str] = HEADER
) -> list[str]:
    """Return the lines of one table for all data sets in a table of settings; none without settings."""
    if settings.empty:
        return []
    first = "transfers per client"
    lines = [coloured(first.ljust(LABEL_WIDTH) + "".join(cell.rjust(CELL_WIDTH) for cell in header), BOLD)]
    for dataset, part in settings.groupby("dataset", sort=False):
        goal = metric(part["objective"].iloc[0])
        seeds = int(part["seeds"].max())
        heading = f"{dataset}: {goal.label}, {goal.direction} ({number_of(seeds, 'seed')})"
        lines.append(wrapped(heading, "    "))
        lines += _rows(part, budgets)
    return [*lines, CAPTION]


def _rows(settings: pd.DataFrame, budgets: Sequence[float]) -> list[str]:
    best = [best_within(settings, budget).set_index("algorithm") for budget in budgets]
    winners = [column.index[0] if len(column) else None for column in best]
    methods = settings.drop_duplicates("algorithm").set_index("algorithm")["method"]
    lines = []
    for algorithm, label in methods.items():
        cells = [
            _cell(column, str(algorithm), is_best=winner == algorithm and len(methods) > 1)
            for column, winner in zip(best, winners, strict=True)
        ]
        lines.append("  " + _cut(str(label), LABEL_WIDTH - 2).ljust(LABEL_WIDTH - 2) + "".join(cells).rstrip())
    return lines


def _cell(column: pd.DataFrame, algorithm: str, *, is_best: bool) -> str:
    if algorithm not in column.index:
        return "–".rjust(CELL_WIDTH)
    mean, setting = column["mean"][algorithm], column["setting"][algorithm]
    text = _cut(f"{short(mean)} {setting}".strip(), CELL_WIDTH - 3) + (" *" if is_best else "")
    cell = text.rjust(CELL_WIDTH) if is_best else f"{text}  ".rjust(CELL_WIDTH)
    return coloured(cell, BOLD, GREEN) if is_best else cell


def short(value: float) -> str:
    """Write a mean in at most six characters."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"
