"""All numbers, directions and counts that the paper states, with ours and a verdict."""

import math
from collections.abc import Sequence
from typing import Any

import pandas as pd

from benchmark.statistics.equivalence import COMMUNICATION_SHARE, REWARD_SHARE
from benchmark.statistics.holm import MIN_SEEDS
from benchmark.statistics.verdicts import ClaimVerdict, count_verdicts
from reports.analysis.claims import COUNT, DIRECTION, KINDS, NUMBER, TABLE_2, TUNED, Judged, judged_claims
from reports.analysis.table_2 import judged_cells
from reports.paper import variant_labels
from reports.read.context import Context
from reports.read.results import Results
from reports.subjects import PAPER
from reports.write.table import Table

ORDER = 12
PLURALS = {
    DIRECTION: "Directions",
    TUNED: "Directions with a tuned α",
    NUMBER: "Numbers",
    COUNT: "Counts of the data",
    TABLE_2: "Cells of Table 2",
}


def tables(results: Results, context: Context) -> list[Table]:
    """Return one table of directions, numbers, counts and Table 2; none if none concerns these experiments."""
    claims = [*judged_claims(results, context), *judged_cells(results, context)]
    if not claims:
        return []
    counts = " ".join(
        f"{PLURALS[kind]}: {counts_text(of_kind(claims, kind))}." for kind in KINDS if of_kind(claims, kind)
    )
    frame = pd.DataFrame([_row(claim) for claim in claims])
    title = "All claims of the paper, with ours"
    caption = f"{counts} {RULES}"
    return [Table("paper_against_ours", title, caption, frame, context.labels(context.runs), subject=PAPER)]


RULES = (
    f"A number is reproduced if the 90 % interval of our mean lies within ±{REWARD_SHARE:.0%} of (reward − 1) or "
    f"±{COMMUNICATION_SHARE:.0%} of a communication around it, and different if the 95 % interval lies outside; a "
    f"count must be equal. Directions are tested by seed with Holm's correction over all of them, and "
    f"those with a tuned α over all of those (p); opposite means significant against the paper. With fewer than "
    f"{MIN_SEEDS} seeds everything is undecided. Mechanical means that both numbers are zero. A claim about several "
    f"levels of regret has a row for each, and each row is counted."
)


def of_kind(claims: Sequence[Judged], kind: str) -> list[Judged]:
    """Return the claims of one kind."""
    return [claim for claim in claims if claim.kind == kind]


def counts_text(claims: Sequence[Judged]) -> str:
    """Count claims by verdict, mechanical ones last: 17 reproduced, 1 opposite; and 3 mechanical."""
    counts = count_verdicts(claim.verdict for claim in claims)
    mechanical = counts.pop(ClaimVerdict.MECHANICAL)
    texts = [", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)]
    texts += [f"{mechanical} mechanical"] if mechanical else []
    return "; and ".join(text for text in texts if text)


def _row(claim: Judged) -> dict[str, Any]:
    mean, low, high = claim.interval or (math.nan, math.nan, math.nan)
    return {
        "kind": claim.kind,
        "place": claim.place,
        "variant": variant_labels()[claim.variant],
        "data": claim.data,
        "claim": claim.claim + (f", {claim.at}" if claim.at else ""),
        "paper": math.nan if claim.paper is None else claim.paper,
        "ours": claim.ours or mean,
        "ours_low": low,
        "ours_high": high,
        "seeds": claim.seeds or None,
        "p": f"{claim.p:.2g}" if claim.p == claim.p else "",
        "verdict": str(claim.verdict) + (f" ({claim.caveat})" if claim.caveat else ""),
        "remark": claim.remark,
    }
