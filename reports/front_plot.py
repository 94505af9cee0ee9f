"""A planned front as an interactive plot: hovering over a mark shows its algorithm, threshold, seeds and values."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from reports.front import Curve, Front
from reports.label_placement import Bools
from reports.labels import algorithm_label
from reports.plotly_parts import bars, hover_lines, layout, numbers, seeds_text
from reports.style import NO_COMMUNICATION
from reports.table import interval_text

NAMES = {"regret": "regret", "normalised_reward": "normalised reward"}
HOVER = hover_lines(5)


def plot_front(front: Front) -> Mapping[str, Any]:
    """Return the front as a Plotly figure."""
    traces = []
    for curve in front.curves:
        is_red, is_zero = curve.no_communication, (curve.marks["x"] == 0).to_numpy()
        colour, symbol = curve.style.colour, curve.style.symbol
        traces.append(_trace(front, curve, ~is_zero, curve.legend, colour, symbol))
        if (is_zero & ~is_red).any():  # apart, so that no line leads into the strip of zero
            apart = _trace(front, curve, is_zero & ~is_red, f"{curve.label}, no communication", colour, symbol)
            traces.append({**apart, "showlegend": False})  # shown and hidden with the others of its curve
        if is_red.any():
            red = _trace(front, curve, is_red, f"{curve.label} at γ=∞", NO_COMMUNICATION, "circle")
            traces.append({**red, "legendgroup": red["name"]})
    notes = [note for curve in front.curves for note in _notes(front, curve)]
    vertical = {"title": {"text": NAMES[front.metric]}, "range": [front.bottom, front.top]}
    if front.is_log:
        vertical |= {"type": "log", "range": [math.log10(front.bottom), math.log10(front.top)], "dtick": "D2"}
    return {
        "data": traces,
        "layout": layout(front.axis.plotly(), vertical, shapes=front.axis.plotly_shapes(), annotations=notes),
    }


def _notes(front: Front, curve: Curve) -> list[dict[str, Any]]:
    """Name the two extremes in the plot itself, as the paper does."""
    marks = curve.marks[curve.no_communication | curve.always]
    places = np.log10(front.axis.place(marks["x"]))  # Plotly wants the logarithm for notes on a logarithmic axis
    style = {"showarrow": False, "yshift": 15, "font": {"size": 12}}
    return [
        {**style, "x": float(x), "y": math.log10(y) if front.is_log else float(y), "text": f"<b>{text}</b>"}
        for x, y, text in zip(places, marks["y"], marks["text"], strict=True)
    ]


def _trace(front: Front, curve: Curve, chosen: Bools, name: str, colour: str, symbol: str) -> dict[str, Any]:
    marks = curve.marks[chosen]
    x = front.axis.place(marks["x"])
    least = front.bottom / 2 if front.is_log else -math.inf
    size = 13 if symbol == "star" else 10
    return {
        "type": "scatter",
        "mode": "lines+markers" if (marks["x"] > 0).any() else "markers",
        "name": name,
        "legendgroup": curve.legend,
        "x": numbers(x),
        "y": numbers(marks["y"]),
        "marker": {"color": colour, "symbol": symbol + ("-open" if curve.variant else ""), "size": size},
        "line": {"color": colour, "width": 1},
        "customdata": [_hover(front, curve, row) for _, row in marks.iterrows()],
        "hovertemplate": HOVER,
        "error_y": bars(marks["y_high"] - marks["y"], colour, marks["y"] - marks["y_low"].clip(lower=least)),
        "error_x": bars((marks["x_high"] - marks["x"]).where(marks["x"] > 0), colour),
    }


def _hover(front: Front, curve: Curve, row: "pd.Series[Any]") -> list[str]:
    text = str(row["text"]).removeprefix("γ=")
    setting = "no threshold" if text == algorithm_label(curve.algorithm) else text
    return [
        curve.label,
        f"{curve.meaning} = {text}" if curve.meaning else setting,
        f"{NAMES[front.metric]} {interval_text(row['y'], row['y_low'], row['y_high'])}",
        f"communication {interval_text(row['x'], row['x_low'], row['x_high'])}",
        seeds_text(row["seed_list"]),
    ]
