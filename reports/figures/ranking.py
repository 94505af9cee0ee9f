"""All methods of a board at a glance: a row per method and a column per task; and for each task its ranking."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from benchmark.board.entries import MethodRow
from benchmark.board.result import BoardResult
from benchmark.charts.chart import CONTRASTS, GREY, Axis, Cell, Level, Matrix, Panel, Series, numbers, span
from benchmark.statistics.comparison import NO_COMMUNICATION, PRIMARY
from benchmark.statistics.verdicts import Verdict, equivalence_margin
from reports.analysis.board import (
    NOT_VERIFIED,
    budget_text,
    factor_over,
    has_verdicts,
    noted_label,
    primary_text,
    ranked_entries,
    score_text,
)
from reports.figures.board import ALONE, LOOKS, OVER, REFERENCES, SCORES, labels_of
from reports.read.boards import StoredBoard, by_protocol
from reports.read.results import Results
from reports.subjects import BOARD
from reports.write.figure import Figure, make_figure
from reports.write.table import mean_text

ORDER = 4
OTHER, NOT_TUNED = "other", "not tuned"
"""Instead of a kind: a method that does not say what its clients share, a row with fixed values."""

NO_CHOICE = "–"
"""Instead of the symbol of a verdict: no configuration stays within the budget."""

UNIT = "messages per decision"
ROW_HEIGHT = 0.17
"""Inches."""

BEYOND = 0.5
"""How far below the range of the methods a reference may be, as a share of that range, to be drawn."""


def figures(results: Results) -> list[Figure]:
    """Return the overview of all tasks by the protocol, and the ranking of each board."""
    shipped = [board for board in by_protocol(results.boards) if board.result.contenders]
    boards = [board for board in results.boards if board.result.scores is not None]
    return [*([overview(shipped, results)] if shipped else []), *(ranking(board, results) for board in boards)]


def overview_rows(results: Sequence[BoardResult]) -> pd.DataFrame:
    """Return one row per kind, method and task: verdicts at all budgets as symbols, and the primary endpoint."""
    rows = []
    for result in results:
        for entry in ranked_entries(result):
            row: dict[str, Any] = {
                "kind": entry.kind or OTHER,
                "method": noted_label(entry),
                "task": result.board.task.name,
            }
            symbols = "".join(symbol(result, entry, budget) for budget in result.budgets)
            row |= {"budgets": symbols, "score": result.mean(entry.name)[0]}
            rows.append(row | {"verdict": str(result.verdict(entry.name, PRIMARY))})
    return pd.DataFrame(rows)


def symbol(result: BoardResult, entry: MethodRow, budget: float) -> str:
    """Return the verdict at a budget as a symbol, marked if the method exceeds the budget on the report seeds."""
    if result.choice(entry.name, budget) is None:
        return NO_CHOICE
    return LOOKS[result.verdict(entry.name, budget)].text + OVER * (factor_over(result, entry, budget) is not None)


def overview(boards: Sequence[StoredBoard], results: Results) -> Figure:
    """Return methods × tasks: colour and score are those of the primary endpoint, symbols those of each budget."""
    rows, first = overview_rows([board.result for board in boards]), boards[0].result
    budgets, primary = ", ".join(map(budget_text, first.budgets)), primary_text(first.board.protocol.budgets.primary)
    columns = tuple(dict.fromkeys(rows["task"]))
    cells = {
        (noted_label(entry), board.result.board.task.name): _overview_cell(board.result, entry)
        for board in boards
        for entry in ranked_entries(board.result)
    }
    lines: list[tuple[str, tuple[Cell, ...]]] = []
    for kind, names in rows.groupby("kind", sort=False)["method"]:
        lines.append((str(kind), ()))
        lines += [(name, tuple(cells.get((name, task), Cell("")) for task in columns)) for name in names.unique()]
    looks = {Verdict.BETTER: "better", Verdict.EQUIVALENT: "equivalent or identical", Verdict.UNDECIDED: "undecided"}
    looks |= {Verdict.WORSE: "worse"}
    legend = [(LOOKS[verdict], text) for verdict, text in looks.items()]
    used = "".join(rows["budgets"])
    legend += [(Cell(NO_CHOICE), "none within the budget")] if NO_CHOICE in used else []
    legend += [(Cell(OVER), "over the budget on the report seeds")] if OVER in used else []
    caption = (
        "Every tuned method on every task, compared with tuned “no communication”. A cell, from left to right: the "
        f"verdicts at the budgets {budgets} (needed full messages per decision), then the {primary} and the verdict "
        "on it."
    )
    matrix = Matrix(
        columns,
        tuple(lines),
        tuple(legend),
        cell_width=min(1.2, 6.2 / len(columns)),
        font_size=7,
        corner=f"From left to right:\nbudgets {budgets}\n({UNIT}),\nthen {primary}",
    )
    return make_figure(
        "board_overview",
        "Board: which method is better than no communication, on which task, at which budget",
        caption,
        matrix,
        labels=labels_of(boards, results),
        experiments=[board.experiment for board in boards],
        subject=BOARD,
        data=rows,
    )


def _overview_cell(result: BoardResult, entry: MethodRow) -> Cell:
    parts = tuple(Cell(symbol(result, entry, budget), _colour(result, entry, budget)) for budget in result.budgets)
    score, verdict = result.mean(entry.name)[0], result.verdict(entry.name, PRIMARY)
    return Cell(score_text(score), LOOKS[verdict].colour, parts)


def _colour(result: BoardResult, entry: MethodRow, budget: float) -> str:
    is_chosen = result.choice(entry.name, budget) is not None
    return LOOKS[result.verdict(entry.name, budget)].colour if is_chosen else ""


def ranking_rows(result: BoardResult) -> pd.DataFrame:
    """Return one row per method and reference, the best first: the difference to "no communication" with its band.

    The interval of a reference is that of its paired difference alone: it is not among the comparisons. `is_drawn` is
    whether a picture has the row: not if it is a reference far below all methods.
    """
    rows = []
    for entry in result.contenders:
        row = result.difference(entry.name, NO_COMMUNICATION, PRIMARY)
        if row is not None:
            not_ranked = NOT_TUNED if entry.is_verified else NOT_VERIFIED
            kind = (entry.kind or OTHER) if entry.is_ranked else not_ranked
            rows.append([entry.label, kind, row["difference"], row["low"], row["high"], str(row["verdict"])])
    for entry in result.references:
        rows.append([entry.label, REFERENCES, *result.above(entry.name, NO_COMMUNICATION), ""])
    frame = pd.DataFrame(rows, columns=["method", "kind", "difference", "low", "high", "verdict"])
    frame = frame.dropna(subset="difference").sort_values("difference", ascending=False, ignore_index=True)
    is_line, margin = frame["kind"] == REFERENCES, _margin(result)
    values = frame.loc[~is_line, ["difference", "low", "high"]].to_numpy().ravel()
    least, _ = span([*values, -margin, margin], BEYOND)
    return frame.assign(is_drawn=~is_line | (frame["difference"] >= least))


def _margin(result: BoardResult) -> float:
    alone = float(result.values(NO_COMMUNICATION, 0.0).mean())
    return equivalence_margin(alone, result.board.scale, result.board.protocol.comparison.margin)


def ranking(board: StoredBoard, results: Results) -> Figure:
    """Return the differences of all methods of a board to "no communication" at the primary endpoint."""
    result, rows = board.result, ranking_rows(board.result)
    primary = f"{primary_text(result.board.protocol.budgets.primary)} {UNIT}"
    outside = rows[~rows["is_drawn"]]
    others = [f"{name} {value:+.3g}" for name, value in zip(outside["method"], outside["difference"], strict=True)]
    caption = (
        f"{result.board.task.title}. Mean paired difference in score to tuned “no communication”, {primary}, on "
        f"{len(result.board.seeds)} report seeds, with simultaneous {result.board.protocol.comparison.confidence:.0%} "
        "bands over all comparisons of the task; references, which are not ranked, with 95 % intervals. The grey band "
        f"is the margin of equivalence, ±{_margin(result):.3g}."
    )
    return make_figure(
        f"{board.experiment}_ranking",
        f"Board {result.board.task.name}: all methods, {primary}",
        f"{caption} Left of the plot: {'; '.join(others)}." if others else caption,
        [_panel(result, rows[rows["is_drawn"]])],
        labels=labels_of([board], results),
        experiments=[board.experiment],
        subject=BOARD,
        data=rows,
        height=ROW_HEIGHT * rows["is_drawn"].sum() + 0.2,
    )


def _panel(result: BoardResult, rows: pd.DataFrame) -> Panel:
    """Return the rows from top to bottom, with a colour for each kind of method, and the margin of equivalence."""
    kinds = [str(kind) for kind in dict.fromkeys(rows["kind"])]
    colours = dict(zip(sorted({*kinds} - {REFERENCES, NOT_TUNED, NOT_VERIFIED}), CONTRASTS[1:], strict=False))
    heights = numbers(len(rows) - 1 - np.arange(len(rows)))
    placed = rows.assign(height=heights)
    series = [_series(placed[placed["kind"] == kind], kind, colours.get(kind, GREY)) for kind in kinds]
    margin = _margin(result)
    text = f"equivalent to {ALONE.lower()} (±{margin:.3g})"
    zero = Level(0.0, GREY, text, line="-", band=(-margin, margin), is_vertical=True)
    primary, confidence = (result.board.protocol.budgets.primary, result.board.protocol.comparison.confidence)
    bars = f"; bars: {confidence * 100:g} % bands, simultaneous" if has_verdicts(result) else ""
    label = f"difference in {SCORES[result.board.scale]}, {primary_text(primary)} {UNIT}"
    ticks = tuple(zip(heights, rows["method"], strict=True))
    return Panel(
        Axis(label, span([*rows[["difference", "low", "high"]].to_numpy().ravel(), -margin, margin])),
        Axis("", (-0.7, len(rows) - 0.3), ticks=ticks, has_grid=False),
        (zero, *series),
        title=f"{len(result.board.seeds)} report seeds{bars}",
    )


def _series(part: pd.DataFrame, kind: str, colour: str) -> Series:
    low, high = numbers(part["low"]), numbers(part["high"])
    texts = [mean_text(*mean) for mean in zip(part["difference"], low, high, strict=True)]
    is_hollow = kind in (REFERENCES, NOT_TUNED, NOT_VERIFIED)
    look: dict[str, Any] = {"size": 5.0, "is_hollow": is_hollow, "x_interval": (low, high)}
    hover = tuple(zip(part["method"], texts, part["verdict"], strict=True))
    marker = "D" if kind == REFERENCES else "o"
    return Series(numbers(part["difference"]), numbers(part["height"]), colour, kind, marker, hover=hover, **look)
