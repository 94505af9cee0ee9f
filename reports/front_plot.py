"""A planned front as an interactive plot: hovering over a mark shows its algorithm, threshold, seeds and values."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from reports.front import Curve, Front
from reports.plotly_parts import bars, hover_lines, layout, numbers, seeds_text
from reports.style import NO_COMMUNICATION
from reports.table import interval_text

NAMES = {"regret": "regret", "normalised_reward": "normalised reward"}
HOVER = hover_lines(5)


def plot_front(front: Front) -> Mapping[str, Any]:
    """Return the front as a Plotly figure."""
    traces = []
    for curve in front.curves:
        is_red = curve.no_communication
        traces.append(_trace(front, curve, curve.marks[~is_red], curve.legend, curve.style.colour, curve.style.symbol))
        if is_red.any():
            name = f"{curve.label} at γ=∞"
            traces.append(_trace(front, curve, curve.marks[is_red], name, NO_COMMUNICATION, "circle"))
    vertical = {"title": {"text": NAMES[front.metric]}, "range": [front.bottom, front.top]}
    return {"data": traces, "layout": layout(front.axis.plotly(), vertical, shapes=front.axis.plotly_shapes())}


def _trace(front: Front, curve: Curve, marks: pd.DataFrame, name: str, colour: str, symbol: str) -> dict[str, Any]:
    x = front.axis.place(marks["x"])
    size = 13 if symbol == "star" else 10
    return {
        "type": "scatter",
        "mode": "lines+markers" if len(marks) > 1 else "markers",
        "name": name,
        "x": numbers(x),
        "y": numbers(marks["y"]),
        "marker": {"color": colour, "symbol": symbol + ("-open" if curve.variant else ""), "size": size},
        "line": {"color": colour, "width": 1},
        "customdata": [_hover(front, curve, row) for _, row in marks.iterrows()],
        "hovertemplate": HOVER,
        "error_y": bars(marks["y_high"] - marks["y"], colour),
        "error_x": bars((marks["x_high"] - marks["x"]).where(marks["x"] > 0), colour),
    }


def _hover(front: Front, curve: Curve, row: "pd.Series[Any]") -> list[str]:
    text = str(row["text"]).removeprefix("γ=")
    return [
        curve.label,
        f"{curve.meaning} = {text}" if curve.meaning else "no threshold",
        f"{NAMES[front.metric]} {interval_text(row['y'], row['y_low'], row['y_high'])}",
        f"communication {interval_text(row['x'], row['x_low'], row['x_high'])}",
        seeds_text(row["seed_list"]),
    ]
