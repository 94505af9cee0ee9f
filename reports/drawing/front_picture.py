"""A front as a static picture."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, NullFormatter

from benchmark.statistics.intervals import MIN_SEEDS_FOR_INTERVAL
from reports.drawing.front import LABEL_SIZE, LEFT, PLOT_HEIGHT, Curve, Front, positions
from reports.drawing.legend import MAX_ENTRIES, by_rows, legend_columns, more_text
from reports.drawing.reference_lines import DASHES, REFERENCES, draw_lines
from reports.drawing.style import FAINT, INK, NO_COMMUNICATION, WIDTH, darker, header_height, thousands
from reports.write.table import cell_text

MARK_SIZES = {"*": 95, "s": 34, "^": 42}
ABOVE, FREE = 0.24, 0.1
"""Inches for the second axis, above the plot, and between it and the labels of the data."""

INSET_FROM = 8
"""Where the values differ by more than this factor, an inset enlarges the lowest part, if it hides no mark."""

INSET = (0.57, 0.42, 0.41, 0.42)
"""The left and lower edge of the inset, its width and its height, as shares of the plot."""


def draw_front(front: Front, labels: Sequence[str]) -> Canvas:
    """Draw marks, intervals, labels and the two extremes, and leave space for the `labels` of the data."""
    handles = _legend(front)
    columns = legend_columns([str(handle.get_label()) for handle in handles])
    below = 0.6 + 0.2 * max(2, math.ceil(len(handles) / columns))
    has_second_axis = not math.isnan(front.clients)
    height = below + PLOT_HEIGHT + header_height(labels) + (ABOVE + FREE if has_second_axis else 0)
    canvas = Canvas(figsize=(WIDTH, height))
    axes = canvas.add_axes((LEFT / WIDTH, below / height, front.size[0] / 72 / WIDTH, PLOT_HEIGHT / height))
    front.axis.apply(axes)
    if front.is_log:
        axes.set_yscale("log")
    axes.set_ylim(front.bottom, front.top)
    axes.set_ylabel(front.metric.axis_label(is_log=front.is_log))
    thousands(axes.yaxis)
    if front.is_log:
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if front.top > 4 * front.bottom else range(1, 10)))
        axes.yaxis.set_minor_formatter(NullFormatter())
    for curve in front.curves:
        _draw_curve(axes, front, curve)
    draw_lines(axes, front.lines())
    _draw_stated(axes, front)
    _draw_random(axes, front)
    if has_second_axis:
        front.axis.apply_per_client(axes, front.clients)
    above = 1.008 + (ABOVE / PLOT_HEIGHT if has_second_axis else 0)
    axes.annotate(front.seeds_text, (1, above), xycoords="axes fraction", ha="right", fontsize=7.5, color=FAINT)
    if front.is_log and front.top > INSET_FROM * front.bottom and not _hides_a_mark(front):
        _draw_inset(axes, front)
    _write_labels(canvas, front, below)
    canvas.legend(handles=by_rows(handles, columns), loc="lower center", ncols=columns, bbox_to_anchor=(0.5, 0.01))
    return canvas


def _draw_curve(axes: Any, front: Front, curve: Curve) -> None:
    marks, style = curve.marks, curve.style
    x, y = front.axis.position(marks["x"]), marks["y"].to_numpy()
    positive = marks["x"].to_numpy() > 0
    _draw_staircase(axes, front, curve)
    horizontal = np.abs(np.vstack([x - marks["x_low"].clip(lower=front.axis.border), marks["x_high"] - x]))
    low = marks["y_low"].clip(lower=front.bottom / 2) if front.is_log else marks["y_low"]  # no logarithm below zero
    vertical = np.abs(np.vstack([y - low, marks["y_high"] - y]))
    for bars in ({"yerr": vertical}, {"xerr": np.where(positive, horizontal, np.nan)}):
        axes.errorbar(x, y, **bars, fmt="none", ecolor=style.colour, elinewidth=0.9, alpha=0.5, zorder=2.5)
    _draw_seeds(axes, front, curve)
    plain = ~curve.no_communication
    size, hollow = MARK_SIZES.get(style.marker, 36), _is_hollow(curve)
    look = {"facecolors": "white" if hollow else style.colour, "edgecolors": style.colour if hollow else "white"}
    if style.marker == "x":
        look = {"color": style.colour}
    axes.scatter(x[plain], y[plain], s=size, marker=style.marker, linewidths=0.9, zorder=4, label=curve.label, **look)
    axes.scatter(x[~plain], y[~plain], s=64, marker="o", color=NO_COMMUNICATION, edgecolors="white", zorder=5)
    for extreme, colour in ((curve.no_communication, NO_COMMUNICATION), (curve.always, style.colour)):
        for level in y[extreme]:
            axes.axhline(level, color=colour, linewidth=0.8, linestyle=(0, (1, 2.5)), alpha=0.8, zorder=1.5)


def _draw_staircase(axes: Any, front: Front, curve: Curve) -> None:
    """Draw the best value within each budget of communication; only settings that communicate are on it."""
    steps = curve.staircase(front.metric.sign)
    if len(steps):
        x, y = [*steps["x"], front.axis.right], [*steps["y"], steps["y"].iloc[-1]]
        axes.plot(x, y, drawstyle="steps-post", color=curve.style.colour, linewidth=0.9, alpha=0.5, zorder=2)


def _draw_seeds(axes: Any, front: Front, curve: Curve) -> None:
    """Draw single seeds as dots where there are too few for an interval."""
    few = curve.marks[(curve.marks["seeds"] > 1) & (curve.marks["seeds"] < MIN_SEEDS_FOR_INTERVAL)]
    for xs, ys in zip(few["x_seeds"], few["y_seeds"], strict=True):
        axes.scatter(front.axis.position(xs), ys, s=7, color=curve.style.colour, alpha=0.6, linewidths=0, zorder=3)


def _draw_random(axes: Any, front: Front) -> None:
    """Mark the level of a random choice: a line, or a note if it is below the picture."""
    level = front.random_level
    if level is None:
        return
    style = {"ha": "right", "va": "bottom", "fontsize": 7, "color": FAINT}
    if front.bottom <= level <= front.top:
        axes.axhline(level, color=FAINT, linewidth=1, linestyle=(0, (5, 2)), zorder=1.5)
        axes.text(front.axis.right, level, "random choice ", **style)
    else:
        axes.text(0.995, 0.008, f"random choice: {level:g}, below this picture", transform=axes.transAxes, **style)


def _draw_stated(axes: Any, front: Front) -> None:
    """Draw the paper's own points as hollow marks."""
    for point in front.stated:
        x = float(front.axis.position([point.x])[0])
        axes.scatter([x], [point.y], s=75, marker="D", facecolors="none", edgecolors=INK, linewidths=1.1, zorder=6)


def _hides_a_mark(front: Front) -> bool:
    """Whether a mark lies where the inset would be."""
    left, bottom, width, height = INSET
    shares = np.concatenate([positions(front, curve) for curve in front.curves]) / front.size
    return bool(((shares > (left, bottom)) & (shares < (left + width, bottom + height))).all(axis=1).any())


def _draw_inset(axes: Any, front: Front) -> None:
    """Enlarge what is at most twice the least value, where all curves of interest are: above the least, in per cent."""
    least = min(float(curve.marks["y"].min()) for curve in front.curves)
    inset = axes.inset_axes(INSET)
    inset.set_xscale("log")
    shown = []
    for curve in front.curves:
        marks = curve.marks[(curve.marks["x"] > 0) & (curve.marks["y"] <= 2 * least)]
        steps = curve.staircase(front.metric.sign)
        above, heights = 100 * (marks["y"] / least - 1), 100 * (steps["y"] / least - 1)
        x, y = [*steps["x"], front.axis.right], [*heights, *heights.iloc[-1:]]
        inset.plot(x[: len(y)], y, drawstyle="steps-post", color=curve.style.colour, linewidth=0.9, alpha=0.5)
        inset.scatter(marks["x"], above, s=16, marker=curve.style.marker, color=curve.style.colour, linewidths=0.5)
        shown += list(marks["x"])
    inset.set_ylim(-4, 104)
    if shown:
        inset.set_xlim(min(shown) / 1.6, front.axis.right)
    inset.tick_params(labelsize=7)
    inset.set_title(f"{front.metric.label} above the least ({cell_text(round(least))}), %", fontsize=7.5)
    inset.patch.set_alpha(0.92)


def _is_hollow(curve: Curve) -> bool:
    """Return whether marks are drawn hollow: those of all variants but the plain one."""
    return bool(curve.variant)


def _write_labels(canvas: Canvas, front: Front, below: float) -> None:
    """Write the labels of the marks; the plot starts `below` inches above the lower edge of the picture."""
    width, height = canvas.get_size_inches()
    left, below = LEFT * 72, below * 72
    for label in front.labels:
        placement = label.placement
        if placement is None:
            continue
        curve = None if label.curve is None else front.curves[label.curve]
        colour = INK if curve is None else darker(curve.style.colour)
        if placement.leader is not None:
            x0, y0, x1, y1 = placement.leader
            inches = ([(left + x0) / 72, (left + x1) / 72], [(below + y0) / 72, (below + y1) / 72])
            line = Line2D(*inches, transform=canvas.dpi_scale_trans, color=colour, linewidth=0.45, alpha=0.55, zorder=2)
            canvas.add_artist(line)
        canvas.text(
            (left + placement.x) / 72 / width,
            (below + placement.y) / 72 / height,
            label.text,
            fontsize=LABEL_SIZE,
            weight="bold" if label.is_end else "normal",
            style="italic" if curve is None else "normal",
            color=colour,
            ha="center",
            va="center",
            gid="threshold-label",
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.7, "pad": 0.2},
        )


def _legend(front: Front) -> list[Line2D]:
    """Return the legend: first the algorithms, then the two extremes with their values, as in the paper."""
    handles = []
    for curve in front.curves:
        style = curve.style
        look: dict[str, Any] = {"markerfacecolor": "white" if _is_hollow(curve) else style.colour}
        look |= {"marker": style.marker, "markersize": 7.5}
        name = curve.legend.replace("d_g", "$d_g$")
        line = Line2D([], [], color=style.colour, linewidth=0.8, label=name, **look)
        handles.append(line)
    if len(handles) > MAX_ENTRIES:
        hidden = len(handles) - MAX_ENTRIES + 1
        return [*handles[: MAX_ENTRIES - 1], Line2D([], [], linestyle="none", label=more_text(hidden))]
    if front.stated:
        look = {"marker": "D", "markerfacecolor": "none", "markeredgecolor": INK, "linestyle": "none"}
        handles.append(Line2D([], [], markersize=7, label="stated in the paper", **look))
    for reference in [line for line in front.references if line.is_baseline]:
        look = {"color": reference.style.colour, "linestyle": (0, DASHES), "linewidth": 0.9}
        handles.append(Line2D([], [], label=f"{reference.label}: {cell_text(reference.level)}", **look))
    if any(not line.is_baseline for line in front.references):
        handles.append(Line2D([], [], color=FAINT, linestyle=(0, DASHES), linewidth=0.9, label=REFERENCES))
    return [*handles, *_extremes(front)][:MAX_ENTRIES]


def _extremes(front: Front) -> list[Line2D]:
    """Return the entries of the two extremes; the least important ones, as they are named in the plot, too."""
    handles = []
    for curve in front.curves:
        for y, name in curve.marks.loc[curve.no_communication, ["y", "text"]].itertuples(index=False):
            text = f"{curve.label} {name}: {cell_text(y)}, no communication"
            handles.append(Line2D([], [], color=NO_COMMUNICATION, marker="o", linewidth=0.8, linestyle=":", label=text))
        for x, y, name in curve.marks.loc[curve.always, ["x", "y", "text"]].itertuples(index=False):
            text = f"{curve.label} {name}: {cell_text(y)} at $C_T$ = {cell_text(round(x))}"
            handles.append(Line2D([], [], color=curve.style.colour, linewidth=0.9, linestyle=":", label=text))
    return handles
