"""Reward per user by activity group, for γ = ∞, 6001, 3 and any others that were run (appendix H)."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure as Canvas

from reports.context import Context
from reports.figure import Figure, make_figure
from reports.figures.fronts import seeds_sentence
from reports.group_totals import EXPERIMENT, group_totals
from reports.labels import algorithm_label, dataset_label, threshold_text
from reports.plotly_parts import AXIS, hover_lines, layout, panel_trace, seeds_text
from reports.results import Results
from reports.seeds import mean_interval
from reports.style import CONTRASTS, panels, thousands
from reports.table import interval_text

MARKERS = (
    ("o", "circle"),
    ("*", "star"),
    ("D", "diamond"),
    ("^", "triangle-up"),
    ("s", "square"),
    ("v", "triangle-down"),
)
METRICS = {"per_user": "reward per user", "per_interaction": "reward per interaction"}

ORDER = 40


def figures(results: Results, context: Context) -> list[Figure]:
    """Return a picture for each data set of the study."""
    made = []
    study = results.runs[results.runs["experiment"] == EXPERIMENT]
    for dataset, runs in study.groupby("dataset"):
        totals = group_totals(results, context, str(dataset))
        if len(totals):
            made.append(_figure(str(dataset), by_group(totals), context.labels(runs)))
        else:
            context.say_absent(f"{dataset}: reward by activity group cannot be drawn without its data and its runs")
    return made


def by_group(totals: pd.DataFrame) -> pd.DataFrame:
    """Average over seeds: one row for each algorithm, variant, threshold and group."""
    rows: list[dict[str, Any]] = []
    keys = ["algorithm", "variant", "threshold", "least", "group", "users", "interactions"]
    for setting, same in totals.groupby(keys, dropna=False):
        row: dict[str, Any] = dict(zip(keys, setting, strict=True))
        row["seed_list"] = tuple(sorted(int(seed) for seed in same["seed"]))
        row["seeds"] = len(row["seed_list"])
        for metric, share in (("per_user", row["users"]), ("per_interaction", row["interactions"])):
            row[metric], row[f"{metric}_low"], row[f"{metric}_high"] = mean_interval(same["reward"] / share)
        rows.append(row)
    return pd.DataFrame(rows)


def _figure(dataset: str, rows: pd.DataFrame, labels: Sequence[str]) -> Figure:
    caption = (
        "Reward by activity group (interactions of a user): of a user in all, and of an interaction. "
        "The paper on Delicious: from γ=6001 to γ=3 the less active groups lose most, the most active least. "
        + seeds_sentence(rows["seeds"])
    )
    return make_figure(
        f"user_groups_{dataset}",
        f"Reward by activity group, {dataset_label(dataset)}",
        caption,
        lambda: _draw(rows, labels),
        _plot(rows),
        labels=labels,
        experiments=[EXPERIMENT],
        data=rows,
    )


def _series(rows: pd.DataFrame) -> list[tuple[str, str, tuple[str, str], float, pd.DataFrame]]:
    """Label, colour, marks, sideways shift and rows of each threshold, the largest first."""
    found: list[tuple[Any, pd.DataFrame]] = list(rows.groupby(["algorithm", "variant", "threshold"], dropna=False))
    found.sort(key=lambda each: (each[0][0], each[0][1], -each[0][2]))
    shifts = np.linspace(-0.22, 0.22, len(found)) if len(found) > 1 else [0.0]
    series = []
    for number, ((algorithm, variant, threshold), same) in enumerate(found):
        label = f"{algorithm_label(algorithm)} γ={threshold_text(threshold)}" + (f" ({variant})" if variant else "")
        colour, marks = CONTRASTS[number % len(CONTRASTS)], MARKERS[number % len(MARKERS)]
        series.append((label, colour, marks, float(shifts[number]), same.sort_values("least")))
    return series


def _groups(rows: pd.DataFrame) -> list[str]:
    return list(rows.sort_values("least")["group"].unique())


def _draw(rows: pd.DataFrame, labels: Sequence[str]) -> Canvas:
    canvas, axes = panels(2, labels, height=4.5)
    groups = _groups(rows)
    for each, (metric, name) in zip(axes, METRICS.items(), strict=True):
        for label, colour, (marker, _), shift, same in _series(rows):
            x = np.array([groups.index(group) for group in same["group"]]) + shift
            halves = (same[f"{metric}_high"] - same[metric]).to_numpy()
            each.errorbar(x, same[metric], halves, fmt="none", ecolor=colour, elinewidth=1, capsize=2)
            each.scatter(
                x, same[metric], s=70 if marker == "*" else 32, marker=marker, color=colour, label=label, zorder=3
            )
        each.set_xticks(range(len(groups)), groups, rotation=40, ha="right", rotation_mode="anchor", fontsize=8)
        each.set(xlabel="interactions of a user", ylabel=name)
        each.grid(axis="x", visible=False)
        each.set_ylim(bottom=0)
        thousands(each.yaxis)
    canvas.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return canvas


def _plot(rows: pd.DataFrame) -> Mapping[str, Any]:
    traces = []
    for place, metric in enumerate(METRICS):
        for label, colour, (_, symbol), _, same in _series(rows):
            shown = [[label, *_values(row, metric)] for _, row in same.iterrows()]
            trace = panel_trace(place, label, list(same["group"]), same, metric, colour, symbol)
            traces.append({**trace, "customdata": shown, "hovertemplate": hover_lines(4)})
    order = {"type": "category", "categoryorder": "array", "categoryarray": _groups(rows), "tickangle": -45}
    return {
        "data": traces,
        "layout": layout(
            {**order, "domain": [0, 0.43]},
            {"title": {"text": METRICS["per_user"]}, "rangemode": "tozero"},
            xaxis2={**AXIS, **order, "domain": [0.57, 1], "anchor": "y2"},
            yaxis2={**AXIS, "title": {"text": METRICS["per_interaction"]}, "rangemode": "tozero", "anchor": "x2"},
        ),
    }


def _values(row: "pd.Series[Any]", metric: str) -> list[str]:
    value = interval_text(row[metric], row[f"{metric}_low"], row[f"{metric}_high"])
    return [
        f"group {row['group']}: {row['users']:,} users, {row['interactions']:,} interactions",
        f"{METRICS[metric]} {value}",
        seeds_text(row["seed_list"]),
    ]
