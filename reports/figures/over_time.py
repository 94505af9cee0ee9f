"""Regret or reward, and communication, over time, for the smallest, best and largest threshold of each algorithm."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from matplotlib.figure import Figure as Canvas

from benchmark.metrics import CURVE_SUFFIX, Metric, metric, objective
from benchmark.statistics.intervals import MIN_SEEDS_FOR_INTERVAL
from benchmark.styles import Style
from reports.analysis.over_time import NORMALISED_CURVE, ROLES, Series, chosen_series, curve_of, runs_without
from reports.drawing.figure import Figure, make_figure
from reports.drawing.labels import curve_styles, dataset_label
from reports.drawing.legend import legend_columns
from reports.drawing.plotly_parts import AXIS, layout, numbers, seeds_line
from reports.drawing.style import panels, thousands
from reports.figures.fronts import has_own_table_only, seeds_sentence
from reports.read.context import Context
from reports.read.experiment_files import stream_in_name
from reports.read.results import Results
from reports.subjects import OVER_TIME
from reports.write.table import cell_text, interval_text

DECADES = {"tickformat": "", "exponentformat": "power"}
DASHES = {"-": "solid", "--": "dash", ":": "dot"}
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
    labels = context.labels(runs)
    without = 0 if goal == NORMALISED else runs_without(all_series, goal)
    shown_metric = REWARD if without else goal
    first = NORMALISED_CURVE if goal == NORMALISED else shown_metric.curve_name
    parameter = "d_g" if by == "global_dim" else "threshold"
    seeds = seeds_sentence(pd.Series([len(series.seeds) for series in all_series]))
    roles = f"smallest (dashed), largest (dotted) and best (solid) {parameter}"
    shown = roles if len({series.role for series in all_series}) > 1 else f"best {parameter}"
    more = _start(first) + _fallback(goal, without, sum(len(series.seeds) for series in all_series))
    more += f" {left_out} further variants or references are left out: see the tables." if left_out else ""
    caption = (
        f"{shown_metric.description.capitalize()} and communication up to each step, "
        f"for the {shown} of each algorithm. {seeds}{more}"
    )
    title = f"{results.about(experiment).title}{f', {dataset_label(dataset)}' if dataset else ''}, over time"
    return make_figure(
        f"{experiment}{f'_{dataset}' if dataset else ''}_over_time",
        title,
        caption,
        lambda: _draw(all_series, first, labels),
        _plot(all_series, first),
        short_caption=seeds + more,
        labels=labels,
        experiments=[experiment],
        subject=OVER_TIME,
    )


def _start(first: str) -> str:
    """Return the sentence about the steps that are not drawn."""
    if first != NORMALISED_CURVE:
        return ""
    return f" The first {100 * SETTLED:g} % of the steps are not drawn: there the ratio is mostly noise."


def _fallback(goal: Metric, without: int, runs: int) -> str:
    """Return the sentence about runs of an earlier version, which recorded no regret over time."""
    if not without:
        return ""
    some = "These runs have" if without == runs else f"{without} of these {runs} runs have"
    return f" {some} no recorded {goal.label} over time, so that {REWARD.label} is shown."


def _names(first: str) -> dict[str, str]:
    is_ratio = first == NORMALISED_CURVE
    name = f"{NORMALISED.label} so far" if is_ratio else metric(first.removesuffix(CURVE_SUFFIX)).description
    return {first: name, COMMUNICATION.curve_name: f"{COMMUNICATION.label} so far"}


def _draw(all_series: Sequence[Series], first: str, labels: Sequence[str]) -> Canvas:
    canvas, all_axes = panels(2, labels, height=4.6)
    styles = _styles(all_series)
    for axes, (curve_name, name) in zip(all_axes, _names(first).items(), strict=True):
        for series in all_series:
            curve, style = _settled(series, curve_name), styles[series.family]
            is_count = curve_name == COMMUNICATION.curve_name
            values = curve["mean"].where(curve["mean"] > 0) if is_count else curve["mean"]
            label = series.label.replace("d_g", "$d_g$") + _suffix(series)
            axes.plot(curve["step"], values, ROLES[series.role], color=style.colour, linewidth=1.3, label=label)
            if len(series.seeds) >= MIN_SEEDS_FOR_INTERVAL:
                axes.fill_between(curve["step"], curve["low"], curve["high"], color=style.colour, alpha=0.1, lw=0)
        axes.set(xlabel="step $t$", ylabel=name)
        thousands(axes.xaxis)
    all_axes[0].set_ylim(_range(all_series, first))
    thousands(all_axes[0].yaxis)
    if any((_settled(series, COMMUNICATION.curve_name)["mean"] > 0).any() for series in all_series):
        all_axes[1].set_yscale("log")
    all_axes[1].set_ylim(bottom=0.8)
    for axes in all_axes:
        axes.set_xlim(left=0)
    handles, names = all_axes[0].get_legend_handles_labels()
    canvas.legend(handles, names, loc="outside lower center", ncols=legend_columns(names))
    return canvas


def _styles(all_series: Sequence[Series]) -> dict[int, Style]:
    """Return the style of each family: variants of one algorithm have different colours."""
    algorithms = {series.family: series.algorithm for series in all_series}
    return dict(zip(algorithms, curve_styles([*algorithms.values()]), strict=True))


def _settled(series: Series, curve_name: str) -> pd.DataFrame:
    """Return a curve without the first steps of a ratio, which is noise divided by nearly nothing."""
    curve = curve_of(series, curve_name)
    is_ratio = curve_name == NORMALISED_CURVE
    return curve[curve["step"] >= SETTLED * curve["step"].max()] if is_ratio else curve


def _suffix(series: Series) -> str:
    return "" if curve_of(series, COMMUNICATION.curve_name)["mean"].max() > 0 else " (no communication)"


def _range(all_series: Sequence[Series], curve_name: str) -> tuple[float, float]:
    """Return a range with all means; the bands of few seeds can be far wider."""
    means = pd.concat([_settled(series, curve_name) for series in all_series])["mean"]
    margin = 0.08 * (means.max() - means.min() or 1.0)
    return float(means.min() - margin), float(means.max() + margin)


def _plot(all_series: Sequence[Series], first: str) -> Mapping[str, Any]:
    traces = []
    names, styles = _names(first), _styles(all_series)
    for panel, curve_name in enumerate(names):
        for series in all_series:
            curve, style = _settled(series, curve_name), styles[series.family]
            if curve_name == COMMUNICATION.curve_name:
                curve = curve[curve["mean"] > 0]
            columns = ["mean", "low", "high"] if len(series.seeds) >= MIN_SEEDS_FOR_INTERVAL else ["mean"]
            rows = curve[columns].itertuples(index=False)
            values = (interval_text(*row) if len(row) > 1 else cell_text(*row) for row in rows)
            traces.append(
                {
                    "type": "scatter",
                    "mode": "lines",
                    "name": series.label + _suffix(series),
                    "showlegend": panel == 0,
                    "legendgroup": series.label,
                    "x": numbers(curve["step"]),
                    "y": numbers(curve["mean"]),
                    "xaxis": "x" if panel == 0 else "x2",
                    "yaxis": "y" if panel == 0 else "y2",
                    "line": {"color": style.colour, "width": 1.8, "dash": DASHES[ROLES[series.role]]},
                    "text": list(values),
                    "hovertemplate": f"<b>{series.label}</b><br>step %{{x:,}}<br>{names[curve_name]} %{{text}}"
                    f"<br>{seeds_line(series.seeds)}<extra></extra>",
                }
            )
    vertical = {"title": {"text": names[first]}, "range": _range(all_series, first)}
    step = {"title": {"text": "step t"}}
    return {
        "data": traces,
        "layout": layout(
            {**step, "domain": [0, 0.43]},
            vertical,
            xaxis2={**AXIS, **step, "domain": [0.57, 1], "anchor": "y2"},
            yaxis2={**AXIS, "title": {"text": COMMUNICATION.label}, "type": "log", "anchor": "x2", **DECADES},
        ),
    }
