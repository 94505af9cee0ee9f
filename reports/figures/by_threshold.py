"""The study of low communication: reward and communication against the threshold, with a band for no communication."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from benchmark.metrics import metric
from benchmark.results.frames import over_seeds, threshold_text
from benchmark.statistics.intervals import MIN_SEEDS_FOR_INTERVAL
from reports.drawing.figure import Figure, make_figure
from reports.drawing.front import Stated, seeds_note
from reports.drawing.labels import algorithm_label, dataset_label
from reports.drawing.legend import legend_columns
from reports.drawing.plotly_parts import AXIS, GREY, hover_lines, layout, numbers, panel_trace, seeds_line
from reports.drawing.style import CONTRASTS, FAINT, INK, panels, thousands
from reports.figures.fronts import seeds_sentence, stated_points
from reports.paper import paper
from reports.read.context import Context
from reports.read.methods import method
from reports.read.results import Results
from reports.subjects import FIGURES
from reports.write.table import cell_text

ORDER = 15
METRICS = ("normalised_reward", "communication")
STATED = "stated in the paper"
ALONE_ALPHA, ALONE_OPACITY, ALONE_DASHES = 0.18, 0.3, (0, (4, 2))
"""The band and the line of runs without communication; Plotly's bands need to be stronger."""

MARKERS = (("o", "circle"), ("s", "square"), ("^", "triangle-up"), ("D", "diamond"))


def figures(results: Results, context: Context) -> list[Figure]:
    """Return a picture for each experiment that paper.toml declares, with a line for each of its streams."""
    all_figures = []
    for experiment in paper()["by_threshold"]["experiments"]:
        runs = results.runs[(results.runs["experiment"] == experiment) & (results.runs["variant"] == "")]
        runs = runs[runs["threshold"].notna()]
        for name, part in runs.groupby("algorithm"):
            title = f"{results.about(experiment).title}: {algorithm_label(str(name))}"
            rows, labels = over_seeds(part, METRICS), context.labels(part)
            all_figures.append(_figure(experiment, title, str(name), rows, labels))
    return all_figures


def _figure(experiment: str, title: str, algorithm: str, rows: pd.DataFrame, labels: Sequence[str]) -> Figure:
    symbol = method(algorithm).symbol
    caption = (
        f"Normalised reward and communication of {algorithm_label(algorithm)} against {symbol}. A dashed line with a "
        f"band is the mean without communication ({symbol}=∞) and its interval, in the colour of its data. Hollow "
        f"diamonds are numbers that the paper states. " + seeds_sentence(rows["seeds"])
    )
    return make_figure(
        experiment,
        title,
        caption,
        lambda: _draw(rows, symbol, labels),
        _plot(rows, symbol),
        labels=labels,
        experiments=[experiment],
        subject=FIGURES,
        data=rows,
    )


def _series(rows: pd.DataFrame) -> list[tuple[str, str, tuple[str, str], pd.DataFrame, pd.DataFrame]]:
    """Return name, colour, marks, settings that communicate and those that do not, for each stream."""
    series = []
    for number, (stream, part) in enumerate(rows.groupby("stream", sort=False)):
        look = (CONTRASTS[1 + number % (len(CONTRASTS) - 1)], MARKERS[number % len(MARKERS)])
        is_finite = np.isfinite(part["threshold"])
        finite = part[is_finite].sort_values("threshold")
        series.append((str(stream), *look, finite, part[~is_finite]))
    return series


def _stated(rows: pd.DataFrame, stream: str) -> list[tuple[float, Stated]]:
    points = stated_points(str(rows["experiment"].iloc[0]), stream, METRICS[0])
    by_text = {f"={threshold_text(value)}": value for value in rows["threshold"]}
    return [(by_text[end], point) for point in points if (end := "=" + point.text.rpartition("=")[2]) in by_text]


def _draw(rows: pd.DataFrame, symbol: str, labels: Sequence[str]) -> Canvas:
    canvas, all_axes = panels(2, labels, height=4.6)
    for axes, name in zip(all_axes, METRICS, strict=True):
        shown = metric(name)
        for stream, colour, (marker, _), finite, alone in _series(rows):
            has_bars = finite["seeds"] >= MIN_SEEDS_FOR_INTERVAL
            halves = (finite[f"{name}_high"] - finite[name]).where(has_bars)
            axes.errorbar(finite["threshold"], finite[name], halves, color=colour, lw=1, capsize=2, alpha=0.8)
            label = dataset_label(stream)
            axes.scatter(finite["threshold"], finite[name], s=30, marker=marker, color=colour, label=label)
            _draw_dots(axes, finite[~has_bars], name, colour)
            for _, row in alone.iterrows() if name == METRICS[0] else ():
                axes.axhline(row[name], color=colour, linewidth=1, linestyle=ALONE_DASHES)
                if row["seeds"] >= MIN_SEEDS_FOR_INTERVAL:
                    axes.axhspan(row[f"{name}_low"], row[f"{name}_high"], color=colour, alpha=ALONE_ALPHA, linewidth=0)
            for threshold, point in _stated(rows, stream):
                height = point.y if name == METRICS[0] else point.x
                axes.scatter([threshold], [height], s=70, marker="D", facecolors="none", edgecolors=INK, zorder=5)
        axes.set_xscale("log")
        axes.set(xlabel=f"threshold {symbol}, log scale", ylabel=shown.axis_label())
        thousands(axes.yaxis)
    handles, names = all_axes[0].get_legend_handles_labels()
    further = _further_handles(rows, symbol)
    names = [*names, *further]
    canvas.legend([*handles, *further.values()], names, loc="outside lower center", ncols=legend_columns(names))
    all_axes[1].set_title(seeds_note(rows["seeds"]), fontsize=8, color=FAINT, loc="right")
    return canvas


def _further_handles(rows: pd.DataFrame, symbol: str) -> dict[str, Any]:
    """Return the entries of the legend that are not streams: no communication, and the numbers of the paper."""
    handles: dict[str, Any] = {}
    if not np.isfinite(rows["threshold"]).all():
        area = Patch(facecolor=FAINT, alpha=ALONE_ALPHA, linewidth=0)
        handles[_alone_name(symbol)] = (area, Line2D([], [], color=FAINT, linewidth=1, linestyle=ALONE_DASHES))
    if any(_stated(rows, str(stream)) for stream in rows["stream"].unique()):
        look: dict[str, Any] = {"marker": "D", "markerfacecolor": "none", "markeredgecolor": INK, "linestyle": "none"}
        handles[STATED] = Line2D([], [], markersize=8, **look)
    return handles


def _alone_name(symbol: str) -> str:
    return f"{symbol}=∞, no communication: mean and interval, in the colour of the data"


def _draw_dots(axes: Any, rows: pd.DataFrame, name: str, colour: str) -> None:
    for threshold, values in zip(rows["threshold"], rows[f"{name}_seeds"], strict=True):
        axes.scatter([threshold] * len(values), values, s=7, color=colour, alpha=0.6, linewidths=0)


def _plot(rows: pd.DataFrame, symbol: str) -> Mapping[str, Any]:
    traces = []
    for panel, name in enumerate(METRICS):
        for stream, colour, (_, mark), finite, alone in _series(rows):
            hover = [[dataset_label(stream), *_values(row, name, symbol)] for _, row in finite.iterrows()]
            trace = panel_trace(panel, dataset_label(stream), numbers(finite["threshold"]), finite, name, colour, mark)
            traces.append({**trace, "customdata": hover, "hovertemplate": hover_lines(4)})
            if panel == 0:
                traces += _alone_traces(alone, stream, finite["threshold"], symbol, colour)
            traces += _stated_traces(_stated(rows, stream), panel)
    left, right = {"domain": [0, 0.43]}, {"domain": [0.57, 1], "anchor": "y2"}
    powers = {"tickformat": "", "exponentformat": "power", "dtick": 4}
    title = {"title": {"text": f"threshold {symbol}"}, "type": "log", **powers}
    return {
        "data": _once_in_legend(traces),
        "layout": layout(
            {**title, **left},
            {"title": {"text": metric(METRICS[0]).label}},
            xaxis2={**AXIS, **title, **right},
            yaxis2={**AXIS, "title": {"text": metric(METRICS[1]).label}, "anchor": "x2"},
        ),
    }


def _alone_traces(
    rows: pd.DataFrame, stream: str, thresholds: "pd.Series[float]", symbol: str, colour: str
) -> list[dict[str, Any]]:
    """Return the runs without communication: a dashed line, and a band for its interval."""
    traces: list[dict[str, Any]] = []
    name = METRICS[0]
    group = _alone_name(symbol)
    for _, row in rows.iterrows() if len(thresholds) else ():
        ends = [float(thresholds.min()), float(thresholds.max())]
        line = {"type": "scatter", "mode": "lines", "x": ends, "legendgroup": group, "name": group}
        hover = [dataset_label(stream), *_values(row, name, symbol)]
        look = {"color": colour, "width": 1.3, "dash": "dash"}
        shown = {"y": [row[name]] * 2, "line": look, "customdata": [hover] * 2, "hovertemplate": hover_lines(4)}
        traces.append({**line, **shown})
        if row["seeds"] >= MIN_SEEDS_FOR_INTERVAL:
            low, high = row[f"{name}_low"], row[f"{name}_high"]
            area = {
                "x": [*ends, *reversed(ends)],
                "y": [low, low, high, high],
                "fill": "toself",
                "opacity": ALONE_OPACITY,
            }
            hidden = {"line": {"width": 0, "color": colour}, "hoverinfo": "skip", "showlegend": False}
            traces.append({**line, **area, **hidden, "fillcolor": colour})
    return traces


def _stated_traces(points: list[tuple[float, Stated]], panel: int) -> list[dict[str, Any]]:
    """Return the numbers that the paper states, as hollow diamonds."""
    if not points:
        return []
    heights = [point.y if panel == 0 else point.x for _, point in points]
    return [
        {
            "type": "scatter",
            "mode": "markers",
            "name": STATED,
            "legendgroup": STATED,
            "x": [threshold for threshold, _ in points],
            "y": heights,
            "xaxis": "x" if panel == 0 else "x2",
            "yaxis": "y" if panel == 0 else "y2",
            "marker": {"symbol": "diamond-open", "size": 12, "color": GREY, "line": {"width": 2}},
            "customdata": [[point.text, cell_text(value)] for (_, point), value in zip(points, heights, strict=True)],
            "hovertemplate": hover_lines(2),
        }
    ]


def _once_in_legend(traces: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the traces with one entry in the legend for each name."""
    names: set[str] = set()
    shown = []
    for trace in traces:
        shown.append({**trace, "showlegend": trace.get("showlegend", True) and trace["name"] not in names})
        names.add(trace["name"])
    return shown


def _values(row: "pd.Series[Any]", name: str, symbol: str) -> list[str]:
    setting = f"{symbol} = {threshold_text(row['threshold'])}"
    return [setting, f"{metric(name).label} {cell_text(row[name])}", seeds_line(row["seed_list"])]
