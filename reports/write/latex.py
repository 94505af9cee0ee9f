"""A table in LaTeX: pandas writes it (booktabs), in characters that plain pdflatex can set.

We implement `escaped` ourselves because pandas escapes neither Greek letters and signs such as ∞ nor formulas such as
C_T, and compute the column widths ourselves because pandas does not break long texts into lines.
"""

import re
from collections.abc import Sequence

import pandas as pd

MAX_ROWS = 40
"""A table with more rows is set over several pages."""

SHRINK = r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%"
"""Shrinks what follows, up to a closing brace, to the width of a line if it is wider."""

WIDE_TEXT = 26
"""Characters: a longer text in a column is broken into lines."""

SHORT_TEXT, LINE = 12, 125
"""Characters: columns up to SHORT_TEXT are never broken into lines; a line of a long table holds LINE."""

REPLACEMENTS = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "γ": r"$\gamma$",
    "λ": r"$\lambda$",
    "α": r"$\alpha$",
    "σ": r"$\sigma$",
    "θ": r"$\theta$",
    "τ": r"$\tau$",
    "δ": r"$\delta$",
    "µ": r"$\mu$",
    "∞": r"$\infty$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "×": r"$\times$",
    "±": r"$\pm$",
    "−": r"$-$",
    "→": r"$\rightarrow$",
    "√": r"$\surd$",
    "·": r"$\cdot$",
    "≈": r"$\approx$",
    "–": "--",
    "…": r"\dots{}",
    "‘": "`",
    "’": "'",
    "“": "``",
    "”": "''",
    "¼": "1/4",
    "½": "1/2",
    "²": r"$^{2}$",
}


FORMULAS = re.compile(
    r"\b(?P<letter>[A-Zd])_(?P<below>[TgN])\b|\b(?P<base>[A-Z])\^\(?(?P<above>[-\d/]+)\)?|√(?P<root>T)"
)
"""Formulas: C_T, d_g, N^2, N^(3/2), √T."""


def escaped(value: object) -> str:
    """Return a value as text in LaTeX, what is between backticks as code.

    Characters that plain pdflatex cannot set become question marks.
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
    latex = "".join(REPLACEMENTS.get(sign, sign) for sign in text)
    return "".join(sign if ord(sign) < 0x180 else "?" for sign in latex)


def latex_table(
    name: str, title: str, caption: str, cells: pd.DataFrame, numeric: Sequence[bool], notes: Sequence[str]
) -> str:
    """Return a floating table shrunk to the line, or a long one over several pages."""
    is_long = len(cells) > MAX_ROWS
    heading, label = escaped(f"{title}. {caption}"), f"tab:{name.replace('_', '-')}"
    columns = _column_format(cells, numeric, is_long=is_long)
    style = cells.style.hide(axis="index").format(escaped).format_index(escaped, axis="columns")
    comment = "% Needs the packages booktabs, graphicx and longtable."
    footnotes = [rf"\par\footnotesize {escaped(note)}" for note in notes]
    if is_long:
        table = style.to_latex(
            column_format=columns, hrules=True, environment="longtable", caption=heading, label=label
        ).rstrip()
        # Our captions are long, and pandas would repeat them on every page.
        table = "\n".join(line for line in table.splitlines() if not line.startswith(r"\caption[]"))
        before, after = [r"\begingroup\scriptsize\setlength{\tabcolsep}{3pt}"], [r"\endgroup", *footnotes]
    else:
        table = style.to_latex(column_format=columns, hrules=True).rstrip() + "}"
        # Styler can neither shrink a table nor put notes below it, so the float is written here.
        before = [r"\begin{table}[htbp]", r"\centering", rf"\caption{{{heading}}}\label{{{label}}}", SHRINK]
        after = [*footnotes, r"\end{table}"]
    return "\n".join([comment, *before, table, *after, ""])


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
