"""The legend below a picture, with as few rows as its width permits."""

import math
from collections.abc import Sequence
from typing import TypeVar

from reports.drawing.style import RC, WIDTH, text_size

MARGIN = 6.0
"""Free space on each side in points."""

MAX_ENTRIES = 8
"""More are hard to tell apart."""

Entry = TypeVar("Entry")


def more_text(count: int) -> str:
    """Return the last entry of a legend that does not name all curves."""
    return f"and {count} more: see the table"


def legend_columns(texts: Sequence[str], width: float = WIDTH) -> int:
    """Return the number of columns with the fewest rows within a width (inches)."""
    available = width * 72 - 2 * MARGIN
    for rows in range(1, len(texts)):
        columns = math.ceil(len(texts) / rows)
        if legend_width(texts, columns) <= available:
            return columns
    return 1


def legend_width(texts: Sequence[str], columns: int) -> float:
    """Return the width of a legend in points, with matplotlib's sizes of handles, gaps and border."""
    size = float(RC["legend.fontsize"])
    widest = [max(text_size(text, size)[0] for text in texts[column::columns]) for column in range(columns)]
    handles, gaps, border = 2.8 * columns, 2.0 * (columns - 1), 0.8
    return sum(widest) + (handles + gaps + border) * size


def by_rows(entries: Sequence[Entry], columns: int) -> list[Entry]:
    """Reorder the entries to read row by row: matplotlib fills legends column by column."""
    return [entry for column in range(columns) for entry in entries[column::columns]]
