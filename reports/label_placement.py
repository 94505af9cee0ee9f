"""Where labels go beside their marks: pure geometry, deterministic, so that a picture is planned before it is drawn.

All lengths are points (1/72 inch), the origin is the lower left corner of the plot. No label lies on another label, on
a mark or outside the frame; intervals and the lines of other labels are avoided where that costs little. What finds no
place is told, not hidden.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

DIRECTIONS = np.deg2rad([90, 45, 0, 135, 315, 180, 270, 225, *(15.0 * step for step in range(24) if step % 3)])
DISTANCES = (2.0, 4.5, 8.0, 12.0, 17.0, 23.0, 30.0, 38.0, 47.0, 58.0, 70.0, 85.0, 100.0, 120.0, 145.0, 170.0)
LEADER_FROM = 6.0
"""A label further than this from its mark is joined to it by a line."""

COST_BEHIND, COST_CROSSED, COST_ON_BAR, COST_OVER_MARK = 70.0, 30.0, 12.0, 8.0
"""How many points further away a label goes rather than: a line behind a label, two lines crossed, a bar covered, a
line over a foreign mark."""

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Wish:
    """A label of a given size that belongs to the mark at (x, y), which reaches `radius` around it."""

    x: float
    y: float
    width: float
    height: float
    radius: float = 4.0


@dataclass(frozen=True)
class Place:
    """The centre of a label, and its leader line (from the mark, to the label) if it is far away."""

    x: float
    y: float
    leader: tuple[float, float, float, float] | None = None


def place_labels(wishes: Sequence[Wish], frame: tuple[float, float], bars: Array | None = None) -> list[Place | None]:
    """Return a place for each label, `None` where there is none.

    Args:
        wishes: the labels.
        frame: width and height of the plot.
        bars: thin boxes (left, bottom, right, top), those of intervals, that labels avoid where they can.
    """
    if not wishes:
        return []
    marks = np.array([[w.x - w.radius, w.y - w.radius, w.x + w.radius, w.y + w.radius] for w in wishes])
    plan = _Plan(frame, marks, np.empty((0, 4)) if bars is None else bars)
    places: list[Place | None] = [None] * len(wishes)
    for number in _most_crowded_first(marks):
        places[number] = plan.take(wishes[number])
    return places


def overlap(boxes: Array, others: Array) -> Bools:
    """Tell which boxes share an area, pair by pair; a common edge is none."""
    apart = (boxes[..., :2] >= others[..., 2:]) | (others[..., :2] >= boxes[..., 2:])
    return ~np.asarray(apart.any(axis=-1))


class _Plan:
    """What is taken so far: boxes of marks and labels, and leader lines."""

    def __init__(self, frame: tuple[float, float], marks: Array, bars: Array) -> None:
        self.frame = frame
        self.marks = self.taken = marks
        self.bars = bars
        self.labels = np.empty((0, 4))
        self.leaders = np.empty((0, 4))

    def take(self, wish: Wish) -> Place | None:
        """Take the best of the free places: near its mark, off the bars, its line apart from others."""
        boxes, distances = _candidates(wish)
        inside = (boxes[:, :2] >= 0).all(axis=1) & (boxes[:, 2:] <= self.frame).all(axis=1)
        free = inside & ~overlap(boxes[:, None], self.taken).any(axis=1)
        boxes, far = boxes[free], distances[free] > LEADER_FROM
        if not len(boxes):
            return None
        leaders = _leaders(wish, boxes)
        cost = distances[free] + COST_ON_BAR * overlap(boxes[:, None], self.bars).sum(axis=1)
        cost += COST_BEHIND * _run_through(self.leaders, boxes[:, None]).sum(axis=1)
        cost += far * COST_BEHIND * _run_through(leaders[:, None], self.labels).sum(axis=1)
        cost += far * COST_CROSSED * _cross(leaders[:, None], self.leaders).sum(axis=1)
        cost += far * COST_OVER_MARK * (_run_through(leaders[:, None], self.marks).sum(axis=1) - 1)
        best = int(np.argmin(cost))
        box, leader = boxes[best], leaders[best]
        self.labels = np.vstack([self.labels, box])
        self.taken = np.vstack([self.taken, box])
        x, y = (float(each) for each in (box[:2] + box[2:]) / 2)
        if not far[best]:
            return Place(x, y)
        self.leaders = np.vstack([self.leaders, leader])
        return Place(x, y, (float(leader[0]), float(leader[1]), float(leader[2]), float(leader[3])))


def _most_crowded_first(marks: Array) -> list[int]:
    """The others have more ways out."""
    centres = (marks[:, :2] + marks[:, 2:]) / 2
    near = (np.abs(centres[:, None] - centres[None]).max(axis=2) < 40).sum(axis=1)
    return [int(each) for each in np.argsort(-near, kind="stable")]


def _candidates(wish: Wish) -> tuple[Array, Array]:
    """Boxes around the mark and how far they are: near ones first, above and to the right first."""
    distances = np.repeat(DISTANCES, len(DIRECTIONS))
    ways = np.tile(np.column_stack([np.cos(DIRECTIONS), np.sin(DIRECTIONS)]).round(9), (len(DISTANCES), 1))
    half = np.array([wish.width, wish.height]) / 2
    centres = (wish.x, wish.y) + ways * (wish.radius + distances)[:, None] + np.sign(ways) * half
    return np.hstack([centres - half, centres + half]), distances


def _leaders(wish: Wish, boxes: Array) -> Array:
    """Lines from the rim of the mark to the nearest points of the boxes."""
    mark = np.array([wish.x, wish.y])
    ends = np.clip(mark, boxes[:, :2], boxes[:, 2:])
    ways = ends - mark
    return np.hstack([mark + ways / np.hypot(*ways.T)[:, None] * wish.radius * 0.8, ends])


def _run_through(lines: Array, boxes: Array) -> Bools:
    """Tell which lines run through which boxes (Liang and Barsky: clip the line, see whether anything is left)."""
    start, way = lines[..., :2], lines[..., 2:] - lines[..., :2]
    way = np.where(np.abs(way) < 1e-12, 1e-12, way)
    low, high = (boxes[..., :2] - start) / way, (boxes[..., 2:] - start) / way
    enter = np.minimum(low, high).max(axis=-1)
    leave = np.maximum(low, high).min(axis=-1)
    return np.asarray(np.maximum(enter, 0.0) < np.minimum(leave, 1.0) - 1e-9)


def _cross(lines: Array, others: Array) -> Bools:
    """Tell which lines cross each other."""
    a, b, c, d = lines[..., :2], lines[..., 2:], others[..., :2], others[..., 2:]
    return np.asarray((_side(a, b, c) * _side(a, b, d) < 0) & (_side(c, d, a) * _side(c, d, b) < 0))


def _side(start: Array, end: Array, point: Array) -> Array:
    """Say by its sign on which side of a line a point lies."""
    way, to_point = end - start, point - start
    return np.asarray(way[..., 0] * to_point[..., 1] - way[..., 1] * to_point[..., 0])
