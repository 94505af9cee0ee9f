"""The matrix of claims as a picture: each claim of the paper a row, each variant of the data a column."""

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import pandas as pd
from matplotlib.figure import Figure as Canvas
from matplotlib.patches import Rectangle

from benchmark.statistics.intervals import number_of_seeds
from benchmark.statistics.verdicts import ClaimVerdict
from reports.analysis.claims import DIRECTION, judged_claims
from reports.drawing.figure import Figure, make_figure
from reports.drawing.style import FAINT, INK, WIDTH, header_height
from reports.page.glossary import MEANINGS
from reports.paper import variant_labels
from reports.read.context import Context
from reports.read.results import Results
from reports.read.tuned import EDGE
from reports.subjects import PAPER
from reports.tables.claims import (
    ABOVE,
    NONE,
    NOT_TUNED,
    TUNED_CAPTION,
    has_tuned,
    matrix,
    of_kind,
    too_few,
    tuned_labels,
)

ORDER = 5
COLOURS = {
    ClaimVerdict.REPRODUCED: "#9fd8c4",
    ClaimVerdict.DIFFERENT: "#f5c98a",
    ClaimVerdict.OPPOSITE: "#f0a58f",
    ClaimVerdict.UNDECIDED: "#e5e7eb",
    ClaimVerdict.NOT_DETERMINED: "#d9cfea",
    ClaimVerdict.MECHANICAL: "#e3f2ec",
    ClaimVerdict.NOT_CHECKABLE: "#ffffff",
}
"""Light enough for black text; the text says the same, for readers who cannot tell the colours apart."""

SYMBOLS = {
    ClaimVerdict.REPRODUCED: "✓",
    ClaimVerdict.DIFFERENT: "≠",
    ClaimVerdict.OPPOSITE: "✗",
    ClaimVerdict.UNDECIDED: "?",
    ClaimVerdict.NOT_DETERMINED: "◇",
    ClaimVerdict.MECHANICAL: "•",
    ClaimVerdict.NOT_CHECKABLE: "○",
}
DEPENDS = "depends on the regret"

LINE, MARGIN, GAP = 0.145, 0.1, 0.04
"""Inches: the height of a line of text, the space around it, and the space between columns."""

LEGEND_BOX, LEGEND_CHARACTERS = 0.35, 140
"""The width of a colour in the legend in inches, and characters per line of its text."""


@dataclass(frozen=True)
class Look:
    """The sizes of the picture: inches of the claims and of a cell, points of the cells' text, characters per line."""

    text_width: float
    cell_width: float
    font_size: float
    characters: int
    cell_characters: int

    def left(self, column: int) -> float:
        """Return where a column of cells begins."""
        return self.text_width + column * (self.cell_width + GAP)


FIXED_ONLY, WITH_TUNED = Look(4.9, 1.5, 8, 74, 30), Look(3.55, 0.95, 7, 51, 14)


def figures(results: Results, context: Context) -> list[Figure]:
    """Return the picture; none if the report has no direction of the paper, or no verdict on any."""
    judged = judged_claims(results, context)
    claims = of_kind(judged, DIRECTION)
    if not claims or too_few(judged):
        return []
    rows = matrix(results, context).iloc[: len({(claim.place, claim.claim) for claim in claims})]
    labels = context.labels(context.runs)
    seeds = number_of_seeds(claim.seeds for claim in claims if claim.seeds)
    caption = (
        f"Verdicts on the directions that the paper states, {seeds}, α and λ as in the paper, with Holm's "
        f"correction over all tests. {TUNED_CAPTION if has_tuned(rows) else NOT_TUNED} "
        + " ".join(f"{text[:1].upper()}{text[1:]}." for text in _meanings(rows).values())
    )
    experiments = sorted({claim.experiment for claim in claims if claim.experiment in results.experiments()} - {None})
    return [
        make_figure(
            "claims",
            "The claims of the paper at a glance",
            caption,
            lambda: _draw(rows, seeds, labels),
            labels=labels,
            data=rows,
            experiments=[str(name) for name in experiments],
            subject=PAPER,
        )
    ]


def _draw(rows: pd.DataFrame, seeds: str, labels: Sequence[str]) -> Canvas:
    look = WITH_TUNED if has_tuned(rows) else FIXED_ONLY
    variants = [label for label in (*variant_labels().values(), *tuned_labels().values()) if label in rows]
    lines = [textwrap.wrap(claim, look.characters) for claim in rows["claim"]]
    cells = [[_wrapped(str(rows[variant].iloc[row]), look) for variant in variants] for row in range(len(rows))]
    heights = [
        max(len(text), *(cell.count("\n") + 1 for cell in row)) * LINE + MARGIN
        for text, row in zip(lines, cells, strict=True)
    ]
    places = [list(group) for _, group in groupby(range(len(rows)), key=lambda row: rows["place"].iloc[row])]
    header = LINE * max(len(_header(variant, look)) for variant in variants) + 0.16
    legend = {verdict: textwrap.wrap(text, LEGEND_CHARACTERS) for verdict, text in _meanings(rows).items()}
    total = sum(heights) + (LINE + MARGIN) * len(places)
    height = total + header + header_height(labels) + 0.42 + sum(_legend_height(text) for text in legend.values())
    canvas = Canvas(figsize=(WIDTH, height))
    axes = canvas.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, WIDTH), ylim=(height, 0))
    axes.axis("off")
    y = header_height(labels) + header
    for number, variant in enumerate(variants):
        text, x = "\n".join(_header(variant, look)), look.left(number) + look.cell_width / 2
        axes.text(x, y - 0.06, text, ha="center", va="bottom", weight="bold", fontsize=look.font_size + 0.5)
    for members in places:
        axes.text(0.14, y + LINE, rows["place"].iloc[members[0]], va="center", fontsize=7.5, color=FAINT)
        y += LINE + MARGIN
        for row in members:
            axes.text(0.26, y + heights[row] / 2, "\n".join(lines[row]), va="center", fontsize=8, color=INK)
            for number, variant in enumerate(variants):
                verdict = str(rows[variant].iloc[row])
                _cell(axes, (look.left(number), y), (look.cell_width, heights[row]), verdict, cells[row][number], look)
            y += heights[row]
    _draw_legend(axes, y + 0.12, legend, look)
    edge = f"; {EDGE}: α at the edge of its grid" if has_tuned(rows) else ""
    note = f"{seeds}; directions with Holm's correction{edge}; – : does not apply, or no such data"
    axes.text(WIDTH - 0.14, height - 0.1, note, ha="right", va="bottom", fontsize=7.5, color=FAINT)
    return canvas


def _draw_legend(axes: Any, y: float, legend: Mapping[ClaimVerdict, Sequence[str]], look: Look) -> None:
    for verdict, lines in legend.items():
        height = _legend_height(lines)
        _cell(axes, (0.26, y), (LEGEND_BOX, height), str(verdict), SYMBOLS[verdict], look)
        place = (LEGEND_BOX + 0.4, y + height / 2)
        axes.text(*place, "\n".join(lines), va="center", fontsize=8, color=INK, gid="legend")
        y += height


def _header(variant: str, look: Look) -> list[str]:
    """Return the lines above a column; whether α is tuned has a line of its own."""
    data, comma, tuned = variant.partition(", ")
    return [*textwrap.wrap(data, min(16, look.cell_characters)), *([tuned] if comma else [])]


def _verdict(text: str) -> ClaimVerdict | None:
    """Return the verdict in a cell of the matrix; None if the claim does not apply."""
    return None if text == NONE else ClaimVerdict(text.partition(":")[0].removesuffix(f" {EDGE}"))


def _wrapped(text: str, look: Look) -> str:
    """Return the text in a cell: symbol and verdict, without the levels of regret and without what is missing."""
    known = _verdict(text)
    if known is None:
        return NONE
    verdict, _, details = text.partition(":")
    if ABOVE in details:
        verdict = DEPENDS
    elif details and known != ClaimVerdict.NOT_CHECKABLE:
        verdict = text
    words = f"{SYMBOLS[known]} {verdict.replace('by the paper', '').strip()}"
    return "\n".join(textwrap.wrap(words, look.cell_characters))


def _meanings(rows: pd.DataFrame) -> dict[ClaimVerdict, str]:
    """Return the verdicts in the cells of the matrix with their meanings: the legend."""
    columns = [label for label in (*variant_labels().values(), *tuned_labels().values()) if label in rows]
    texts = [str(text) for column in columns for text in rows[column]]
    used = {_verdict(text) for text in texts}
    more = f", or “{DEPENDS}”" if any(DEPENDS in _wrapped(text, FIXED_ONLY) for text in texts) else ""
    return {
        verdict: f"{verdict}{more if verdict == ClaimVerdict.UNDECIDED else ''}: {MEANINGS[verdict]}"
        for verdict in ClaimVerdict
        if verdict in used
    }


def _legend_height(lines: Sequence[str]) -> float:
    return LINE * len(lines) + 0.06


def _cell(axes: Any, corner: tuple[float, float], size: tuple[float, float], text: str, shown: str, look: Look) -> None:
    (x, y), (width, height) = corner, size
    verdict = _verdict(text)
    if verdict is None:
        axes.text(x + width / 2, y + height / 2, NONE, ha="center", va="center", fontsize=look.font_size, color=FAINT)
        return
    edge = "#d1d5db" if verdict == ClaimVerdict.NOT_CHECKABLE else "white"
    box = Rectangle((x, y + 0.015), width, height - 0.03, facecolor=COLOURS[verdict], edgecolor=edge, linewidth=0.7)
    axes.add_patch(box)
    axes.text(x + width / 2, y + height / 2, shown, ha="center", va="center", fontsize=look.font_size, color=INK)
