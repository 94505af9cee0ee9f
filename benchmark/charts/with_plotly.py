"""Charts as interactive plots: `to_plotly` returns the data and layout of a Plotly figure, plain values for JSON.

The page sets the colours of text for light and dark mode, and stacks panels in a narrow window.
"""

import math
import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from benchmark.charts.chart import GREY, INK, MAX_ENTRIES, Axis, Chart, Level, Numbers, Panel, Series
from benchmark.charts.label_placement import place_names, place_panel_labels
from benchmark.styles import MARKERS

SYMBOLS = {**dict(MARKERS), "v": "triangle-down", ".": "circle"}
"""Plotly's names of matplotlib's markers."""

DASHES = {"-": "solid", "steps": "solid", "--": "dash", ":": "dot"}
SIZES = {"desktop": (880.0, 380.0), "phone": (290.0, 290.0)}
"""The smallest sizes of the plot itself (pixels) for which labels are placed."""

LABEL_SIZE, MARK_RADIUS, LEADER, CHARACTER = 11.0, 6.5, 12.0, 6.3
"""Pixels: the text of labels, the radius of marks, the connection to a name beside the plot, a character of it."""

MARK_SCALE = 1.6
"""Pixels per point of a mark's diameter."""

FONT = "-apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'Noto Sans', 'Liberation Sans', Arial, sans-serif"


def to_plotly(chart: Chart) -> dict[str, Any] | None:
    """Return the chart as a Plotly figure; None for a matrix, whose table says the same."""
    panels = chart.plain_panels
    if not panels:
        return None
    shown = {id(item) for item in chart.legend()[:MAX_ENTRIES]}
    layout: dict[str, Any] = {
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": FONT, "size": 13},
        "margin": {"l": 56, "r": 16, "t": 34, "b": 48},
        "legend": {"orientation": "h", "x": 0, "xanchor": "left", "y": -0.2, "yanchor": "top"},
        "hovermode": "closest",
        "hoverlabel": {"align": "left"},
        "annotations": annotations(chart, "desktop"),
        "shapes": [],
    }
    traces: list[dict[str, Any]] = []
    for number, panel in enumerate(panels):
        suffix = "" if number == 0 else str(number + 1)
        axes = {"xaxis": f"x{suffix}", "yaxis": f"y{suffix}"}
        for item in panel.items:
            drawn = _series(panel, item) if isinstance(item, Series) else _level(panel, item)
            for part, trace in enumerate(drawn):
                entry = {"showlegend": part == 0 and id(item) in shown, **_group(item)}
                traces.append({"type": "scatter", **entry, **trace, **axes})
        layout[f"xaxis{suffix}"] = {**_axis(panel.x), **_domain(panels, number), "anchor": axes["yaxis"]}
        layout[f"yaxis{suffix}"] = {**_axis(panel.y), "anchor": axes["xaxis"]}
        layout["shapes"] += _strip(panel.x)
        if panel.names_beside:
            longest = max((len(level.name) for level in panel.levels), default=0)
            layout["margin"] = {**layout["margin"], "r": round(longest * CHARACTER + LEADER + 8)}
    if panels[0].x.above is not None:
        hidden = {"showlegend": False, "hoverinfo": "skip", "opacity": 0, "mode": "markers"}  # for an axis to be drawn
        point = {"x": [panels[0].x.range[1]], "y": [panels[0].y.range[1]], "xaxis": "x2"}
        traces.append({"type": "scatter", **hidden, **point, "name": panels[0].x.above.label})
        above = {"overlaying": "x", "matches": "x", "side": "top", "showgrid": False}
        title = {"text": html(panels[0].x.above.label), "standoff": 4}
        layout["xaxis2"] = {**_axis(panels[0].x.above), **above, "title": title}
    if chart.kinds:
        colour = "#c2410c" if chart.is_generated else "#525a67"
        look = {"font": {"size": 12, "color": colour}, "x": 0.01, "xanchor": "left"}
        layout["title"] = {"text": f"<b>{chart.kinds}</b>", **look}
    return {"data": traces, "layout": layout}


def annotations(chart: Chart, window: str) -> list[dict[str, Any]]:
    """Return the labels and names, placed for a desktop or a phone, which has no space for names beside the plot."""
    panels, notes = chart.plain_panels, []
    width, height = SIZES[window]
    for number, panel in enumerate(panels):
        suffix = "" if number == 0 else str(number + 1)
        left, right = _domain(panels, number).get("domain", (0, 1))
        size = (width * (right - left) if window == "desktop" else width, height / (1 if len(panels) == 1 else 1.2))
        at = {"xref": f"x{suffix}", "yref": f"y{suffix}"}
        placed = place_panel_labels(panel, size, LABEL_SIZE, MARK_RADIUS)
        for label, placement in placed:
            if placement is None:
                continue
            x, y = float(panel.x.share(label.x)) * size[0], float(panel.y.share(label.y)) * size[1]
            note: dict[str, Any] = at | {"x": _coordinate(panel.x, label.x), "y": _coordinate(panel.y, label.y)}
            note["text"] = f"<b>{html(label.text)}</b>" if label.is_bold else html(label.text)
            note |= {"font": {"size": LABEL_SIZE, "color": GREY if label.colour == INK else label.colour}}
            shift = (round(placement.x - x, 1), round(placement.y - y, 1))
            if placement.leader is None:
                note |= {"showarrow": False, "xshift": shift[0], "yshift": shift[1]}
            else:
                look = {"showarrow": True, "arrowhead": 0, "arrowwidth": 0.7, "standoff": 5}
                note |= {**look, "ax": shift[0], "ay": -shift[1], "arrowcolor": label.colour}
            notes.append(note)
        if not panel.names_beside or window == "desktop":
            notes += _names(panel, size, at)
    return notes


def html(text: str) -> str:
    """Return a text as HTML: `$d_g$` with an index."""
    return re.sub(r"\$([^$_]*)_?([^$]*)\$", r"\1<sub>\2</sub>", escape(text, quote=False)).replace("<sub></sub>", "")


def _names(panel: Panel, size: tuple[float, float], at: dict[str, str]) -> list[dict[str, Any]]:
    """Return the names of levels, on their lines or beside the plot, there each connected to its line."""
    notes = []
    for name in place_names(panel, size, LABEL_SIZE):
        level = name.level
        note = at | {"text": html(level.name), "y": _coordinate(panel.y, level.value)}
        note |= {"x": name.share, "xref": f"{at['xref']} domain", "font": {"size": LABEL_SIZE, "color": level.colour}}
        if panel.names_beside:
            low, high = (_coordinate(panel.y, end) for end in panel.y.range)
            height = low + (high - low) * name.box[1] / size[1]
            look = {"showarrow": True, "arrowhead": 0, "arrowwidth": 0.7, "arrowcolor": level.colour}
            note |= {**look, "xanchor": "left", "ax": LEADER, "ayref": at["yref"], "ay": height}
        else:
            note |= {"showarrow": False, "xanchor": "right", "yanchor": "bottom"}
        notes.append(note)
    return notes


def _coordinate(axis: Axis, value: float) -> float:
    """Return where annotations and ranges expect a value: exponents on logarithmic axes."""
    return math.log10(value) if axis.is_log else float(value)


def _domain(panels: Sequence[Panel], number: int) -> dict[str, Any]:
    """Return the part of the width for a panel."""
    if len(panels) == 1:
        return {}
    gap = 0.14
    share = (1 - gap * (len(panels) - 1)) / sum(panel.share for panel in panels)
    left = sum(panel.share * share + gap for panel in panels[:number])
    return {"domain": [round(left, 3), round(left + panels[number].share * share, 3)]}


def _axis(axis: Axis) -> dict[str, Any]:
    look: dict[str, Any] = {
        "gridcolor": "rgba(128,128,128,0.22)",
        "linecolor": "rgba(128,128,128,0.6)",
        "zeroline": axis.has_zero_line,
        "zerolinecolor": "rgba(128,128,128,0.6)",
        "showgrid": axis.has_grid,
        "automargin": True,
        "tickformat": ",~f",
        "range": [_coordinate(axis, end) for end in axis.range],
        "title": {"text": "" if axis.angle else html(axis.label)},  # below slanted texts it would cover the legend
    }
    if axis.is_log:
        look["type"] = "log"
        wide = math.log10(axis.range[1] / axis.range[0])
        is_short = wide < 3.3
        look |= {"dtick": "D2"} if is_short else {"tickformat": "", "exponentformat": "power", "dtick": 1 + wide // 6}
    if axis.ticks:
        look |= {"tickmode": "array", "tickvals": [value for value, _ in axis.ticks]}
        look |= {"ticktext": [html(text) for _, text in axis.ticks]}
        look.pop("dtick", None)
    return look | ({"tickangle": -axis.angle} if axis.angle else {})


def _strip(axis: Axis) -> list[dict[str, Any]]:
    """Return the strip of zero."""
    if axis.zero is None:
        return []
    area = {"type": "rect", "xref": "x", "yref": "paper", "x0": axis.range[0], "x1": axis.border, "y0": 0, "y1": 1}
    return [{**area, "line": {"width": 0}, "fillcolor": "rgba(128,128,128,0.13)", "layer": "below"}]


def _group(item: Series | Level) -> dict[str, str]:
    group = html(item.group or item.label)
    return {"name": html(item.label) or group, **({"legendgroup": group} if group else {})}


def _known(values: Iterable[float]) -> list[float | None]:
    """Return numbers for JSON: NaN is null."""
    return [value if math.isfinite(value) else None for value in values]


def _bars(middle: Numbers, ends: tuple[Numbers, Numbers], colour: str, least: float) -> dict[str, Any]:
    """Return the bars of intervals: lengths above and below; NaN means no bar."""
    below = [value - max(low, least) for value, low in zip(middle, ends[0], strict=True)]
    above = [high - value for value, high in zip(middle, ends[1], strict=True)]
    lengths = [[length if math.isfinite(length) else 0.0 for length in side] for side in (above, below)]
    bars = {"type": "data", "symmetric": False, "array": lengths[0], "arrayminus": lengths[1]}
    return {**bars, "color": colour, "thickness": 1, "width": 3, "visible": any(map(any, lengths))}


def _hover(hover: Sequence[tuple[str, ...]]) -> dict[str, Any]:
    """Return the texts of marks, the first line bold; lines that all marks share are in the template."""
    if not hover:
        return {"hoverinfo": "skip"}
    lines: list[str] = []
    columns: list[list[str]] = []
    for column in zip(*hover, strict=True):
        if len({*column}) == 1:
            lines.append(html(column[0]).replace("%", "&#37;"))
        else:
            lines.append(f"%{{customdata[{len(columns)}]}}")
            columns.append([html(text) for text in column])
    data = {"customdata": [list(row) for row in zip(*columns, strict=True)]} if columns else {}
    return {**data, "hovertemplate": "<br>".join([f"<b>{lines[0]}</b>", *lines[1:]]) + "<extra></extra>"}


def _series(panel: Panel, series: Series) -> list[dict[str, Any]]:
    """Return the traces of a series: marks and line with bars, and a band."""
    modes = [name for name, has in (("lines", series.line), ("markers", series.marker)) if has]
    trace: dict[str, Any] = {"mode": "+".join(modes), "x": _known(series.x), "y": _known(series.y)}
    trace |= _hover(series.hover)
    if series.line:
        shape = {"shape": "hv"} if series.line == "steps" else {}
        width = round(series.width * 1.3, 2)
        trace["line"] = {"color": series.colour, "width": width, "dash": DASHES[series.line], **shape}
    if series.marker:
        symbol = SYMBOLS[series.marker] + ("-open" if series.is_hollow else "")
        colour = GREY if series.colour == INK else series.colour  # readable in dark mode, too
        size = series.size * MARK_SCALE * (0.8 if series.marker == "*" else 1)
        trace["marker"] = {"color": colour, "symbol": symbol, "size": round(size, 1)}
    else:
        trace["zorder"] = -1
    if series.opacity < 1:
        trace["opacity"] = series.opacity
    traces = [trace] if modes else []
    if series.y_interval is not None and series.has_band:
        low, high = series.y_interval
        opacity = 0.12 if series.line else series.opacity
        traces.append(_area([*series.x, *reversed(series.x)], [*low, *reversed(high)], series.colour, opacity))
    elif series.y_interval is not None:
        least = panel.y.range[0] / 2 if panel.y.is_log else -math.inf
        trace["error_y"] = _bars(series.y, series.y_interval, series.colour, least)
    if series.x_interval is not None:
        trace["error_x"] = _bars(series.x, series.x_interval, series.colour, -math.inf)
    return traces


def _level(panel: Panel, level: Level) -> list[dict[str, Any]]:
    """Return the traces of a level: a line from one end of the axis to the other, and a band."""
    across, along = (panel.y, "y") if level.is_vertical else (panel.x, "x")
    other = "x" if along == "y" else "y"
    line = {"color": level.colour, "width": 1.2, "dash": DASHES.get(level.line, "solid")}
    trace = {"mode": "lines", along: [*across.range], other: [level.value] * 2, "line": line, "zorder": -2}
    hover = _hover([level.hover] * 2 if level.hover else [])
    traces = [{**trace, **hover}] if level.line else []
    if level.band:
        low, high = level.band
        sides = {along: [*across.range, *reversed(across.range)], other: [low, low, high, high]}
        traces.append(_area(sides["x"], sides["y"], level.colour, 0.25))
    return traces


def _area(x: Sequence[float], y: Sequence[float], colour: str, opacity: float) -> dict[str, Any]:
    look = {"line": {"width": 0, "color": colour}, "fill": "toself", "fillcolor": colour, "opacity": opacity}
    return {"mode": "lines", "x": _known(x), "y": _known(y), **look, "hoverinfo": "skip", "zorder": -3}
