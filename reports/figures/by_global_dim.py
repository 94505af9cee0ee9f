"""Figure c: regret and communication as the number of global features (d_g) grows, and one against the other."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure as Canvas

from reports.analysis.seeds import over_seeds
from reports.drawing.figure import Figure, make_figure
from reports.drawing.front import plan_front
from reports.drawing.front_picture import draw_front
from reports.drawing.front_plot import plot_front
from reports.drawing.labels import algorithm_label, front_text, styles_of
from reports.drawing.plotly_parts import AXIS, hover_lines, layout, numbers, panel_trace, seeds_line
from reports.drawing.style import panels, thousands
from reports.figures.fronts import front_caption, seeds_sentence, subject_of
from reports.read.context import Context
from reports.read.experiment_files import experiment_title
from reports.read.results import Results
from reports.write.table import interval_text

METRICS = {"regret": "cumulative regret $R_T$", "communication": "communication $C_T$ (transfers)"}
PLAIN = {"regret": "cumulative regret", "communication": "communication"}

ORDER = 20


def figures(results: Results, context: Context) -> list[Figure]:
    """Return both pictures for each experiment in which d_g varies."""
    rows = over_seeds(results.runs, ["communication", "regret"])
    all_figures = []
    for experiment, part in rows[rows["global_dim"].notna()].groupby("experiment"):
        if part["global_dim"].nunique() > 1:
            all_figures += _both(str(experiment), part.sort_values("global_dim"), context)
    return all_figures


def _both(experiment: str, rows: pd.DataFrame, context: Context) -> list[Figure]:
    labels, title = context.labels(rows), experiment_title(experiment)
    caption = (
        "Cumulative regret and communication at the end of a run against d_g, the number of global features. "
        f"According to the paper, regret falls and communication rises with d_g. {seeds_sentence(rows['seeds'])}"
    )
    front = plan_front(rows, "regret", by="global_dim")
    return [
        make_figure(
            experiment,
            title,
            caption,
            lambda: _draw(rows, labels),
            _plot(rows),
            labels=labels,
            experiments=[experiment],
            subject=subject_of(experiment),
            data=rows,
        ),
        make_figure(
            f"{experiment}_front",
            f"{title}, communication against regret",
            front_caption(front, rows, "d_g"),
            lambda: draw_front(front, labels),
            plot_front(front),
            labels=labels,
            experiments=[experiment],
            subject=subject_of(experiment),
            data=rows,
        ),
    ]


def _series(rows: pd.DataFrame) -> list[tuple[str, str, pd.DataFrame]]:
    """Return algorithm, label and rows of each line: one per algorithm, variant and threshold."""
    series = []
    for setting, part in rows.groupby(["algorithm", "variant", "threshold"], dropna=False):
        name, variant, threshold = str(setting[0]), str(setting[1]), float(str(setting[2]))
        at = f", {front_text(name, threshold)}" if not np.isnan(threshold) else ""
        series.append((name, algorithm_label(name) + at + (f" ({variant})" if variant else ""), part))
    return series


def _draw(rows: pd.DataFrame, labels: Sequence[str]) -> Canvas:
    canvas, all_axes = panels(2, labels, height=3.9)
    styles = styles_of(rows["algorithm"])
    for axes, (metric, name) in zip(all_axes, METRICS.items(), strict=True):
        for algorithm, label, part in _series(rows):
            style = styles[algorithm]
            halves = (part[f"{metric}_high"] - part[metric]).to_numpy()
            axes.errorbar(part["global_dim"], part[metric], halves, color=style.colour, lw=1.2, capsize=3, zorder=3)
            axes.scatter(
                part["global_dim"], part[metric], s=42, color=style.colour, marker=style.marker, zorder=4, label=label
            )
        axes.set(xlabel="global features $d_g$", ylabel=name, xticks=sorted(rows["global_dim"].unique()))
        axes.set_ylim(bottom=0)
        thousands(axes.yaxis)
    canvas.legend(*all_axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return canvas


def _plot(rows: pd.DataFrame) -> Mapping[str, Any]:
    traces, styles = [], styles_of(rows["algorithm"])
    for panel, metric in enumerate(METRICS):
        for algorithm, label, part in _series(rows):
            style = styles[algorithm]
            look = (style.colour, style.symbol)
            hover = [[label, f"d_g = {row['global_dim']:g}", *_values(row, metric)] for _, row in part.iterrows()]
            trace = panel_trace(panel, label, numbers(part["global_dim"]), part, metric, *look)
            traces.append({**trace, "customdata": hover, "hovertemplate": hover_lines(4)})
    left, right = {"domain": [0, 0.43]}, {"domain": [0.57, 1], "anchor": "y2"}
    title = {"title": {"text": "d<sub>g</sub>"}, "tickvals": numbers(sorted(rows["global_dim"].unique()))}
    return {
        "data": traces,
        "layout": layout(
            {**title, **left},
            {"title": {"text": PLAIN["regret"]}, "rangemode": "tozero"},
            xaxis2={**AXIS, **title, **right},
            yaxis2={**AXIS, "title": {"text": PLAIN["communication"]}, "rangemode": "tozero", "anchor": "x2"},
        ),
    }


def _values(row: "pd.Series[Any]", metric: str) -> list[str]:
    value = interval_text(row[metric], row[f"{metric}_low"], row[f"{metric}_high"])
    return [f"{PLAIN[metric]} {value}", seeds_line(row["seed_list"])]
