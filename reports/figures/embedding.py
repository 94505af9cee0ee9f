"""The PCA picture of appendix H: every user as the number of its activity group, for every real data set."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure as Canvas

from reports.context import Context
from reports.embedding import Embedding, embed_users
from reports.figure import Figure, make_figure
from reports.label_placement import Wish, place_labels
from reports.labels import dataset_label
from reports.plotly_parts import layout, numbers
from reports.results import Results
from reports.style import INK, panels

DISC = 17.0
"""Points across, of the disc with a group's number."""

ORDER = 50


def figures(results: Results, context: Context) -> list[Figure]:
    """Return a picture for each data set that is not simulated and at hand."""
    real = results.runs[results.runs["source"] != "simulated"]
    made = []
    for dataset, runs in real.groupby("dataset"):
        prepared = context.prepared(str(dataset))
        if prepared is None:
            context.say_absent(f"{dataset}: without its prepared data there is no picture of its users")
            continue
        made.append(_figure(str(dataset), embed_users(prepared), runs, context.labels(runs)))
    return made


def _figure(dataset: str, embedding: Embedding, runs: pd.DataFrame, labels: Sequence[str]) -> Figure:
    users = embedding.users
    caption = (
        f"Each of {len(users):,} users is the mean feature vector of the items it chose, reduced from "
        f"{embedding.dimension} to 2 dimensions; its number and colour are its activity group, the discs point "
        "to the groups' means. The paper on Delicious: the most active groups lie near the centre, the less active "
        "along two nearly orthogonal directions."
    )
    return make_figure(
        f"users_{dataset}",
        f"Users of {dataset_label(dataset)} by principal components",
        caption,
        lambda: _draw(embedding, labels),
        _plot(embedding),
        labels=labels,
        data=users.assign(explained_x=embedding.explained[0], explained_y=embedding.explained[1]),
        experiments=sorted(runs["experiment"].unique()),
    )


def axis_names(embedding: Embedding) -> tuple[str, str]:
    """Name the axes, each with its share of the variance."""
    first, second = embedding.explained
    return f"component 1 ({first:.1%} of the variance)", f"component 2 ({second:.1%} of the variance)"


def group_colours(count: int) -> list[str]:
    """From dark blue (least active) to orange, told apart by colour-blind readers too."""
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    return [to_hex(colormaps["plasma"](share)) for share in np.linspace(0, 0.8, count)]


def _draw(embedding: Embedding, labels: Sequence[str]) -> Canvas:
    users, names = embedding.users, axis_names(embedding)
    canvas, (axes,) = panels(1, labels, height=5.6)
    groups = sorted(users["group"].unique())
    colours = dict(zip(groups, group_colours(len(groups)), strict=True))
    for group, same in users.groupby("group"):
        axes.scatter(same["x"], same["y"], s=22, marker=f"${group}$", color=colours[group], linewidths=0, alpha=0.75)
    for group, same in users.groupby("group"):
        text = f"{group}: {same['label'].iloc[0]} interactions, {len(same):,} user{'s' if len(same) > 1 else ''}"
        axes.scatter([], [], s=40, marker="o", color=colours[group], label=text)
    axes.set(xlabel=names[0], ylabel=names[1])
    axes.axhline(0, color="#9ca3af", linewidth=0.7, zorder=1)
    axes.axvline(0, color="#9ca3af", linewidth=0.7, zorder=1)
    canvas.legend(loc="outside right center", title="activity group", alignment="left")
    _mark_means(canvas, axes, embedding, colours)
    return canvas


def _mark_means(canvas: Canvas, axes: Any, embedding: Embedding, colours: Mapping[int, str]) -> None:
    """Put a numbered disc beside the mean of each group; the means may lie close together, the discs must not."""
    canvas.draw_without_rendering()  # the layout decides how large the plot is
    frame = axes.get_window_extent()
    points = 72 / canvas.dpi
    means = embedding.users.groupby("group")[["x", "y"]].mean()
    places = (axes.transData.transform(means.to_numpy()) - (frame.x0, frame.y0)) * points
    wishes = [Wish(float(x), float(y), DISC, DISC, radius=3.0) for x, y in places]
    for group, mean, wish, place in zip(
        means.index,
        means.to_numpy(),
        wishes,
        place_labels(wishes, (frame.width * points, frame.height * points)),
        strict=True,
    ):
        axes.scatter(*mean, s=26, marker="o", color=colours[group], edgecolors="white", linewidths=1, zorder=5)
        if place is not None:
            offset = (place.x - wish.x, place.y - wish.y)
            disc = {"boxstyle": "circle,pad=0.22", "facecolor": "white", "edgecolor": colours[group], "linewidth": 1.6}
            line = {"arrowstyle": "-", "color": INK, "linewidth": 0.8, "shrinkA": 0, "shrinkB": 2}
            style = {"fontsize": 8.5, "weight": "bold", "color": INK, "ha": "center", "va": "center", "zorder": 6}
            axes.annotate(str(group), mean, offset, textcoords="offset points", bbox=disc, arrowprops=line, **style)


def _plot(embedding: Embedding) -> Mapping[str, Any]:
    users, names = embedding.users, axis_names(embedding)
    groups = sorted(users["group"].unique())
    colours = dict(zip(groups, group_colours(len(groups)), strict=True))
    traces = [
        {
            "type": "scatter",
            "mode": "markers",
            "name": f"{group}: {same['label'].iloc[0]}",
            "x": numbers(same["x"].round(4)),
            "y": numbers(same["y"].round(4)),
            "text": [f"{each:,}" for each in same["interactions"]],
            "marker": {"color": colours[group], "size": 6, "opacity": 0.75},
            "hovertemplate": f"<b>group {group}: {same['label'].iloc[0]}</b><br>%{{text}} interactions"
            "<br>(%{x:.3f}, %{y:.3f})<extra></extra>",
        }
        for group, same in users.groupby("group")
    ]
    return {"data": traces, "layout": layout({"title": {"text": names[0]}}, {"title": {"text": names[1]}})}
