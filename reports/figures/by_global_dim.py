"""Figure c: regret and communication as the number of global features (d_g) grows, and one against the other."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure as Canvas

from benchmark.metrics import metric
from benchmark.results.frames import over_seeds
from benchmark.statistics.intervals import MIN_SEEDS_FOR_INTERVAL
from benchmark.styles import Style
from reports.drawing.figure import Figure, make_figure
from reports.drawing.front import plan_front, seeds_note
from reports.drawing.front_picture import draw_front
from reports.drawing.front_plot import phone_notes, plot_front
from reports.drawing.labels import algorithm_label, curve_styles, front_text
from reports.drawing.legend import legend_columns
from reports.drawing.plotly_parts import AXIS, hover_lines, layout, numbers, panel_trace, seeds_line
from reports.drawing.style import FAINT, panels, thousands
from reports.figures.fronts import front_caption, seeds_sentence, short_caption
from reports.read.context import Context
from reports.read.results import Results
from reports.subjects import FIGURES
from reports.write.table import interval_text

METRICS = {name: metric(name) for name in ("regret", "communication")}

ORDER = 20


def figures(results: Results, context: Context) -> list[Figure]:
    """Return both pictures for each experiment in which d_g varies."""
    rows = over_seeds(results.runs, [*METRICS])
    all_figures = []
    for experiment, part in rows[rows["global_dim"].notna()].groupby("experiment"):
        if part["global_dim"].nunique() > 1:
            ordered = part.sort_values(["algorithm", "variant", "global_dim"])
            all_figures += _both(str(experiment), ordered, results, context)
    return all_figures


def _both(experiment: str, rows: pd.DataFrame, results: Results, context: Context) -> list[Figure]:
    labels, title = context.labels(rows), results.about(experiment).title
    caption = (
        "Cumulative regret and communication at the end of a run against d_g, the number of global features. "
        f"According to the paper, regret falls and communication rises with d_g. {seeds_sentence(rows['seeds'])}"
    )
    front = plan_front(rows, METRICS["regret"], by="global_dim")
    return [
        make_figure(
            experiment,
            title,
            caption,
            lambda: _draw(rows, labels),
            _plot(rows),
            labels=labels,
            experiments=[experiment],
            subject=FIGURES,
            data=rows,
        ),
        make_figure(
            f"{experiment}_front",
            f"{title}, communication against regret",
            front_caption(front, rows, "d_g"),
            lambda: draw_front(front, labels),
            plot_front(front),
            short_caption=short_caption(front, rows),
            on_page={"phone": phone_notes(front)},
            labels=labels,
            experiments=[experiment],
            subject=FIGURES,
            data=rows,
        ),
    ]


class Series(NamedTuple):
    """A line of the picture: one per algorithm, family and threshold."""

    label: str
    style: Style
    rows: pd.DataFrame


def _series(rows: pd.DataFrame) -> list[Series]:
    parts = {
        (str(name), str(part["variant"].iloc[0]), float(str(threshold))): part
        for (name, _, threshold), part in rows.groupby(["algorithm", "family", "threshold"], dropna=False, sort=False)
    }
    styles = curve_styles([name for name, _, _ in parts])
    return [Series(_label(*key), style, part) for (key, part), style in zip(parts.items(), styles, strict=True)]


def _label(name: str, variant: str, threshold: float) -> str:
    at = f", {front_text(name, threshold)}" if not np.isnan(threshold) else ""
    return algorithm_label(name) + at + (f" ({variant})" if variant else "")


def _draw(rows: pd.DataFrame, labels: Sequence[str]) -> Canvas:
    canvas, all_axes = panels(2, labels, height=3.9)
    for axes, (name, shown) in zip(all_axes, METRICS.items(), strict=True):
        for label, style, part in _series(rows):
            has_bars = part["seeds"] >= MIN_SEEDS_FOR_INTERVAL
            halves = (part[f"{name}_high"] - part[name]).where(has_bars)
            for dim, values in zip(part["global_dim"][~has_bars], part[f"{name}_seeds"][~has_bars], strict=True):
                axes.scatter([dim] * len(values), values, s=7, color=style.colour, alpha=0.6, linewidths=0)
            axes.errorbar(part["global_dim"], part[name], halves, color=style.colour, lw=1.2, capsize=3, zorder=3)
            axes.scatter(
                part["global_dim"], part[name], s=42, color=style.colour, marker=style.marker, zorder=4, label=label
            )
        axes.set(xlabel="global features $d_g$", ylabel=shown.axis_label(), xticks=sorted(rows["global_dim"].unique()))
        axes.set_ylim(bottom=0)
        thousands(axes.yaxis)
    all_axes[1].set_title(seeds_note(rows["seeds"]), fontsize=8, color=FAINT, loc="right")
    handles, names = all_axes[0].get_legend_handles_labels()
    canvas.legend(handles, names, loc="outside lower center", ncols=legend_columns(names))
    return canvas


def _plot(rows: pd.DataFrame) -> Mapping[str, Any]:
    traces = []
    for panel, name in enumerate(METRICS):
        for label, style, part in _series(rows):
            look = (style.colour, style.symbol)
            hover = [[label, f"d_g = {row['global_dim']:g}", *_values(row, name)] for _, row in part.iterrows()]
            trace = panel_trace(panel, label, numbers(part["global_dim"]), part, name, *look)
            traces.append({**trace, "customdata": hover, "hovertemplate": hover_lines(4)})
    left, right = {"domain": [0, 0.43]}, {"domain": [0.57, 1], "anchor": "y2"}
    title = {"title": {"text": "d<sub>g</sub>"}, "tickvals": numbers(sorted(rows["global_dim"].unique()))}
    return {
        "data": traces,
        "layout": layout(
            {**title, **left},
            {"title": {"text": METRICS["regret"].label}, "rangemode": "tozero"},
            xaxis2={**AXIS, **title, **right},
            yaxis2={**AXIS, "title": {"text": METRICS["communication"].label}, "rangemode": "tozero", "anchor": "x2"},
        ),
    }


def _values(row: "pd.Series[Any]", name: str) -> list[str]:
    value = interval_text(row[name], row[f"{name}_low"], row[f"{name}_high"])
    return [f"{METRICS[name].label} {value}", seeds_line(row["seed_list"])]
