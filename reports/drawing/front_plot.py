"""A front as an interactive plot: hovering over a mark shows its algorithm, threshold, seeds and values."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from reports.drawing.communication_axis import PER_CLIENT
from reports.drawing.front import Curve, Front, Label
from reports.drawing.label_placement import Bools
from reports.drawing.labels import algorithm_label
from reports.drawing.legend import MAX_ENTRIES
from reports.drawing.plotly_parts import AXIS, GREY, bars, hover_lines, layout, numbers, seeds_line
from reports.drawing.reference_lines import plotly_lines
from reports.drawing.style import NO_COMMUNICATION
from reports.write.table import cell_text, interval_text

SIZES = {"desktop": (880.0, 380.0), "phone": (290.0, 290.0)}
"""The smallest sizes of the plot itself (pixels) for which labels are placed."""

LABEL_SIZE, MARK_RADIUS = 11.0, 6.5


def plot_front(front: Front) -> Mapping[str, Any]:
    """Return the front as a Plotly figure, as complete as the static picture."""
    lines = plotly_lines(front.references, front.axis.left, front.axis.right)
    named = [_marks(front, curve) for curve in front.curves] + _stated(front) + lines + _random(front)
    extremes = [trace for curve in front.curves for trace in _extreme(front, curve)]
    traces = capped([*named, *extremes]) + [_staircase(front, curve) for curve in front.curves]
    vertical = {"title": {"text": front.metric.plain_axis_label()}, "range": [front.bottom, front.top]}
    if front.is_log:
        vertical |= {"type": "log", "range": [math.log10(front.bottom), math.log10(front.top)], "dtick": "D2"}
    options: dict[str, Any] = {"shapes": front.axis.plotly_shapes(), "annotations": _notes(front, "desktop")}
    if not math.isnan(front.clients):
        options["xaxis2"] = {**AXIS, **front.axis.plotly_per_client(front.clients)}
        traces.append(_on_second_axis(front))
    return {"data": traces, "layout": layout(front.axis.plotly(), vertical, **options)}


def phone_notes(front: Front) -> list[dict[str, Any]]:
    """Return the labels, placed for a plot on a phone."""
    return _notes(front, "phone")


def budget_points(front: Front) -> dict[str, Any]:
    """Return what the budget slider needs: each setting with its communication, value and texts."""
    points: list[dict[str, Any]] = []
    for curve in front.curves:
        for _, row in curve.marks.iterrows():
            name, setting, value, *_ = _hover(front, curve, row)
            points.append(
                {
                    "method": name,
                    "setting": setting,
                    "x": float(row["x"]),
                    "y": float(row["y"]),
                    "value": value.removeprefix(f"{front.metric.label} "),
                }
            )
    return {
        "clients": front.clients,
        "sign": front.metric.sign,
        "metric": front.metric.label,
        "zero": front.axis.zero,
        "points": [point for point in points if math.isfinite(point["x"]) and math.isfinite(point["y"])],
    }


def capped(traces: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the traces, of which the first eight that want an entry in the legend have one."""
    shown, count = [], 0
    for trace in traces:
        is_shown = bool(trace.get("showlegend", True)) and count < MAX_ENTRIES
        count += is_shown
        shown.append({**trace, "showlegend": is_shown})
    return shown


def _marks(front: Front, curve: Curve) -> dict[str, Any]:
    """Return the marks of a curve, without its extreme without communication."""
    style = curve.style
    return _trace(front, curve, ~curve.no_communication, curve.legend, style.colour, style.symbol)


def _extreme(front: Front, curve: Curve) -> list[dict[str, Any]]:
    """Return the extreme without communication as a red dot, as in the paper."""
    is_red = curve.no_communication
    if not is_red.any():
        return []
    name = f"{curve.label} at {curve.marks['text'][is_red].iloc[0]}"
    return [{**_trace(front, curve, is_red, name, NO_COMMUNICATION, "circle"), "legendgroup": name}]


def _trace(front: Front, curve: Curve, mask: Bools, name: str, colour: str, symbol: str) -> dict[str, Any]:
    marks = curve.marks[mask]
    x = front.axis.position(marks["x"])
    least = front.bottom / 2 if front.is_log else -math.inf
    size = 13 if symbol == "star" else 10
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "legendgroup": curve.legend,
        "x": numbers(x),
        "y": numbers(marks["y"]),
        "marker": {"color": colour, "symbol": symbol + ("-open" if curve.variant else ""), "size": size},
        "customdata": [_hover(front, curve, row) for _, row in marks.iterrows()],
        "hovertemplate": hover_lines(5),
        "error_y": bars(marks["y_high"] - marks["y"], colour, marks["y"] - marks["y_low"].clip(lower=least)),
        "error_x": bars((marks["x_high"] - marks["x"]).where(marks["x"] > 0), colour),
    }


def _staircase(front: Front, curve: Curve) -> dict[str, Any]:
    """Return the best value within each budget of communication; only settings that communicate are on it."""
    steps = curve.staircase(front.metric.sign)
    return {
        "type": "scatter",
        "mode": "lines",
        "name": f"{curve.label}: best within each budget",
        "legendgroup": curve.legend,
        "showlegend": False,
        "hoverinfo": "skip",
        "x": numbers([*steps["x"], front.axis.right] if len(steps) else []),
        "y": numbers([*steps["y"], *steps["y"].iloc[-1:]]),
        "line": {"color": curve.style.colour, "width": 1.2, "shape": "hv"},
        "opacity": 0.55,
        "zorder": -1,
    }


def _stated(front: Front) -> list[dict[str, Any]]:
    """Return the paper's own points as hollow marks."""
    if not front.stated:
        return []
    label = front.metric.label
    return [
        {
            "type": "scatter",
            "mode": "markers",
            "name": "stated in the paper",
            "x": numbers(front.axis.position([point.x for point in front.stated])),
            "y": [point.y for point in front.stated],
            "marker": {"symbol": "diamond-open", "size": 12, "color": GREY, "line": {"width": 2}},
            "customdata": [
                [point.text, f"{label} {cell_text(point.y)}", f"communication {cell_text(point.x)}"]
                for point in front.stated
            ],
            "hovertemplate": hover_lines(3),
        }
    ]


def _random(front: Front) -> list[dict[str, Any]]:
    """Return the level of a random choice as a line; its entry in the legend says so if it is outside the plot."""
    level = front.random_level
    if level is None:
        return []
    is_inside = front.bottom <= level <= front.top
    return [
        {
            "type": "scatter",
            "mode": "lines",
            "name": f"random choice: {level:g}" + ("" if is_inside else ", below this plot"),
            "x": [front.axis.left, front.axis.right],
            "y": [level, level],
            "line": {"color": GREY, "width": 1.2, "dash": "dash"},
            "customdata": [["random choice", f"{front.metric.label} {level:g}"]] * 2,
            "hovertemplate": hover_lines(2),
            "zorder": -2,
        }
    ]


def _on_second_axis(front: Front) -> dict[str, Any]:
    """Return an invisible trace: Plotly draws only axes that have one."""
    hidden = {"showlegend": False, "hoverinfo": "skip", "opacity": 0, "mode": "markers", "name": PER_CLIENT}
    return {"type": "scatter", **hidden, "x": [front.axis.border], "y": [front.top], "xaxis": "x2"}


def _notes(front: Front, window: str) -> list[dict[str, Any]]:
    """Return the labels of marks, of the paper's points and of reference lines; they do not cover one another."""
    front = front.resized(SIZES[window], LABEL_SIZE, MARK_RADIUS)
    return [*(_note(front, label) for label in front.labels if label.placement is not None), *_line_notes(front)]


def _note(front: Front, label: Label) -> dict[str, Any]:
    placement = label.placement
    assert placement is not None
    curve = None if label.curve is None else front.curves[label.curve]
    x, y = float(front.axis.position(label.x)), label.y
    left, above = placement.x - float(front.axis.share(label.x)) * front.size[0], placement.y - float(front.height(y))
    note = _at(front, x, y, f"<b>{label.text}</b>" if label.is_end else label.text)
    note |= {"font": {"size": LABEL_SIZE, "color": GREY if curve is None else curve.style.colour}}
    if placement.leader is None:
        return {**note, "showarrow": False, "xshift": round(left, 1), "yshift": round(above, 1)}
    arrow = {"showarrow": True, "arrowhead": 0, "arrowwidth": 0.7, "standoff": 5, "ax": left, "ay": -above}
    return {**note, **arrow, "arrowcolor": note["font"]["color"]}


def _line_notes(front: Front) -> list[dict[str, Any]]:
    return [
        {
            **_at(front, 1.0, line.line.level, line.line.label),
            "x": line.share,
            "xref": "paper",
            "xanchor": "right",
            "yanchor": "bottom",
            "showarrow": False,
            "font": {"size": LABEL_SIZE, "color": line.line.style.colour},
        }
        for line in front.lines(LABEL_SIZE)
    ]


def _at(front: Front, x: float, y: float, text: str) -> dict[str, Any]:
    """Return a note at a point; on logarithmic axes Plotly expects exponents."""
    return {"x": math.log10(x), "y": math.log10(y) if front.is_log else float(y), "text": text}


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
