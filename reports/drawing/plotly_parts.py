"""Shared parts of interactive plots: layout, numbers for JSON, hover texts."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from benchmark.statistics.intervals import MIN_SEEDS_FOR_INTERVAL, number_of_seeds
from reports.drawing.labels import seeds_text

FONT = "-apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'Noto Sans', 'Liberation Sans', Arial, sans-serif"
GREY = "#808891"
"""Readable on white and on black."""

AXIS = {
    "gridcolor": "rgba(128,128,128,0.22)",
    "zeroline": False,
    "linecolor": "rgba(128,128,128,0.6)",
    "automargin": True,
    "tickformat": ",~f",
}


def layout(horizontal: Mapping[str, Any], vertical: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """Return the common layout; the page sets the colour of text for light and dark mode."""
    return {
        "xaxis": {**AXIS, **horizontal},
        "yaxis": {**AXIS, **vertical},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": FONT, "size": 13},
        "margin": {"l": 56, "r": 16, "t": 34, "b": 48},
        "legend": {"orientation": "h", "x": 0, "xanchor": "left", "y": -0.2, "yanchor": "top"},
        "hovermode": "closest",
        "hoverlabel": {"align": "left"},
        **more,
    }


def numbers(values: ArrayLike) -> list[float | None]:
    """Return numbers for JSON: NaN is null."""
    return [float(value) if np.isfinite(value) else None for value in np.asarray(values, dtype=float)]


def bars(above: ArrayLike, colour: str, below: ArrayLike | None = None) -> dict[str, Any]:
    """Return the bars of intervals: lengths above the means, and below them if these differ; NaN means no bar."""
    lengths = numbers(np.nan_to_num(np.asarray(above, dtype=float)))
    look = {"type": "data", "array": lengths, "color": colour, "thickness": 1, "width": 3, "visible": any(lengths)}
    if below is None:
        return look
    return {**look, "symmetric": False, "arrayminus": numbers(np.nan_to_num(np.asarray(below, dtype=float)))}


def panel_trace(
    panel: int, label: str, x: Sequence[Any], rows: pd.DataFrame, metric: str, colour: str, symbol: str
) -> dict[str, Any]:
    """Return a line with marks and intervals in panel 0 or 1, side by side; only panel 0 has a legend entry."""
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": label,
        "showlegend": panel == 0,
        "legendgroup": label,
        "x": list(x),
        "y": numbers(rows[metric]),
        "xaxis": "x" if panel == 0 else "x2",
        "yaxis": "y" if panel == 0 else "y2",
        "marker": {"color": colour, "symbol": symbol, "size": 9},
        "line": {"color": colour, "width": 1.2},
        "error_y": bars(rows[f"{metric}_high"] - rows[metric], colour),
    }


def hover_lines(count: int) -> str:
    """Return a template that shows the lines of a mark's `customdata`, the first one bold."""
    lines = [f"%{{customdata[{number}]}}" for number in range(count)]
    return "<br>".join([f"<b>{lines[0]}</b>", *lines[1:]]) + "<extra></extra>"


def seeds_line(seeds: Sequence[int]) -> str:
    """Return a line that names the seeds of a mean."""
    line = f"{number_of_seeds([len(seeds)])} ({seeds_text(seeds)})"
    return line if len(seeds) >= MIN_SEEDS_FOR_INTERVAL else f"{line}: no interval"
