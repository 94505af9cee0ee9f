"""Verdicts: on the difference of two methods, by its band and a margin of equivalence; on claims of the paper."""

import math
from collections import Counter
from collections.abc import Iterable
from enum import StrEnum

from benchmark.statistics.budgets import Scale, random_score
from benchmark.statistics.seeds import number_of_seeds

MIN_SEEDS = 10
"""With fewer report seeds there is no verdict."""

MARGIN_SHARE = 0.05


class Verdict(StrEnum):
    """The verdict on the first of two methods, compared with the second."""

    IDENTICAL = "identical"
    EQUIVALENT = "equivalent"
    BETTER = "better"
    WORSE = "worse"
    UNDECIDED = "undecided"
    NONE = "no verdict"

    @property
    def reversed(self) -> "Verdict":
        """The verdict on the second method, compared with the first."""
        return {Verdict.BETTER: Verdict.WORSE, Verdict.WORSE: Verdict.BETTER}.get(self, self)


class ClaimVerdict(StrEnum):
    """The verdict on a claim of the paper."""

    REPRODUCED = "reproduced"
    DIFFERENT = "different"
    OPPOSITE = "opposite"
    UNDECIDED = "undecided"
    NOT_DETERMINED = "not determined by the paper"
    MECHANICAL = "mechanical"
    NOT_CHECKABLE = "not checkable here"


def count_verdicts(verdicts: Iterable[ClaimVerdict]) -> dict[ClaimVerdict, int]:
    """Count verdicts on claims by kind, with zeros; claims that could hardly fail are a separate kind."""
    counts = Counter(verdicts)
    return {kind: counts[kind] for kind in ClaimVerdict}


def no_statement(seeds: Iterable[int], needed: int = MIN_SEEDS) -> str:
    """Return what is said of results with fewer seeds than a verdict needs; `seeds` are their numbers."""
    return f"{number_of_seeds(seeds)}: no statement on differences ({needed} are needed)"


def equivalence_margin(no_communication: float, scale: Scale, share: float = MARGIN_SHARE) -> float:
    """Return the margin: a share of the gain of tuned "no communication" over a random choice.

    Normalised rewards: 5 % of (score − 1); simulations: 5 % of the score. 0 if it gains nothing.
    """
    return max(0.0, share * (no_communication - random_score(scale)))


def verdict(
    low: float, high: float, margin: float, *, same_configuration: bool, seeds: int, min_seeds: int = MIN_SEEDS
) -> Verdict:
    """Judge a difference by its band [low, high]; a missing end (NaN) or too few seeds allow no verdict."""
    if seeds < min_seeds or math.isnan(low) or math.isnan(high) or math.isnan(margin):
        return Verdict.NONE
    if same_configuration:
        return Verdict.IDENTICAL
    if -margin <= low and high <= margin:
        return Verdict.EQUIVALENT
    if low > 0:
        return Verdict.BETTER
    return Verdict.WORSE if high < 0 else Verdict.UNDECIDED
