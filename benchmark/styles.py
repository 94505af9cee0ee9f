"""The look of methods, the same in figures, on the page and in MLflow: a style is a number from 0 to 47.

8 colours × 6 markers. Built-in methods declare numbers below 24; any other method may declare one, or gets one that
follows from its name. So a style never depends on which other methods are installed. If two methods of
one figure have the same style, the later one by name takes the next free one in this figure.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from algorithms.method import MAX_STYLE
from algorithms.registry import built_in_methods

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#b3a800", "#999999")
"""The colours of Okabe and Ito, which colour-blind readers can distinguish, with a darker yellow and grey for black."""

MARKERS = (("*", "star"), ("s", "square"), ("^", "triangle-up"), ("x", "x"), ("o", "circle"), ("D", "diamond"))
"""The names of each marker in matplotlib and in Plotly."""

STYLES = MAX_STYLE + 1


@dataclass(frozen=True)
class Style:
    """A colour, and the names of a marker in matplotlib and Plotly."""

    colour: str
    marker: str
    symbol: str


def style(number: int) -> Style:
    """Return the style of a number; the first 8 differ in colour and, except for two pairs, in marker."""
    row, column = divmod(number, len(COLOURS))
    return Style(COLOURS[column], *MARKERS[(column + row) % len(MARKERS)])


def distinct_styles(methods: Iterable[tuple[str, int]]) -> dict[str, Style]:
    """Return the styles of the methods of one figure, given their names and style numbers; no two are equal."""
    numbers: dict[str, int] = {}
    for name, number in sorted(methods, key=lambda method: (method[0] not in built_in_methods(), method[0])):
        if name not in numbers:
            candidates = [(number + step) % STYLES for step in range(STYLES)]
            numbers[name] = next((each for each in candidates if each not in numbers.values()), number)
    return {name: style(number) for name, number in numbers.items()}
