"""The figures of the boards with few methods: differences and scores at each budget."""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from benchmark.board.result import BoardResult
from benchmark.charts.chart import GREY, Axis, Cell, Level, Panel, Series, drawn_values, numbers, span
from benchmark.statistics.comparison import NO_COMMUNICATION
from benchmark.statistics.verdicts import Verdict, equivalence_margin
from benchmark.styles import distinct_styles
from reports.analysis.board import (
    budget_text,
)
from reports.read.boards import StoredBoard
from reports.read.results import Results
from reports.subjects import BOARD
from reports.write.figure import Figure, make_figure
from reports.write.table import cell_text, mean_text

ORDER = 5
LOOKS = {
    Verdict.BETTER: Cell("▲", "#7fb8e0"),
    Verdict.EQUIVALENT: Cell("=", "#d9dce1"),
    Verdict.IDENTICAL: Cell("=", "#d9dce1"),
    Verdict.UNDECIDED: Cell("?", "#fbf3c4"),
    Verdict.WORSE: Cell("▼", "#f0a875"),
    Verdict.NONE: Cell("", "#ffffff"),
}
"""Blue and orange can be told apart by colour-blind readers; the cells also have symbols."""

REFERENCES = "references, not ranked"
ALONE = "No communication"
OVER = "!"
"""Behind the score of a method that exceeds its budget on the report seeds."""

MAX_METHODS = 8
"""Lines of more methods cannot be told apart."""

AXIS_LABEL = "budget (needed full messages per decision)"
SCORES = {"reward": "normalised reward", "regret": "1 − regret / random's regret"}


def figures(results: Results) -> list[Figure]:
    """Return two figures per board with few methods; `ranking` has one of any number."""
    boards = [board for board in results.boards if board.result.scores is not None]
    few = [board for board in boards if len(board.result.contenders) <= MAX_METHODS]
    return [figure for board in few for figure in (_differences(board, results), _scores(board, results))]


def labels_of(boards: Sequence[StoredBoard], results: Results) -> tuple[str, ...]:
    """Return the labels of the data of boards, and their warnings."""
    pairs = {(board.result.board.task.stream.name, board.result.board.source) for board in boards}
    labels = [label.of(name) for name, source in sorted(pairs) if (label := results.label(name, source))]
    return (*labels, *dict.fromkeys(warning for board in boards for warning in board.warning))


def difference_rows(result: BoardResult) -> pd.DataFrame:
    """Return the paired differences to tuned "no communication" at each budget, with simultaneous bands."""
    rows = []
    for entry, budget in itertools.product(result.contenders, result.budgets):
        row = result.difference(entry.name, NO_COMMUNICATION, budget)
        if row is not None:
            values = [float(row[name]) for name in ("difference", "low", "high")]
            rows.append([entry.label, entry.name, budget_text(budget), *values, str(row["verdict"])])
    return pd.DataFrame(rows, columns=["method", "entry", "budget", "difference", "low", "high", "verdict"])


def score_points(result: BoardResult) -> pd.DataFrame:
    """Return the mean scores at each budget, with intervals over seeds."""
    rows = [
        [entry.label, entry.name, budget_text(budget), *result.mean(entry.name, budget)]
        for entry, budget in itertools.product(result.contenders, result.budgets)
    ]
    return pd.DataFrame(rows, columns=["method", "entry", "budget", "score", "low", "high"])


def _differences(board: StoredBoard, results: Results) -> Figure:
    result, rows = board.result, difference_rows(board.result)
    alone = float(result.values(NO_COMMUNICATION, 0.0).mean())
    margin = equivalence_margin(alone, result.board.scale, result.board.protocol.comparison.margin)
    confidence = result.board.protocol.comparison.confidence
    caption = (
        f"{result.board.task.title}. Mean paired difference in score to tuned “no communication” on "
        f"{len(result.board.seeds)} report seeds, with simultaneous {confidence:.0%} "
        f"bands over all comparisons of the task; without bands if there are too few seeds. The grey band is the "
        f"margin of equivalence, ±{margin:.3g}: a method whose whole bar is inside it is equivalent to “no "
        f"communication”. {_lines_text(result)}"
    )
    text = f"equivalent to no communication (±{margin:.3g})"
    zero = Level(0.0, GREY, text, ALONE, line="-", band=(-margin, margin), width=0.8)
    bars = f"{confidence * 100:g} % bands, simultaneous over all comparisons"
    ylabel = f"difference in {SCORES[result.board.scale]}"
    panel = _panel(result, rows, "difference", ylabel, bars, [zero, *_references(result, alone)])
    return _figure(board, results, "differences", "difference to no communication", caption, panel, rows)


def _scores(board: StoredBoard, results: Results) -> Figure:
    result, rows = board.result, score_points(board.result)
    caption = (
        f"{result.board.task.title}. Mean score on {len(result.board.seeds)} report seeds with 95 % Student t "
        "intervals, at each budget. A method without a configuration within a budget is scored as tuned “no "
        "communication” there. "
        f"{_lines_text(result)}"
    )
    panel = _panel(result, rows, "score", SCORES[result.board.scale], "95 % intervals", _references(result, 0.0))
    return _figure(board, results, "scores", "scores", caption, panel, rows)


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
    board: StoredBoard, results: Results, suffix: str, subject: str, caption: str, panel: Panel, rows: pd.DataFrame
) -> Figure:
    return make_figure(
        f"{board.experiment}_{suffix}",
        f"Board {board.result.board.task.name}: {subject}",
        caption,
        [panel],
        short_caption=f"{panel.title}. {_lines_text(board.result)}",
        labels=labels_of([board], results),
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
        means = [mean_text(*mean) for mean in zip(part[value], part["low"], part["high"], strict=True)]
        lines = [[name] * len(part), [f"budget {budget}" for budget in part["budget"]], means]
        lines += [list(part["verdict"])] if "verdict" in part else []
        x = numbers([budgets.index(budget) + shift for budget in part["budget"]])
        look: dict[str, Any] = {"size": 9.5 if style.marker == "*" else 6.5, "width": 1.0}
        look |= {"y_interval": (numbers(part["low"]), numbers(part["high"])), "hover": tuple(zip(*lines, strict=True))}
        series.append(Series(x, numbers(part[value]), style.colour, name, style.marker, "-", **look))
    items: tuple[Series | Level, ...] = (*series, *levels)
    horizontal = Axis(AXIS_LABEL, (-0.4, len(budgets) - 0.6), ticks=tuple(enumerate(budgets)), has_grid=False)
    seeds = f"{len(result.board.seeds)} report seeds"
    title = seeds if rows["low"].isna().all() else f"{seeds}; bars: {bars}"
    vertical = Axis(ylabel, span(drawn_values(items)))
    return Panel(horizontal, vertical, items, title=title, names_beside=True)
