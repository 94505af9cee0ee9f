"""Reward per user by activity group, for γ = ∞, 6001, 3 and all others in the runs (appendix H)."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure as Canvas

from benchmark.statistics.intervals import MIN_SEEDS_FOR_INTERVAL, mean_interval
from reports.analysis.users import EXPERIMENT, group_totals, has_few_users
from reports.drawing.figure import Figure, make_figure
from reports.drawing.front import seeds_note
from reports.drawing.labels import algorithm_label, dataset_label, front_text
from reports.drawing.legend import legend_columns
from reports.drawing.plotly_parts import AXIS, hover_lines, layout, panel_trace, seeds_line
from reports.drawing.style import CONTRASTS, FAINT, panels, thousands
from reports.figures.fronts import seeds_sentence
from reports.read.context import Context
from reports.read.results import Results
from reports.subjects import USERS
from reports.write.table import interval_text

MARKERS = (
    ("o", "circle"),
    ("*", "star"),
    ("D", "diamond"),
    ("^", "triangle-up"),
    ("s", "square"),
    ("v", "triangle-down"),
)
OF_THE_PAPER = "delicious"
"""The data set that the paper's sentences on users are about."""

METRICS = {"per_user": "reward per user", "per_interaction": "reward per interaction"}

ORDER = 40


def figures(results: Results, context: Context) -> list[Figure]:
    """Return a picture for each data set of the study."""
    all_figures = []
    study = results.runs[results.runs["experiment"] == EXPERIMENT]
    for stream, runs in study.groupby("stream"):
        if has_few_users(str(runs["dataset"].iloc[0]), context):
            continue
        totals = group_totals(results, context, str(stream))
        if len(totals):
            all_figures.append(_figure(str(stream), by_group(totals), context.labels(runs)))
        else:
            context.note_absent(f"{stream}: no figure of reward by activity group because its data or runs are missing")
    return all_figures


def by_group(totals: pd.DataFrame) -> pd.DataFrame:
    """Average over seeds: one row per algorithm, family, threshold and group."""
    rows: list[dict[str, Any]] = []
    keys = ["algorithm", "family", "threshold", "least", "group", "users", "interactions"]
    for values, part in totals.groupby(keys, dropna=False):
        row: dict[str, Any] = dict(zip(keys, values, strict=True))
        row["variant"] = part["variant"].iloc[0]
        row["seed_list"] = tuple(sorted(int(seed) for seed in part["seed"]))
        row["seeds"] = len(row["seed_list"])
        for metric, count in (("per_user", row["users"]), ("per_interaction", row["interactions"])):
            row[metric], row[f"{metric}_low"], row[f"{metric}_high"] = mean_interval(part["reward"] / count)
        rows.append(row)
    return pd.DataFrame(rows)


def _figure(stream: str, rows: pd.DataFrame, labels: Sequence[str]) -> Figure:
    claim = (
        "According to the paper, the less active groups lose most from γ=6001 to γ=3, the most active least. "
        if stream.startswith(OF_THE_PAPER)
        else ""
    )
    caption = (
        "Reward per user and per interaction, by activity group (number of interactions of a user). "
        f"{claim}{seeds_sentence(rows['seeds'])}"
    )
    return make_figure(
        f"user_groups_{stream}",
        f"Reward by activity group, {dataset_label(stream)}",
        caption,
        lambda: _draw(rows, labels),
        _plot(rows),
        short_caption=f"{claim}{seeds_sentence(rows['seeds'])}",
        labels=labels,
        experiments=[EXPERIMENT],
        subject=USERS,
        data=rows,
    )


def _series(rows: pd.DataFrame) -> list[tuple[str, str, tuple[str, str], float, pd.DataFrame]]:
    """Return label, colour, marks, horizontal shift and rows of each threshold, the largest first."""
    parts: list[tuple[Any, pd.DataFrame]] = list(rows.groupby(["algorithm", "family", "threshold"], dropna=False))
    parts.sort(key=lambda item: (item[0][0], item[1]["variant"].iloc[0], -item[0][2]))
    shifts = np.linspace(-0.22, 0.22, len(parts)) if len(parts) > 1 else [0.0]
    series = []
    for number, ((algorithm, _, threshold), part) in enumerate(parts):
        variant = part["variant"].iloc[0]
        label = f"{algorithm_label(algorithm)} {front_text(algorithm, threshold)}" + (
            f" ({variant})" if variant else ""
        )
        colour, marks = CONTRASTS[number % len(CONTRASTS)], MARKERS[number % len(MARKERS)]
        series.append((label, colour, marks, float(shifts[number]), part.sort_values("least")))
    return series


def _groups(rows: pd.DataFrame) -> list[str]:
    return list(rows.sort_values("least")["group"].unique())


def _draw(rows: pd.DataFrame, labels: Sequence[str]) -> Canvas:
    canvas, all_axes = panels(2, labels, height=4.5)
    groups = _groups(rows)
    for axes, (metric, name) in zip(all_axes, METRICS.items(), strict=True):
        for label, colour, (marker, _), shift, part in _series(rows):
            x = np.array([groups.index(group) for group in part["group"]]) + shift
            halves = (part[f"{metric}_high"] - part[metric]).where(part["seeds"] >= MIN_SEEDS_FOR_INTERVAL)
            axes.errorbar(x, part[metric], halves, fmt="none", ecolor=colour, elinewidth=1, capsize=2)
            axes.scatter(
                x, part[metric], s=70 if marker == "*" else 32, marker=marker, color=colour, label=label, zorder=3
            )
        axes.set_xticks(range(len(groups)), groups, rotation=40, ha="right", rotation_mode="anchor", fontsize=8)
        axes.set(xlabel="interactions of a user", ylabel=name)
        axes.grid(axis="x", visible=False)
        axes.set_ylim(bottom=0)
        thousands(axes.yaxis)
    all_axes[1].set_title(seeds_note(rows["seeds"]), fontsize=8, color=FAINT, loc="right")
    handles, names = all_axes[0].get_legend_handles_labels()
    canvas.legend(handles, names, loc="outside lower center", ncols=legend_columns(names))
    return canvas


def _plot(rows: pd.DataFrame) -> Mapping[str, Any]:
    traces = []
    for panel, metric in enumerate(METRICS):
        for label, colour, (_, symbol), _, part in _series(rows):
            hover = [[label, *_values(row, metric)] for _, row in part.iterrows()]
            trace = panel_trace(panel, label, list(part["group"]), part, metric, colour, symbol)
            traces.append({**trace, "customdata": hover, "hovertemplate": hover_lines(4)})
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
        seeds_line(row["seed_list"]),
    ]
