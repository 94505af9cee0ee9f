"""The figures of the boards: differences and scores at each budget, and a summary over all tasks."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from benchmark.board.entries import MethodRow
from benchmark.board.result import BoardResult
from benchmark.charts.chart import GREY, Axis, Cell, Level, Matrix, Panel, Series, drawn_values, numbers, span
from benchmark.statistics.budgets import random_score
from benchmark.statistics.comparison import NO_COMMUNICATION
from benchmark.statistics.verdicts import Verdict, equivalence_margin
from benchmark.styles import distinct_styles
from reports.analysis.board import (
    NONE,
    budget_text,
    column_text,
    columns_of,
    factor_over,
    noted_label,
    ranked_entries,
)
from reports.read.boards import StoredBoard, by_protocol
from reports.read.context import Context
from reports.read.results import Results
from reports.subjects import BOARD
from reports.write.figure import Figure, make_figure
from reports.write.table import cell_text, mean_text

ORDER = 5
COLOURS = {
    Verdict.BETTER: "#7fb8e0",
    Verdict.WORSE: "#f0a875",
    Verdict.EQUIVALENT: "#d9dce1",
    Verdict.IDENTICAL: "#d9dce1",
    Verdict.UNDECIDED: "#fbf3c4",
    Verdict.NONE: "#ffffff",
}
"""Blue and orange can be told apart by colour-blind readers; the cells also have symbols."""

SYMBOLS = {
    Verdict.BETTER: "▲",
    Verdict.WORSE: "▼",
    Verdict.EQUIVALENT: "=",
    Verdict.IDENTICAL: "=",
    Verdict.UNDECIDED: "?",
    Verdict.NONE: "",
}

NAMES = {
    "better": Verdict.BETTER,
    "equivalent or identical": Verdict.EQUIVALENT,
    "undecided": Verdict.UNDECIDED,
    "worse": Verdict.WORSE,
}
REFERENCES = "references, not ranked"
ALONE = "No communication"
OVER = "!"
"""Behind the score of a method that exceeds its budget on the report seeds."""

AXIS_LABEL = "budget (full transfers per client)"
SCORES = {"reward": "normalised reward", "regret": "1 − regret / random's regret"}


def figures(results: Results, context: Context) -> list[Figure]:
    """Return two figures per board, and the summary over all tasks by the protocol."""
    all_figures = []
    shipped = [board for board in by_protocol(results.boards) if board.result.contenders]
    if shipped:
        all_figures.append(_summary(shipped, context))
    for board in results.boards:
        if board.result.scores is not None:
            all_figures += [_differences(board, context), _scores(board, context)]
    return all_figures


def _labels(boards: Sequence[StoredBoard], context: Context) -> tuple[str, ...]:
    pairs = {(board.result.board.task.stream.name, board.result.board.source) for board in boards}
    labels = [f"{name}: {label}" for name, source in sorted(pairs) if (label := context.label(name, source))]
    return (*labels, *dict.fromkeys(warning for board in boards for warning in board.warning))


def difference_rows(result: BoardResult) -> pd.DataFrame:
    """Return the paired differences to tuned "no communication" at each budget, with simultaneous bands."""
    rows = []
    for entry in result.contenders:
        for budget in result.budgets:
            row = result.difference(entry.name, NO_COMMUNICATION, budget)
            if row is not None:
                values = {name: float(row[name]) for name in ("difference", "low", "high")}
                rows.append(_named(entry, budget) | values | {"verdict": str(row["verdict"])})
    columns = ["method", "entry", "budget", "difference", "low", "high", "verdict"]
    return pd.DataFrame(rows, columns=columns)


def score_points(result: BoardResult) -> pd.DataFrame:
    """Return the mean scores at each budget, with intervals over seeds."""
    rows = []
    for entry in result.contenders:
        for budget in result.budgets:
            mean, low, high = result.mean(entry.name, budget)
            rows.append(_named(entry, budget) | {"score": mean, "low": low, "high": high})
    return pd.DataFrame(rows, columns=["method", "entry", "budget", "score", "low", "high"])


def _named(entry: MethodRow, budget: float) -> dict[str, Any]:
    return {"method": entry.label, "entry": entry.name, "budget": budget_text(budget)}


def _differences(board: StoredBoard, context: Context) -> Figure:
    result, rows = board.result, difference_rows(board.result)
    alone = float(result.values(NO_COMMUNICATION, 0.0).mean())
    margin = equivalence_margin(alone, result.board.scale, result.board.protocol.comparison.margin)
    confidence = result.board.protocol.comparison.confidence
    caption = (
        f"{result.board.task.title}. Mean paired difference in score to tuned “no communication” on "
        f"{len(result.board.seeds)} report seeds, with simultaneous {confidence:.0%} "
        f"bands over all pairs of methods and budgets; without bands if there are too few seeds. The grey band is the "
        f"margin of equivalence, ±{margin:.3g}: a method whose whole bar is inside it is equivalent to “no "
        f"communication”. {_lines_text(result)}"
    )
    text = f"equivalent to no communication (±{margin:.3g})"
    zero = Level(0.0, GREY, text, ALONE, line="-", band=(-margin, margin), width=0.8)
    bars = f"{confidence * 100:g} % bands, simultaneous over pairs and budgets"
    ylabel = f"difference in {SCORES[result.board.scale]}"
    panel = _panel(result, rows, "difference", ylabel, bars, [zero, *_references(result, alone)])
    return _figure(board, context, "difference to no communication", caption, panel, rows, "differences")


def _scores(board: StoredBoard, context: Context) -> Figure:
    result, rows = board.result, score_points(board.result)
    caption = (
        f"{result.board.task.title}. Mean score on {len(result.board.seeds)} report seeds with 95 % Student t "
        "intervals, at each budget. A method without a configuration within a budget is scored as random choice there. "
        f"{_lines_text(result)}"
    )
    panel = _panel(result, rows, "score", SCORES[result.board.scale], "95 % intervals", _references(result, 0.0))
    return _figure(board, context, "scores", caption, panel, rows, "scores")


def _references(result: BoardResult, origin: float) -> list[Level]:
    """Return the references with a score as levels above an origin."""
    lines = {entry.label: result.line(entry.name)[0] - origin for entry in result.references}
    return [
        Level(level, GREY, REFERENCES, label, hover=(label, cell_text(level)))
        for label, level in lines.items()
        if np.isfinite(level)
    ]


def _lines_text(result: BoardResult) -> str:
    """Return the names and scores of the reference lines, from the highest to the lowest."""
    lines = sorted(_references(result, 0.0), key=lambda line: -line.value)
    texts = [f"{line.name} {line.value:.3g}" for line in lines]
    return f"Dashed: references, not ranked, with their scores: {'; '.join(texts)}." if texts else ""


def _figure(
    board: StoredBoard, context: Context, what: str, caption: str, panel: Panel, rows: pd.DataFrame, suffix: str
) -> Figure:
    return make_figure(
        f"{board.experiment}_{suffix}",
        f"Board {board.result.board.task.name}: {what}",
        caption,
        [panel],
        short_caption=f"{panel.title}. {_lines_text(board.result)}",
        labels=_labels([board], context),
        experiments=[board.experiment],
        subject=BOARD,
        data=rows,
        height=3.5,
    )


def _panel(
    result: BoardResult, rows: pd.DataFrame, value: str, ylabel: str, bars: str, levels: Sequence[Level]
) -> Panel:
    """Return the values of each method at each budget, with bars; names of levels are beside the plot."""
    budgets = [budget_text(budget) for budget in result.budgets]
    styles = distinct_styles((entry.name, entry.style) for entry in result.contenders)
    shifts = np.linspace(-0.15, 0.15, len(styles)) if len(styles) > 1 else [0.0]
    series: list[Series] = []
    for shift, (entry, part) in zip(shifts, rows.groupby("entry", sort=False), strict=False):
        style, name = styles[str(entry)], str(part["method"].iloc[0])
        texts = [mean_text(*each) for each in zip(part[value], part["low"], part["high"], strict=True)]
        verdicts = [(verdict,) for verdict in part["verdict"]] if "verdict" in part else [()] * len(part)
        named = zip(part["budget"], texts, verdicts, strict=True)
        series.append(
            Series(
                numbers([budgets.index(budget) + shift for budget in part["budget"]]),
                numbers(part[value]),
                style.colour,
                name,
                style.marker,
                "-",
                size=9.5 if style.marker == "*" else 6.5,
                width=1.0,
                y_interval=(numbers(part["low"]), numbers(part["high"])),
                hover=tuple((name, f"budget {budget}", text, *verdict) for budget, text, verdict in named),
            )
        )
    items: tuple[Series | Level, ...] = (*series, *levels)
    horizontal = Axis(AXIS_LABEL, (-0.4, len(budgets) - 0.6), ticks=tuple(enumerate(budgets)), has_grid=False)
    seeds = f"{len(result.board.seeds)} report seeds"
    title = seeds if rows["low"].isna().all() else f"{seeds}; bars: {bars}"
    vertical = Axis(ylabel, span(drawn_values(items)))
    return Panel(horizontal, vertical, items, title=title, names_beside=True)


def summary_cells(results: Sequence[BoardResult]) -> pd.DataFrame:
    """Return one row per task, method and budget, the primary endpoint included: verdict and score."""
    rows = []
    for result in results:
        for entry in ranked_entries(result):
            for budget in columns_of(result):
                has_choice = isinstance(budget, str) or result.choice(entry.name, budget) is not None
                score = result.mean(entry.name, budget)[0] if has_choice else random_score(result.board.scale)
                verdict = result.verdict(entry.name, budget)
                text = f"{score:#.3g}" if has_choice else NONE
                text += OVER if factor_over(result, entry, budget) is not None else ""
                names = {
                    "task": result.board.task.name,
                    "method": noted_label(entry),
                    "budget": column_text(result, budget),
                }
                rows.append(names | {"verdict": str(verdict), "score": score, "text": text})
    return pd.DataFrame(rows)


def _summary(boards: Sequence[StoredBoard], context: Context) -> Figure:
    rows, labels = summary_cells([board.result for board in boards]), _labels(boards, context)
    caption = (
        "Every method on every task, at each budget (full transfers per client), and its mean over the budgets 2, 10, "
        "100 and 1,000. Colour and symbol are the verdict, compared with tuned “no "
        "communication”; the number is the mean score. Rows with values that are not tuned are in the tables of each "
        "task."
    )
    if rows["text"].str.endswith(OVER).any():
        caption += f" {OVER}: the mean communication on the report seeds exceeds the budget."
    return make_figure(
        "board_summary",
        "Board: which method is better than no communication, and with how much of it",
        caption,
        _matrix(rows),
        labels=labels,
        experiments=[board.experiment for board in boards],
        subject=BOARD,
        data=rows.drop(columns="text"),
    )


def _matrix(rows: pd.DataFrame) -> Matrix:
    """Return the methods below each task, a column per budget, and the primary endpoint apart from them."""
    lines: list[tuple[str, tuple[Cell, ...]]] = []
    for task, of_task in rows.groupby("task", sort=False):
        lines.append((str(task), ()))
        for name, part in of_task.groupby("method", sort=False):
            looks = [(SYMBOLS[Verdict(verdict)], COLOURS[Verdict(verdict)]) for verdict in part["verdict"]]
            pairs = zip(looks, part["text"], strict=True)
            lines.append(
                (str(name), tuple(Cell(f"{symbol} {text}".strip(), colour) for (symbol, colour), text in pairs))
            )
    legend = tuple((Cell(SYMBOLS[verdict], COLOURS[verdict]), name) for name, verdict in NAMES.items())
    columns = tuple(dict.fromkeys(rows["budget"]))
    return Matrix(columns, tuple(lines), legend, cell_width=0.76, corner=AXIS_LABEL, is_last_apart=True)
