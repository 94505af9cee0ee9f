"""A front as an interactive plot: hovering over a mark shows its algorithm, threshold, seeds and values."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from reports.drawing.front import Curve, Front
from reports.drawing.label_placement import Bools
from reports.drawing.labels import algorithm_label
from reports.drawing.plotly_parts import bars, hover_lines, layout, numbers, seeds_line
from reports.drawing.reference_lines import plotly_lines
from reports.drawing.style import NO_COMMUNICATION
from reports.write.table import cell_text, interval_text

HOVER = hover_lines(5)


def plot_front(front: Front) -> Mapping[str, Any]:
    """Return the front as a Plotly figure."""
    traces = []
    for curve in front.curves:
        is_red, is_zero = curve.no_communication, (curve.marks["x"] == 0).to_numpy()
        colour, symbol = curve.style.colour, curve.style.symbol
        traces.append(_trace(front, curve, ~is_zero, curve.legend, colour, symbol))
        if (is_zero & ~is_red).any():  # a trace without a line into the strip of zero
            strip = _trace(front, curve, is_zero & ~is_red, f"{curve.label}, no communication", colour, symbol)
            traces.append({**strip, "showlegend": False})  # the legend entry of its curve hides it too
        if is_red.any():
            red = _trace(
                front,
                curve,
                is_red,
                f"{curve.label} at {curve.marks['text'][is_red].iloc[0]}",
                NO_COMMUNICATION,
                "circle",
            )
            traces.append({**red, "legendgroup": red["name"]})
    traces += plotly_lines(front.references, front.axis.left, front.axis.right)
    notes = [note for curve in front.curves for note in _notes(front, curve)]
    vertical = {"title": {"text": front.metric.plain_axis_label()}, "range": [front.bottom, front.top]}
    if front.is_log:
        vertical |= {"type": "log", "range": [math.log10(front.bottom), math.log10(front.top)], "dtick": "D2"}
    return {
        "data": traces,
        "layout": layout(front.axis.plotly(), vertical, shapes=front.axis.plotly_shapes(), annotations=notes),
    }


def _notes(front: Front, curve: Curve) -> list[dict[str, Any]]:
    """Return the names of the two extremes, written in the plot as in the paper."""
    marks = curve.marks[curve.no_communication | curve.always]
    exponents = np.log10(front.axis.position(marks["x"]))  # as Plotly expects for notes on a logarithmic axis
    style = {"showarrow": False, "yshift": 15, "font": {"size": 12}}
    return [
        {**style, "x": float(x), "y": math.log10(y) if front.is_log else float(y), "text": f"<b>{text}</b>"}
        for x, y, text in zip(exponents, marks["y"], marks["text"], strict=True)
    ]


def _trace(front: Front, curve: Curve, mask: Bools, name: str, colour: str, symbol: str) -> dict[str, Any]:
    marks = curve.marks[mask]
    x = front.axis.position(marks["x"])
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
    text = str(row["text"]).removeprefix(f"{curve.meaning}=")
    setting = "no threshold" if text == algorithm_label(curve.algorithm) else text
    return [
        curve.label,
        f"{curve.meaning} = {text}" if curve.meaning else setting,
        f"{front.metric.label} {_with_interval(row, 'y')}",
        f"communication {_with_interval(row, 'x')}",
        seeds_line(row["seed_list"]),
    ]


def _with_interval(row: "pd.Series[Any]", axis: str) -> str:
    mean, low, high = (row[f"{axis}{end}"] for end in ("", "_low", "_high"))
    return cell_text(mean) if math.isnan(low) else interval_text(mean, low, high)
