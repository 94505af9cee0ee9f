"""A front as a static picture."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, NullFormatter

from reports.drawing.front import LABEL_SIZE, LEFT, PLOT_HEIGHT, Curve, Front
from reports.drawing.legend import by_rows, legend_columns
from reports.drawing.reference_lines import DASHES, draw_lines
from reports.drawing.style import NO_COMMUNICATION, WIDTH, darker, header_height, thousands
from reports.write.table import cell_text

MARK_SIZES = {"*": 95, "s": 34, "^": 42}


def draw_front(front: Front, labels: Sequence[str]) -> Canvas:
    """Draw marks, intervals, labels and the two extremes, and leave space for the `labels` of the data."""
    handles = _legend(front)
    columns = legend_columns([str(handle.get_label()) for handle in handles])
    below = 0.6 + 0.2 * max(2, math.ceil(len(handles) / columns))
    height = below + PLOT_HEIGHT + header_height(labels)
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
    draw_lines(axes, front.references, front.size[1])
    _write_labels(canvas, front, below)
    canvas.legend(handles=by_rows(handles, columns), loc="lower center", ncols=columns, bbox_to_anchor=(0.5, 0.01))
    return canvas


def _draw_curve(axes: Any, front: Front, curve: Curve) -> None:
    marks, style = curve.marks, curve.style
    x, y = front.axis.position(marks["x"]), marks["y"].to_numpy()
    positive = marks["x"].to_numpy() > 0
    axes.plot(x[positive], y[positive], color=style.colour, linewidth=0.8, alpha=0.4, zorder=2)
    horizontal = np.abs(np.vstack([x - marks["x_low"].clip(lower=front.axis.border), marks["x_high"] - x]))
    low = marks["y_low"].clip(lower=front.bottom / 2) if front.is_log else marks["y_low"]  # no logarithm below zero
    vertical = np.abs(np.vstack([y - low, marks["y_high"] - y]))
    for bars in ({"yerr": vertical}, {"xerr": np.where(positive, horizontal, np.nan)}):
        axes.errorbar(x, y, **bars, fmt="none", ecolor=style.colour, elinewidth=0.9, alpha=0.5, zorder=2.5)
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
        curve = front.curves[label.curve]
        colour = darker(curve.style.colour)
        is_extreme = bool(curve.meaning) and label.text.startswith(f"{curve.meaning}=")
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
            weight="bold" if is_extreme else "normal",
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
        name = curve.legend.replace("d_g", "$d_g$")
        line = Line2D(
            [], [], color=style.colour, marker=style.marker, linewidth=0.8, markersize=7.5, label=name, **look
        )
        handles.append(line)
    for curve in front.curves:
        for y, name in curve.marks.loc[curve.no_communication, ["y", "text"]].itertuples(index=False):
            text = f"{name}: {cell_text(y)}, no communication"
            handles.append(Line2D([], [], color=NO_COMMUNICATION, marker="o", linewidth=0.8, linestyle=":", label=text))
        for x, y, name in curve.marks.loc[curve.always, ["x", "y", "text"]].itertuples(index=False):
            text = f"{name}: {cell_text(y)} at $C_T$ = {cell_text(round(x))}"
            handles.append(Line2D([], [], color=curve.style.colour, linewidth=0.9, linestyle=":", label=text))
    for reference in front.references:
        look = {"color": reference.style.colour, "linestyle": (0, DASHES), "linewidth": 0.9}
        handles.append(Line2D([], [], label=reference.legend, **look))
    return handles
