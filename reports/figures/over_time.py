"""Reward and communication over time, for the least, the best and the largest threshold of each algorithm."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from matplotlib.figure import Figure as Canvas

from reports.context import Context
from reports.experiment_files import experiment_title
from reports.figure import Figure, make_figure
from reports.figures.fronts import NOT_A_FRONT
from reports.labels import algorithm_style, dataset_label
from reports.over_time import ROLES, Series, chosen_series, curve_of
from reports.plotly_parts import AXIS, layout, numbers, seeds_text
from reports.results import Results
from reports.style import panels, thousands
from reports.table import interval_text

DECADES = {"tickformat": "", "exponentformat": "power"}
DASHES = {"-": "solid", "--": "dash", ":": "dot"}
SETTLED = 0.05
"""The first share of the steps, in which a mean of few steps jumps, does not set the range of normalised reward."""

ORDER = 30


def figures(results: Results, context: Context) -> list[Figure]:
    """Return a picture for each experiment and data set, one for all d_g of an experiment."""
    made = []
    runs = results.runs[~results.runs["experiment"].isin(NOT_A_FRONT)]
    streams = runs["dataset"].where(runs["global_dim"].isna(), "")
    for (experiment, dataset), same in runs.groupby([runs["experiment"], streams]):
        several = streams[runs["experiment"] == experiment].nunique() > 1
        figure = _figure(results, context, str(experiment), str(dataset) if several else "", same)
        if figure is None:
            context.say_absent(f"{experiment}: no curve over time is recorded, so none is drawn")
        else:
            made.append(figure)
    return made


def _figure(results: Results, context: Context, experiment: str, dataset: str, runs: pd.DataFrame) -> Figure | None:
    simulated = bool((runs["source"] == "simulated").all())
    by = "global_dim" if runs["global_dim"].notna().all() else "threshold"
    series = chosen_series(results, runs, "regret" if simulated else "normalised_reward", by)
    if not series:
        return None
    labels = context.labels(runs)
    first = "reward_curve" if simulated else "normalised_curve"
    what = "Cumulative reward" if simulated else "Reward so far, divided by what a random choice has collected so far,"
    knob = "d_g" if by == "global_dim" else "threshold"
    seeds = sorted({len(each.seeds) for each in series})
    caption = (
        f"{what} and communication up to each step. For each algorithm its least (dashed), largest (dotted) and "
        f"best {knob} (solid, also where it is the least or the largest). " + _seeds(seeds)
    )
    title = f"{experiment_title(experiment)}{f', {dataset_label(dataset)}' if dataset else ''}, over time"
    return make_figure(
        f"{experiment}{f'_{dataset}' if dataset else ''}_over_time",
        title,
        caption,
        lambda: _draw(series, first, labels),
        _plot(series, first),
        labels=labels,
        experiments=[experiment],
    )


def _seeds(counts: Sequence[int]) -> str:
    if counts == [1]:
        return "One seed: no intervals."
    return f"Means over {' to '.join(str(each) for each in counts)} seeds; the bands are 95 % Student t intervals."


def _names(first: str) -> dict[str, str]:
    reward = "cumulative reward" if first == "reward_curve" else "normalised reward so far"
    return {first: reward, "communication_curve": "communication so far"}


def _draw(series: Sequence[Series], first: str, labels: Sequence[str]) -> Canvas:
    canvas, axes = panels(2, labels, height=4.6)
    for each, (metric, name) in zip(axes, _names(first).items(), strict=True):
        for one in series:
            curve, style = curve_of(one, metric), algorithm_style(one.algorithm)
            values = curve["mean"].where(curve["mean"] > 0) if metric == "communication_curve" else curve["mean"]
            label = one.label.replace("d_g", "$d_g$") + _without(one)
            each.plot(curve["step"], values, ROLES[one.role], color=style.colour, linewidth=1.3, label=label)
            if len(one.seeds) > 1:
                each.fill_between(curve["step"], curve["low"], curve["high"], color=style.colour, alpha=0.1, lw=0)
        each.set(xlabel="step $t$", ylabel=name)
        thousands(each.xaxis)
    axes[0].set_ylim(_range(series, first))
    thousands(axes[0].yaxis)
    axes[1].set_yscale("log")
    axes[1].set_ylim(bottom=0.8)
    canvas.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return canvas


def _without(series: Series) -> str:
    return "" if curve_of(series, "communication_curve")["mean"].max() > 0 else " (no communication)"


def _range(series: Sequence[Series], metric: str) -> tuple[float, float]:
    """Show all means; the band of two seeds may be far wider."""
    curves = pd.concat([curve_of(each, metric) for each in series])
    is_ratio = metric == "normalised_curve"
    settled = curves[curves["step"] >= (SETTLED * curves["step"].max() if is_ratio else 0)]["mean"]
    margin = 0.08 * (settled.max() - settled.min() or 1.0)
    return float(settled.min() - margin), float(settled.max() + margin)


def _plot(series: Sequence[Series], first: str) -> Mapping[str, Any]:
    traces = []
    names = _names(first)
    for place, metric in enumerate(names):
        for one in series:
            curve, style = curve_of(one, metric), algorithm_style(one.algorithm)
            if metric == "communication_curve":
                curve = curve[curve["mean"] > 0]
            values = (interval_text(*each) for each in curve[["mean", "low", "high"]].itertuples(index=False))
            traces.append(
                {
                    "type": "scatter",
                    "mode": "lines",
                    "name": one.label + _without(one),
                    "showlegend": place == 0,
                    "legendgroup": one.label,
                    "x": numbers(curve["step"]),
                    "y": numbers(curve["mean"]),
                    "xaxis": "x" if place == 0 else "x2",
                    "yaxis": "y" if place == 0 else "y2",
                    "line": {"color": style.colour, "width": 1.8, "dash": DASHES[ROLES[one.role]]},
                    "text": list(values),
                    "hovertemplate": f"<b>{one.label}</b><br>step %{{x:,}}<br>{names[metric]} %{{text}}"
                    f"<br>{seeds_text(one.seeds)}<extra></extra>",
                }
            )
    vertical = {"title": {"text": names[first]}, "range": _range(series, first)}
    step = {"title": {"text": "step t"}}
    return {
        "data": traces,
        "layout": layout(
            {**step, "domain": [0, 0.43]},
            vertical,
            xaxis2={**AXIS, **step, "domain": [0.57, 1], "anchor": "y2"},
            yaxis2={**AXIS, "title": {"text": "communication"}, "type": "log", "anchor": "x2", **DECADES},
        ),
    }
