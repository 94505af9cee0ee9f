"""Regret or reward, and communication, over time, for the smallest, best and largest threshold of each algorithm."""

import math
from collections.abc import Sequence

import pandas as pd

from benchmark.charts.chart import Axis, Panel, Series, log_span, numbers, span
from benchmark.metrics import CURVE_SUFFIX, metric, objective
from benchmark.statistics.intervals import MIN_SEEDS_FOR_INTERVAL
from reports.analysis.over_time import NORMALISED_CURVE, ROLES, chosen_series, curve_of, runs_without
from reports.analysis.over_time import Series as Selected
from reports.figures.fronts import has_own_table_only
from reports.labels import Methods, dataset_label, seeds_line, seeds_sentence
from reports.read.context import Context
from reports.read.experiment_files import stream_in_name
from reports.read.results import Results
from reports.subjects import OVER_TIME
from reports.write.figure import Figure, make_figure
from reports.write.table import mean_text

SETTLED = 0.05
"""Normalised reward is noisy in this first share of the steps, which is not drawn."""

REWARD, NORMALISED, COMMUNICATION = (metric(name) for name in ("reward", "normalised_reward", "communication"))

ORDER = 30


def figures(results: Results, context: Context) -> list[Figure]:
    """Return a picture per experiment and data set, one for all d_g of an experiment."""
    all_figures = []
    runs = results.runs[~results.runs["experiment"].isin(has_own_table_only())]
    streams = runs["stream"].where(runs["global_dim"].isna(), "")
    for (experiment, stream), part in runs.groupby([runs["experiment"], streams]):
        is_named = stream_in_name(str(experiment), str(stream), streams[runs["experiment"] == experiment])
        figure = _figure(results, context, str(experiment), str(stream) if is_named else "", part)
        if figure is None:
            context.note_absent(f"{experiment}: no figure over time because the runs have no curves")
        else:
            all_figures.append(figure)
    return all_figures


def _figure(results: Results, context: Context, experiment: str, dataset: str, runs: pd.DataFrame) -> Figure | None:
    goal = objective(runs["source"])
    by = "global_dim" if runs["global_dim"].notna().all() else "threshold"
    all_series, left_out = chosen_series(results, runs, goal, by)
    if not all_series:
        return None
    without = 0 if goal == NORMALISED else runs_without(all_series, goal)
    shown_metric = REWARD if without else goal
    first = NORMALISED_CURVE if goal == NORMALISED else shown_metric.curve_name
    parameter = "d_g" if by == "global_dim" else "threshold"
    seeds = seeds_sentence(pd.Series([len(series.seeds) for series in all_series]))
    roles = f"smallest (dashed), largest (dotted) and best (solid) {parameter}"
    shown = roles if len({series.role for series in all_series}) > 1 else f"best {parameter}"
    more = ""
    if first == NORMALISED_CURVE:
        more += f" The first {100 * SETTLED:g} % of the steps are not drawn: there the ratio is mostly noise."
    if without:  # runs of an earlier version, which recorded no regret over time
        count = sum(len(series.seeds) for series in all_series)
        some = "These runs have" if without == count else f"{without} of these {count} runs have"
        more += f" {some} no recorded {goal.label} over time, so that {REWARD.label} is shown."
    more += f" {left_out} further variants or references are left out: see the tables." if left_out else ""
    caption = (
        f"{shown_metric.description.capitalize()} and communication up to each step, "
        f"for the {shown} of each algorithm. {seeds}{more}"
    )
    return make_figure(
        f"{experiment}{f'_{dataset}' if dataset else ''}_over_time",
        f"{results.about(experiment).title}{f', {dataset_label(dataset)}' if dataset else ''}, over time",
        caption,
        _panels(all_series, first, results.methods),
        short_caption=seeds + more,
        labels=context.labels(runs),
        experiments=[experiment],
        subject=OVER_TIME,
    )


def _panels(all_series: Sequence[Selected], first: str, methods: Methods) -> list[Panel]:
    """Return the panel of the objective, and that of communication."""
    is_ratio = first == NORMALISED_CURVE
    name = f"{NORMALISED.label} so far" if is_ratio else metric(first.removesuffix(CURVE_SUFFIX)).description
    names = {first: name, COMMUNICATION.curve_name: f"{COMMUNICATION.label} so far"}
    algorithms = {series.family: series.algorithm for series in all_series}
    styles = dict(zip(algorithms, methods.curve_styles([*algorithms.values()]), strict=True))
    panels = []
    for curve_name, label in names.items():
        items = [_line(series, curve_name, label, styles[series.family].colour) for series in all_series]
        means = [value for item in items for value in item.y]  # the bands of few seeds can be far wider
        is_log = curve_name == COMMUNICATION.curve_name and any(value > 0 for value in means)
        vertical = Axis(label, (0.8, log_span(means, 0.08)[1]) if is_log else span(means, 0.08), is_log)
        steps = Axis("step $t$", (0, max(max(item.x, default=1.0) for item in items) * 1.02))
        panels.append(Panel(steps, vertical, tuple(items)))
    return panels


def _line(series: Selected, curve_name: str, label: str, colour: str) -> Series:
    """Return a line over time; the first steps of a ratio are noise divided by nearly nothing, and left out."""
    curve = curve_of(series, curve_name)
    if curve_name == NORMALISED_CURVE:
        curve = curve[curve["step"] >= SETTLED * curve["step"].max()]
    if curve_name == COMMUNICATION.curve_name:
        curve = curve[curve["mean"] > 0]
    has_band = len(series.seeds) >= MIN_SEEDS_FOR_INTERVAL
    low = curve["low"] if has_band else [math.nan] * len(curve)
    rows = zip(curve["step"], curve["mean"], low, curve["high"], strict=True)
    seeds = seeds_line(series.seeds)
    spent = curve_of(series, COMMUNICATION.curve_name)["mean"].max()
    hover = [(series.label, f"step {step:,}", f"{label} {mean_text(*ends)}", seeds) for step, *ends in rows]
    return Series(
        numbers(curve["step"]),
        numbers(curve["mean"]),
        colour,
        series.label.replace("d_g", "$d_g$") + ("" if spent > 0 else " (no communication)"),
        line=ROLES[series.role],
        width=1.3,
        y_interval=(numbers(curve["low"]), numbers(curve["high"])) if has_band else None,
        has_band=has_band,
        hover=tuple(hover),
    )
