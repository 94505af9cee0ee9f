"""Placement of texts in a panel: deterministic geometry, done before anything is drawn.

All lengths are points (1/72 inch), the origin is the lower left corner of the panel. A label never overlaps another
label or a mark, and never leaves the frame; it avoids intervals and the lines of other labels if that costs little.
Labels that fit nowhere are reported.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from benchmark.charts.chart import Label, Level, Panel

DIRECTIONS = np.deg2rad([90, 45, 0, 135, 315, 180, 270, 225, *(15.0 * step for step in range(24) if step % 3)])
DISTANCES = (2.0, 4.5, 8.0, 12.0, 17.0, 23.0, 30.0, 38.0, 47.0, 58.0, 70.0, 85.0, 100.0, 120.0, 145.0, 170.0)
LEADER_FROM = 6.0
"""A label that is further away from its mark is connected to it by a line."""

COST_BEHIND, COST_CROSSED, COST_ON_BAR, COST_OVER_MARK = 70.0, 30.0, 12.0, 8.0
"""Costs in points of distance: line behind a label, two crossing lines, label on a bar, line over another mark."""

DISC = 17.0
"""The diameter of a label that is a disc."""

MARK_RADIUS = 5.0
COLUMNS = (0.78, 0.5, 0.99, 0.3)
"""Right ends of names on their lines, as shares of the width."""

LINE_GAP = 1.55
"""The distance between names beside a panel, relative to the size of their text."""

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class LabelBox:
    """The size of a label, and its mark: a circle at (x, y)."""

    x: float
    y: float
    width: float
    height: float
    radius: float = 4.0


@dataclass(frozen=True)
class Placement:
    """The centre of a label, and its leader line (from the mark, to the label) if it is far away."""

    x: float
    y: float
    leader: tuple[float, ...] | None = None


@lru_cache(maxsize=10_000)
def text_size(text: str, size: float) -> tuple[float, float]:
    """Return width and height of a line of text: at least those of matplotlib's renderer."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(family="DejaVu Sans", size=size)
    width, _, _ = text_to_path.get_text_width_height_descent(text, font, text.count("$") > 1)
    return float(width) * 1.03 + 1.5, size * 1.3


def wrapped(text: str, width: float, size: float) -> list[str]:
    """Break a text into lines that are not wider than `width`, after spaces and hyphens."""
    lines = [""]
    for word in re.findall(r"[^\s-]*-+|[^\s-]+\s?|\s", text):
        if lines[-1] and text_size(f"{lines[-1]}{word}".strip(), size)[0] > width:
            lines.append("")
        lines[-1] += word
    return [line.strip() for line in lines]


@dataclass(frozen=True)
class PlacedName:
    """The name of a level, and its box: left, bottom, right, top; `share` is its right end as a share of the width."""

    level: Level
    box: tuple[float, ...]
    share: float


def place_names(panel: Panel, size: tuple[float, float], text: float) -> list[PlacedName]:
    """Write the names of levels on their lines, side by side where lines are near each other, or beside the panel."""
    levels = [level for level in panel.levels if level.name and panel.y.inside(level.value)]
    heights = {level.name: float(panel.y.share(level.value)) * size[1] for level in levels}
    if panel.names_beside:
        spread = spread_out(heights, text * LINE_GAP, 0, size[1])
        return [PlacedName(level, (size[0], spread[level.name]) * 2, 1.0) for level in levels]
    marks = _occupied(panel, size, MARK_RADIUS)
    placed: list[PlacedName] = []
    for level in levels:
        (width, height), y = text_size(level.name, text), heights[level.name] + 1
        taken = np.array([name.box for name in placed]).reshape(-1, 4)
        options = [
            PlacedName(level, (share * size[0] - width, y, share * size[0], y + height), share) for share in COLUMNS
        ]
        boxes = [np.array(option.box) for option in options]
        covered = [(overlap(box, taken).sum(), overlap(box, marks).sum()) for box in boxes]
        placed.append(options[covered.index(min(covered))])
    return placed


def spread_out(levels: Mapping[str, float], gap: float, bottom: float, top: float) -> dict[str, float]:
    """Return a height for each name, at its level or as near as possible: at least `gap` apart, inside the range."""

    def inside(start: float, others: int) -> float:
        return max(min(start, top - gap * (others + 0.5)), bottom + gap / 2)

    groups: list[tuple[list[str], float]] = []  # names that touch each other, and the height of the lowest
    for name in sorted(levels, key=lambda name: levels[name]):
        members, start = [name], inside(levels[name], 0)
        while groups and start < groups[-1][1] + gap * len(groups[-1][0]):
            members = groups.pop()[0] + members
            wanted = float(np.mean([levels[each] - gap * number for number, each in enumerate(members)]))
            start = inside(wanted, len(members) - 1)
        groups.append((members, start))
    return {name: start + gap * number for members, start in groups for number, name in enumerate(members)}


def place_panel_labels(
    panel: Panel, size: tuple[float, float], text: float, radius: float
) -> list[tuple[Label, "Placement | None"]]:
    """Place the labels of a panel of this size: away from all marks, intervals and names of levels."""
    if not panel.labels:
        return []
    boxes = []
    for label in panel.labels:
        x, y = _points(panel, size, [label.x], [label.y])[0].tolist()
        boxes.append(LabelBox(x, y, *((DISC, DISC) if label.is_disc else text_size(label.text, text)), radius))
    taken = np.array([name.box for name in place_names(panel, size, text)]).reshape(-1, 4)
    return list(zip(panel.labels, place_labels(boxes, size, _occupied(panel, size, radius), taken), strict=True))


def _points(panel: Panel, size: tuple[float, float], x: Sequence[float], y: Sequence[float]) -> Array:
    """Return positions in points from the lower left corner of the panel."""
    return np.column_stack([panel.x.share(x) * size[0], panel.y.share(y) * size[1]])


def _occupied(panel: Panel, size: tuple[float, float], radius: float) -> Array:
    """Return the boxes of all marks with texts of their own, and thin ones of their bars."""
    boxes, aside, above = [np.empty((0, 4))], np.array([1.2, 0]), np.array([0, 1.2])
    for series in panel.series:
        if series.hover:
            marks = _points(panel, size, series.x, series.y)
            boxes.append(np.hstack([marks - radius, marks + radius]))
            if series.y_interval is not None:
                low, high = (_points(panel, size, series.x, end) for end in series.y_interval)
                boxes.append(np.hstack([low - aside, high + aside]))
            if series.x_interval is not None:
                low, high = (_points(panel, size, end, series.y) for end in series.x_interval)
                boxes.append(np.hstack([low - above, high + above]))
    occupied = np.vstack(boxes)
    return np.asarray(occupied[np.isfinite(occupied).all(axis=1)])


def place_labels(
    labels: Sequence[LabelBox], frame: tuple[float, float], bars: Array | None = None, taken: Array | None = None
) -> list[Placement | None]:
    """Return the placement of each label at the cheapest free position, `None` if it fits nowhere.

    Args:
        labels: the sizes of the labels, and their marks.
        frame: width and height of the plot.
        bars: boxes (left, bottom, right, top), such as those of intervals, which labels avoid if possible.
        taken: boxes that labels never cover, such as other texts.
    """
    if not labels:
        return []
    bars, taken = (np.empty((0, 4)) if boxes is None else boxes for boxes in (bars, taken))
    centres = np.array([[label.x, label.y] for label in labels])
    radii = np.array([[label.radius] for label in labels])
    marks = np.hstack([centres - radii, centres + radii])
    near = (np.abs(centres[:, None] - centres[None]).max(axis=2) < 40).sum(axis=1)
    placements: list[Placement | None] = [None] * len(labels)
    texts, lines = np.empty((0, 4)), np.empty((0, 4))  # of the labels that are placed
    for number in np.argsort(-near, kind="stable"):  # labels with many neighbours have the fewest free positions
        label = labels[number]
        boxes, distances = _candidates(label)
        is_inside = (boxes[:, :2] >= 0).all(axis=1) & (boxes[:, 2:] <= frame).all(axis=1)
        is_free = is_inside & ~overlap(boxes[:, None], np.vstack([marks, taken, texts])).any(axis=1)
        boxes, distances = boxes[is_free], distances[is_free]
        if not len(boxes):
            continue
        leaders, is_far = _leaders(label, boxes), distances > LEADER_FROM
        cost = distances + COST_ON_BAR * overlap(boxes[:, None], bars).sum(axis=1)
        cost += COST_BEHIND * _run_through(lines, boxes[:, None]).sum(axis=1)
        cost += is_far * COST_BEHIND * _run_through(leaders[:, None], texts).sum(axis=1)
        cost += is_far * COST_CROSSED * _cross(leaders[:, None], lines).sum(axis=1)
        cost += is_far * COST_OVER_MARK * (_run_through(leaders[:, None], marks).sum(axis=1) - 1)
        best = int(np.argmin(cost))
        texts = np.vstack([texts, boxes[best]])
        x, y = ((boxes[best, :2] + boxes[best, 2:]) / 2).tolist()
        placements[number] = Placement(x, y, tuple(leaders[best].tolist()) if is_far[best] else None)
        lines = np.vstack([lines, leaders[best]]) if is_far[best] else lines
    return placements


def overlap(boxes: Array, others: Array) -> Bools:
    """Return which pairs of boxes overlap; a common edge is not an overlap."""
    apart = (boxes[..., :2] >= others[..., 2:]) | (others[..., :2] >= boxes[..., 2:])
    return ~np.asarray(apart.any(axis=-1))


def _candidates(label: LabelBox) -> tuple[Array, Array]:
    """Return boxes around the mark and their distances: near ones first, above and to the right first."""
    distances = np.repeat(DISTANCES, len(DIRECTIONS))
    directions = np.tile(np.column_stack([np.cos(DIRECTIONS), np.sin(DIRECTIONS)]).round(9), (len(DISTANCES), 1))
    half = np.array([label.width, label.height]) / 2
    centres = (label.x, label.y) + directions * (label.radius + distances)[:, None] + np.sign(directions) * half
    return np.hstack([centres - half, centres + half]), distances


def _leaders(label: LabelBox, boxes: Array) -> Array:
    """Return lines from the edge of the mark to the nearest points of the boxes."""
    mark = np.array([label.x, label.y])
    ends = np.clip(mark, boxes[:, :2], boxes[:, 2:])
    directions = ends - mark
    return np.hstack([mark + directions / np.hypot(*directions.T)[:, None] * label.radius * 0.8, ends])


def _run_through(lines: Array, boxes: Array) -> Bools:
    """Return which lines run through which boxes (Liang and Barsky: clip the line to the box)."""
    start, direction = lines[..., :2], lines[..., 2:] - lines[..., :2]
    direction = np.where(np.abs(direction) < 1e-12, 1e-12, direction)
    low, high = (boxes[..., :2] - start) / direction, (boxes[..., 2:] - start) / direction
    enter = np.minimum(low, high).max(axis=-1)
    leave = np.maximum(low, high).min(axis=-1)
    return np.asarray(np.maximum(enter, 0.0) < np.minimum(leave, 1.0) - 1e-9)


def _cross(lines: Array, others: Array) -> Bools:
    """Return which lines cross each other."""
    a, b, c, d = lines[..., :2], lines[..., 2:], others[..., :2], others[..., 2:]
    return np.asarray((_side(a, b, c) * _side(a, b, d) < 0) & (_side(c, d, a) * _side(c, d, b) < 0))


def _side(start: Array, end: Array, point: Array) -> Array:
    """Return a number whose sign is the side of a line on which a point is."""
    along, to_point = end - start, point - start
    return np.asarray(along[..., 0] * to_point[..., 1] - along[..., 1] * to_point[..., 0])
