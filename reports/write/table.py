"""A table and its formats: Markdown, LaTeX and HTML with title, caption and notes; CSV with numbers and data labels.

pandas writes LaTeX (booktabs), in characters that plain pdflatex can set.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from itertools import zip_longest
from numbers import Real
from textwrap import wrap
from typing import Any

import pandas as pd
from pandas.io.formats.style import Styler

from benchmark.plan.runs import threshold_text
from benchmark.results.frames import describe
from benchmark.statistics.intervals import MIN_SEEDS_FOR_INTERVAL
from benchmark.statistics.verdicts import ClaimVerdict, Verdict
from data_pipelines.data_label import DataLabel, is_provenance
from reports.subjects import FURTHER, Subject

NO_INTERVAL = "(no interval)"
"""After a mean of too few seeds for an interval."""

NOT_RUN, NOT_DECIDED = "not run here", "not decided here"
"""The beginning of a cell with a published verdict in place of our own: without runs, or with too few seeds."""

VERDICTS = tuple(map(str, dict.fromkeys([*map(str, ClaimVerdict), *map(str, Verdict), NOT_RUN, NOT_DECIDED])))
"""Cells with these texts are coloured and filtered on the page."""

VERDICT = re.compile(rf"({'|'.join(map(re.escape, VERDICTS))})(?:$|[ :;,(])")


@dataclass(frozen=True)
class Table:
    """A table with title, caption and notes; the labels of its data are in the title or the notes.

    Columns `m`, `m_low` and `m_high` are a mean and its interval. They are rendered as one column; CSV keeps all three.
    `experiments` are those that the table is about; none means all of them. `subject` is its section of the page,
    which shows `short_caption` if there is one. A table with `has_gaps` lists missing runs that readers must know about
    first. `paper` is its LaTeX if that has a form of its own, see `paper_table`. Use `make_table` for the label of one
    data set, and for counts.
    """

    name: str
    title: str
    caption: str
    frame: pd.DataFrame
    notes: tuple[str, ...] = ()
    experiments: tuple[str, ...] = ()
    subject: Subject = FURTHER
    short_caption: str | None = None
    has_gaps: bool = False
    paper: str = ""

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
        if self.paper:
            return self.paper
        numeric = [self._is_numeric(name) for name in map(str, self.readable)]
        return latex_table(self.name, self.title, self.caption, self.readable, numeric, self.notes)

    def html(self, *, is_short: bool = False) -> str:
        """Return the table as a section of a page; `is_short`: with the short caption, and without provenance."""
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
        shown = [note for note in self.notes if not is_short or not is_provenance(note)]
        notes = "".join(f"<li>{with_code(note)}</li>" for note in shown)
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

    @cached_property
    def texts(self) -> dict[str, str]:
        """Return the contents of its files by their suffix; HTML is for pages."""
        return {".csv": self.csv(), ".md": self.markdown(), ".tex": self.latex()}

    def _is_numeric(self, column: str) -> bool:
        name = next(name for name in map(str, self.frame) if heading(name) == column)
        cells = [cell for cell in self.frame[name] if not _is_missing(cell)]
        return bool(cells) and all(isinstance(cell, Real) and not isinstance(cell, bool) for cell in cells)


def interval_columns(name: str, interval: tuple[float, float, float]) -> dict[str, float]:
    """Return a mean and the ends of its interval as the three columns of a table."""
    return dict(zip((name, f"{name}_low", f"{name}_high"), interval, strict=True))


CUT = "Intervals of counts are cut at 0."


def make_table(
    name: str,
    title: str,
    caption: str,
    frame: pd.DataFrame,
    notes: Sequence[str] = (),
    *,
    label: str = "",
    counts: Sequence[str] = (),
    **more: Any,
) -> Table:
    """Make a table whose title and notes have the label of its data; `more` are further fields of it.

    Intervals of the columns `counts` do not reach below 0, as no count does, and a note says so.
    """
    low = [f"{count}_low" for count in counts if f"{count}_low" in frame]
    all_notes = [*filter(None, [label]), *notes, *([CUT] if (frame[low] < 0).any(axis=None) else [])]
    titled = f"{title} – {label}" if label and not is_provenance(label) else title
    return Table(name, titled, caption, frame.assign(**frame[low].clip(lower=0)), tuple(all_notes), **more)


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


MAX_ROWS = 40
"""A table with more rows is set over several pages."""

SHRINK = r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%"
"""Shrinks what follows, up to a closing brace, to the width of a line if it is wider."""

WIDE_TEXT = 26
"""Characters: a longer text in a column is broken into lines."""

SHORT_TEXT, LINE = 12, 125
"""Characters: columns up to SHORT_TEXT are never broken into lines; a line of a long table holds LINE."""

NARROW = r"\smallskip\footnotesize\setlength{\tabcolsep}{2pt}\renewcommand{\arraystretch}{0.85}"
"""Makes a table for a paper small, up to the end of its float."""

NAME_WIDTH = 22
"""Characters of a line of a name in a table for a paper."""

SPACE = "addlinespace[1pt]: --nowrap"
"""In the style of a table for a paper: space above a row."""

GREEK = {"γ": "gamma", "λ": "lambda", "α": "alpha", "σ": "sigma", "θ": "theta", "τ": "tau", "δ": "delta", "µ": "mu"}
GREEK |= {"ε": "varepsilon"}
RELATIONS = {"∞": "infty", "≤": "leq", "≥": "geq", "→": "rightarrow", "≈": "approx"}
OPERATORS = {"×": "times", "±": "pm", "√": "surd", "·": "cdot"}
TEXTS = {"–": "--", "…": r"\dots{}", "†": r"\dag{}", "‘": "`", "’": "'", "“": "``", "”": "''", "¼": "1/4", "½": "1/2"}
NAMED = {"\\": "backslash", "~": "asciitilde", "^": "asciicircum", "<": "less", ">": "greater"}
REPLACEMENTS = str.maketrans(
    {sign: f"\\{sign}" for sign in "&%$#_{}"}
    | {sign: rf"\text{name}{{}}" for sign, name in NAMED.items()}
    | {sign: rf"$\{name}$" for sign, name in (GREEK | RELATIONS | OPERATORS).items()}
    | {"−": "$-$", "²": "$^{2}$"}
    | TEXTS
)
"""What LaTeX sets for each sign."""

FORMULAS = re.compile(
    r"\b(?P<letter>[A-Zd])_(?P<below>[TgN])\b|\b(?P<base>[A-Z])\^\(?(?P<above>[-\d/]+)\)?|√(?P<root>T)"
)
"""Formulas: C_T, d_g, N^2, N^(3/2), √T."""


def escaped(value: object) -> str:
    """Return a value as text in LaTeX, what is between backticks as code.

    pandas escapes neither Greek letters and signs such as ∞ nor formulas such as C_T. Characters that plain pdflatex
    cannot set become question marks.
    """
    parts = re.split(r"`([^`]+)`", " ".join(str(value).split()))
    return "".join(rf"\texttt{{{_plain(part)}}}" if number % 2 else _prose(part) for number, part in enumerate(parts))


def _prose(text: str) -> str:
    parts, end = [], 0
    for formula in FORMULAS.finditer(text):
        parts += [_plain(text[end : formula.start()]), _formula(formula)]
        end = formula.end()
    return "".join([*parts, _plain(text[end:])])


def _formula(formula: "re.Match[str]") -> str:
    if formula["letter"]:
        return f"${formula['letter']}_{{{formula['below']}}}$"
    return rf"$\sqrt{{{formula['root']}}}$" if formula["root"] else f"${formula['base']}^{{{formula['above']}}}$"


def _plain(text: str) -> str:
    return "".join(sign if ord(sign) < 0x180 else "?" for sign in text.translate(REPLACEMENTS))


def latex_table(
    name: str, title: str, caption: str, cells: pd.DataFrame, numeric: Sequence[bool], notes: Sequence[str]
) -> str:
    """Return a floating table shrunk to the line, or a long one over several pages."""
    is_long = len(cells) > MAX_ROWS
    heading, columns = f"{title}. {caption}", _column_format(cells, numeric, is_long=is_long)
    comment = "% Needs the packages booktabs, graphicx and longtable."
    footnotes = [rf"\par\footnotesize {escaped(note)}" for note in notes]
    if not is_long:
        table = _styled(cells).to_latex(column_format=columns, hrules=True).rstrip()
        return "\n".join([comment, *_floating(name, heading, [SHRINK, f"{table}}}", *footnotes]), ""])
    table = _styled(cells).to_latex(
        column_format=columns, hrules=True, environment="longtable", caption=escaped(heading), label=_label(name)
    )
    # Our captions are long, and pandas would repeat them on every page.
    lines = [line for line in table.splitlines() if not line.startswith(r"\caption[]")]
    before = r"\begingroup\scriptsize\setlength{\tabcolsep}{3pt}"
    return "\n".join([comment, before, *lines, r"\endgroup", *footnotes, ""])


def paper_table(name: str, caption: str, cells: pd.DataFrame, best: pd.DataFrame, note: str) -> str:
    """Return a floating table for a paper, in small type but not shrunk, with one note.

    The first column has names, which are broken into lines. The others have numbers, bold where `best` says so; what
    follows a line break in a cell is set below, in smaller type.
    """
    rows: list[Sequence[str]] = []
    styles: list[list[str]] = []
    for texts, is_bold in zip(cells.to_numpy(), best.to_numpy(), strict=True):
        names = wrap(texts[0], NAME_WIDTH, break_on_hyphens=False)
        lines = list(zip_longest(names, *(text.split("\n") for text in texts[1:]), fillvalue=""))
        rows += lines
        styles.append([SPACE, *("textbf: --rwrap" if bold else "" for bold in is_bold[1:])])
        styles += [["", *("scriptsize: --nowrap" if text else "" for text in line[1:])] for line in lines[1:]]
    frame = pd.DataFrame(rows, columns=cells.columns)
    looks = pd.DataFrame(styles, columns=cells.columns)
    columns = f"@{{}}l{'r' * (len(cells.columns) - 1)}@{{}}"
    table = _styled(frame).apply(lambda _: looks, axis=None).to_latex(column_format=columns, hrules=True).rstrip()
    content = [NARROW, table, rf"\par\smallskip\raggedright\scriptsize {escaped(note)}"]
    return "\n".join(["% Needs the package booktabs.", *_floating(name, caption, content), ""])


def _styled(cells: pd.DataFrame) -> Styler:
    return cells.style.hide(axis="index").format(escaped).format_index(escaped, axis="columns")


def _floating(name: str, heading: str, content: Sequence[str]) -> list[str]:
    """Return the lines of a float: pandas can neither shrink a table nor put notes below it."""
    caption = rf"\caption{{{escaped(heading)}}}\label{{{_label(name)}}}"
    return [r"\begin{table}[htbp]", r"\centering", caption, *content, r"\end{table}"]


def _label(name: str) -> str:
    return f"tab:{name.replace('_', '-')}"


def _column_format(cells: pd.DataFrame, numeric: Sequence[bool], *, is_long: bool) -> str:
    widths = [max([len(str(name)), *cells[name].map(len)]) for name in cells]
    if not is_long:
        wide = [rf"p{{{min(width, 3 * WIDE_TEXT) * 0.16:.1f}cm}}" if width > WIDE_TEXT else "l" for width in widths]
        return "".join("r" if is_number else kind for kind, is_number in zip(wide, numeric, strict=True))
    # A long table cannot be shrunk to the line: short columns get the width they need, the others share the rest.
    shared = [0 if width <= SHORT_TEXT else min(width, 2 * WIDE_TEXT) for width in widths]
    rest = max(0.3, 0.97 - sum(width + 2 for width, share in zip(widths, shared, strict=True) if not share) / LINE)
    rest -= 0.02 * sum(map(bool, shared))
    formats = [
        rf"p{{{rest * share / sum(shared):.3f}\linewidth}}" if share else "r" if is_number else "l"
        for share, is_number in zip(shared, numeric, strict=True)
    ]
    return "".join(formats)
