"""Simultaneous bands of mean differences: a studentised bootstrap over seeds of the largest |t|.

Each resample of the seeds gives every cell (a pair of methods at a budget) t* = (mean* − mean) / (s* / √n). The
95 % quantile c of the largest |t*| over all cells gives the bands mean ± c s / √n, which hold for all cells at once.

With 20 seeds and normal differences the bands of three methods at six budgets cover all true values in 96 % of the
tasks; with fewer seeds or many more cells they are wider than necessary (10 seeds, 56 cells: 99 %).

Cells that cannot be studentised:

- A cell without spread (the same difference on every seed) has the band [mean, mean], and is not resampled.
- A cell in which most seeds have the same difference has resamples without spread, and an infinite t* in them. Where
  more than one resample in a hundred is expected to be so, the cell would make all bands useless. It is not
  resampled; its band is Student's with Bonferroni's correction for all cells, and at least as wide as with c.
- A cell with a missing value has no band (NaN).
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from benchmark.statistics.paired import CONFIDENCE, ROUNDING, Floats, t_quantile

REPETITIONS = 10_000
MAX_SHARE_WITHOUT_SPREAD = 0.01
CHUNK = 1000
"""Resamples that are computed at a time."""


@dataclass(frozen=True)
class Bands:
    """Mean differences with simultaneous bands, one entry per cell; `critical` is the quantile of the largest |t|."""

    mean: Floats
    low: Floats
    high: Floats
    critical: float


def simultaneous_bands(
    differences: Floats, confidence: float = CONFIDENCE, repetitions: int = REPETITIONS, seed: int = 0
) -> Bands:
    """Return simultaneous bands of paired differences; the last axis of `differences` is over seeds."""
    seeds = differences.shape[-1]
    if seeds < 2:
        raise ValueError(f"bands need at least 2 seeds, got {seeds}")
    cells = differences.reshape(-1, seeds)
    mean = cells.mean(axis=1)
    error = cells.std(axis=1, ddof=1) / seeds**0.5
    error[error <= ROUNDING * np.abs(cells).max(axis=1, initial=0)] = 0.0
    has_spread = error > 0  # False for NaN
    critical, factor = 0.0, np.zeros(len(cells))
    if has_spread.any():
        standardised = (cells[has_spread] - mean[has_spread, None]) / (error[has_spread, None] * seeds**0.5)
        is_resampled = shares_without_spread(standardised) <= MAX_SHARE_WITHOUT_SPREAD
        critical = _critical(standardised[is_resampled], confidence, repetitions, seed)
        bonferroni = t_quantile(seeds - 1, 1 - (1 - confidence) / len(standardised))
        factor[has_spread] = np.where(is_resampled, critical, max(bonferroni, critical))
    half = factor * error
    shape = differences.shape[:-1]
    return Bands(mean.reshape(shape), (mean - half).reshape(shape), (mean + half).reshape(shape), critical)


def shares_without_spread(cells: Floats) -> Floats:
    """Return for each cell the probability that all values of a resample are equal.

    It is the sum of (k / n)^n over the distinct values, where k is how often a value occurs. The cells have standard
    deviation 1; values that are equal to nine decimals are the same.
    """
    values, seeds = cells.round(9), cells.shape[1]
    counts = (values[:, :, None] == values[:, None, :]).sum(axis=2)
    result: Floats = ((counts / seeds) ** seeds / counts).sum(axis=1)  # a value that occurs k times is added k times
    return result


def _critical(cells: Floats, confidence: float, repetitions: int, seed: int) -> float:
    """Return the quantile of the largest |t*| over cells with mean 0 and standard deviation 1; 0 without cells."""
    counts = resample_counts(cells.shape[1], repetitions, seed)
    starts = range(0, repetitions, CHUNK)
    largest = [squared_t(cells, counts[start : start + CHUNK]).max(axis=1, initial=0) for start in starts]
    return math.sqrt(np.quantile(np.concatenate(largest), confidence, method="higher"))


@lru_cache(maxsize=4)
def resample_counts(seeds: int, repetitions: int, seed: int) -> Floats:
    """Return how often each seed is drawn in each resample, resamples × seeds; read-only."""
    generator = np.random.default_rng(seed)
    counts: Floats = generator.multinomial(seeds, np.full(seeds, 1 / seeds), size=repetitions).astype(float)
    counts.setflags(write=False)
    return counts


def squared_t(cells: Floats, counts: Floats) -> Floats:
    """Return t*², resamples × cells, of cells with mean 0 and standard deviation 1; infinite without spread."""
    seeds = cells.shape[1]
    squared_mean = (counts @ cells.T / seeds) ** 2
    variance = counts @ (cells**2).T / seeds - squared_mean
    infinite = np.full_like(variance, np.inf)
    result: Floats = np.divide(squared_mean * (seeds - 1), variance, out=infinite, where=variance > ROUNDING)
    return result
