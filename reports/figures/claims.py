"""The matrix of claims as a picture: each claim of the paper a row, each variant of the data a column."""

from benchmark.charts.chart import Cell, Matrix
from benchmark.statistics.intervals import number_of_seeds
from benchmark.statistics.verdicts import ClaimVerdict
from reports.analysis.claims import DIRECTION, TUNED, Judged, combined, judged_claims
from reports.page.glossary import MEANINGS
from reports.paper import EDGE
from reports.read.results import Results
from reports.subjects import PAPER
from reports.tables.claims import (
    ABOVE,
    NONE,
    NOT_TUNED,
    TUNED_CAPTION,
    cell_text,
    claims_by_column,
    is_decided,
    matrix,
    of_kind,
    published,
)
from reports.write.figure import Figure, make_figure

ORDER = 5
LOOKS = {
    ClaimVerdict.REPRODUCED: Cell("✓", "#9fd8c4"),
    ClaimVerdict.DIFFERENT: Cell("≠", "#f5c98a"),
    ClaimVerdict.OPPOSITE: Cell("✗", "#f0a58f"),
    ClaimVerdict.UNDECIDED: Cell("?", "#e5e7eb"),
    ClaimVerdict.NOT_DETERMINED: Cell("◇", "#d9cfea"),
    ClaimVerdict.MECHANICAL: Cell("•", "#e3f2ec"),
    ClaimVerdict.NOT_CHECKABLE: Cell("○", "#ffffff"),
}
"""Light enough for black text; the text says the same, for readers who cannot tell the colours apart."""

DEPENDS = "depends on the regret"


def figures(results: Results) -> list[Figure]:
    """Return the picture; none if the report has no direction of the paper, or no verdict on any."""
    judged = judged_claims(results)
    claims, is_tuned = of_kind(judged, DIRECTION), bool(of_kind(judged, TUNED))
    rows = claims_by_column(results)
    if not any(is_decided(part) for columns in rows.values() for part in columns.values() if part):
        return []
    seeds = number_of_seeds(claim.seeds for claim in claims if claim.seeds)
    all_cells = [part for columns in rows.values() for part in columns.values() if part]
    cells = [part for part in all_cells if not published(part)]
    grey = " In parentheses: the published verdict, not decided here." if len(cells) < len(all_cells) else ""
    used, more = {combined(claim.verdict for claim in part) for part in cells}, f", or “{DEPENDS}”"
    is_mixed = any(ABOVE in cell_text(part) for part in cells)
    meanings = {
        verdict: f"{verdict}{more if is_mixed and verdict == ClaimVerdict.UNDECIDED else ''}: {MEANINGS[verdict]}"
        for verdict in ClaimVerdict
        if verdict in used
    }
    caption = (
        f"Verdicts on the directions that the paper states, {seeds}, α and λ as in the paper, with Holm's "
        f"correction over all tests. {TUNED_CAPTION if is_tuned else NOT_TUNED} "
        + " ".join(f"{text[:1].upper()}{text[1:]}." for text in meanings.values())
        + grey
    )
    lines: list[tuple[str, tuple[Cell, ...]]] = []
    for (place, claim), columns in rows.items():
        lines += [] if (place, ()) in lines else [(place, ())]
        lines.append((claim, tuple(map(_cell, columns.values()))))
    edge = f"; {EDGE}: α at the edge of its grid" if is_tuned else ""
    picture = Matrix(
        tuple(column.replace(", ", "\n") for column in next(iter(rows.values()))),
        tuple(lines),
        tuple((LOOKS[verdict], text) for verdict, text in meanings.items()),
        cell_width=0.95 if is_tuned else 1.5,
        font_size=7 if is_tuned else 8,
        note=f"{seeds}; directions with Holm's correction{edge}; – : does not apply, or no such data",
    )
    figure = make_figure(
        "claims",
        "The claims of the paper at a glance",
        caption,
        picture,
        labels=results.labels(results.all_runs),
        data=matrix(results).iloc[: len(rows)],
        experiments=sorted({str(claim.experiment) for claim in claims} & {*results.experiments()}),
        subject=PAPER,
    )
    return [figure]


def _cell(claims: list[Judged]) -> Cell:
    """Return a cell: symbol and verdict, without the levels of regret and without what is missing."""
    if not claims:
        return Cell(NONE)
    if verdict := published(claims):
        return Cell(f"({verdict.partition(':')[0]})")
    known, text = combined(claim.verdict for claim in claims), cell_text(claims)
    short, _, details = text.partition(":")
    if ABOVE in details:
        short = DEPENDS
    elif details and known != ClaimVerdict.NOT_CHECKABLE:
        short = text
    return Cell(f"{LOOKS[known].text} {short.replace('by the paper', '').strip()}", LOOKS[known].colour)
