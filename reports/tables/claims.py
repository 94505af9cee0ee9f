"""The matrix: which of the paper's claims hold, on which data. Each claim is a row, each variant a column."""

import pandas as pd

from reports.analysis.claims import COUNT, DIRECTION, KINDS, NUMBER, TABLE_2, Judged, combined, judged_claims
from reports.analysis.table_2 import judged_cells
from reports.paper import variant_labels
from reports.read.context import Context
from reports.read.results import Results
from reports.subjects import PAPER
from reports.tables.paper_against_ours import counts_text, of_kind
from reports.write.table import Table

ORDER = 10
SUMMARIES = {
    NUMBER: "numbers that the text states",
    COUNT: "counts of the data",
    TABLE_2: "cells of appendix Table 2",
}


def tables(results: Results, context: Context) -> list[Table]:
    """Return the matrix; none if no claim concerns these experiments."""
    frame = matrix(results, context)
    if frame.empty:
        return []
    caption = (
        "Each direction that the paper states, on the data as the authors prepared them, on our preparation and on "
        "pools whose negatives are as popular as the positives; α and λ are those of the paper. –: the claim is about "
        "a simulation, or the variant has no such data. Numbers, counts and the cells of Table 2 are summarised in "
        "the last rows."
    )
    notes = context.labels(context.runs)
    return [Table("claims", "Which claims of the paper hold, and where", caption, frame, notes, subject=PAPER)]


def matrix(results: Results, context: Context) -> pd.DataFrame:
    """Return the matrix: place, claim, and a column of verdicts for each variant."""
    claims = judged_claims(results, context)
    rows = [
        {
            "place": place,
            "claim": claim,
            **_cells([each for each in claims if (each.place, each.claim) == (place, claim)]),
        }
        for place, claim in dict.fromkeys((each.place, each.claim) for each in of_kind(claims, DIRECTION))
    ]
    everything = [*claims, *judged_cells(results, context)]
    for kind in KINDS[1:]:
        if members := of_kind(everything, kind):
            cells = {label: _summary(members, name) for name, label in variant_labels().items()}
            rows.append({"place": "", "claim": f"{len(members)} {SUMMARIES[kind]}", **cells})
    return pd.DataFrame(rows)


def _cells(claims: list[Judged]) -> dict[str, str]:
    return {
        label: _cell([claim for claim in claims if claim.variant == name]) for name, label in variant_labels().items()
    }


def _cell(claims: list[Judged]) -> str:
    """Return the verdict on one variant; for a claim about several levels, the verdicts that differ with the levels."""
    if not claims:
        return "–"
    verdict = combined(claim.verdict for claim in claims)
    kinds = dict.fromkeys(str(claim.verdict) for claim in claims)
    if len(kinds) == 1:
        return str(verdict)
    levels = (
        f"{kind} {', '.join(claim.at.partition(' ')[0] for claim in claims if claim.verdict == kind)}" for kind in kinds
    )
    return f"{verdict}: {'; '.join(levels)} above the least regret"


def _summary(claims: list[Judged], variant: str) -> str:
    return counts_text([claim for claim in claims if claim.variant == variant]) or "–"
