"""A chart as plain data: figures build it, `to_matplotlib` and `to_plotly` show it.

Texts may contain symbols with an index between dollar signs: `$d_g$`. Numbers that are not known are NaN. Lengths are
points (1/72 inch) unless something else is stated.
"""

import dataclasses
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from data_pipelines.data_label import is_generated, is_provenance

if TYPE_CHECKING:
    import pandas as pd

Numbers = tuple[float, ...]
Interval = tuple[Numbers, Numbers]
Stroke = str
"""A kind of line: "-" solid, "--" dashed, ":" dotted, "steps" keeps each value until the next one, "" none."""

INK, FAINT, GREY = "#1b1f24", "#6b7280", "#808891"
"""Colours of text; grey is readable on white and on black."""

CONTRASTS = ("#c1121f", "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#000000")
"""Colours of series that are not methods: the first for γ=∞, a red dot in the paper, the others of Okabe and Ito."""

MAX_ENTRIES = 16
"""Entries of a legend: more are hard to tell apart."""


def power_of_ten(power: int) -> str:
    """Return a power of ten as text: 10⁶."""
    return "10" + str(power).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def numbers(values: ArrayLike) -> Numbers:
    """Return values as plain numbers."""
    return tuple(np.asarray(values, dtype=float).tolist())


@dataclass(frozen=True)
class Axis:
    """An axis with its range. Without `ticks` the renderers choose them; `note` is left out where space is scarce.

    Left of `border` is a shaded strip for the value zero, which a logarithmic axis does not have: it is at `zero`.
    """

    label: str
    range: tuple[float, float]
    is_log: bool = False
    ticks: tuple[tuple[float, str], ...] = ()
    note: str = ""
    angle: int = 0
    """The angle of the texts of ticks in degrees."""
    has_grid: bool = True
    has_zero_line: bool = False
    border: float | None = None
    zero: float | None = None
    above: "Axis | None" = None
    """A second axis above the panel with the same range and other ticks."""

    def share(self, values: ArrayLike) -> Any:
        """Return positions as shares of the axis: 0 at its beginning, 1 at its end."""
        low, high = (math.log10(end) if self.is_log else end for end in self.range)
        with np.errstate(divide="ignore", invalid="ignore"):
            positions = np.log10(values) if self.is_log else np.asarray(values, dtype=float)
        return (positions - low) / (high - low)

    def inside(self, value: float) -> bool:
        """Return whether a value is on the axis."""
        return self.range[0] <= value <= self.range[1]


@dataclass(frozen=True)
class Series:
    """Marks, a line, or both; intervals are bars, or a band around the line. `hover` has lines of text per mark.

    Series with one `label` share an entry of the legend, and those of one `group` are switched on and off together.
    A long legend leaves out optional entries first.
    """

    x: Numbers
    y: Numbers
    colour: str
    label: str = ""
    marker: str = ""
    """By matplotlib's names."""
    line: Stroke = ""
    size: float = 6.0
    """The diameter of marks."""
    width: float = 1.2
    opacity: float = 1.0
    is_hollow: bool = False
    x_interval: Interval | None = None
    y_interval: Interval | None = None
    has_band: bool = False
    hover: tuple[tuple[str, ...], ...] = ()
    group: str = ""
    is_optional: bool = False


@dataclass(frozen=True)
class Level:
    """A line across the panel, horizontal unless `is_vertical`, and a band; `name` is written on it or beside it."""

    value: float
    colour: str
    label: str = ""
    name: str = ""
    line: Stroke = "--"
    band: tuple[float, float] | None = None
    width: float = 0.9
    hover: tuple[str, ...] = ()
    group: str = ""
    is_vertical: bool = False
    is_optional: bool = False


@dataclass(frozen=True)
class Label:
    """A text near a mark; `owner` names the series of the mark. A disc is a text in a circle."""

    x: float
    y: float
    text: str
    colour: str
    owner: str = ""
    is_bold: bool = False
    is_italic: bool = False
    is_disc: bool = False


@dataclass(frozen=True)
class Panel:
    """Two axes, what is between them, a note above (`title`), one in the lower right corner (`remark`).

    Names of levels are written on their lines, or to the right of the panel. `share` is its width relative to others.
    """

    x: Axis
    y: Axis
    items: tuple[Series | Level, ...]
    labels: tuple[Label, ...] = ()
    title: str = ""
    remark: str = ""
    names_beside: bool = False
    share: float = 1.0
    inset: "Panel | None" = None
    """A part of the panel, enlarged in the picture; readers can enlarge interactive plots themselves."""

    @property
    def series(self) -> list[Series]:
        """The items that are no levels."""
        return [item for item in self.items if isinstance(item, Series)]

    @property
    def levels(self) -> list[Level]:
        """The items that are levels."""
        return [item for item in self.items if isinstance(item, Level)]


@dataclass(frozen=True)
class Cell:
    """A text on a colour; without a colour it is faint. `parts` are drawn left of it, in half of its width."""

    text: str
    colour: str = ""
    parts: "tuple[Cell, ...]" = ()


@dataclass(frozen=True)
class Matrix:
    """Coloured cells: each row has a text and a cell per column, or is a heading of the rows below it.

    `legend` explains colours, `corner` (of one or more lines) is left of the columns' headings, `note` in the lower
    right corner; widths are in inches.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]
    legend: tuple[tuple[Cell, str], ...]
    cell_width: float
    font_size: float = 8.0
    corner: str = ""
    note: str = ""


@dataclass(frozen=True)
class Chart:
    """Panels side by side, or one matrix, with title and caption.

    `data` holds the numbers, saved as CSV next to the picture; `labels` are the labels of the data, which picture and
    plot show; `height` is that of the panels in inches.
    """

    name: str
    title: str
    caption: str
    panels: tuple[Panel, ...] | tuple[Matrix]
    data: "pd.DataFrame | None" = None
    labels: tuple[str, ...] = ()
    height: float = 3.4

    @property
    def kinds(self) -> str:
        """The short forms of the data labels, without those that only say where complete data are from."""
        return ", ".join(sorted({kind_of(label) for label in self.labels if not is_provenance(label)}))

    @property
    def is_generated(self) -> bool:
        """Whether any of the data are generated."""
        return any(map(is_generated, self.labels))

    @property
    def plain_panels(self) -> list[Panel]:
        """The panels; none if the chart is a matrix."""
        return [panel for panel in self.panels if isinstance(panel, Panel)]

    def legend(self) -> list[Series | Level]:
        """Return the first item of each label: without optional ones if these are too many for a legend."""
        entries: dict[str, Series | Level] = {}
        for panel in self.plain_panels:
            for item in panel.items:
                entries.setdefault(item.label, item)
        entries.pop("", None)
        needed = [item for item in entries.values() if not item.is_optional]
        optional = [item for item in entries.values() if item.is_optional]
        return [*needed, *optional[: max(MAX_ENTRIES - len(needed), 0)]]

    def content(self) -> dict[str, Any]:
        """Return everything that the chart shows as plain values, for a hash."""
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        fields["panels"] = [dataclasses.asdict(panel) for panel in self.panels]
        fields["data"] = "" if self.data is None else self.data.to_csv()
        return fields


def kind_of(label: str) -> str:
    """Return the short form of a data label, for titles: the words in capitals, such as STAND-IN DATA."""
    capitals = re.search(r"\b[A-Z][A-Z-]+(?: [A-Z][A-Z-]+)*\b", label)
    return capitals.group() if capitals else label


def span(values: Iterable[float], room: float = 0.06, least: float = math.nan) -> tuple[float, float]:
    """Return a range around the known values with room on both sides; it begins at `least` unless that is NaN."""
    known = [value for value in values if math.isfinite(value)] or [0.0]
    low, high = min(known), max(known)
    margin = room * (high - low or abs(high) or 1.0)
    return (low - margin if math.isnan(least) else least), high + margin


def log_span(values: Iterable[float], room: float = 0.06) -> tuple[float, float]:
    """Return a range around the positive values of a logarithmic axis, with room on both sides."""
    low, high = span([math.log10(value) for value in values if 0 < value < math.inf], room)
    return 10.0**low, 10.0**high


def drawn_values(items: Sequence[Series | Level]) -> Numbers:
    """Return all heights of some items: values, intervals, levels and bands."""
    values: list[float] = []
    for item in items:
        if isinstance(item, Level):
            values += [item.value, *(item.band or ())]
        else:
            values += [*item.y, *(end for ends in item.y_interval or () for end in ends)]
    return tuple(values)


def communication_axis(
    values: ArrayLike, label: str, clients: float = math.nan, per_client: str = "transfers per client"
) -> Axis:
    """Return the logarithmic axis that shows all these amounts of communication, with a strip for zero if it occurs.

    A second axis above counts transfers per client, if the number of clients is known.
    """
    amounts = np.asarray(values, dtype=float)
    positive = amounts[amounts > 0]
    low, high = (math.log10(positive.min()), math.log10(positive.max())) if len(positive) else (0.0, 1.0)
    if high - low < 0.2:
        low, high = low - 0.1, high + 0.1
    room = high - low
    begin, end = low - 0.05 * room, 10 ** (high + 0.06 * room)
    has_zero = bool((amounts == 0).any())
    zero = 10 ** (begin - 0.06 * room) if has_zero else None
    left, border = 10 ** (begin - 0.12 * room if has_zero else begin), 10**begin
    at_zero = [(zero, "0")] if zero is not None else []
    ticks = [*at_zero, *_decade_ticks(border, end)]
    note = "log scale, zero shown separately" if has_zero else "log scale"
    above = None
    if not math.isnan(clients):
        counts = [*at_zero, *((value * clients, text) for value, text in _count_ticks(border / clients, end / clients))]
        above = Axis(per_client, (left, end), True, tuple(counts))
    return Axis(label, (left, end), True, tuple(ticks), note, border=border, zero=zero, above=above)


def at_zero(axis: Axis, values: ArrayLike) -> Numbers:
    """Return positions on an axis of communication: zero is in its strip, all others stay as they are."""
    amounts = np.asarray(values, dtype=float)
    return numbers(np.where(amounts > 0, amounts, np.nan if axis.zero is None else axis.zero))


def _decade_ticks(low: float, high: float) -> list[tuple[float, str]]:
    """Return ticks at decades; at 1, 2, 5 or all multiples if there are fewer than three decades."""
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    if last - first >= 2:
        return [(10.0**power, power_of_ten(power)) for power in range(first, last + 1)]
    values = multiples_of_ten(low, high, (1, 2, 5) if high > 10 * low else range(1, 10))
    return [(value, f"{value / 1e6:,g} M" if value >= 1e6 else f"{value:,g}") for value in values]


def _count_ticks(low: float, high: float) -> list[tuple[float, str]]:
    """Return ticks at decades in full; at 1, 2 and 5 if there are fewer than three."""
    decades = math.floor(math.log10(high)) - math.ceil(math.log10(low)) + 1
    return [(value, f"{value:,g}") for value in multiples_of_ten(low, high, (1,) if decades >= 3 else (1, 2, 5))]


def multiples_of_ten(low: float, high: float, factors: Iterable[int]) -> list[float]:
    """Return the powers of ten times each factor that are inside a range."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)))
    values = (factor * 10.0**power for power in powers for factor in factors)
    return [value for value in values if low < value < high]
