"""Text for a terminal of 80 columns: wrapped lines, aligned columns, plurals, colour."""

import os
import sys
import textwrap
from collections.abc import Sequence

WIDTH = 80
LABEL_WIDTH = 15
BOLD, GREEN, RED, YELLOW = "1", "32", "31", "33"


def wrapped(text: str, indent: str = "  ", first: str = "") -> str:
    """Wrap a text at 80 columns; words such as paths and commands are never broken."""
    lines = textwrap.wrap(
        text,
        WIDTH,
        initial_indent=first,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "\n".join(lines)


def labelled(label: str, texts: Sequence[str]) -> list[str]:
    """Return texts, wrapped, beside a label of at most 14 characters; without texts, nothing."""
    width = WIDTH - LABEL_WIDTH
    lines = [line for text in texts for line in textwrap.wrap(text, width, subsequent_indent="  ")]
    return [f"{'' if number else label:<{LABEL_WIDTH}}{line}" for number, line in enumerate(lines)]


def fitted(text: str, indent: str = "    ") -> str:
    """Wrap only the lines of a text that are longer than 80 columns."""
    return "\n".join(line if len(line) <= WIDTH else wrapped(line, indent) for line in text.splitlines())


def cut(text: str, width: int) -> str:
    """Return a text, or its beginning and `…` if it is longer than `width`."""
    return text if len(text) <= width else f"{text[: width - 1]}…"


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows of cells as lines whose columns begin below each other."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def number_of(count: int, noun: str) -> str:
    """Return a count with its noun in the singular or plural."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def coloured(text: str, *codes: str) -> str:
    """Colour a text if standard output is a terminal and NO_COLOR is not set."""
    return f"\033[{';'.join(codes)}m{text}\033[0m" if sys.stdout.isatty() and not os.environ.get("NO_COLOR") else text
