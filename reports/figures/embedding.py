"""The PCA of appendix H for every real data set: the users, and how far from the centre each activity group is."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure as Canvas

from reports.analysis.users import (
    ASSIGNMENTS,
    EXPERIMENT,
    Embedding,
    by_chance_of,
    distance_by_group,
    embed_users,
    has_few_users,
)
from reports.drawing.figure import Figure, make_figure
from reports.drawing.label_placement import LabelBox, place_labels
from reports.drawing.labels import dataset_label
from reports.drawing.plotly_parts import hover_lines, layout, numbers
from reports.drawing.style import INK, panels
from reports.figures.user_groups import OF_THE_PAPER
from reports.read.context import Context
from reports.read.results import Results
from reports.subjects import USERS

DISC = 17.0
"""Diameter of the disc with a group's number, in points."""

ORDER = 50


def figures(results: Results, context: Context) -> list[Figure]:
    """Return a picture for each real data set that is available."""
    real = results.runs[results.runs["source"] != "simulated"]
    study = real[real["experiment"] == EXPERIMENT]
    real = study if len(study) else real
    all_figures = []
    for dataset, runs in real.groupby("dataset"):
        prepared = context.prepared(str(dataset))
        if prepared is None:
            context.note_absent(f"{dataset}: no figure of its users because the data set is not available")
            continue
        if has_few_users(str(dataset), context):
            continue
        embedding = embed_users(prepared)
        groups = distance_by_group(embedding, by_chance_of(prepared, context.by_chance))
        all_figures.append(_figure(str(dataset), embedding, groups, runs, context.labels(runs)))
    return all_figures


def _figure(
    dataset: str, embedding: Embedding, groups: pd.DataFrame, runs: pd.DataFrame, labels: Sequence[str]
) -> Figure:
    users = embedding.users
    claim = (
        "According to the paper, the most active groups are near the centre, and the less active groups lie along two "
        "nearly orthogonal directions."
        if dataset.startswith(OF_THE_PAPER)
        else ""
    )
    caption = (
        f"The mean feature vectors of the items of each of {len(users):,} users, reduced from {embedding.dimension} to "
        "2 dimensions. Left: each user, coloured by activity group; numbered discs point to the group means. Right: "
        "the mean distance of each group from the centre. The mean of many items is near the centre for any user, so "
        f"the band is what chance gives: the 95 % range of {ASSIGNMENTS} random deals of the same items, with the "
        f"number of items of each user kept. {claim}"
    ).strip()
    return make_figure(
        f"users_{dataset}",
        f"Users of {dataset_label(dataset)} by principal components",
        caption,
        lambda: _draw(embedding, groups, labels),
        _plot(embedding),
        short_caption=f"{len(users):,} users, reduced from {embedding.dimension} to 2 dimensions. {claim}".strip(),
        labels=labels,
        data=users.assign(explained_x=embedding.explained[0], explained_y=embedding.explained[1]),
        experiments=sorted(runs["experiment"].unique()),
        subject=USERS,
    )


def axis_names(embedding: Embedding) -> tuple[str, str]:
    """Return the names of the axes, each with its share of the variance."""
    first, second = embedding.explained
    return f"component 1 ({first:.1%} of the variance)", f"component 2 ({second:.1%} of the variance)"


def group_colours(count: int) -> list[str]:
    """Return colours from dark blue (least active) to orange, which colour-blind readers can distinguish."""
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    return [to_hex(colormaps["plasma"](share)) for share in np.linspace(0, 0.8, count)]


def _draw(embedding: Embedding, distances: pd.DataFrame, labels: Sequence[str]) -> Canvas:
    users, names = embedding.users, axis_names(embedding)
    canvas, (axes, right) = panels(2, labels, height=5.0, width_ratios=(1.15, 1))
    groups = sorted(users["group"].unique())
    colours = dict(zip(groups, group_colours(len(groups)), strict=True))
    for group, part in users.groupby("group"):
        axes.scatter(part["x"], part["y"], s=9, color=colours[group], linewidths=0, alpha=0.6)
    axes.set(xlabel=names[0], ylabel=names[1])
    axes.axhline(0, color="#9ca3af", linewidth=0.7, zorder=1)
    axes.axvline(0, color="#9ca3af", linewidth=0.7, zorder=1)
    _draw_distances(right, distances, colours)
    _mark_means(canvas, axes, embedding, colours)
    return canvas


def _draw_distances(axes: Any, distances: pd.DataFrame, colours: Mapping[int, str]) -> None:
    """Draw the distance of each group from the centre, with the range that chance gives."""
    x = np.arange(len(distances))
    for number, (low, high) in enumerate(zip(distances["chance_low"], distances["chance_high"], strict=True)):
        label = "by chance: 95 % range" if number == 0 else None
        axes.fill_between([number - 0.4, number + 0.4], low, high, color="#d1d5db", linewidth=0, label=label)
    shades = [colours[group] for group in distances["group"]]
    axes.scatter(x, distances["distance"], s=46, c=shades, edgecolors="white", zorder=3, label="users of the data set")
    names = [f"{group}:  {label}" for group, label in zip(distances["group"], distances["label"], strict=True)]
    axes.set_xticks(x, names, rotation=40, ha="right", rotation_mode="anchor", fontsize=8)
    axes.set(xlabel="group: interactions of a user", ylabel="mean distance from the centre")
    axes.set_ylim(bottom=0)
    axes.grid(axis="x", visible=False)
    axes.legend(loc="upper right", fontsize=8)


def _mark_means(canvas: Canvas, axes: Any, embedding: Embedding, colours: Mapping[int, str]) -> None:
    """Put a numbered disc next to the mean of each group; discs do not overlap, even if the means do."""
    canvas.draw_without_rendering()  # the layout determines the size of the plot
    frame = axes.get_window_extent()
    points = 72 / canvas.dpi
    means = embedding.users.groupby("group")[["x", "y"]].mean()
    positions = (axes.transData.transform(means.to_numpy()) - (frame.x0, frame.y0)) * points
    boxes = [LabelBox(float(x), float(y), DISC, DISC, radius=3.0) for x, y in positions]
    for group, mean, box, placement in zip(
        means.index,
        means.to_numpy(),
        boxes,
        place_labels(boxes, (frame.width * points, frame.height * points)),
        strict=True,
    ):
        axes.scatter(*mean, s=26, marker="o", color=colours[group], edgecolors="white", linewidths=1, zorder=5)
        if placement is not None:
            offset = (placement.x - box.x, placement.y - box.y)
            disc = {"boxstyle": "circle,pad=0.22", "facecolor": "white", "edgecolor": colours[group], "linewidth": 1.6}
            line = {"arrowstyle": "-", "color": INK, "linewidth": 0.8, "shrinkA": 0, "shrinkB": 2}
            style = {"fontsize": 8.5, "weight": "bold", "color": INK, "ha": "center", "va": "center", "zorder": 6}
            axes.annotate(str(group), mean, offset, textcoords="offset points", bbox=disc, arrowprops=line, **style)


def _plot(embedding: Embedding) -> Mapping[str, Any]:
    users, names = embedding.users, axis_names(embedding)
    labels = users.groupby("group")["label"].first()
    colours, count = group_colours(len(labels)), len(labels)
    numbers_of = {group: number for number, group in enumerate(labels.index)}
    scale = [[(number + end) / count, colour] for number, colour in enumerate(colours) for end in (0, 1)]
    texts = [f"{group}: {label}" for group, label in labels.items()]
    bar = {"tickvals": [*range(count)], "ticktext": texts, "title": {"text": "interactions"}, "thickness": 12}
    colour_axis = {"cmin": -0.5, "cmax": count - 0.5, "colorscale": scale, "colorbar": bar}
    trace = {
        "type": "scatter",
        "mode": "markers",
        "name": "users",
        "showlegend": False,
        "x": numbers(users["x"].round(3)),
        "y": numbers(users["y"].round(3)),
        "customdata": [
            [f"group {group}: {labels[group]}", f"{activity:,} interactions"]
            for group, activity in zip(users["group"], users["interactions"], strict=True)
        ],
        "marker": {"color": [numbers_of[group] for group in users["group"]], "size": 6, "opacity": 0.75, **colour_axis},
        "hovertemplate": hover_lines(2),
    }
    return {"data": [trace], "layout": layout({"title": {"text": names[0]}}, {"title": {"text": names[1]}})}
