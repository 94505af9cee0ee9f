"""Text for a terminal of 80 columns: wrapped lines, plurals, colour."""

import os
import sys
import textwrap

WIDTH = 80
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


def fitted(text: str, indent: str = "    ") -> str:
    """Wrap only the lines of a text that are longer than 80 columns."""
    return "\n".join(line if len(line) <= WIDTH else wrapped(line, indent) for line in text.splitlines())


def number_of(count: int, noun: str) -> str:
    """Return a count with its noun in the singular or plural."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def coloured(text: str, *codes: str) -> str:
    """Colour a text if standard output is a terminal and NO_COLOR is not set."""
    return f"\033[{';'.join(codes)}m{text}\033[0m" if sys.stdout.isatty() and not os.environ.get("NO_COLOR") else text
