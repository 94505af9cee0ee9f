"""One style for all figures: fonts, grid, colours, sizes, and the header with title and data labels."""

import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from matplotlib import rc_context
from matplotlib.figure import Figure as Canvas
from matplotlib.font_manager import FontProperties
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.textpath import text_to_path
from matplotlib.ticker import StrMethodFormatter

WIDTH = 9.6
"""Width of all figures in inches."""

INK = "#1b1f24"
FAINT = "#6b7280"
WARNING = "#a3360b"
NO_COMMUNICATION = "#c1121f"
"""γ=∞ is a red dot in the paper."""

CONTRASTS = ("#c1121f", "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#000000")
"""Colours of series that are not algorithms: the first for γ=∞, the others are those of Okabe and Ito."""

RC: dict[Any, Any] = {
    "font.family": "DejaVu Sans",  # part of matplotlib, so that every machine draws the same
    "font.size": 9,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": FAINT,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e5e7eb",
    "grid.linewidth": 0.7,
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "svg.fonttype": "none",  # keep text as text, for search and screen readers
    "svg.hashsalt": "fedbandit",  # the same picture gives the same bytes
}
TITLE_SIZE, LABEL_SIZE = 12, 8
BOLD = 1.14
"""Width of bold text relative to regular text."""


@contextmanager
def house_style() -> Iterator[None]:
    """Draw in our style."""
    with rc_context(RC):
        yield


def header_lines(labels: Sequence[str], width: float = WIDTH) -> list[str]:
    """Break data labels into lines that fit a picture's width (inches)."""
    return [line for label in labels for line in textwrap.wrap(label, int(width * 14.5))]


def header_height(labels: Sequence[str], width: float = WIDTH) -> float:
    """Return the height of the header in inches."""
    return 0.42 + 0.155 * len(header_lines(labels, width)) + (0.06 if labels else 0.0)


def write_header(canvas: Canvas, title: str, labels: Sequence[str]) -> None:
    """Write the title, and the labels of the data below it, into the picture."""
    width, height = canvas.get_size_inches()
    available = (width - 0.28) * 72
    size = min(TITLE_SIZE, TITLE_SIZE * available / (text_size(title, TITLE_SIZE)[0] * BOLD))
    canvas.text(0.14 / width, 1 - 0.12 / height, title, fontsize=size, weight="bold", va="top")
    for number, line in enumerate(header_lines(labels, width)):
        y = 1 - (0.42 + 0.155 * number) / height
        canvas.text(0.14 / width, y, line, fontsize=LABEL_SIZE, weight="bold", color=WARNING, va="top")


def panels(columns: int, labels: Sequence[str], *, height: float = 4.4, **options: Any) -> tuple[Canvas, list[Any]]:
    """Return a canvas with panels side by side, with space for the header above and a legend below."""
    top = header_height(labels)
    height += top
    rectangle = (0.005, 0.005, 0.99, 1 - top / height - 0.005)
    canvas = Canvas(figsize=(WIDTH, height), layout=ConstrainedLayoutEngine(rect=rectangle, w_pad=0.08, h_pad=0.06))
    axes = canvas.subplots(1, columns, squeeze=False, **options)[0]
    return canvas, list(axes)


def thousands(axis: Any) -> None:
    """Write the numbers of an axis with separators between thousands."""
    axis.set_major_formatter(StrMethodFormatter("{x:,g}"))


def text_size(text: str, size: float) -> tuple[float, float]:
    """Return width and height of a line of text in points: at least those of the renderer."""
    width, _, _ = text_to_path.get_text_width_height_descent(
        text, FontProperties(family="DejaVu Sans", size=size), False
    )
    return float(width) * 1.03 + 1.5, size * 1.3


def darker(colour: str, share: float = 0.25) -> str:
    """Return a colour mixed with black, for small text on white."""
    parts = (int(colour[start : start + 2], 16) for start in (1, 3, 5))
    return "#" + "".join(f"{round(part * (1 - share)):02x}" for part in parts)
