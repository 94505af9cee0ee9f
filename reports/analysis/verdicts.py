"""What verdicts mean, in one sentence each, and what they depend on besides the numbers: the available data."""

from benchmark.statistics.verdicts import MARGIN_SHARE, ClaimVerdict, Verdict
from data_pipelines.data_label import LABELS

MEANINGS: dict[ClaimVerdict | Verdict, str] = {
    Verdict.IDENTICAL: "the same setting was chosen as for the method that it is compared with",
    Verdict.EQUIVALENT: (
        f"the difference and its whole interval are within {MARGIN_SHARE * 100:g} % of what no communication earns "
        "more than random choice"
    ),
    Verdict.BETTER: "the whole interval of the difference is above 0, and the two are not equivalent",
    Verdict.WORSE: "the whole interval of the difference is below 0, and the two are not equivalent",
    ClaimVerdict.REPRODUCED: "our result agrees with the paper's claim, beyond doubt from the seeds",
    ClaimVerdict.DIFFERENT: "a number of ours whose interval lies outside the margin around the paper's",
    ClaimVerdict.OPPOSITE: "a direction that is significant against the paper",
    ClaimVerdict.UNDECIDED: (
        "the runs decide neither for nor against: there are too few seeds, the interval is too wide, or levels disagree"
    ),
    ClaimVerdict.NOT_DETERMINED: "the claim depends on something that the paper does not state",
    ClaimVerdict.MECHANICAL: "a zero that the paper states and that no run can miss; counted separately",
    ClaimVerdict.NOT_CHECKABLE: "the claim needs data or runs that this report does not have",
}
"""The only definitions of verdicts: legends and the glossary of the page show them."""

STAND_IN, RECONSTRUCTED = "stand-in data", "reconstructed data"


def data_caveat(label: str) -> str:
    """Return the first words of a data label, which say what the data are; empty for official and complete data."""
    return next((kind.lower() for kind in LABELS if label.startswith(kind)), "")
