"""The matrix: which of the paper's claims hold, on which data. Each claim is a row, each variant a column."""

from collections.abc import Sequence

import pandas as pd

from benchmark.statistics.holm import MIN_SEEDS
from benchmark.statistics.seeds import number_of_seeds
from benchmark.statistics.verdicts import ClaimVerdict, no_statement
from reports.analysis.claims import COUNT, DIRECTION, NUMBER, TABLE_2, TUNED, Judged, combined, judged_claims
from reports.analysis.table_2 import judged_cells
from reports.paper import variant_labels
from reports.read.context import Context
from reports.read.results import Results
from reports.read.tuned import EDGE, tuned_experiment
from reports.subjects import PAPER
from reports.tables.paper_against_ours import counts_text, of_kind
from reports.write.table import Table

ORDER = 10
SUMMARIES = {
    NUMBER: "numbers that the text states",
    COUNT: "counts of the data",
    TABLE_2: "cells of appendix Table 2",
}
NAME, TITLE = "claims", "Which claims of the paper hold, and where"
NONE = "–"
ABOVE = "above the least regret"
UNTESTED = (ClaimVerdict.NOT_CHECKABLE, ClaimVerdict.NOT_DETERMINED)
NOT_TUNED = f"The same with a tuned α: `fedbandit run {tuned_experiment()} --profile paper`."
TUNED_CAPTION = (
    "α tuned: for each stream, method and threshold, the α with the best mean normalised reward on "
    f"seeds that are not reported, λ as in the paper. {EDGE}: an α at the edge of the grid, beyond which a better one "
    "might lie. Trends have fewer thresholds there. Holm's correction is over all directions with a tuned α, and "
    "separately over all those at the paper's α. The paper's numbers are for its own α, so they have no such column."
)


def tables(results: Results, context: Context) -> list[Table]:
    """Return the matrix, or one row that says that seeds are too few; none if no claim concerns these experiments."""
    frame = matrix(results, context)
    if frame.empty:
        return []
    notes = context.labels(context.runs)
    if few := too_few(judged_claims(results, context)):
        return [Table(NAME, TITLE, "", _without_verdicts(few), notes, subject=PAPER)]
    caption = (
        "Each direction that the paper states, on the data as the authors prepared them, on our preparation and on "
        "pools whose negatives are as popular as the positives; α and λ are those of the paper. –: the claim is about "
        "a simulation, or the variant has no such data. Numbers, counts and the cells of Table 2 are summarised in "
        f"the last rows. {TUNED_CAPTION if has_tuned(frame) else NOT_TUNED}"
    )
    return [Table(NAME, TITLE, caption, frame, notes, subject=PAPER)]


def too_few(claims: Sequence[Judged]) -> list[Judged]:
    """Return the directions with runs if all of them have too few seeds for a verdict; none if one has a verdict."""
    directions = [*of_kind(claims, DIRECTION), *of_kind(claims, TUNED)]
    tested = [claim for claim in directions if claim.verdict not in UNTESTED]
    return tested if all(_lacks_seeds(claim) for claim in tested) else []


def _lacks_seeds(claim: Judged) -> bool:
    return claim.verdict == ClaimVerdict.UNDECIDED and 0 < claim.seeds < MIN_SEEDS


def _without_verdicts(claims: Sequence[Judged]) -> pd.DataFrame:
    distinct = {(claim.place, claim.claim) for claim in claims}
    row = {
        "directions that the paper states": f"{len(distinct)} with runs",
        "verdicts": no_statement((claim.seeds for claim in claims), MIN_SEEDS),
        "how to get them": "make benchmark PROFILE=paper, with ten seeds; docs/results.md has those of such runs",
    }
    return pd.DataFrame([row])


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
    for kind, text in SUMMARIES.items():
        if members := of_kind(everything, kind):
            cells = {label: _summary(members, name) for name, label in variant_labels().items()}
            rows.append({"place": "", "claim": f"{len(members)} {text}", **cells})
    frame = pd.DataFrame(rows)
    has_column = of_kind(claims, TUNED)
    return frame.fillna(NONE) if has_column else frame.drop(columns=tuned_labels().values(), errors="ignore")


def tuned_labels() -> dict[str, str]:
    """Return the labels of the columns with a tuned α, by variant."""
    return {name: f"{label}, α tuned" for name, label in variant_labels().items()}


def has_tuned(frame: pd.DataFrame) -> bool:
    """Return whether a matrix has the columns with a tuned α."""
    return bool({*tuned_labels().values()} & {*frame})


def _cells(claims: list[Judged]) -> dict[str, str]:
    columns = [(DIRECTION, name, label) for name, label in variant_labels().items()]
    columns += [(TUNED, name, label) for name, label in tuned_labels().items()]
    return {
        label: _cell([claim for claim in of_kind(claims, kind) if claim.variant == name])
        for kind, name, label in columns
    }


def _cell(claims: list[Judged]) -> str:
    """Return the verdict on one variant; for a claim about several levels, the verdicts that differ with the levels."""
    if not claims:
        return NONE
    if claims[0].kind == TUNED:
        return _tuned_cell(*claims)
    verdict = combined(claim.verdict for claim in claims)
    if all(map(_lacks_seeds, claims)):
        return _with_seeds(claims)
    kinds = dict.fromkeys(str(claim.verdict) for claim in claims)
    if len(kinds) == 1:
        return str(verdict)
    levels = (
        f"{kind} {', '.join(claim.at.partition(' ')[0] for claim in claims if claim.verdict == kind)}" for kind in kinds
    )
    return f"{verdict}: {'; '.join(levels)} {ABOVE}"


def _tuned_cell(claim: Judged) -> str:
    """Return the verdict, with a mark if a chosen α is at the edge of its grid; or what is missing."""
    if claim.verdict == ClaimVerdict.NOT_CHECKABLE and claim.remark:
        return f"{claim.verdict}: {claim.remark}"
    if _lacks_seeds(claim):
        return _with_seeds([claim])
    return f"{claim.verdict} {EDGE}" if claim.is_at_edge else str(claim.verdict)


def _with_seeds(claims: Sequence[Judged]) -> str:
    """Return the verdict on claims with too few seeds, and why."""
    seeds = number_of_seeds(claim.seeds for claim in claims)
    return f"{ClaimVerdict.UNDECIDED}: {seeds} ({MIN_SEEDS} are needed)"


def _summary(claims: list[Judged], variant: str) -> str:
    return counts_text([claim for claim in claims if claim.variant == variant]) or NONE
