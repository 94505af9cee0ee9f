"""Two panels against a parameter: figure c (global features d_g), and low communication (thresholds)."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
from benchmark.plan.runs import threshold_text
from benchmark.results.frames import over_seeds
from benchmark.statistics.intervals import MIN_SEEDS_FOR_INTERVAL
from reports.figures.fronts import STATED, front_figure, stated_points
from reports.labels import Methods, dataset_label, seeds_line, seeds_note, seeds_sentence
from reports.paper import paper
from reports.read.results import Results
from reports.subjects import FIGURES
from reports.write.figure import Figure, make_figure
from reports.write.table import cell_text, interval_text

ORDER = 15
BY_THRESHOLD, BY_GLOBAL_DIM = ("normalised_reward", "communication"), ("regret", "communication")
MARKERS = ("o", "s", "^", "D")


def figures(results: Results) -> list[Figure]:
    """Return the figures of experiments that paper.toml lists as studies of thresholds, and those in which d_g varies.

    The latter have a second one, with communication against regret.
    """
    all_figures = []
    for experiment in paper()["by_threshold"]["experiments"]:
        runs = results.runs_of(experiment)
        for _, part in runs[(runs["variant"] == "") & runs["threshold"].notna()].groupby("algorithm"):
            all_figures.append(_by_threshold(part, results))
    rows = over_seeds(results.runs, BY_GLOBAL_DIM)
    for experiment, part in rows[rows["global_dim"].notna()].groupby("experiment"):
        if part["global_dim"].nunique() > 1:
            ordered = part.sort_values(["algorithm", "variant", "global_dim"])
            all_figures += _by_global_dim(str(experiment), ordered, results)
    return all_figures


@dataclass(frozen=True)
class MeanLine:
    """Means over seeds, rows of `over_seeds`, at some positions; `settings` names each row for readers who hover."""

    label: str
    rows: pd.DataFrame
    x: Sequence[float]
    settings: Sequence[str]
    colour: str
    marker: str
    line: str = "-"
    size: float = 5.5

    def hover(self, name: str, metric_label: str) -> tuple[tuple[str, ...], ...]:
        """Return the texts of each mark: label, setting, mean of a metric and seeds."""
        ends = (self.rows[f"{name}{end}"] for end in ("", "_low", "_high"))
        values = [f"{metric_label} {interval_text(*mean)}" for mean in zip(*ends, strict=True)]
        seeds = [seeds_line(each) for each in self.rows["seed_list"]]
        return tuple((self.label, *texts) for texts in zip(self.settings, values, seeds, strict=True))

    def series(self, name: str, metric_label: str) -> list[Series]:
        """Return the means of a metric with bars, and dots for single seeds where there are too few for a bar."""
        has_bar = self.rows["seeds"] >= MIN_SEEDS_FOR_INTERVAL
        low, high = (numbers(self.rows[f"{name}_{end}"].where(has_bar)) for end in ("low", "high"))
        look: dict[str, Any] = {"line": self.line, "size": self.size, "y_interval": (low, high)}
        means = numbers(self.x), numbers(self.rows[name])
        hover = self.hover(name, metric_label)
        series = [Series(*means, self.colour, self.label, self.marker, hover=hover, **look)]
        if not has_bar.all():
            dots = [
                (x, value)
                for x, values, is_few in zip(self.x, self.rows[f"{name}_seeds"], ~has_bar, strict=True)
                for value in (values if is_few and len(values) > 1 else ())
            ]
            xs, ys = numbers([x for x, _ in dots]), numbers([y for _, y in dots])
            series.append(Series(xs, ys, self.colour, marker=".", size=2.7, opacity=0.6, group=self.label))
        return series


def of_metrics(names: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Return the label of each metric, and that of its axis."""
    return {name: (metric(name).label, metric(name).axis_label()) for name in names}


def mean_panels(
    lines: Sequence[MeanLine],
    labels: Mapping[str, tuple[str, str]],
    horizontal: Axis,
    seeds: "pd.Series[int]",
    *,
    least: float = math.nan,
    more: Sequence[Sequence[Series | Level]] = ((), ()),
) -> list[Panel]:
    """Return a panel per metric with the means of all lines, and more items; vertical axes begin at `least`."""
    panels: list[Panel] = []
    for (name, (label, axis_label)), others in zip(labels.items(), more, strict=True):
        items = (*(series for line in lines for series in line.series(name, label)), *others)
        vertical = Axis(axis_label, span(drawn_values(items), least=least))
        panels.append(Panel(horizontal, vertical, items, title=seeds_note(seeds) if panels else ""))
    return panels


def _by_threshold(runs: pd.DataFrame, results: Results) -> Figure:
    """Return the figure of one method of an experiment."""
    rows, methods, experiment = over_seeds(runs, BY_THRESHOLD), results.methods, str(runs["experiment"].iloc[0])
    method = methods.info(str(runs["algorithm"].iloc[0]))
    symbol, title = method.symbol, f"{results.about(experiment).title}: {method.label}"
    caption = (
        f"Normalised reward and communication of {method.label} against {symbol}. A dashed line with a "
        f"band is the mean without communication ({symbol}=∞) and its interval, in the colour of its data. Hollow "
        f"diamonds are numbers that the paper states. " + seeds_sentence(rows["seeds"])
    )
    lines: list[MeanLine] = []
    alone: list[MeanLine] = []
    for number, (stream, part) in enumerate(rows.groupby("stream", sort=False)):
        colour, marker = CONTRASTS[1 + number % (len(CONTRASTS) - 1)], MARKERS[number % len(MARKERS)]
        for is_silent, some in part.sort_values("threshold").groupby(np.isinf(part["threshold"])):
            settings = [f"{symbol} = {threshold_text(value)}" for value in some["threshold"]]
            line = MeanLine(dataset_label(str(stream)), some, [*some["threshold"]], settings, colour, marker)
            (alone if is_silent else lines).append(line)
    streams = [str(stream) for stream in rows["stream"].unique()]
    stated = [
        [item for stream in streams for item in _stated(rows, experiment, stream, number, methods)]
        for number in range(len(BY_THRESHOLD))
    ]
    silent = [_alone(line, BY_THRESHOLD[0], symbol) for line in alone]
    horizontal = Axis(f"threshold {symbol}", log_span(rows["threshold"], 0.05), is_log=True, note="log scale")
    panels = mean_panels(
        lines, of_metrics(BY_THRESHOLD), horizontal, rows["seeds"], more=([*silent, *stated[0]], stated[1])
    )
    about: dict[str, Any] = {"labels": results.labels(runs), "experiments": [experiment], "subject": FIGURES}
    return make_figure(experiment, title, caption, panels, data=rows, **about)


def _alone(line: MeanLine, name: str, symbol: str) -> Level:
    """Return the level of runs without communication, and a band for its interval."""
    row, (hover,) = line.rows.iloc[0], line.hover(name, metric(name).label)
    label = f"{symbol}=∞, no communication: mean and interval, in the colour of the data"
    has_band = row["seeds"] >= MIN_SEEDS_FOR_INTERVAL
    band = (float(row[f"{name}_low"]), float(row[f"{name}_high"])) if has_band else None
    return Level(float(row[name]), line.colour, label, band=band, hover=hover)


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


def _by_global_dim(experiment: str, rows: pd.DataFrame, results: Results) -> list[Figure]:
    methods, title = results.methods, results.about(experiment).title
    caption = (
        "Cumulative regret and communication at the end of a run against d_g, the number of global features. "
        f"According to the paper, regret falls and communication rises with d_g. {seeds_sentence(rows['seeds'])}"
    )
    parts: list[Any] = list(rows.groupby(["algorithm", "family", "threshold"], dropna=False, sort=False))
    styles = methods.curve_styles([str(name) for (name, _, _), _ in parts])
    lines = []
    for ((algorithm, _, threshold), part), style in zip(parts, styles, strict=True):
        dims, variant = [*part["global_dim"]], part["variant"].iloc[0]
        label = ", ".join(filter(None, (methods.label(algorithm), methods.front_text(algorithm, threshold))))
        label += f" ({variant})" if variant else ""
        size = 9.0 if style.marker == "*" else 6.5
        lines.append(
            MeanLine(label, part, dims, [f"d_g = {dim:g}" for dim in dims], style.colour, style.marker, size=size)
        )
    dims = sorted(rows["global_dim"].unique())
    horizontal = Axis("global features $d_g$", span(dims), ticks=tuple((float(dim), f"{dim:g}") for dim in dims))
    panels = mean_panels(lines, of_metrics(BY_GLOBAL_DIM), horizontal, rows["seeds"], least=0)
    common: dict[str, Any] = {"labels": results.labels(rows), "experiments": [experiment], "subject": FIGURES}
    against = f"{title}, communication against regret"
    return [
        make_figure(experiment, title, caption, panels, data=rows, **common),
        front_figure(f"{experiment}_front", against, rows, metric("regret"), methods, by="global_dim", **common),
    ]
