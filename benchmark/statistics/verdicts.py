"""Verdicts: on the difference of two methods, with the ranks that follow from them; on claims of the paper.

The difference of two methods is judged by its band and a margin of equivalence. A direction that the paper states is
judged by a t test with Holm's correction for all directions. A number that it states is judged by an equivalence test
with a margin around it. Reproduced: the narrow interval of our mean lies within the margin. Different: the wide one
lies outside it. Otherwise it is undecided until there are more seeds: the wide intervals of few seeds do not count as a
reproduction.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from numpy.typing import ArrayLike

from benchmark.statistics.budgets import Scale, random_score
from benchmark.statistics.intervals import Floats, mean_interval, number_of_seeds, one_sample_p, without_nan

DEPENDS_ON_BUDGET = "depends on the budget"


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


def no_statement(seeds: Iterable[int], needed: int) -> str:
    """Return what is said of results with fewer seeds than a verdict needs; `seeds` are their numbers."""
    return f"{number_of_seeds(seeds)}: no statement on differences ({needed} are needed)"


def equivalence_margin(no_communication: float, scale: Scale, share: float) -> float:
    """Return the margin: a share of the gain of tuned "no communication" over a random choice.

    Of normalised rewards it is a share of (score − 1), in simulations of the score. 0 if it gains nothing.
    """
    return max(0.0, share * (no_communication - random_score(scale)))


def verdict(low: float, high: float, margin: float, *, same_configuration: bool, seeds: int, min_seeds: int) -> Verdict:
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


PairVerdicts = Mapping[tuple[str, str], Verdict]
"""Verdicts on pairs, each pair in one order."""


@dataclass(frozen=True)
class Rank:
    """The best and the worst rank that the verdicts allow a method; 1 is the best method."""

    best: int
    worst: int

    def __str__(self) -> str:
        return str(self.best) if self.best == self.worst else f"{self.best}–{self.worst}"


def rank_text(rank: Rank | None) -> str:
    """Return a rank as text; None is a rank that depends on the budget."""
    return DEPENDS_ON_BUDGET if rank is None else str(rank)


def rank_intervals(methods: Sequence[str], verdicts: PairVerdicts) -> dict[str, Rank]:
    """Return the rank of each method as an interval.

    The best rank counts the methods that are better; the worst rank also counts those that may be. Equivalent and
    identical methods do not count against each other, so they share a rank.
    """
    ranks = {}
    for method in methods:
        against = [verdict_on(method, other, verdicts) for other in methods if other != method]
        worse = against.count(Verdict.WORSE)
        open_pairs = sum(verdict in (Verdict.UNDECIDED, Verdict.NONE) for verdict in against)
        ranks[method] = Rank(1 + worse, 1 + worse + open_pairs)
    return ranks


def verdict_on(method: str, other: str, verdicts: PairVerdicts) -> Verdict:
    """Return the verdict on a method, compared with another, in whichever order the pair is listed."""
    if (method, other) in verdicts:
        return verdicts[method, other]
    return verdicts[other, method].reversed


def contradict(verdicts: Iterable[Verdict]) -> bool:
    """Whether verdicts on one pair at different budgets contradict each other: better at one, worse at another."""
    return {Verdict.BETTER, Verdict.WORSE} <= set(verdicts)


def ranks_over_budgets(
    methods: Sequence[str], primary: PairVerdicts, by_budget: Iterable[PairVerdicts]
) -> dict[str, Rank | None]:
    """Return the rank of each method at the primary endpoint; None where it depends on the budget.

    That is so for both methods of a pair whose verdicts at different budgets contradict each other.
    """
    budgets = list(by_budget)
    contradicting = {
        method for pair in primary if contradict(verdicts[pair] for verdicts in budgets) for method in pair
    }
    ranks = rank_intervals(methods, primary)
    return {method: None if method in contradicting else rank for method, rank in ranks.items()}


def holm(values: Sequence[float]) -> list[float]:
    """Return p values with Holm's correction for their number; NaN stays NaN and does not count."""
    ranking = sorted((value, index) for index, value in enumerate(values) if value == value)
    corrected, highest = [float("nan")] * len(values), 0.0
    for rank, (value, index) in enumerate(ranking):
        highest = max(highest, min(1.0, (len(ranking) - rank) * value))
        corrected[index] = highest
    return corrected


class DirectionTest(NamedTuple):
    """The verdict on a direction, and its p value with Holm's correction; NaN if it was not tested."""

    verdict: ClaimVerdict
    p: float


def verdicts_on_directions(
    values_by_claim: Mapping[str, ArrayLike], *, level: float, min_seeds: int
) -> dict[str, DirectionTest]:
    """Judge all directions together: each has one value per seed, positive where the runs agree with the paper.

    A claim with fewer than `min_seeds` values (NaN left out) is undecided and is not counted by the correction.
    """
    values = {claim: without_nan(numbers) for claim, numbers in values_by_claim.items()}
    tests = [one_sample_p(numbers) if len(numbers) >= min_seeds else float("nan") for numbers in values.values()]
    pairs = zip(values.items(), holm(tests), strict=True)
    return {claim: DirectionTest(_verdict(numbers, p, level), p) for (claim, numbers), p in pairs}


def _verdict(values: Floats, p: float, level: float) -> ClaimVerdict:
    if not p < level:
        return ClaimVerdict.UNDECIDED
    return ClaimVerdict.REPRODUCED if values.mean() > 0 else ClaimVerdict.OPPOSITE


def verdict_on_number(
    stated: float,
    ours: ArrayLike,
    margin: float,
    *,
    inside_confidence: float,
    outside_confidence: float,
    min_seeds: int,
) -> ClaimVerdict:
    """Judge a number that the paper states by our values, one per seed (NaN left out).

    It is reproduced if the interval with `inside_confidence` lies within the margin, and different if the one with
    `outside_confidence` lies outside it. Only a stated zero that is zero on each of our seeds is mechanical.
    """
    if not math.isfinite(stated) or not margin >= 0:
        raise ValueError(f"the stated value must be finite and its margin at least 0, got {stated} and {margin}")
    values = without_nan(ours)
    if stated == 0 and len(values) and not values.any():
        return ClaimVerdict.MECHANICAL
    if len(values) < max(min_seeds, 2):
        return ClaimVerdict.UNDECIDED
    _, low, high = mean_interval(values - stated, inside_confidence)
    if -margin <= low and high <= margin:
        return ClaimVerdict.REPRODUCED
    _, low, high = mean_interval(values - stated, outside_confidence)
    return ClaimVerdict.DIFFERENT if low > margin or high < -margin else ClaimVerdict.UNDECIDED


def verdict_on_count(stated: int, ours: int) -> ClaimVerdict:
    """Judge an exact count, such as the users of a data set."""
    return ClaimVerdict.REPRODUCED if ours == stated else ClaimVerdict.DIFFERENT
