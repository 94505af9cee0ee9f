"""Two panels against a parameter: figure c (global features d_g), and low communication (thresholds)."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from benchmark.charts.chart import (
    CONTRASTS,
    INK,
    Axis,
    Level,
    Panel,
    Series,
    drawn_values,
    log_span,
    numbers,
    span,
)
from benchmark.metrics import metric
from benchmark.results.frames import over_seeds, threshold_text
from benchmark.statistics.intervals import MIN_SEEDS_FOR_INTERVAL
from reports.figures.fronts import STATED, front_figure, stated_points
from reports.labels import Methods, dataset_label, seeds_line, seeds_note, seeds_sentence
from reports.paper import paper
from reports.read.context import Context
from reports.read.results import Results
from reports.subjects import FIGURES
from reports.write.figure import Figure, make_figure
from reports.write.table import cell_text, interval_text

ORDER = 15
BY_THRESHOLD, BY_GLOBAL_DIM = ("normalised_reward", "communication"), ("regret", "communication")
MARKERS = ("o", "s", "^", "D")


def figures(results: Results, context: Context) -> list[Figure]:
    """Return the figures of experiments that paper.toml lists as studies of thresholds, and those in which d_g varies.

    The latter have a second one, with communication against regret.
    """
    all_figures, methods = [], results.methods
    for experiment in paper()["by_threshold"]["experiments"]:
        runs = results.runs[(results.runs["experiment"] == experiment) & (results.runs["variant"] == "")]
        for name, part in runs[runs["threshold"].notna()].groupby("algorithm"):
            title = f"{results.about(experiment).title}: {methods.label(str(name))}"
            rows = over_seeds(part, BY_THRESHOLD)
            all_figures.append(_by_threshold(experiment, title, str(name), rows, context.labels(part), methods))
    rows = over_seeds(results.runs, BY_GLOBAL_DIM)
    for experiment, part in rows[rows["global_dim"].notna()].groupby("experiment"):
        if part["global_dim"].nunique() > 1:
            ordered = part.sort_values(["algorithm", "variant", "global_dim"])
            title = results.about(str(experiment)).title
            all_figures += _by_global_dim(str(experiment), title, ordered, context.labels(part), methods)
    return all_figures


def mean_series(
    rows: pd.DataFrame,
    x: "Sequence[float] | pd.Series[Any]",
    name: str,
    hover: Callable[["pd.Series[Any]"], tuple[str, ...]],
    **look: Any,
) -> list[Series]:
    """Return the means of a metric with bars, and dots for single seeds where there are too few for a bar."""
    has_bar = rows["seeds"] >= MIN_SEEDS_FOR_INTERVAL
    ends = [numbers(rows[f"{name}_{end}"].where(has_bar)) for end in ("low", "high")]
    texts = tuple(hover(row) for _, row in rows.iterrows())
    series = [Series(numbers(x), numbers(rows[name]), y_interval=(ends[0], ends[1]), hover=texts, **look)]
    if f"{name}_seeds" in rows and not has_bar.all():
        dots = [
            (at, value)
            for at, values, is_few in zip(x, rows[f"{name}_seeds"], ~has_bar & (rows["seeds"] > 1), strict=True)
            for value in (values if is_few else ())
        ]
        xs, ys = numbers([at for at, _ in dots]), numbers([value for _, value in dots])
        series.append(Series(xs, ys, look["colour"], marker=".", size=2.7, opacity=0.6, group=look["label"]))
    return series


def _by_threshold(
    experiment: str, title: str, algorithm: str, rows: pd.DataFrame, labels: Sequence[str], methods: Methods
) -> Figure:
    symbol = methods.info(algorithm).symbol
    caption = (
        f"Normalised reward and communication of {methods.label(algorithm)} against {symbol}. A dashed line with a "
        f"band is the mean without communication ({symbol}=∞) and its interval, in the colour of its data. Hollow "
        f"diamonds are numbers that the paper states. " + seeds_sentence(rows["seeds"])
    )
    panels = []
    for number, name in enumerate(BY_THRESHOLD):
        items: list[Series | Level] = []
        others: list[Series | Level] = []
        for place, (stream, part) in enumerate(rows.groupby("stream", sort=False)):
            look: dict[str, Any] = {
                "colour": CONTRASTS[1 + place % (len(CONTRASTS) - 1)],
                "marker": MARKERS[place % len(MARKERS)],
            }
            label = dataset_label(str(stream))

            def hover(row: "pd.Series[Any]", name: str = name, label: str = label) -> tuple[str, ...]:
                setting = f"{symbol} = {threshold_text(row['threshold'])}"
                return label, setting, f"{metric(name).label} {cell_text(row[name])}", seeds_line(row["seed_list"])

            is_finite = np.isfinite(part["threshold"])
            finite = part[is_finite].sort_values("threshold")
            items += mean_series(finite, finite["threshold"], name, hover, label=label, line="-", size=5.5, **look)
            if number == 0:
                alone = [row for _, row in part[~is_finite].iterrows()]
                others += [_alone(row, name, symbol, look["colour"], hover(row)) for row in alone]
            others += _stated(rows, experiment, str(stream), number, methods)
        items += others
        horizontal = Axis(f"threshold {symbol}", log_span(rows["threshold"], 0.05), is_log=True, note="log scale")
        note = seeds_note(rows["seeds"]) if number else ""
        vertical = Axis(metric(name).axis_label(), span(drawn_values(items)))
        panels.append(Panel(horizontal, vertical, tuple(items), title=note))
    return make_figure(
        experiment, title, caption, panels, labels=labels, experiments=[experiment], subject=FIGURES, data=rows
    )


def _alone(row: "pd.Series[Any]", name: str, symbol: str, colour: str, hover: tuple[str, ...]) -> Level:
    """Return the level of runs without communication, and a band for its interval."""
    label = f"{symbol}=∞, no communication: mean and interval, in the colour of the data"
    has_band = row["seeds"] >= MIN_SEEDS_FOR_INTERVAL
    band = (float(row[f"{name}_low"]), float(row[f"{name}_high"])) if has_band else None
    return Level(float(row[name]), colour, label, band=band, hover=hover)


def _stated(rows: pd.DataFrame, experiment: str, stream: str, panel: int, methods: Methods) -> list[Series]:
    """Return the numbers that the paper states, as hollow diamonds."""
    by_text = {f"={threshold_text(value)}": value for value in rows["threshold"]}
    points = [
        (by_text[end], (point.y, point.x)[panel], point.text)
        for point in stated_points(experiment, stream, BY_THRESHOLD[0], methods)
        if (end := "=" + point.text.rpartition("=")[2]) in by_text
    ]
    if not points:
        return []
    x, y = numbers([threshold for threshold, _, _ in points]), numbers([value for _, value, _ in points])
    hover = tuple((text, cell_text(value)) for _, value, text in points)
    return [Series(x, y, INK, STATED, "D", size=8.4, is_hollow=True, hover=hover)]


def _by_global_dim(
    experiment: str, title: str, rows: pd.DataFrame, labels: Sequence[str], methods: Methods
) -> list[Figure]:
    caption = (
        "Cumulative regret and communication at the end of a run against d_g, the number of global features. "
        f"According to the paper, regret falls and communication rises with d_g. {seeds_sentence(rows['seeds'])}"
    )
    keys = ["algorithm", "family", "threshold"]
    parts: list[Any] = list(rows.groupby(keys, dropna=False, sort=False))
    styles = methods.curve_styles([str(name) for (name, _, _), _ in parts])
    dims = sorted(rows["global_dim"].unique())
    panels = []
    for number, name in enumerate(BY_GLOBAL_DIM):
        items: list[Series] = []
        for ((algorithm, _, threshold), part), style in zip(parts, styles, strict=True):
            at = f", {methods.front_text(algorithm, threshold)}" if not np.isnan(threshold) else ""
            variant = part["variant"].iloc[0]
            label = methods.label(algorithm) + at + (f" ({variant})" if variant else "")

            def hover(row: "pd.Series[Any]", name: str = name, label: str = label) -> tuple[str, ...]:
                value = interval_text(row[name], row[f"{name}_low"], row[f"{name}_high"])
                setting = f"d_g = {row['global_dim']:g}"
                return label, setting, f"{metric(name).label} {value}", seeds_line(row["seed_list"])

            look: dict[str, Any] = {
                "colour": style.colour,
                "marker": style.marker,
                "size": 9.0 if style.marker == "*" else 6.5,
            }
            items += mean_series(part, part["global_dim"], name, hover, label=label, line="-", **look)
        ticks = tuple((float(dim), f"{dim:g}") for dim in dims)
        horizontal = Axis("global features $d_g$", span(dims), ticks=ticks)
        vertical = Axis(metric(name).axis_label(), span(drawn_values(items), least=0))
        panels.append(Panel(horizontal, vertical, tuple(items), title=seeds_note(rows["seeds"]) if number else ""))
    common: dict[str, Any] = {"labels": labels, "experiments": [experiment], "subject": FIGURES}
    against = f"{title}, communication against regret"
    return [
        make_figure(experiment, title, caption, panels, data=rows, **common),
        front_figure(f"{experiment}_front", against, rows, metric("regret"), methods, by="global_dim", **common),
    ]
