"""Verdicts on the numbers of the paper: an equivalence test with a margin around the paper's value.

Reproduced: the 90 % interval of our mean lies within the margin. Different: the 95 % interval lies outside it.
Otherwise it is undecided until there are more seeds: the wide intervals of few seeds do not count as a reproduction.
"""

import math

from numpy.typing import ArrayLike

from benchmark.statistics.holm import MIN_SEEDS
from benchmark.statistics.paired import mean_interval, without_nan
from benchmark.statistics.verdicts import ClaimVerdict

REWARD_SHARE = 0.05
"""Margin of a normalised reward, as a share of (reward − 1)."""

COMMUNICATION_SHARE = 0.10
"""Margin of a communication (C_T, uploads), as a share of it."""

INSIDE_CONFIDENCE, OUTSIDE_CONFIDENCE = 0.90, 0.95


def reward_margin(stated: float, share: float = REWARD_SHARE) -> float:
    """Return the margin around a normalised reward that the paper states."""
    return share * abs(stated - 1)


def communication_margin(stated: float, share: float = COMMUNICATION_SHARE) -> float:
    """Return the margin around a communication that the paper states."""
    return share * abs(stated)


def verdict_on_number(stated: float, ours: ArrayLike, margin: float, min_seeds: int = MIN_SEEDS) -> ClaimVerdict:
    """Judge a number that the paper states by our values, one per seed (NaN left out).

    Only a stated zero that is zero on each of our seeds is mechanical.
    """
    if not math.isfinite(stated) or not margin >= 0:
        raise ValueError(f"the stated value must be finite and its margin at least 0, got {stated} and {margin}")
    values = without_nan(ours)
    if stated == 0 and len(values) and not values.any():
        return ClaimVerdict.MECHANICAL
    if len(values) < max(min_seeds, 2):
        return ClaimVerdict.UNDECIDED
    _, low, high = mean_interval(values - stated, INSIDE_CONFIDENCE)
    if -margin <= low and high <= margin:
        return ClaimVerdict.REPRODUCED
    _, low, high = mean_interval(values - stated, OUTSIDE_CONFIDENCE)
    return ClaimVerdict.DIFFERENT if low > margin or high < -margin else ClaimVerdict.UNDECIDED


def verdict_on_count(stated: int, ours: int) -> ClaimVerdict:
    """Judge an exact count, such as the users of a data set."""
    return ClaimVerdict.REPRODUCED if ours == stated else ClaimVerdict.DIFFERENT
