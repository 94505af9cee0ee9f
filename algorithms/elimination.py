"""Scoring by elimination: every mean and every width of a decision in one pass, without an inverse.

A decision is written as one system with d rows,

    [ V + λI | x_1 … x_K | b | padding ],

and reduced by Gaussian elimination without pivoting: V(λ) = L D Lᵀ turns the right-hand columns into L⁻¹x and L⁻¹b.
Then ‖x‖² in the norm of V(λ)⁻¹ is Σ (L⁻¹x)²/D, xᵀV(λ)⁻¹b is Σ (L⁻¹x)(L⁻¹b)/D and log det V(λ) is Σ log D.
Nothing is updated from step to step, so nothing drifts; squared widths cannot become negative; and since every
pivot of V(λ) is at least λ in exact arithmetic, rounding is kept from pushing one below (or, where features are so
large that λ itself is lost in rounding, below what rounding leaves of the diagonal).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from algorithms.jit import compiled

LANES = 4
"""Rows are padded to a multiple of this, so that vector loops have no remainder."""

ALIGNMENT = 64

ROUNDING = 1e-14
"""A pivot below this part of its diagonal entry is rounding error."""


class System(NamedTuple):
    """The rows to eliminate, and what comes out: 1/D, squared widths and means of the columns after V."""

    rows: NDArray[np.float64]
    inverse_pivots: NDArray[np.float64]
    squared_widths: NDArray[np.float64]
    means: NDArray[np.float64]
    scores: NDArray[np.float64]


class Confidence(NamedTuple):
    """What the width of a confidence bound depends on: α (NaN for the formula), λ, σ and δ."""

    alpha: float
    ridge: float
    sigma: float
    delta: float


def new_system(dimension: int, arms: int) -> System:
    """Allocate a system for d dimensions and K arms."""
    columns = -(-(dimension + arms + 1) // LANES) * LANES
    return System(
        rows=_aligned_zeros(dimension, columns),
        inverse_pivots=np.zeros(dimension),
        squared_widths=np.zeros(columns - dimension),
        means=np.zeros(columns - dimension),
        scores=np.zeros(arms),
    )


def _aligned_zeros(rows: int, columns: int) -> NDArray[np.float64]:
    """Return zeros that start on a cache line: vector loads then never straddle two."""
    raw = np.zeros(rows * columns + ALIGNMENT // 8)
    offset = (-raw.ctypes.data % ALIGNMENT) // 8
    return raw[offset : offset + rows * columns].reshape(rows, columns)


@compiled
def place_arms(system: System, items: NDArray[np.float64], pool: NDArray[np.int32], first: int, dimension: int) -> None:
    """Write the features `first` to `first + d - 1` of the pool's items into the columns after V."""
    rows = system.rows
    for arm in range(pool.size):
        features = items[pool[arm]]
        for i in range(dimension):
            rows[i, dimension + arm] = features[first + i]


@compiled
def eliminate(system: System, dimension: int, arms: int, ridge: float) -> float:
    """Reduce the system, whose first d columns hold V without the ridge; return log det V(λ).

    Rows are reduced whole, the part left of the diagonal included: the few wasted products cost less than
    short loops would. Four earlier rows are subtracted at a time.
    """
    rows, inverse_pivots = system.rows, system.inverse_pivots
    squared_widths, means = system.squared_widths, system.means
    columns = rows.shape[1]
    right = columns - dimension
    for k in range(right):
        squared_widths[k] = 0.0
        means[k] = 0.0
    log_det = 0.0
    product = 1.0
    for i in range(dimension):
        row = rows[i]
        row[i] += ridge
        least_pivot = max(ridge, ROUNDING * row[i])
        j = 0
        while j + 4 <= i:
            row0, row1, row2, row3 = rows[j], rows[j + 1], rows[j + 2], rows[j + 3]
            factor0 = row0[i] * inverse_pivots[j]
            factor1 = row1[i] * inverse_pivots[j + 1]
            factor2 = row2[i] * inverse_pivots[j + 2]
            factor3 = row3[i] * inverse_pivots[j + 3]
            for c in range(columns):
                row[c] -= factor0 * row0[c] + factor1 * row1[c] + factor2 * row2[c] + factor3 * row3[c]
            j += 4
        while j < i:
            row0 = rows[j]
            factor0 = row0[i] * inverse_pivots[j]
            for c in range(columns):
                row[c] -= factor0 * row0[c]
            j += 1
        pivot = max(row[i], least_pivot)
        inverse_pivot = 1.0 / pivot
        inverse_pivots[i] = inverse_pivot
        product *= pivot
        if product > 1e150 or product < 1e-150:
            log_det += np.log(product)
            product = 1.0
        reduced = row[dimension:]
        weight = reduced[arms] * inverse_pivot
        for k in range(right):
            squared_widths[k] += reduced[k] * reduced[k] * inverse_pivot
            means[k] += reduced[k] * weight
    return float(log_det + np.log(product))


@compiled
def confidence_width(confidence: Confidence, log_det: float, dimension: int) -> float:
    """α: the number itself, or for NaN σ·√(log(det V(λ) / det λI) + 2 log(1/δ)) + √λ (after Eq. 5)."""
    if not np.isnan(confidence.alpha):
        return confidence.alpha
    log_ratio = max(log_det - dimension * np.log(confidence.ridge), 0.0)
    root = np.sqrt(log_ratio + 2.0 * np.log(1.0 / confidence.delta))
    return float(confidence.sigma * root + np.sqrt(confidence.ridge))


@compiled
def score(system: System, dimension: int, confidence: Confidence) -> float:
    """Eq. 5: set the scores to xᵀθ̂(λ) + α·‖x‖ in the norm of V(λ)⁻¹; return log det V(λ)."""
    scores = system.scores
    log_det = eliminate(system, dimension, scores.size, confidence.ridge)
    alpha = confidence_width(confidence, log_det, dimension)
    for k in range(scores.size):
        scores[k] = system.means[k] + alpha * np.sqrt(system.squared_widths[k])
    return log_det
