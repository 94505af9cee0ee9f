"""The plan of a front: regret or reward of each algorithm against communication, with one mark per threshold."""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from algorithms.method import NO_COMMUNICATION
from benchmark.metrics import Metric
from benchmark.results.frames import threshold_text
from benchmark.statistics.intervals import MIN_SEEDS_FOR_INTERVAL, number_of_seeds
from benchmark.styles import Style
from reports.drawing.communication_axis import CommunicationAxis
from reports.drawing.label_placement import Array, Bools, LabelBox, Placement, place_labels
from reports.drawing.labels import algorithm_label, curve_styles, front_text, variant_text
from reports.drawing.reference_lines import PlacedLine, ReferenceLine, are_lines, place_lines, reference_lines
from reports.drawing.style import WIDTH, text_size
from reports.read.methods import method
from reports.read.variants import split_into_curves

LABEL_SIZE = 6.5
MARK_RADIUS = 4.2
MAX_LABELS = 6
"""Labelled marks per curve, besides landmarks."""

SAME_POSITION = 2.5
"""Marks of one curve that are nearer to each other (points) share a label."""

LEFT, RIGHT, PLOT_HEIGHT = 0.85, 0.2, 4.7


@dataclass(frozen=True)
class Curve:
    """The marks of one algorithm in order of threshold, or of communication if it has none.

    `marks` has the columns text, x, x_low, x_high, y, y_low, y_high, seeds, seed_list, threshold, and x_seeds, y_seeds
    with the values of each seed. There is no interval with fewer than three seeds.
    """

    algorithm: str
    variant: str
    meaning: str
    marks: pd.DataFrame
    style: Style

    @property
    def label(self) -> str:
        """The algorithm's name and variant."""
        return algorithm_label(self.algorithm) + (f" ({variant_text(self.variant)})" if self.variant else "")

    @property
    def legend(self) -> str:
        """The label, and the meaning of the small numbers next to the marks."""
        return f"{self.label}  ({self.meaning})" if self.meaning else self.label

    @property
    def no_communication(self) -> Bools:
        """Mask of the extreme that the paper draws as a red dot: the landmark without communication, γ=∞."""
        return self._at_landmarks(is_silent=True)

    @property
    def always(self) -> Bools:
        """Mask of the other landmarks of the method, such as γ=1."""
        return self._at_landmarks(is_silent=False)

    @property
    def ends(self) -> Bools:
        """Mask of the marks at an end of the method's grid, whose labels stand out."""
        return np.asarray(self.marks["threshold"].isin(method(self.algorithm).ends))

    def staircase(self, sign: int) -> pd.DataFrame:
        """Return the undominated marks with communication, by rising communication; `sign` is 1 if more is better."""
        ordered = self.marks[self.marks["x"] > 0].sort_values(["x", "y"], ascending=[True, sign < 0])
        best = (sign * ordered["y"]).cummax()
        return ordered[best > best.shift(fill_value=-math.inf)]

    @property
    def labelled(self) -> Bools:
        """Mask of the marks that have a label: landmarks, both ends, and others evenly between them."""
        count = len(self.marks)
        chosen = np.zeros(count, dtype=bool)
        chosen[np.unique(np.linspace(0, count - 1, min(count, MAX_LABELS)).round().astype(int))] = True
        return chosen | self.no_communication | self.always

    def _at_landmarks(self, *, is_silent: bool) -> Bools:
        landmarks = method(self.algorithm).landmarks.items()
        values = [value for value, name in landmarks if (name == NO_COMMUNICATION) == is_silent]
        return np.asarray(self.marks["threshold"].isin(values))


@dataclass(frozen=True)
class Label:
    """The text of one mark, or of several at one position, and its placement (points from the plot's corner).

    `curve` is the number of the curve, None for a point of the paper; `x` and `y` are the values at the mark.
    `is_end` tells whether one of the marks is at an end of the method's grid.
    """

    curve: int | None
    text: str
    placement: Placement | None
    x: float
    y: float
    is_end: bool = False


@dataclass(frozen=True)
class Stated:
    """A point that the paper states: its communication, regret or reward, and a text."""

    x: float
    y: float
    text: str


@dataclass(frozen=True)
class Front:
    """Everything needed to draw a front."""

    curves: tuple[Curve, ...]
    metric: Metric
    axis: CommunicationAxis
    bottom: float
    top: float
    labels: tuple[Label, ...]
    size: tuple[float, float]
    """Size of the plot itself in points."""
    references: tuple[ReferenceLine, ...] = ()
    stated: tuple[Stated, ...] = ()
    clients: float = math.nan
    """The mean number of clients, for communication per client; NaN if it is not known."""

    @property
    def is_log(self) -> bool:
        """Whether the vertical axis is logarithmic, as for regret, which differs by decades between the extremes."""
        return self.bottom > 0 and self.metric.scale == "log"

    def height(self, values: ArrayLike) -> Array:
        """Return the heights of values in points above the lower edge of the plot."""
        numbers = np.asarray(values, dtype=float)
        if self.is_log:
            shares = np.log(np.maximum(numbers, self.bottom) / self.bottom) / np.log(self.top / self.bottom)
        else:
            shares = (numbers - self.bottom) / (self.top - self.bottom)
        return np.asarray(shares * self.size[1])

    @property
    def left_out(self) -> list[str]:
        """Labels for which there is no space; the caption lists them."""
        left_out = [label for label in self.labels if label.placement is None]
        return [
            label.text if label.curve is None else f"{self.curves[label.curve].label} {label.text}"
            for label in left_out
        ]

    @property
    def random_level(self) -> float | None:
        """The level of a random choice, if it is known and no reference line shows it."""
        is_shown = any(line.is_baseline for line in self.references)
        return None if is_shown else self.metric.by_chance

    def lines(self, label_size: float = LABEL_SIZE) -> list[PlacedLine]:
        """Return the reference lines inside the plot, with the positions of their labels."""
        inside = [line for line in self.references if self.bottom <= line.level <= self.top]
        heights = [float(self.height(line.level)) for line in inside]
        return place_lines(inside, heights, self.size[0], label_size)

    def resized(self, size: tuple[float, float], label_size: float, radius: float) -> "Front":
        """Return the front with a plot of another size, and its labels placed again."""
        front = replace(self, size=size)
        return replace(front, labels=_labels(front, label_size, radius))

    @property
    def seeds_text(self) -> str:
        """A note for the picture: the number of seeds, and what the bars or dots are."""
        return seeds_note(pd.concat([curve.marks["seeds"] for curve in self.curves]))

    @property
    def outside(self) -> list[str]:
        """References whose level is outside the plot; the caption lists them."""
        levels = [(line, line.level) for line in self.references]
        return [line.legend for line, level in levels if not self.bottom <= level <= self.top]

    @property
    def cut_intervals(self) -> bool:
        """Whether an interval reaches outside the plot."""
        marks = pd.concat([curve.marks for curve in self.curves])
        return bool((marks["y_low"] < self.bottom).any() or (marks["y_high"] > self.top).any())


def seeds_note(seeds: "pd.Series[int]") -> str:
    """Return a note for a picture: the number of seeds, and what bars or dots are."""
    number, most = number_of_seeds(seeds), int(seeds.max())
    if most < MIN_SEEDS_FOR_INTERVAL:
        return number if most == 1 else f"{number}: small dots are single seeds"
    return f"{number}; bars: 95 % intervals"


def plan_front(
    rows: pd.DataFrame,
    metric: Metric,
    by: str = "threshold",
    joined: Collection[str] = (),
    references: pd.DataFrame | None = None,
    stated: Sequence[Stated] = (),
    clients: float = math.nan,
) -> Front:
    """Plan a front from rows of `over_seeds`, labelled by their threshold or another column.

    Each family of an algorithm is a curve, but all families of an algorithm in `joined` are one curve. References
    among the rows are lines, and the plot includes them, unless there is nothing else; `references` are further ones,
    which may be outside the plot.
    """
    is_line = are_lines(rows) if by == "threshold" else np.zeros(len(rows), dtype=bool)
    is_line = is_line & ~is_line.all()
    further = rows[:0] if references is None else references
    lines = reference_lines(pd.concat([rows[is_line], further]), metric.name)
    inside = rows.loc[is_line, metric.name].to_numpy()
    rows = rows[~is_line]
    parts = [(curve.algorithm, curve.variant, curve.runs) for curve in split_into_curves(rows, joined)]
    styles = curve_styles([name for name, _, _ in parts])
    curves = tuple(_curve(*part, metric.name, by, style) for part, style in zip(parts, styles, strict=True))
    marks = pd.concat([curve.marks for curve in curves])
    if stated:
        points = pd.DataFrame({"x": [each.x for each in stated], "y": [each.y for each in stated]})
        marks = pd.concat([marks, points], ignore_index=True)
    axis = CommunicationAxis.around(marks["x"])
    is_log = metric.scale == "log" and bool((marks["y"] > 0).all())
    levels = pd.concat([marks, pd.DataFrame({"y": inside})]) if len(inside) else marks
    bottom, top = _logarithmic_range(levels) if is_log else _linear_range(levels)
    size = ((WIDTH - LEFT - RIGHT) * 72, PLOT_HEIGHT * 72)
    front = Front(curves, metric, axis, bottom, top, (), size, lines, tuple(stated), clients)
    return front.resized(size, LABEL_SIZE, MARK_RADIUS)


def positions(front: Front, curve: Curve) -> Array:
    """Return the positions of a curve's marks in points from the plot's lower left corner."""
    return np.column_stack([front.axis.share(curve.marks["x"]) * front.size[0], front.height(curve.marks["y"])])


def _curve(algorithm: str, variant: str, rows: pd.DataFrame, metric: str, by: str, style: Style) -> Curve:
    rows = rows.sort_values([by, "communication"])
    meaning = "" if rows[by].isna().all() else "d_g" if by == "global_dim" else method(algorithm).symbol
    to_text = partial(front_text, algorithm) if by == "threshold" else threshold_text
    values = {
        "text": [
            to_text(value) or setting or algorithm_label(algorithm)
            for value, setting in zip(rows[by], rows["variant"], strict=True)
        ],
        "threshold": rows["threshold"] if by == "threshold" else np.nan,
        "seeds": rows["seeds"],
        "seed_list": rows["seed_list"],
    }
    for end in ("", "_low", "_high", "_seeds"):
        values[f"x{end}"], values[f"y{end}"] = rows[f"communication{end}"], rows[f"{metric}{end}"]
    marks = pd.DataFrame(values).reset_index(drop=True)
    marks["x_low"] = marks["x_low"].clip(lower=0)  # no run communicates less than nothing
    marks.loc[marks["seeds"] < MIN_SEEDS_FOR_INTERVAL, ["x_low", "x_high", "y_low", "y_high"]] = np.nan
    return Curve(algorithm, variant, meaning, marks, style)


def _logarithmic_range(marks: pd.DataFrame) -> tuple[float, float]:
    """Return a range with all means on a logarithmic axis, and intervals up to a factor of 2 beyond them."""
    low, high = float(marks["y"].min()), float(marks["y"].max())
    bottom = max(np.nanmin([low, marks["y_low"].min()]), low / 2)
    top = min(np.nanmax([high, marks["y_high"].max()]), high * 2)
    margin = max((top / bottom) ** 0.06, 1.05)
    return float(bottom / margin), float(top * margin)


def _linear_range(marks: pd.DataFrame) -> tuple[float, float]:
    """Return a range with all means, and intervals as long as the means fill at least half of the height."""
    low, high = float(marks["y"].min()), float(marks["y"].max())
    span = high - low or abs(high) * 0.1 or 1.0
    bottom = max(np.nanmin([low, marks["y_low"].min()]), low - span / 2)
    top = min(np.nanmax([high, marks["y_high"].max()]), high + span / 2)
    return float(bottom - 0.07 * span), float(top + 0.09 * span)


def _labels(front: Front, label_size: float, radius: float) -> tuple[Label, ...]:
    """Return the labels of marks and of the paper's points; they avoid all marks, intervals and names of lines."""
    boxes, labels, marks = [], [], []
    for number, curve in enumerate(front.curves):
        points = positions(front, curve)
        marks.append(np.hstack([points - radius, points + radius]))
        for cluster in _clusters(points):
            if curve.labelled[cluster].any():
                text = _joint_text([curve.marks["text"].iloc[mark] for mark in cluster], f"{curve.meaning}=")
                is_end = bool(curve.ends[cluster].any())
                boxes.append(_label_box(text, points[cluster].mean(axis=0), label_size, radius))
                x, y = curve.marks[["x", "y"]].iloc[cluster[0]]
                labels.append(Label(number, text, None, x, y, is_end))
    for point in front.stated:
        position = [float(front.axis.share(point.x)) * front.size[0], float(front.height(point.y))]
        boxes.append(_label_box(point.text, np.array(position), label_size, radius))
        labels.append(Label(None, point.text, None, point.x, point.y))
    bars = np.vstack([*(_interval_boxes(front, curve) for curve in front.curves), *marks])
    taken = np.array([line.box for line in front.lines(label_size)]).reshape(-1, 4)
    placements = place_labels(boxes, front.size, bars, taken)
    return tuple(replace(label, placement=placement) for label, placement in zip(labels, placements, strict=True))


def _label_box(text: str, position: Array, label_size: float, radius: float) -> LabelBox:
    return LabelBox(float(position[0]), float(position[1]), *text_size(text, label_size), radius)


def _clusters(points: Array) -> list[list[int]]:
    """Return the numbers of the marks, those at nearly the same position together."""
    clusters = [[0]] if len(points) else []
    for number in range(1, len(points)):
        if math.dist(points[clusters[-1][0]], points[number]) < SAME_POSITION:
            clusters[-1].append(number)
        else:
            clusters.append([number])
    return clusters


def _joint_text(texts: list[str], prefix: str) -> str:
    """Return the label of several marks, the symbol of the threshold once: D=0.05, 0.1."""
    first, *others = texts
    others = [text.removeprefix(prefix) for text in others]
    return ", ".join([first, *others]) if len(texts) < 4 else f"{first} … {others[-1]}"


def _interval_boxes(front: Front, curve: Curve) -> Array:
    """Return the thin boxes around the bars of the intervals."""
    points, marks, width = positions(front, curve), curve.marks, front.size[0]
    low, high = front.height(marks["y_low"]), front.height(marks["y_high"])
    vertical = np.column_stack([points[:, 0] - 1.2, low, points[:, 0] + 1.2, high])
    first = np.maximum(marks["x_low"], front.axis.border)
    left, right = (front.axis.share(ends) * width for ends in (first, marks["x_high"]))
    horizontal = np.column_stack([left, points[:, 1] - 1.2, right, points[:, 1] + 1.2])[(marks["x"] > 0).to_numpy()]
    boxes = np.vstack([vertical, horizontal])
    return np.asarray(boxes[np.isfinite(boxes).all(axis=1)])
