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


@dataclass(frozen=True)
class Rank:
    """The rank of a method: 1 for the one with the highest mean and for all that are not worse than it.

    The others are ordered by their means, without a claim.
    """

    place: int
    is_shared: bool = False

    def __str__(self) -> str:
        return f"{self.place}, shared" if self.is_shared else str(self.place)


def rank_text(rank: Rank | None) -> str:
    """Return a rank as text; None is a rank that depends on the budget."""
    return DEPENDS_ON_BUDGET if rank is None else str(rank)


def ranks_in_column(means: Mapping[str, float], against_leader: Mapping[str, Verdict]) -> dict[str, Rank]:
    """Return the ranks of the methods at a budget.

    Args:
        means: the mean score of each method; one without a mean (NaN) has no rank.
        against_leader: the verdict on each other method, compared with the one with the highest mean.
    """
    known = [name for name, mean in means.items() if not math.isnan(mean)]
    ordered = sorted(known, key=lambda name: -means[name])
    first = [name for name in ordered if against_leader.get(name) is not Verdict.WORSE]
    behind = [name for name in ordered if name not in first]
    ranks = {name: Rank(1, is_shared=len(first) > 1) for name in first}
    return ranks | {name: Rank(place) for place, name in enumerate(behind, start=len(first) + 1)}


def depending_on_budget(ranks_by_budget: Iterable[Mapping[str, Rank]]) -> set[str]:
    """Return the methods whose ranks contradict each other.

    Of two such methods, one is first at some budget and the other is not, and at another budget it is the reverse.
    """
    ahead = set[tuple[str, str]]()
    for ranks in ranks_by_budget:
        is_first = {name: rank.place == 1 for name, rank in ranks.items()}
        ahead |= {(one, other) for one in ranks for other in ranks if is_first[one] and not is_first[other]}
    return {name for pair in ahead if pair[::-1] in ahead for name in pair}


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
