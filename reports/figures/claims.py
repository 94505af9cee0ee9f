"""The matrix of claims as a picture: each claim of the paper a row, each variant of the data a column."""

import textwrap
from collections.abc import Sequence
from itertools import groupby
from typing import Any

import pandas as pd
from matplotlib.figure import Figure as Canvas
from matplotlib.patches import Rectangle

from benchmark.statistics.verdicts import ClaimVerdict
from reports.analysis.claims import DIRECTION, judged_claims
from reports.drawing.figure import Figure, make_figure
from reports.drawing.style import FAINT, INK, WIDTH, header_height
from reports.paper import variant_labels
from reports.read.context import Context
from reports.read.results import Results
from reports.subjects import PAPER
from reports.tables.claims import matrix
from reports.tables.paper_against_ours import of_kind

ORDER = 5
NONE = "–"
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

TEXT_WIDTH, CELL_WIDTH, CHARACTERS = 4.9, 1.5, 74
LINE, MARGIN = 0.145, 0.1
"""Inches: the height of a line of text, and the space around it."""


def figures(results: Results, context: Context) -> list[Figure]:
    """Return the picture; none if the report has no direction of the paper."""
    claims = of_kind(judged_claims(results, context), DIRECTION)
    if not claims:
        return []
    rows = matrix(results, context).iloc[: len({(claim.place, claim.claim) for claim in claims})]
    labels = context.labels(context.runs)
    seeds = sorted({claim.seeds for claim in claims if claim.seeds})
    number = f"{seeds[0]} to {seeds[-1]}" if len(seeds) > 1 else str(*seeds[:1]) or "no"
    caption = (
        f"Verdicts on the directions that the paper states, {number} seeds, α and λ as in the paper, with Holm's "
        "correction over all tests. Green: as in the paper; red: the opposite; grey: undecided; pale green: could "
        "hardly fail; purple: the paper leaves open what the result depends on; white: not checkable here."
    )
    experiments = sorted({claim.experiment for claim in claims if claim.experiment in results.experiments()} - {None})
    return [
        make_figure(
            "claims",
            "The claims of the paper at a glance",
            caption,
            lambda: _draw(rows, f"{number} seeds", labels),
            labels=labels,
            data=rows,
            experiments=[str(name) for name in experiments],
            subject=PAPER,
        )
    ]


def _draw(rows: pd.DataFrame, seeds: str, labels: Sequence[str]) -> Canvas:
    variants = [*variant_labels().values()]
    lines = [textwrap.wrap(claim, CHARACTERS) for claim in rows["claim"]]
    heights = [max(1, len(text)) * LINE + MARGIN for text in lines]
    places = [list(group) for _, group in groupby(range(len(rows)), key=lambda row: rows["place"].iloc[row])]
    header, total = 0.45, sum(heights) + (LINE + MARGIN) * len(places)
    height = total + header + header_height(labels) + 0.3
    canvas = Canvas(figsize=(WIDTH, height))
    axes = canvas.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, WIDTH), ylim=(height, 0))
    axes.axis("off")
    y = header_height(labels) + header
    for number, variant in enumerate(variants):
        text = "\n".join(textwrap.wrap(variant, 16))
        axes.text(_left(number) + CELL_WIDTH / 2, y - 0.06, text, ha="center", va="bottom", weight="bold", fontsize=8.5)
    for members in places:
        axes.text(0.14, y + LINE, rows["place"].iloc[members[0]], va="center", fontsize=7.5, color=FAINT)
        y += LINE + MARGIN
        for row in members:
            axes.text(0.26, y + heights[row] / 2, "\n".join(lines[row]), va="center", fontsize=8, color=INK)
            for number, variant in enumerate(variants):
                _cell(axes, _left(number), y, heights[row], str(rows[variant].iloc[row]))
            y += heights[row]
    note = f"{seeds}; directions with Holm's correction; – : no such data"
    axes.text(WIDTH - 0.14, height - 0.1, note, ha="right", va="bottom", fontsize=7.5, color=FAINT)
    return canvas


def _left(column: int) -> float:
    return TEXT_WIDTH + column * (CELL_WIDTH + 0.04)


def _cell(axes: Any, x: float, y: float, height: float, text: str) -> None:
    verdict, _, levels = text.partition(":")
    if text == NONE:
        axes.text(x + CELL_WIDTH / 2, y + height / 2, NONE, ha="center", va="center", fontsize=8, color=FAINT)
        return
    edge = "#d1d5db" if verdict == ClaimVerdict.NOT_CHECKABLE else "white"
    colour = COLOURS[ClaimVerdict(verdict)]
    box = Rectangle((x, y + 0.015), CELL_WIDTH, height - 0.03, facecolor=colour, edgecolor=edge, linewidth=0.7)
    axes.add_patch(box)
    shown = "depends on the regret" if levels else verdict.replace("by the paper", "").strip()
    axes.text(x + CELL_WIDTH / 2, y + height / 2, shown, ha="center", va="center", fontsize=8, color=INK)
