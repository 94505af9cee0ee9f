"""Holm's correction for many tests, and the verdicts on the directions that the paper states."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from numpy.typing import ArrayLike

from benchmark.statistics.paired import Floats, one_sample_p, without_nan
from benchmark.statistics.verdicts import ClaimVerdict

MIN_SEEDS = 5
"""With fewer seeds a claim of the paper is undecided."""

LEVEL = 0.05


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
    values_by_claim: Mapping[str, ArrayLike], level: float = LEVEL, min_seeds: int = MIN_SEEDS
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
