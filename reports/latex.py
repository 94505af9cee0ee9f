"""A table in LaTeX (booktabs), in characters that plain pdflatex knows."""

from collections.abc import Sequence

import pandas as pd

MOST_ROWS = 40
"""A table with more rows is set over several pages."""

WIDE_TEXT = 26
"""A column whose text is longer (characters) is broken into lines."""

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


def escaped(text: str) -> str:
    """Write a text in LaTeX; what plain pdflatex cannot set becomes a question mark."""
    known = "".join(REPLACEMENTS.get(sign, sign) for sign in " ".join(text.split()))
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
    kinds = []
    for width, is_number in zip(widths, numeric, strict=True):
        if is_long and not is_number:  # a long table cannot be shrunk to the line: its columns share it
            kinds.append(
                rf"p{{{min(width, WIDE_TEXT) / max(sum(min(w, WIDE_TEXT) for w in widths), 1):.3f}\linewidth}}"
            )
        elif is_number or width <= WIDE_TEXT:
            kinds.append("r" if is_number else "l")
        else:
            kinds.append(rf"p{{{min(width, 3 * WIDE_TEXT) * 0.16:.1f}cm}}")
    return "".join(kinds)
