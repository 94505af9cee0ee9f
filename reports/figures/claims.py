"""The matrix of claims as a picture: each claim of the paper a row, each variant of the data a column."""

import pandas as pd

from benchmark.charts.chart import Cell, Matrix
from benchmark.statistics.intervals import number_of_seeds
from benchmark.statistics.verdicts import ClaimVerdict
from reports.analysis.claims import DIRECTION, judged_claims
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
from reports.write.figure import Figure, make_figure

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


def figures(results: Results, context: Context) -> list[Figure]:
    """Return the picture; none if the report has no direction of the paper, or no verdict on any."""
    judged = judged_claims(results, context)
    claims = of_kind(judged, DIRECTION)
    if not claims or too_few(judged):
        return []
    rows = matrix(results, context).iloc[: len({(claim.place, claim.claim) for claim in claims})]
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
            _matrix(rows, seeds),
            labels=context.labels(context.runs),
            data=rows,
            experiments=[str(name) for name in experiments],
            subject=PAPER,
        )
    ]


def _matrix(rows: pd.DataFrame, seeds: str) -> Matrix:
    columns = _columns(rows)
    is_tuned = has_tuned(rows)
    lines: list[tuple[str, tuple[Cell, ...]]] = []
    for place, part in rows.groupby("place", sort=False):
        lines.append((str(place), ()))
        for _, row in part.iterrows():
            lines.append((str(row["claim"]), tuple(_cell(str(row[column])) for column in columns)))
    edge = f"; {EDGE}: α at the edge of its grid" if is_tuned else ""
    return Matrix(
        tuple(column.replace(", ", "\n") for column in columns),
        tuple(lines),
        tuple((Cell(SYMBOLS[verdict], COLOURS[verdict]), text) for verdict, text in _meanings(rows).items()),
        cell_width=0.95 if is_tuned else 1.5,
        font_size=7 if is_tuned else 8,
        note=f"{seeds}; directions with Holm's correction{edge}; – : does not apply, or no such data",
    )


def _columns(rows: pd.DataFrame) -> list[str]:
    """Return the columns with verdicts."""
    return [label for label in (*variant_labels().values(), *tuned_labels().values()) if label in rows]


def _verdict(text: str) -> ClaimVerdict | None:
    """Return the verdict in a cell of the matrix; None if the claim does not apply."""
    return None if text == NONE else ClaimVerdict(text.partition(":")[0].removesuffix(f" {EDGE}"))


def _cell(text: str) -> Cell:
    """Return a cell: symbol and verdict, without the levels of regret and without what is missing."""
    known = _verdict(text)
    if known is None:
        return Cell(NONE)
    verdict, _, details = text.partition(":")
    if ABOVE in details:
        verdict = DEPENDS
    elif details and known != ClaimVerdict.NOT_CHECKABLE:
        verdict = text
    return Cell(f"{SYMBOLS[known]} {verdict.replace('by the paper', '').strip()}", COLOURS[known])


def _meanings(rows: pd.DataFrame) -> dict[ClaimVerdict, str]:
    """Return the verdicts in the cells of the matrix with their meanings: the legend."""
    texts = [str(text) for column in _columns(rows) for text in rows[column]]
    used = {_verdict(text) for text in texts}
    more = f", or “{DEPENDS}”" if any(DEPENDS in _cell(text).text for text in texts) else ""
    return {
        verdict: f"{verdict}{more if verdict == ClaimVerdict.UNDECIDED else ''}: {MEANINGS[verdict]}"
        for verdict in ClaimVerdict
        if verdict in used
    }
