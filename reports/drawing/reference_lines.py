"""Reference lines: methods that are shown but not ranked, drawn at their level for any communication."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from benchmark.styles import Style
from reports.drawing.label_placement import Bools
from reports.drawing.labels import algorithm_label, curve_styles
from reports.drawing.plotly_parts import seeds_line
from reports.drawing.style import darker
from reports.read.methods import method
from reports.write.table import cell_text, interval_text

LABEL_SIZE = 6.5
LABEL_HEIGHT = 8.0
"""Points; nearer labels are written side by side."""

COLUMNS = (0.78, 0.5, 0.99)
"""Right ends of labels, as shares of the width."""

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
    settings = []
    for setting in filter(None, variant.split(", ")):
        name, _, value = setting.partition("=")
        settings.append({"True": name.replace("_", " "), "False": ""}.get(value, setting))
    shown = ", ".join(filter(None, settings))
    return algorithm_label(algorithm) + (f" ({shown})" if shown else "")


def draw_lines(axes: Any, lines: tuple[ReferenceLine, ...], height: float) -> None:
    """Draw the lines that are inside the plot, each with its label; `height` is that of the plot in points."""
    bottom, top = axes.get_ylim()
    taken: list[tuple[float, float]] = []
    for line in lines:
        if not bottom <= line.level <= top:
            continue
        axes.axhline(line.level, color=line.style.colour, linewidth=0.9, dashes=DASHES, alpha=0.9, zorder=1.6)
        y = height * float(axes.transAxes.inverted().transform(axes.transData.transform((1, line.level)))[1])
        column = next((right for right in COLUMNS if _is_free(right, y, taken)), COLUMNS[0])
        taken.append((column, y))
        axes.annotate(
            line.label,
            (column, line.level),
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


def _is_free(column: float, y: float, taken: list[tuple[float, float]]) -> bool:
    return all(column != other or abs(y - height) >= LABEL_HEIGHT for other, height in taken)


def plotly_lines(lines: tuple[ReferenceLine, ...], left: float, right: float) -> list[dict[str, Any]]:
    """Return the lines as traces from one end of the axis to the other."""
    return [
        {
            "type": "scatter",
            "mode": "lines",
            "name": f"{line.label} (reference)",
            "x": [left, right],
            "y": [line.level, line.level],
            "line": {"color": line.style.colour, "width": 1.2, "dash": "dash"},
            "customdata": [[line.label, interval_text(line.level, line.low, line.high), seeds_line(line.seeds)]] * 2,
            "hovertemplate": "%{customdata[0]}<br>%{customdata[1]}<br>%{customdata[2]}<extra></extra>",
        }
        for line in lines
    ]
