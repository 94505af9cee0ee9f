"""A front, planned but not yet drawn: what each algorithm reaches for how much communication, a mark a threshold."""

import math
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from reports.communication_axis import CommunicationAxis
from reports.label_placement import Array, Bools, Place, Wish, place_labels
from reports.labels import AlgorithmStyle, algorithm_label, curve_styles, threshold_text
from reports.style import WIDTH, text_size

LABEL_SIZE = 6.5
MARK_RADIUS = 4.2
SAME_PLACE = 2.5
"""Marks of one curve nearer than this (points) share a label."""

LEFT, RIGHT, PLOT_HEIGHT = 0.85, 0.2, 4.7
AXIS_NAMES = {"regret": "cumulative regret $R_T$, logarithmic", "normalised_reward": "normalised reward"}


@dataclass(frozen=True)
class Curve:
    """The marks of one algorithm in order of threshold, or without one of communication.

    `marks` has the columns text, x, x_low, x_high, y, y_low, y_high, seeds, seed_list, threshold.
    """

    algorithm: str
    variant: str
    meaning: str
    marks: pd.DataFrame
    style: AlgorithmStyle

    @property
    def label(self) -> str:
        """The algorithm's name, and what sets this variant apart."""
        return algorithm_label(self.algorithm) + (f" ({self.variant})" if self.variant else "")

    @property
    def legend(self) -> str:
        """The label, and what the small numbers beside the marks are."""
        return f"{self.label}  ({self.meaning})" if self.meaning else self.label

    @property
    def no_communication(self) -> Bools:
        """Which mark is the extreme that the paper draws as a red dot: Async-LinUCB at γ=∞."""
        return self._at(np.inf)

    @property
    def always(self) -> Bools:
        """Which mark is the other extreme, Async-LinUCB at γ=1."""
        return self._at(1.0)

    def _at(self, threshold: float) -> Bools:
        return np.asarray((self.marks["threshold"] == threshold) & (self.algorithm == "async-linucb"))


@dataclass(frozen=True)
class Label:
    """A text for one mark, or for several at one place, and where it stands (points from the plot's corner)."""

    curve: int
    text: str
    place: Place | None


@dataclass(frozen=True)
class Front:
    """All there is to draw."""

    curves: tuple[Curve, ...]
    metric: str
    axis: CommunicationAxis
    bottom: float
    top: float
    labels: tuple[Label, ...]
    size: tuple[float, float]
    """Of the plot itself, in points."""

    @property
    def is_log(self) -> bool:
        """Regret differs by decades between always and never communicating: its axis is logarithmic too."""
        return self.bottom > 0 and self.metric == "regret"

    def height(self, values: ArrayLike) -> Array:
        """Return where values are drawn, in points above the plot's lower edge; what leaves the frame stops there."""
        known = np.asarray(values, dtype=float)
        if self.is_log:
            known = np.log(np.maximum(known, self.bottom) / self.bottom) / np.log(self.top / self.bottom)
        else:
            known = (known - self.bottom) / (self.top - self.bottom)
        return np.asarray(known * self.size[1])

    @property
    def left_out(self) -> list[str]:
        """Labels that found no place, to be named in the caption."""
        return [f"{self.curves[each.curve].label} {each.text}" for each in self.labels if each.place is None]

    @property
    def cut_intervals(self) -> bool:
        """Whether an interval is longer than the plot is high."""
        marks = pd.concat([curve.marks for curve in self.curves])
        return bool((marks["y_low"] < self.bottom).any() or (marks["y_high"] > self.top).any())


def plan_front(rows: pd.DataFrame, metric: str, by: str = "threshold", joined: Collection[str] = ()) -> Front:
    """Plan a front from rows of `over_seeds`, labelled by their threshold or another column.

    Each variant of an algorithm has a curve of its own, except that those of algorithms in `joined` are one curve.
    """
    apart = rows["variant"].mask(rows["algorithm"].isin(joined), "")
    parts = [
        (str(name), str(variant), same) for (name, variant), same in rows.groupby([rows["algorithm"], apart], sort=True)
    ]
    styles = curve_styles([name for name, _, _ in parts])
    curves = tuple(_curve(*part, metric, by, style) for part, style in zip(parts, styles, strict=True))
    marks = pd.concat([curve.marks for curve in curves])
    axis = CommunicationAxis.around(marks["x"])
    bottom, top = _regret_range(marks) if metric == "regret" and (marks["y"] > 0).all() else _reward_range(marks)
    size = ((WIDTH - LEFT - RIGHT) * 72, PLOT_HEIGHT * 72)
    front = Front(curves, metric, axis, bottom, top, (), size)
    return Front(curves, metric, axis, bottom, top, _labels(front), size)


def positions(front: Front, curve: Curve) -> Array:
    """Return the places of a curve's marks in points from the plot's lower left corner."""
    return np.column_stack([front.axis.share(curve.marks["x"]) * front.size[0], front.height(curve.marks["y"])])


def _curve(algorithm: str, variant: str, rows: pd.DataFrame, metric: str, by: str, style: AlgorithmStyle) -> Curve:
    rows = rows.sort_values([by, "communication"])
    symbol = "D" if algorithm.startswith("sync") else "γ"
    meaning = "" if rows[by].isna().all() else "d_g" if by == "global_dim" else symbol
    values = {
        "text": [
            threshold_text(value) or own or algorithm_label(algorithm)
            for value, own in zip(rows[by], rows["variant"], strict=True)
        ],
        "threshold": rows["threshold"] if by == "threshold" else np.nan,
        "seeds": rows["seeds"],
        "seed_list": rows["seed_list"],
    }
    for end in ("", "_low", "_high"):
        values[f"x{end}"], values[f"y{end}"] = rows[f"communication{end}"], rows[f"{metric}{end}"]
    marks = pd.DataFrame(values).reset_index(drop=True)
    for extreme in (1.0, np.inf):
        marks.loc[(marks["threshold"] == extreme) & (symbol == "γ"), "text"] = f"γ={threshold_text(extreme)}"
    return Curve(algorithm, variant, meaning, marks, style)


def _regret_range(marks: pd.DataFrame) -> tuple[float, float]:
    """All means on a logarithmic axis, and intervals as far as a third of a decade beyond them."""
    low, high = float(marks["y"].min()), float(marks["y"].max())
    bottom = max(np.nanmin([low, marks["y_low"].min()]), low / 2)
    top = min(np.nanmax([high, marks["y_high"].max()]), high * 2)
    margin = max((top / bottom) ** 0.06, 1.05)
    return float(bottom / margin), float(top * margin)


def _reward_range(marks: pd.DataFrame) -> tuple[float, float]:
    """All means, and intervals as long as they do not squeeze the means into less than half the height."""
    low, high = float(marks["y"].min()), float(marks["y"].max())
    span = high - low or abs(high) * 0.1 or 1.0
    bottom = max(np.nanmin([low, marks["y_low"].min()]), low - span / 2)
    top = min(np.nanmax([high, marks["y_high"].max()]), high + span / 2)
    return float(bottom - 0.07 * span), float(top + 0.09 * span)


def _labels(front: Front) -> tuple[Label, ...]:
    wishes, owners = [], []
    for number, curve in enumerate(front.curves):
        where = positions(front, curve)
        for group in _same_place(where):
            text = _joint_text([curve.marks["text"].iloc[each] for each in group])
            width, height = text_size(text, LABEL_SIZE)
            x, y = where[group].mean(axis=0)
            wishes.append(Wish(float(x), float(y), width, height, MARK_RADIUS))
            owners.append((number, text))
    bars = np.vstack([_interval_boxes(front, curve) for curve in front.curves])
    places = place_labels(wishes, front.size, bars)
    return tuple(Label(number, text, place) for (number, text), place in zip(owners, places, strict=True))


def _same_place(where: Array) -> list[list[int]]:
    groups = [[0]] if len(where) else []
    for after in range(1, len(where)):
        if math.dist(where[groups[-1][0]], where[after]) < SAME_PLACE:
            groups[-1].append(after)
        else:
            groups.append([after])
    return groups


def _joint_text(texts: list[str]) -> str:
    return ", ".join(texts) if len(texts) < 4 else f"{texts[0]} … {texts[-1]}"


def _interval_boxes(front: Front, curve: Curve) -> Array:
    """The thin boxes that the bars of the intervals take."""
    where, marks, width = positions(front, curve), curve.marks, front.size[0]
    low, high = front.height(marks["y_low"]), front.height(marks["y_high"])
    upright = np.column_stack([where[:, 0] - 1.2, low, where[:, 0] + 1.2, high])
    first = np.maximum(marks["x_low"], front.axis.border)
    left, right = (front.axis.share(ends) * width for ends in (first, marks["x_high"]))
    flat = np.column_stack([left, where[:, 1] - 1.2, right, where[:, 1] + 1.2])[(marks["x"] > 0).to_numpy()]
    boxes = np.vstack([upright, flat])
    return np.asarray(boxes[np.isfinite(boxes).all(axis=1)])
