"""A table and its formats: Markdown, LaTeX and HTML with title, caption and notes; CSV with numbers and data labels."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from numbers import Real
from typing import Any

import pandas as pd

from benchmark.results.frames import describe, threshold_text
from benchmark.statistics.intervals import MIN_SEEDS_FOR_INTERVAL
from benchmark.statistics.verdicts import ClaimVerdict, Verdict
from data_pipelines.data_label import DataLabel
from reports.subjects import FURTHER, Subject
from reports.write.latex import latex_table

NO_INTERVAL = "(no interval)"
"""After a mean of too few seeds for an interval."""

VERDICTS = tuple(map(str, dict.fromkeys([*map(str, ClaimVerdict), *map(str, Verdict)])))
"""Cells with these texts are coloured and filtered on the page."""

VERDICT = re.compile(rf"({'|'.join(map(re.escape, VERDICTS))})(?:$|[ :(])")


@dataclass(frozen=True)
class Table:
    """A table with title, caption and notes; the labels of its data are in the title or the notes.

    Columns `m`, `m_low` and `m_high` are a mean and its interval. They are rendered as one column; CSV keeps all three.
    `experiments` are those that the table is about; none means all of them. `subject` is its section of the page,
    which shows `short_caption` if there is one.
    """

    name: str
    title: str
    caption: str
    frame: pd.DataFrame
    notes: tuple[str, ...] = ()
    experiments: tuple[str, ...] = ()
    subject: Subject = FURTHER
    short_caption: str | None = None

    @cached_property
    def readable(self) -> pd.DataFrame:
        """The table for readers: all cells are texts, with intervals next to their means."""
        intervals = {name for name in map(str, self.frame) if {f"{name}_low", f"{name}_high"} <= {*self.frame}}
        ends = {f"{name}{end}" for name in intervals for end in ("_low", "_high")}
        columns: dict[str, list[str]] = {}
        for name in map(str, self.frame):
            if name in intervals:
                values = zip(self.frame[name], self.frame[f"{name}_low"], self.frame[f"{name}_high"], strict=True)
                columns[heading(name)] = [interval_text(*value) for value in values]
            elif name not in ends:
                to_text = setting_text if name.endswith(("threshold", "setting")) else cell_text
                columns[heading(name)] = [to_text(value) for value in self.frame[name]]
        return pd.DataFrame(columns)

    def markdown(self) -> str:
        """Return the table as Markdown."""
        lines = [f"### {self.title}", "", self.caption, ""]
        lines.append(_markdown_row(self.readable.columns))
        lines.append(
            "|" + "|".join("---:" if self._is_numeric(name) else "---" for name in map(str, self.readable)) + "|"
        )
        lines += [_markdown_row(row) for row in self.readable.itertuples(index=False)]
        return "\n".join([*lines, "", *(f"- {note}" for note in self.notes)]).rstrip() + "\n"

    def latex(self) -> str:
        """Return the table for a LaTeX document with the packages booktabs, graphicx and longtable."""
        numeric = [self._is_numeric(name) for name in map(str, self.readable)]
        return latex_table(self.name, self.title, self.caption, self.readable, numeric, self.notes)

    def html(self, *, is_short: bool = False) -> str:
        """Return the table as a section of a page; `is_short`: with the short caption."""
        caption = self.short_caption if is_short and self.short_caption is not None else self.caption
        readable = self.readable
        if self._is_without_intervals:
            readable = readable.map(lambda text: text.removesuffix(NO_INTERVAL).rstrip())
            caption = f"{caption} Fewer than {MIN_SEEDS_FOR_INTERVAL} seeds, so no intervals.".strip()
        columns = [(name, self._is_numeric(name)) for name in map(str, readable)]
        head = "".join(_html_cell("th", name, is_number, ' scope="col"') for name, is_number in columns)
        body = "\n".join(
            "<tr>" + "".join(_html_td(cell, *column) for cell, column in zip(row, columns, strict=True)) + "</tr>"
            for row in readable.itertuples(index=False)
        )
        notes = "".join(f"<li>{with_code(note)}</li>" for note in self.notes)
        return (
            f'<section class="table" id="table-{escape(self.name)}">\n<h3>{escape(self.title)}</h3>\n'
            + (f'<p class="caption">{with_code(caption)}</p>\n' if caption else "")
            + f'<div class="rows"><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>\n'
            + (f'<ul class="notes">{notes}</ul>\n' if notes else "")
            + "</section>\n"
        )

    @property
    def _is_without_intervals(self) -> bool:
        """Whether every mean is of too few seeds for an interval: then the caption says so, not every cell."""
        cells = [cell for column in self.readable for cell in self.readable[column]]
        return any(cell.endswith(NO_INTERVAL) for cell in cells) and not any(
            "; " in cell and "[" in cell for cell in cells
        )

    def csv(self) -> str:
        """Return all numbers in full precision and the labels of their data, without title, caption and notes."""
        return csv_text(self.frame, [note for note in self.notes if isinstance(note, DataLabel)])

    def _is_numeric(self, column: str) -> bool:
        name = next(name for name in map(str, self.frame) if heading(name) == column)
        cells = [cell for cell in self.frame[name] if not _is_missing(cell)]
        return bool(cells) and all(isinstance(cell, Real) and not isinstance(cell, bool) for cell in cells)


def interval_columns(name: str, interval: tuple[float, float, float]) -> dict[str, float]:
    """Return a mean and the ends of its interval as the three columns of a table."""
    return dict(zip((name, f"{name}_low", f"{name}_high"), interval, strict=True))


CUT = "Intervals of counts are cut at 0."


def with_cut_intervals(table: Table, *counts: str) -> Table:
    """Return a table whose intervals of counts do not reach below 0, which no count does, and which says so."""
    frame, is_cut = table.frame.copy(), False
    for name in (f"{count}_low" for count in counts if f"{count}_low" in frame):
        is_cut |= bool((frame[name] < 0).any())
        frame[name] = frame[name].clip(lower=0)
    return replace(table, frame=frame, notes=(*table.notes, CUT)) if is_cut else table


def heading(column: str) -> str:
    """Return a column's heading."""
    return column.replace("_", " ") if column.islower() and "=" not in column else column


def interval_text(mean: Any, low: Any, high: Any) -> str:
    """Return a mean with its interval as text; a mean without one is of too few seeds."""
    if isinstance(mean, str) or _is_missing(mean):
        return cell_text(mean)
    if _is_missing(low):
        return f"{cell_text(mean)} {NO_INTERVAL}"
    half = (float(high) - float(low)) / 2
    if not 1e-9 < half < math.inf:
        return f"{cell_text(mean)} [{cell_text(low)}; {cell_text(high)}]"
    digits = max(0, 1 - math.floor(math.log10(half)))  # two significant digits of the interval
    texts = [f"{float(value):,.{digits}f}".replace("-", "−", 1) for value in (mean, low, high)]
    return f"{texts[0]} [{texts[1]}; {texts[2]}]"


def mean_text(mean: float, low: float, high: float) -> str:
    """Return a mean as text, with its interval if there is one."""
    return cell_text(mean) if math.isnan(low) else interval_text(mean, low, high)


def setting_text(value: Any) -> str:
    """Return a threshold or another setting as text."""
    return threshold_text(value) if isinstance(value, float) else cell_text(value)


def cell_text(value: Any) -> str:
    """Return a cell as text: integers with thousands separators, other numbers in full or with four digits."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if _is_missing(value):
        return "–"
    if not isinstance(value, Real):
        return str(value)
    value = float(value)
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value.is_integer() and abs(value) < 1e15:
        return f"{int(value):,}".replace("-", "−")
    if abs(value) >= 1e15:
        return f"{value:.3e}".replace("e+", "e")
    if value == float(f"{value:.5g}") and 1e-4 <= abs(value) < 1e5:  # in full, such as 1.8322 and 1.01
        return f"{value:,.5g}".replace("-", "−", 1)
    digits = max(0, 3 - math.floor(math.log10(abs(value))))
    return (f"{value:,.{digits}f}" if digits < 8 else f"{value:.3e}").replace("-", "−", 1)


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def with_code(text: str) -> str:
    """Return a text as HTML; what is between backticks is code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def _markdown_row(cells: Any) -> str:
    return "| " + " | ".join(str(cell).replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def _html_td(text: str, column: str, is_number: bool) -> str:
    """Return a cell: its column for narrow windows, its verdict for filters, its interval in one piece."""
    verdict = VERDICT.match(text)
    more = f' data-column="{escape(column)}"' + (f' data-verdict="{verdict[1]}"' if verdict else "")
    return _html_cell("td", text, is_number, more)


def _html_cell(tag: str, text: str, is_number: bool, more: str = "") -> str:
    kind = ' class="number"' if is_number else ""
    content = re.sub(r"(\[[^\[\]]*\])$", r"<span>\1</span>", escape(text)) if is_number else escape(text)
    return f"<{tag}{kind}{more}>{content}</{tag}>"


def csv_text(frame: pd.DataFrame, labels: Sequence[str] = ()) -> str:
    """Return a table as CSV; several values in a cell, such as seeds, are separated by spaces: 0 1 2.

    A configuration is written as `name=value, name=value`.

    The labels of the data are a column, so that they stay with the numbers.
    """
    cells = frame.map(_cell)
    if labels:
        cells = cells.assign(data_label="; ".join(labels))
    return cells.to_csv(index=False, lineterminator="\n")


def _cell(value: Any) -> Any:
    if isinstance(value, Mapping):
        return describe(value, value)
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else value
