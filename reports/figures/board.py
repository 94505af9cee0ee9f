"""The figures of the boards: differences and scores at each budget, and a summary over all tasks."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure as Canvas
from matplotlib.patches import Patch, Rectangle

from benchmark.board.entries import Entry
from benchmark.board.result import BoardResult
from benchmark.statistics.budgets import random_score
from benchmark.statistics.comparison import NO_COMMUNICATION, PRIMARY
from benchmark.statistics.verdicts import Verdict, equivalence_margin
from benchmark.styles import Style, distinct_styles
from reports.analysis.board import NONE, budget_text, columns_of, noted_label, ranked_entries
from reports.drawing.figure import Figure, make_figure
from reports.drawing.legend import legend_columns
from reports.drawing.plotly_parts import GREY, bars, hover_lines, layout, numbers
from reports.drawing.reference_lines import REFERENCES
from reports.drawing.style import FAINT, INK, panels
from reports.read.boards import StoredBoard, by_protocol
from reports.read.context import Context
from reports.read.results import Results
from reports.subjects import BOARD
from reports.write.table import cell_text, interval_text

ORDER = 5
COLOURS = {
    Verdict.BETTER: "#7fb8e0",
    Verdict.WORSE: "#f0a875",
    Verdict.EQUIVALENT: "#d9dce1",
    Verdict.IDENTICAL: "#d9dce1",
    Verdict.UNDECIDED: "#fbf3c4",
    Verdict.NONE: "#ffffff",
}
"""Blue and orange can be told apart by colour-blind readers; the cells also have texts."""

NAMES = {
    "better": Verdict.BETTER,
    "equivalent or identical": Verdict.EQUIVALENT,
    "undecided": Verdict.UNDECIDED,
    "worse": Verdict.WORSE,
}
COLUMNS = (0.99, 0.76, 0.53, 0.3)
LABEL_GAP = 0.05
"""Names of lines that are nearer, as a share of the height, are written side by side."""

AXIS_LABEL = "budget (full transfers per client)"
GAP = 0.25
"""Between the budgets and the primary endpoint in the summary, in columns."""

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


def _styles(result: BoardResult) -> dict[str, Style]:
    return distinct_styles((entry.name, entry.style) for entry in result.contenders)


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


def _named(entry: Entry, budget: float) -> dict[str, Any]:
    return {"method": entry.label, "entry": entry.name, "budget": budget_text(budget)}


def _differences(board: StoredBoard, context: Context) -> Figure:
    result, rows = board.result, difference_rows(board.result)
    alone = float(result.values(NO_COMMUNICATION, 0.0).mean())
    margin = equivalence_margin(alone, result.board.scale, result.board.protocol.comparison.margin)
    lines = {entry.label: result.line(entry.name)[0] - alone for entry in result.references}
    caption = (
        f"{result.board.task.title}. Mean paired difference in score to tuned “no communication” on "
        f"{len(result.board.seeds)} report seeds, with simultaneous {result.board.protocol.comparison.confidence:.0%} "
        f"bands over all pairs of methods and budgets; without bands if there are too few seeds. Grey: the margin of "
        f"equivalence, ±{margin:.3g}. Dashed: reference lines, which are not ranked."
    )
    ylabel = f"difference in {SCORES[result.board.scale]}"
    return _figure(board, context, "difference to no communication", caption, rows, "difference", ylabel, lines, margin)


def _scores(board: StoredBoard, context: Context) -> Figure:
    result, rows = board.result, score_points(board.result)
    lines = {entry.label: result.line(entry.name)[0] for entry in result.references}
    caption = (
        f"{result.board.task.title}. Mean score on {len(result.board.seeds)} report seeds with 95 % Student t "
        "intervals, at each budget. A method without a configuration within a budget is scored as random choice there. "
        "Dashed: reference lines, which are not ranked."
    )
    return _figure(board, context, "scores", caption, rows, "score", SCORES[result.board.scale], lines, None)


def _figure(
    board: StoredBoard,
    context: Context,
    what: str,
    caption: str,
    rows: pd.DataFrame,
    value: str,
    ylabel: str,
    lines: Mapping[str, float],
    margin: float | None,
) -> Figure:
    result, labels = board.result, _labels([board], context)
    known = {label: level for label, level in lines.items() if np.isfinite(level)}
    return make_figure(
        f"{board.experiment}_{'scores' if value == 'score' else 'differences'}",
        f"Board {result.board.task.name}: {what}",
        caption,
        lambda: _draw(result, rows, value, ylabel, known, margin, labels),
        _plot(result, rows, value, ylabel, known, margin),
        short_caption=f"{len(result.board.seeds)} report seeds.",
        labels=labels,
        experiments=[board.experiment],
        subject=BOARD,
        data=rows,
    )


def _draw(
    result: BoardResult,
    rows: pd.DataFrame,
    value: str,
    ylabel: str,
    lines: Mapping[str, float],
    margin: float | None,
    labels: Sequence[str],
) -> Canvas:
    canvas, (axes,) = panels(1, labels, height=4.2)
    budgets = [budget_text(budget) for budget in result.budgets]
    if margin is not None:
        axes.axhspan(-margin, margin, color="#eef0f3", zorder=0)
        axes.axhline(0, color=FAINT, linewidth=0.8)
    styles = _styles(result)
    shifts = np.linspace(-0.15, 0.15, len(styles)) if len(styles) > 1 else [0.0]
    for shift, (entry, part) in zip(shifts, rows.groupby("entry", sort=False), strict=False):
        style = styles[str(entry)]
        x = np.array([budgets.index(budget) for budget in part["budget"]]) + shift
        halves = np.nan_to_num(np.abs([part[value] - part["low"], part["high"] - part[value]]))
        axes.errorbar(x, part[value], halves, fmt="none", ecolor=style.colour, elinewidth=1.2, capsize=3)
        label = part["method"].iloc[0]
        axes.plot(x, part[value], marker=style.marker, color=style.colour, linewidth=1, label=label)
    bottom, top = axes.get_ylim()
    bottom, top = min([bottom, *lines.values()]), max([top, *lines.values()])
    axes.set_ylim(bottom, top + 0.06 * (top - bottom))
    shares = label_shares(lines, top - bottom)
    for label, level in lines.items():
        axes.axhline(level, color=FAINT, linewidth=0.9, linestyle="--")
        place = {"xycoords": ("axes fraction", "data"), "ha": "right", "va": "bottom"}
        axes.annotate(label, (shares[label], level), fontsize=7.5, color=FAINT, **place)
    axes.set_xticks(range(len(budgets)), budgets)
    axes.set(xlabel=AXIS_LABEL, ylabel=ylabel)
    axes.grid(axis="x", visible=False)
    handles, names = axes.get_legend_handles_labels()
    canvas.legend(handles, names, loc="outside lower center", ncols=legend_columns(names))
    return canvas


def label_shares(lines: Mapping[str, float], height: float) -> dict[str, float]:
    """Return the right ends of the names of lines, as shares of the width: side by side where they are near."""
    shares: dict[str, float] = {}
    for label, level in sorted(lines.items(), key=lambda line: line[1]):
        near = {share for other, share in shares.items() if abs(lines[other] - level) < LABEL_GAP * height}
        shares[label] = next((share for share in COLUMNS if share not in near), COLUMNS[0])
    return shares


def _plot(
    result: BoardResult,
    rows: pd.DataFrame,
    value: str,
    ylabel: str,
    lines: Mapping[str, float],
    margin: float | None,
) -> Mapping[str, Any]:
    budgets, styles = [budget_text(budget) for budget in result.budgets], _styles(result)
    traces: list[dict[str, Any]] = []
    for entry, part in rows.groupby("entry", sort=False):
        style = styles[str(entry)]
        texts = [_value_text(*each) for each in zip(part[value], part["low"], part["high"], strict=True)]
        verdicts = list(part["verdict"]) if "verdict" in part else [""] * len(part)
        names = zip(part["method"], part["budget"], texts, verdicts, strict=True)
        traces.append(
            {
                "type": "scatter",
                "mode": "lines+markers",
                "name": str(part["method"].iloc[0]),
                "x": list(part["budget"]),
                "y": numbers(part[value]),
                "marker": {"color": style.colour, "symbol": style.symbol, "size": 9},
                "line": {"color": style.colour, "width": 1.2},
                "error_y": bars(part["high"] - part[value], style.colour, part[value] - part["low"]),
                "customdata": [[name, f"budget {budget}", text, verdict] for name, budget, text, verdict in names],
                "hovertemplate": hover_lines(4),
            }
        )
    for number, (label, level) in enumerate(lines.items()):
        line = {"x": budgets, "y": [level] * len(budgets), "line": {"color": GREY, "width": 1, "dash": "dash"}}
        group = {"name": REFERENCES, "legendgroup": REFERENCES, "showlegend": number == 0}
        hover = {"customdata": [[label, cell_text(level)]] * len(budgets), "hovertemplate": hover_lines(2)}
        traces.append({"type": "scatter", "mode": "lines", **group, **line, **hover})
    horizontal = {"type": "category", "categoryorder": "array", "categoryarray": budgets, "title": {"text": AXIS_LABEL}}
    values = [*lines.values(), *rows[value].dropna()]
    shares = label_shares(lines, max(values, default=1.0) - min(values, default=0.0) or 1.0)
    notes = [
        {
            "text": label,
            "x": shares[label],
            "xref": "paper",
            "xanchor": "right",
            "y": level,
            "yanchor": "bottom",
            "showarrow": False,
            "font": {"size": 11, "color": GREY},
        }
        for label, level in lines.items()
    ]
    band = {"type": "rect", "xref": "paper", "x0": 0, "x1": 1, "line": {"width": 0}, "layer": "below"}
    band |= {"fillcolor": "rgba(128,128,128,0.16)"}
    shapes = [] if margin is None else [{**band, "y0": -margin, "y1": margin}]
    options = {"annotations": notes, "shapes": shapes}
    return {"data": traces, "layout": layout(horizontal, {"title": {"text": ylabel}}, **options)}


def _value_text(mean: float, low: float, high: float) -> str:
    return cell_text(mean) if np.isnan(low) else interval_text(mean, low, high)


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
                names = {"task": result.board.task.name, "method": noted_label(entry), "budget": budget_text(budget)}
                rows.append(names | {"verdict": str(verdict), "score": score, "text": text})
    return pd.DataFrame(rows)


def _summary(boards: Sequence[StoredBoard], context: Context) -> Figure:
    rows, labels = summary_cells([board.result for board in boards]), _labels(boards, context)
    caption = (
        "Every method on every task, at each budget (full transfers per client) and at the primary endpoint, the mean "
        "over the budgets 2, 10, 100 and 1,000. The colour is the verdict, compared with tuned “no communication”; the "
        "number is the mean score. Rows with values that are not tuned are in the tables of each task."
    )
    return make_figure(
        "board_summary",
        "Board: which method is better than no communication, and with how much of it",
        caption,
        lambda: _draw_summary(rows, labels),
        None,
        labels=labels,
        experiments=[board.experiment for board in boards],
        subject=BOARD,
        data=rows.drop(columns="text"),
    )


def _draw_summary(rows: pd.DataFrame, labels: Sequence[str]) -> Canvas:
    """Draw the methods below each task, a column per budget, and the primary endpoint apart from them."""
    budgets = list(dict.fromkeys(rows["budget"]))
    columns = {budget: number + GAP * (budget == PRIMARY) for number, budget in enumerate(budgets)}
    tasks = {task: list(dict.fromkeys(part["method"])) for task, part in rows.groupby("task", sort=False)}
    height = sum(len(methods) + 1 for methods in tasks.values())
    canvas, (axes,) = panels(1, labels, height=1.4 + 0.26 * height)
    line = 0
    for task, methods in tasks.items():
        axes.text(-0.08, line + 0.55, task, ha="right", va="center", fontsize=9, color=INK, fontweight="bold")
        for number, name in enumerate(methods, start=line + 1):
            axes.text(-0.08, number + 0.5, name, ha="right", va="center", fontsize=8.5, color=INK)
            for row in rows[(rows["task"] == task) & (rows["method"] == name)].itertuples(index=False):
                x, colour = columns[str(row.budget)], COLOURS[Verdict(str(row.verdict))]
                axes.add_patch(Rectangle((x, number), 1, 1, facecolor=colour, edgecolor="white", linewidth=1.5))
                axes.text(x + 0.5, number + 0.5, str(row.text), ha="center", va="center", fontsize=8, color=INK)
        line += len(methods) + 1
    right = max(columns.values()) + 1
    axes.set(xlim=(-2.4, right), ylim=(height, 0), xlabel=AXIS_LABEL)
    names = ["mean of\n2 to 1,000" if budget == PRIMARY else budget for budget in budgets]
    axes.set_xticks([x + 0.5 for x in columns.values()], names, fontsize=8.5)
    axes.xaxis.set_ticks_position("top")
    axes.xaxis.set_label_position("top")
    axes.set_yticks([])
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.grid(visible=False)
    handles = [Patch(facecolor=COLOURS[verdict], label=name) for name, verdict in NAMES.items()]
    canvas.legend(handles=handles, loc="outside lower center", ncols=4)
    return canvas
