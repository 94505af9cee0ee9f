"""The figures of the boards: differences and scores at each budget, and a summary over all tasks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure as Canvas
from matplotlib.patches import Patch, Rectangle
from matplotlib.transforms import ScaledTranslation

from benchmark.board.entries import MethodRow
from benchmark.board.result import BoardResult
from benchmark.statistics.budgets import random_score
from benchmark.statistics.comparison import NO_COMMUNICATION
from benchmark.statistics.verdicts import Verdict, equivalence_margin
from benchmark.styles import Style, distinct_styles
from reports.analysis.board import (
    NONE,
    budget_text,
    column_text,
    columns_of,
    factor_over,
    noted_label,
    ranked_entries,
)
from reports.drawing.figure import Figure, make_figure
from reports.drawing.legend import legend_columns
from reports.drawing.plotly_parts import GREY, bars, hover_lines, layout, numbers
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

LABEL_GAP, LABEL_SIZE = 0.052, 7.5
"""The least distance between two names of lines, as a share of the height; the size of their text in points."""

ROOM = 0.06
"""The free space above and below everything that is drawn, as a share of its height."""

LEADER = 12.0
"""The length of the connection between a line and its name: points in the picture, pixels in the interactive plot."""

CHARACTER = 6.3
"""The width of a character of a line's name in the interactive plot, in pixels."""

BAND = "#dde1e7"
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


def _named(entry: MethodRow, budget: float) -> dict[str, Any]:
    return {"method": entry.label, "entry": entry.name, "budget": budget_text(budget)}


def _differences(board: StoredBoard, context: Context) -> Figure:
    result, rows = board.result, difference_rows(board.result)
    alone = float(result.values(NO_COMMUNICATION, 0.0).mean())
    margin = equivalence_margin(alone, result.board.scale, result.board.protocol.comparison.margin)
    lines = {entry.label: result.line(entry.name)[0] - alone for entry in result.references}
    caption = (
        f"{result.board.task.title}. Mean paired difference in score to tuned “no communication” on "
        f"{len(result.board.seeds)} report seeds, with simultaneous {result.board.protocol.comparison.confidence:.0%} "
        f"bands over all pairs of methods and budgets; without bands if there are too few seeds. The grey band is the "
        f"margin of equivalence, ±{margin:.3g}: a method whose whole bar is inside it is equivalent to “no "
        f"communication”. {_lines_text(result)}"
    )
    ylabel = f"difference in {SCORES[result.board.scale]}"
    picture = Picture(result, rows, "difference", ylabel, _known(lines), margin)
    return _figure(board, context, "difference to no communication", caption, picture)


def _scores(board: StoredBoard, context: Context) -> Figure:
    result, rows = board.result, score_points(board.result)
    lines = {entry.label: result.line(entry.name)[0] for entry in result.references}
    caption = (
        f"{result.board.task.title}. Mean score on {len(result.board.seeds)} report seeds with 95 % Student t "
        "intervals, at each budget. A method without a configuration within a budget is scored as random choice there. "
        f"{_lines_text(result)}"
    )
    picture = Picture(result, rows, "score", SCORES[result.board.scale], _known(lines), None)
    return _figure(board, context, "scores", caption, picture)


def _lines_text(result: BoardResult) -> str:
    """Return the names and scores of the reference lines, from the highest to the lowest."""
    known = _known({entry.label: result.line(entry.name)[0] for entry in result.references})
    texts = [f"{label} {level:.3g}" for label, level in sorted(known.items(), key=lambda line: -line[1])]
    return f"Dashed: references, not ranked, with their scores: {'; '.join(texts)}." if texts else ""


def _known(levels: Mapping[str, float]) -> dict[str, float]:
    """Leave out references without a score."""
    return {label: level for label, level in levels.items() if np.isfinite(level)}


def _figure(board: StoredBoard, context: Context, what: str, caption: str, picture: "Picture") -> Figure:
    result, labels = board.result, _labels([board], context)
    return make_figure(
        f"{board.experiment}_{picture.value}s",
        f"Board {result.board.task.name}: {what}",
        caption,
        lambda: _draw(picture, labels),
        _plot(picture),
        short_caption=f"{picture.seeds_text}. {_lines_text(result)}",
        on_page={"phone": []},  # no space for names beside the plot; the caption has them
        labels=labels,
        experiments=[board.experiment],
        subject=BOARD,
        data=picture.rows,
    )


@dataclass(frozen=True)
class Picture:
    """What a picture of a board shows: a column of `rows` at each budget, reference lines, and a margin around 0."""

    result: BoardResult
    rows: pd.DataFrame
    value: str
    ylabel: str
    lines: Mapping[str, float]
    margin: float | None

    @property
    def named(self) -> dict[str, float]:
        """The levels that have a name beside the plot: the reference lines and, for differences, 0."""
        return {**self.lines, **({} if self.margin is None else {ALONE: 0.0})}

    @property
    def range(self) -> tuple[float, float]:
        """The ends of the vertical axis: bars, lines and the margin are inside, none of them on the axis."""
        margin = [] if self.margin is None else [-self.margin, self.margin]
        columns = self.rows[[self.value, "low", "high"]].to_numpy().ravel()
        values = np.array([*columns, *self.lines.values(), *margin], dtype=float)
        low, high = np.nanmin(values), np.nanmax(values)
        room = ROOM * (high - low or 1.0)
        return float(low - room), float(high + room)

    def names(self) -> dict[str, float]:
        """Return the heights of the names beside the plot, near their lines and apart from one another."""
        bottom, top = self.range
        return spread_out(self.named, LABEL_GAP * (top - bottom), bottom, top)

    @property
    def band_text(self) -> str:
        """What the grey band is."""
        return f"equivalent to no communication (±{self.margin:.3g})"

    @property
    def seeds_text(self) -> str:
        """The number of seeds, and what the bars are."""
        comparison, seeds = self.result.board.protocol.comparison, len(self.result.board.seeds)
        if self.rows["low"].isna().all():
            return f"{seeds} report seeds"
        level = 0.95 if self.margin is None else comparison.confidence
        kind = "intervals" if self.margin is None else "bands, simultaneous over pairs and budgets"
        return f"{seeds} report seeds; bars: {level * 100:g} % {kind}"


def spread_out(levels: Mapping[str, float], gap: float, bottom: float, top: float) -> dict[str, float]:
    """Return a height for each name, at its level or as near as possible: at least `gap` apart, inside the range."""
    names = sorted(levels, key=lambda name: levels[name])
    groups: list[tuple[list[str], float]] = []  # names that touch each other, and the height of the lowest
    for name in names:
        members, start = [name], _inside(levels[name], 0, gap, bottom, top)
        while groups and start < groups[-1][1] + gap * len(groups[-1][0]):
            members = groups.pop()[0] + members
            wanted = float(np.mean([levels[each] - gap * number for number, each in enumerate(members)]))
            start = _inside(wanted, len(members) - 1, gap, bottom, top)
        groups.append((members, start))
    return {name: start + gap * number for members, start in groups for number, name in enumerate(members)}


def _inside(start: float, others: int, gap: float, bottom: float, top: float) -> float:
    """Return a height for the lowest of some names, so that all of them are inside the range."""
    return max(min(start, top - gap * (others + 0.5)), bottom + gap / 2)


def _draw(picture: Picture, labels: Sequence[str]) -> Canvas:
    canvas, (axes,) = panels(1, labels, height=4.4)
    rows, value = picture.rows, picture.value
    budgets = [budget_text(budget) for budget in picture.result.budgets]
    styles = _styles(picture.result)
    shifts = np.linspace(-0.15, 0.15, len(styles)) if len(styles) > 1 else [0.0]
    for shift, (entry, part) in zip(shifts, rows.groupby("entry", sort=False), strict=False):
        style = styles[str(entry)]
        x = np.array([budgets.index(budget) for budget in part["budget"]]) + shift
        halves = np.nan_to_num(np.abs([part[value] - part["low"], part["high"] - part[value]]))
        axes.errorbar(x, part[value], halves, fmt="none", ecolor=style.colour, elinewidth=1.2, capsize=3)
        label = part["method"].iloc[0]
        axes.plot(x, part[value], marker=style.marker, color=style.colour, linewidth=1, label=label)
    axes.set_ylim(*picture.range)
    if picture.margin is not None:
        axes.axhspan(-picture.margin, picture.margin, color=BAND, zorder=0, label=picture.band_text)
        axes.axhline(0, color=FAINT, linewidth=0.8)
    for number, level in enumerate(picture.lines.values()):
        label = REFERENCES if number == 0 else None
        axes.axhline(level, color=FAINT, linewidth=0.9, linestyle="--", label=label)
    _write_names(axes, picture)
    axes.set_xticks(range(len(budgets)), budgets)
    axes.set(xlabel=AXIS_LABEL, ylabel=picture.ylabel)
    axes.set_title(picture.seeds_text, fontsize=LABEL_SIZE, color=FAINT, loc="right")
    axes.grid(axis="x", visible=False)
    handles, names = axes.get_legend_handles_labels()
    canvas.legend(handles, names, loc="outside lower center", ncols=legend_columns(names))
    return canvas


def _write_names(axes: Any, picture: Picture) -> None:
    """Write the names of the lines into the right margin, where no curve is, each connected to its line."""
    at = axes.get_yaxis_transform()  # from the left to the right of the plot, and values
    beside = at + ScaledTranslation(LEADER / 72, 0, axes.figure.dpi_scale_trans)
    leader = {"arrowstyle": "-", "color": FAINT, "linewidth": 0.5, "shrinkA": 0, "shrinkB": 0, "relpos": (0, 0.5)}
    for name, height in picture.names().items():
        axes.annotate(
            name,
            (1, picture.named[name]),
            (1, height),
            xycoords=at,
            textcoords=beside,
            ha="left",
            va="center",
            fontsize=LABEL_SIZE,
            color=FAINT,
            arrowprops=leader,
            annotation_clip=False,
            gid="line-name",
        )


def _plot(picture: Picture) -> Mapping[str, Any]:
    result, rows, value = picture.result, picture.rows, picture.value
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
    for number, (label, level) in enumerate(picture.lines.items()):
        line = {"x": budgets, "y": [level] * len(budgets), "line": {"color": GREY, "width": 1, "dash": "dash"}}
        group = {"name": REFERENCES, "legendgroup": REFERENCES, "showlegend": number == 0}
        hover = {"customdata": [[label, cell_text(level)]] * len(budgets), "hovertemplate": hover_lines(2)}
        traces.append({"type": "scatter", "mode": "lines", **group, **line, **hover})
    horizontal = {"type": "category", "categoryorder": "array", "categoryarray": budgets, "title": {"text": AXIS_LABEL}}
    vertical = {"title": {"text": picture.ylabel}, "range": list(picture.range)}
    options: dict[str, Any] = {"annotations": _notes(picture), "shapes": _band(picture)}
    longest = max(map(len, picture.named), default=0)
    whole = layout(horizontal, vertical, **options)
    whole["margin"] = {**whole["margin"], "r": round(longest * CHARACTER + LEADER + 8)}
    return {"data": traces, "layout": whole}


def _notes(picture: Picture) -> list[dict[str, Any]]:
    """Return the names of the lines, in the right margin, each connected to its line."""
    at = {"xref": "paper", "x": 1, "yref": "y", "ax": LEADER, "ayref": "y", "xanchor": "left"}
    look = {"showarrow": True, "arrowhead": 0, "arrowwidth": 0.7, "font": {"size": 11, "color": GREY}}
    return [
        {**at, **look, "text": name, "y": picture.named[name], "ay": height} for name, height in picture.names().items()
    ]


def _band(picture: Picture) -> list[dict[str, Any]]:
    """Return the margin of equivalence as a band, with an entry in the legend."""
    if picture.margin is None:
        return []
    area = {"type": "rect", "xref": "paper", "x0": 0, "x1": 1, "y0": -picture.margin, "y1": picture.margin}
    look = {"line": {"width": 0}, "layer": "below", "fillcolor": "rgba(128,128,128,0.25)"}
    return [{**area, **look, "showlegend": True, "name": picture.band_text}]


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
    columns = {budget: number + GAP * (budget == budgets[-1]) for number, budget in enumerate(budgets)}
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
                text = f"{SYMBOLS[Verdict(str(row.verdict))]} {row.text}".strip()
                axes.text(x + 0.5, number + 0.5, text, ha="center", va="center", fontsize=8, color=INK)
        line += len(methods) + 1
    right = max(columns.values()) + 1
    axes.set(xlim=(-2.4, right), ylim=(height, 0), xlabel=AXIS_LABEL)
    names = [budget.replace("mean of ", "mean of\n") for budget in budgets]
    axes.set_xticks([x + 0.5 for x in columns.values()], names, fontsize=8.5)
    axes.xaxis.set_ticks_position("top")
    axes.xaxis.set_label_position("top")
    axes.set_yticks([])
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.grid(visible=False)
    handles = [Patch(facecolor=COLOURS[verdict], label=f"{SYMBOLS[verdict]} {name}") for name, verdict in NAMES.items()]
    canvas.legend(handles=handles, loc="outside lower center", ncols=4)
    return canvas
