"""Reference lines: methods that are shown but not ranked, drawn at their level for any communication."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from benchmark.styles import Style
from reports.drawing.label_placement import Bools, overlap
from reports.drawing.labels import algorithm_label, curve_styles, variant_text
from reports.drawing.plotly_parts import hover_lines, seeds_line
from reports.drawing.style import darker, text_size
from reports.read.methods import method
from reports.write.table import cell_text, interval_text

LABEL_SIZE = 6.5
COLUMNS = (0.78, 0.5, 0.99, 0.3)
"""Right ends of labels, as shares of the width."""

REFERENCES = "references (named in the plot)"
"""Their one entry in a legend."""

DASHES = (5, 2)


@dataclass(frozen=True)
class ReferenceLine:
    """The level of one reference, with its interval over seeds."""

    label: str
    level: float
    low: float
    high: float
    seeds: tuple[int, ...]
    style: Style
    is_baseline: bool = False
    """Whether it is the level that results are divided by."""

    @property
    def legend(self) -> str:
        """The label and the level."""
        return f"{self.label}: {cell_text(self.level)} (reference)"


def are_lines(rows: pd.DataFrame) -> Bools:
    """Return for each row whether it is a reference or a baseline without a front: its level is a line."""
    roles = [method(str(name)).role for name in rows["algorithm"]]
    return np.asarray([role != "contender" for role in roles], dtype=bool) & rows["threshold"].isna().to_numpy()


def reference_lines(rows: pd.DataFrame, metric: str) -> tuple[ReferenceLine, ...]:
    """Return the lines of rows of `over_seeds`, from the highest to the lowest."""
    rows = rows.sort_values(metric, ascending=False)
    styles = curve_styles([str(name) for name in rows["algorithm"]])
    columns = rows[["algorithm", "variant", metric, f"{metric}_low", f"{metric}_high", "seed_list"]]
    return tuple(
        ReferenceLine(
            reference_label(str(name), str(variant)),
            float(level),
            float(low),
            float(high),
            seeds,
            style,
            method(str(name)).role == "baseline",
        )
        for (name, variant, level, low, high, seeds), style in zip(columns.itertuples(index=False), styles, strict=True)
    )


def reference_label(algorithm: str, variant: str) -> str:
    """Return the name of a reference; of settings that are true or false, those that are true, in words."""
    settings = [setting for setting in variant.split(", ") if not setting.endswith("=False")]
    text = variant_text(", ".join(settings))
    return algorithm_label(algorithm) + (f" ({text})" if text else "")


@dataclass(frozen=True)
class PlacedLine:
    """A line inside a plot, and the box of its label: left, bottom, right, top in points."""

    line: ReferenceLine
    box: tuple[float, float, float, float]
    share: float
    """The right end of the label as a share of the width."""


def place_lines(
    lines: Sequence[ReferenceLine], heights: Sequence[float], width: float, label_size: float
) -> list[PlacedLine]:
    """Write the names of lines on them, side by side where lines are near each other; `heights` are in points."""
    placed: list[PlacedLine] = []
    for line, y in zip(lines, heights, strict=True):
        text_width, text_height = text_size(line.label, label_size)
        options = []
        for share in COLUMNS:
            right = share * width
            box = (right - text_width, y + 1, right, y + 1 + text_height)
            options.append(PlacedLine(line, box, share))
        placed.append(next((each for each in options if _is_free(each, placed)), options[0]))
    return placed


def _is_free(line: PlacedLine, others: Sequence[PlacedLine]) -> bool:
    boxes = np.array([other.box for other in others]).reshape(-1, 4)
    return not overlap(np.array(line.box), boxes).any()


def draw_lines(axes: Any, lines: Sequence[PlacedLine]) -> None:
    """Draw the lines, each with its label."""
    for placed in lines:
        line = placed.line
        axes.axhline(line.level, color=line.style.colour, linewidth=0.9, dashes=DASHES, alpha=0.9, zorder=1.6)
        axes.annotate(
            line.label,
            (placed.share, line.level),
            xycoords=("axes fraction", "data"),
            xytext=(0, 1),
            textcoords="offset points",
            ha="right",
            va="bottom",
            fontsize=LABEL_SIZE,
            color=darker(line.style.colour),
            gid="reference-label",
            zorder=1.7,
        )


def plotly_lines(lines: Sequence[ReferenceLine], left: float, right: float) -> list[dict[str, Any]]:
    """Return the lines as traces from one end of the axis to the other; references share one entry of the legend."""
    traces: list[dict[str, Any]] = []
    for line in lines:
        is_first = all(trace["legendgroup"] != REFERENCES for trace in traces)
        name = f"{line.label}: {cell_text(line.level)}" if line.is_baseline else REFERENCES
        hover = [line.label, interval_text(line.level, line.low, line.high), seeds_line(line.seeds)]
        traces.append(
            {
                "type": "scatter",
                "mode": "lines",
                "name": name,
                "legendgroup": name,
                "showlegend": line.is_baseline or is_first,
                "x": [left, right],
                "y": [line.level, line.level],
                "line": {"color": line.style.colour, "width": 1.2, "dash": "dash"},
                "customdata": [hover] * 2,
                "hovertemplate": hover_lines(3),
                "zorder": -2,
            }
        )
    return traces
