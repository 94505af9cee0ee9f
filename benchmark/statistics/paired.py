"""Means over seeds and paired differences by seed, with Student t intervals."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

CONFIDENCE = 0.95
MIN_SEEDS_FOR_INTERVAL = 3
"""With two seeds, Student's interval is wider than a figure."""

ROUNDING = 1e-12
"""Relative: a spread below it is rounding."""

Floats = NDArray[np.float64]

Interval = tuple[float, float, float]
"""A mean and the ends of its interval."""


def mean_interval(values: ArrayLike, confidence: float = CONFIDENCE) -> Interval:
    """Return the mean and the ends of its Student t interval, ignoring NaN; no interval below three values."""
    numbers = without_nan(values)
    if not len(numbers):
        return np.nan, np.nan, np.nan
    mean = float(numbers.mean())
    if len(numbers) < MIN_SEEDS_FOR_INTERVAL:
        return mean, np.nan, np.nan
    half = t_quantile(len(numbers) - 1, confidence) * float(numbers.std(ddof=1)) / len(numbers) ** 0.5
    return mean, mean - half, mean + half


def paired_interval(first: ArrayLike, second: ArrayLike, confidence: float = CONFIDENCE) -> Interval:
    """Return the mean of the differences first − second, seed by seed, and the ends of its interval.

    A seed on which either is NaN is left out.
    """
    return mean_interval(_differences(first, second), confidence)


def paired_p(first: ArrayLike, second: ArrayLike) -> float:
    """Return the two-sided p of a paired t test; NaN from fewer than two seeds."""
    return one_sample_p(_differences(first, second))


def one_sample_p(values: ArrayLike) -> float:
    """Return the two-sided p of a t test that the mean is zero, ignoring NaN; NaN from fewer than two values."""
    from scipy.special import stdtr  # scipy.stats, which has the test, takes a second to import

    numbers = without_nan(values)
    if len(numbers) < 2:
        return float("nan")
    if np.ptp(numbers) <= ROUNDING * np.abs(numbers).max():  # without any spread t is 0/0 or infinite
        return 0.0 if numbers.any() else 1.0
    t = numbers.mean() / (numbers.std(ddof=1) / np.sqrt(len(numbers)))
    return float(2 * stdtr(len(numbers) - 1, -abs(t)))


def kendall_tau(first: ArrayLike, second: ArrayLike) -> float:
    """Return Kendall's τ_b of two sequences; NaN if one is constant."""
    signs = [_signs(np.asarray(values)) for values in (first, second)]
    untied = np.prod([np.count_nonzero(each) for each in signs], dtype=float)
    return float(signs[0] @ signs[1] / np.sqrt(untied)) if untied else float("nan")


def _signs(values: NDArray[Any]) -> NDArray[np.int64]:
    """Return for each pair of values whether it rises (1), falls (-1) or neither; also for infinite values."""
    pairs = np.triu_indices(len(values), 1)
    rises: NDArray[np.int64] = np.less.outer(values, values)[pairs].astype(np.int64)
    falls: NDArray[np.int64] = np.greater.outer(values, values)[pairs].astype(np.int64)
    return rises - falls


def t_quantile(degrees: int, confidence: float = CONFIDENCE) -> float:
    """Return the two-sided quantile of Student's t distribution."""
    from scipy.special import stdtrit

    return float(stdtrit(degrees, 0.5 + confidence / 2))


def without_nan(values: ArrayLike) -> Floats:
    """Return the values that are numbers."""
    numbers: Floats = np.asarray(values, dtype=float)
    return numbers[~np.isnan(numbers)]


def _differences(first: ArrayLike, second: ArrayLike) -> Floats:
    one: Floats = np.asarray(first, dtype=float)
    other: Floats = np.asarray(second, dtype=float)
    if one.shape != other.shape:
        raise ValueError(f"paired values must be of the same seeds, got {one.shape} and {other.shape}")
    return one - other
