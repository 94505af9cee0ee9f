"""A table in LaTeX (booktabs), in characters that plain pdflatex knows."""

import re
from collections.abc import Sequence

import pandas as pd

MOST_ROWS = 40
"""A table with more rows is set over several pages."""

WIDE_TEXT = 26
"""A column whose text is longer (characters) is broken into lines."""

SHORT_TEXT, LINE = 12, 125
"""Characters of a column that is never broken, and of a line of a long table."""

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
"""What is set as mathematics: C_T, d_g, N^2, N^(3/2), √T."""


def escaped(text: str) -> str:
    """Write a text in LaTeX; what plain pdflatex cannot set becomes a question mark."""
    text = " ".join(text.split())
    parts, end = [], 0
    for found in FORMULAS.finditer(text):
        parts += [_plain(text[end : found.start()]), _formula(found)]
        end = found.end()
    return "".join([*parts, _plain(text[end:])])


def _formula(found: "re.Match[str]") -> str:
    if found["letter"]:
        return f"${found['letter']}_{{{found['below']}}}$"
    return rf"$\sqrt{{{found['root']}}}$" if found["root"] else f"${found['base']}^{{{found['above']}}}$"


def _plain(text: str) -> str:
    known = "".join(REPLACEMENTS.get(sign, sign) for sign in text)
    return "".join(sign if ord(sign) < 0x180 else "?" for sign in known)


def latex_table(
    name: str, title: str, caption: str, cells: pd.DataFrame, numeric: Sequence[bool], notes: Sequence[str]
) -> str:
    """Return a floating table shrunk to the line, or a long one over several pages."""
    head = " & ".join(escaped(str(column)) for column in cells) + r" \\"
    rows = [" & ".join(escaped(cell) for cell in row) + r" \\" for row in cells.itertuples(index=False)]
    said = rf"\caption{{{escaped(f'{title}. {caption}')}}}\label{{tab:{name.replace('_', '-')}}}"
    after = [rf"\par\footnotesize {escaped(note)}" for note in notes]
    comment = "% Needs the packages booktabs, graphicx and longtable."
    columns = _column_kinds(cells, numeric, is_long=len(rows) > MOST_ROWS)
    if len(rows) > MOST_ROWS:
        body = [
            r"\begingroup\scriptsize\setlength{\tabcolsep}{3pt}",
            rf"\begin{{longtable}}{{{columns}}}",
            rf"{said}\\",
            r"\toprule",
            head,
            r"\midrule",
            r"\endfirsthead",
            r"\toprule",
            head,
            r"\midrule",
            r"\endhead",
            r"\bottomrule",
            r"\endfoot",
            *rows,
            r"\end{longtable}",
            r"\endgroup",
            *after,
        ]
    else:
        body = [
            r"\begin{table}[htbp]",
            r"\centering",
            said,
            r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            head,
            r"\midrule",
            *rows,
            r"\bottomrule",
            r"\end{tabular}}",
            *after,
            r"\end{table}",
        ]
    return "\n".join([comment, *body, ""])


def _column_kinds(cells: pd.DataFrame, numeric: Sequence[bool], *, is_long: bool) -> str:
    widths = [max([len(str(name)), *cells[name].map(len)]) for name in cells]
    if not is_long:
        wide = [rf"p{{{min(width, 3 * WIDE_TEXT) * 0.16:.1f}cm}}" if width > WIDE_TEXT else "l" for width in widths]
        return "".join("r" if is_number else kind for kind, is_number in zip(wide, numeric, strict=True))
    # A long table cannot be shrunk to the line: short columns take what they need, the others share the rest.
    shared = [0 if width <= SHORT_TEXT else min(width, 2 * WIDE_TEXT) for width in widths]
    rest = max(0.3, 0.97 - sum(width + 2 for width, share in zip(widths, shared, strict=True) if not share) / LINE)
    rest -= 0.02 * sum(map(bool, shared))
    kinds = [
        rf"p{{{rest * share / sum(shared):.3f}\linewidth}}" if share else "r" if is_number else "l"
        for share, is_number in zip(shared, numeric, strict=True)
    ]
    return "".join(kinds)
