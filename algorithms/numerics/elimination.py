"""Scoring by elimination: all means and widths of a decision in one pass, without an inverse.

A decision is written as one system with d rows,

    [ V + λI | x_1 … x_K | b | padding ],

and reduced by Gaussian elimination without pivoting: V(λ) = L D Lᵀ turns the right-hand columns into L⁻¹x and L⁻¹b.
Then ‖x‖² in the norm of V(λ)⁻¹ is Σ (L⁻¹x)²/D, xᵀV(λ)⁻¹b is Σ (L⁻¹x)(L⁻¹b)/D and log det V(λ) is Σ log D.
Nothing is updated from step to step, so nothing drifts; squared widths cannot become negative; and since every
pivot of V(λ) is at least λ in exact arithmetic, pivots are kept from falling below λ by rounding (or, if features are
so large that λ itself is lost in rounding, below a small fraction of the diagonal entry).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from algorithms.hyperparameters import Confidence
from algorithms.numerics.elimination_blocked import (
    LANES,
    place_four_arms,
    processor_has_vectors,
    reduce_four_rows,
    reduce_one_row,
    sum_up,
)
from algorithms.numerics.jit import compiled
from algorithms.numerics.small_loops import Vector

ALIGNMENT = 64

ROUNDING = 1e-14
"""A pivot below this fraction of its diagonal entry is rounding error."""


class System(NamedTuple):
    """The rows to eliminate, and the results: 1/D, squared widths and means of the columns after V.

    `factors` is a scratch buffer. Columns, squared widths and means are padded to whole vectors.
    """

    rows: NDArray[np.float64]
    inverse_pivots: NDArray[np.float64]
    factors: NDArray[np.float64]
    squared_widths: NDArray[np.float64]
    means: NDArray[np.float64]
    scores: NDArray[np.float64]


def new_system(dimension: int, arms: int) -> System:
    """Allocate a system for d dimensions and K arms."""
    columns = _whole_vectors(dimension + arms + 1)
    right = _whole_vectors(columns - dimension)
    return System(
        rows=_aligned_zeros(dimension, columns),
        inverse_pivots=np.zeros(dimension),
        factors=np.zeros(LANES * dimension),
        squared_widths=np.zeros(right),
        means=np.zeros(right),
        scores=np.zeros(arms),
    )


def _whole_vectors(count: int) -> int:
    return -(-count // LANES) * LANES


def _aligned_zeros(rows: int, columns: int) -> NDArray[np.float64]:
    """Return zeros that start on a cache line, with space after them for the rest of the last vector."""
    raw = np.zeros(rows * columns + ALIGNMENT // 8 + LANES)
    offset = (-raw.ctypes.data % ALIGNMENT) // 8
    return raw[offset : offset + rows * columns].reshape(rows, columns)


@compiled
def place_arms_plainly(
    system: System, items: NDArray[np.float64], pool: NDArray[np.int32], first: int, dimension: int
) -> None:
    """Write the features `first` to `first + d - 1` of the pool's items into the columns after V."""
    rows = system.rows
    for arm in range(pool.size):
        features = items[pool[arm], first : first + dimension]
        for i in range(dimension):
            rows[i, dimension + arm] = features[i]


@compiled
def place_arms_in_blocks(
    system: System, items: NDArray[np.float64], pool: NDArray[np.int32], first: int, dimension: int
) -> None:
    """Do the same, four features of four items at a time."""
    if pool.size < LANES or dimension < LANES:
        place_arms_plainly(system, items, pool, first, dimension)
        return
    for arm_block in range(0, pool.size, LANES):
        arm = min(arm_block, pool.size - LANES)  # the last four overlap with those before
        four = (pool[arm], pool[arm + 1], pool[arm + 2], pool[arm + 3])
        for row_block in range(0, dimension, LANES):
            row = min(row_block, dimension - LANES)
            place_four_arms(system.rows, items, four, first + row, row, dimension + arm)


place_arms = place_arms_in_blocks if processor_has_vectors() else place_arms_plainly


@compiled
def reduce_in_blocks(system: System, dimension: int) -> None:
    """Do the same as `reduce_plainly`, four rows at a time."""
    rows, inverse_pivots = system.rows, system.inverse_pivots
    i = 0
    while i + LANES <= dimension:
        reduce_four_rows(rows, system.factors, inverse_pivots, i)
        i += LANES
    while i < dimension:
        reduce_one_row(rows, system.factors, inverse_pivots, i)
        i += 1


@compiled
def sum_up_in_blocks(system: System, dimension: int, arms: int) -> None:
    """Do the same as `sum_up_plainly`, in whole vectors."""
    sum_up(system.rows, system.inverse_pivots, system.squared_widths, system.means, dimension, arms)


@compiled
def reduce_plainly(system: System, dimension: int) -> None:
    """Eliminate below the diagonal, and replace minimum pivots by inverse pivots.

    Rows are reduced whole, including the part left of the diagonal: the few wasted products cost less than
    short loops would. Four earlier rows are subtracted at a time.
    """
    rows, inverse_pivots = system.rows, system.inverse_pivots
    columns = rows.shape[1]
    for i in range(dimension):
        row = rows[i]
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
        inverse_pivots[i] = 1.0 / max(row[i], inverse_pivots[i])


@compiled
def sum_up_plainly(system: System, dimension: int, arms: int) -> None:
    """Set squared widths and means from the reduced columns after V."""
    squared_widths, means = system.squared_widths, system.means
    right = system.rows.shape[1] - dimension
    for k in range(right):
        squared_widths[k] = 0.0
        means[k] = 0.0
    for i in range(dimension):
        reduced = system.rows[i, dimension:]
        inverse_pivot = system.inverse_pivots[i]
        weight = reduced[arms] * inverse_pivot
        for k in range(right):
            squared_widths[k] += reduced[k] * reduced[k] * inverse_pivot
            means[k] += reduced[k] * weight


reduce_rows, sum_columns = (
    (reduce_in_blocks, sum_up_in_blocks) if processor_has_vectors() else (reduce_plainly, sum_up_plainly)
)


@compiled
def eliminate(system: System, dimension: int, arms: int, ridge: float) -> float:
    """Reduce the system, whose first d columns hold V without the ridge; return log det V(λ).

    Without data, V(λ) = λI is reduced already: with many clients, that is the first step of most of them.
    """
    rows, inverse_pivots = system.rows, system.inverse_pivots
    trace = 0.0
    for i in range(dimension):
        trace += rows[i, i]
        rows[i, i] += ridge
        inverse_pivots[i] = max(ridge, ROUNDING * rows[i, i])  # the minimum of the pivot
    if trace == 0.0 and ridge > 0.0:
        for i in range(dimension):
            inverse_pivots[i] = 1.0 / ridge
    else:
        reduce_rows(system, dimension)
    sum_columns(system, dimension, arms)
    log_det = 0.0
    product = 1.0
    for i in range(dimension):
        product *= inverse_pivots[i]
        if product > 1e150 or product < 1e-150:
            log_det -= np.log(product)
            product = 1.0
    return float(log_det - np.log(product))


@compiled
def factorise(system: System, dimension: int) -> None:
    """Reduce a system without a ridge, and without sums over its columns."""
    for i in range(dimension):
        system.inverse_pivots[i] = ROUNDING * system.rows[i, i]  # the minimum of the pivot
    reduce_rows(system, dimension)


@compiled
def solve(system: System, solution: Vector) -> None:
    """Set the solution to V(λ)⁻¹b, where the first column after V of a reduced system is that of b."""
    d = solution.size
    for i in range(d - 1, -1, -1):
        row = system.rows[i]
        value = row[d]
        for j in range(i + 1, d):
            value -= row[j] * solution[j]
        solution[i] = value * system.inverse_pivots[i]


@compiled
def squared_width(system: System, x: Vector, remainder: Vector) -> float:
    """Return ‖x‖² in the norm of V(λ)⁻¹ for an x that is not part of the reduced system; the remainder is scratch."""
    for i in range(x.size):
        remainder[i] = x[i]
    total = 0.0
    for i in range(x.size):
        row = system.rows[i]
        factor = remainder[i] * system.inverse_pivots[i]
        total += remainder[i] * factor
        for j in range(i + 1, x.size):
            remainder[j] -= factor * row[j]
    return total


@compiled
def solve_two(system: System, x: Vector, u: Vector, w: Vector) -> None:
    """Set u = (V + x xᵀ)⁻¹b and w = (V + x xᵀ)⁻¹x by elimination; the system holds V, of full rank, and b."""
    d = x.size
    rows = system.rows
    for i in range(d):
        row, scale = rows[i], x[i]
        for j in range(d):
            row[j] += scale * x[j]
        row[d] = scale
    factorise(system, d)
    substitute_back(system, d, u, w)


@compiled
def substitute_back(system: System, d: int, u: Vector, w: Vector) -> None:
    """Solve the reduced system for its first two columns after V, w and u: the last rows first, four at a time."""
    rows, inverse_pivots = system.rows, system.inverse_pivots
    last = d
    while last >= 4:
        first = last - 4
        row0, row1, row2, row3 = rows[first], rows[first + 1], rows[first + 2], rows[first + 3]
        w0, w1, w2, w3 = row0[d], row1[d], row2[d], row3[d]
        u0, u1, u2, u3 = row0[d + 1], row1[d + 1], row2[d + 1], row3[d + 1]
        for j in range(last, d):
            w_j, u_j = w[j], u[j]
            w0 -= row0[j] * w_j
            w1 -= row1[j] * w_j
            w2 -= row2[j] * w_j
            w3 -= row3[j] * w_j
            u0 -= row0[j] * u_j
            u1 -= row1[j] * u_j
            u2 -= row2[j] * u_j
            u3 -= row3[j] * u_j
        w3, u3 = w3 * inverse_pivots[last - 1], u3 * inverse_pivots[last - 1]
        entry = row2[last - 1]
        w2, u2 = (w2 - entry * w3) * inverse_pivots[last - 2], (u2 - entry * u3) * inverse_pivots[last - 2]
        before, entry = row1[last - 2], row1[last - 1]
        w1 = (w1 - before * w2 - entry * w3) * inverse_pivots[last - 3]
        u1 = (u1 - before * u2 - entry * u3) * inverse_pivots[last - 3]
        third, before, entry = row0[last - 3], row0[last - 2], row0[last - 1]
        w0 = (w0 - third * w1 - before * w2 - entry * w3) * inverse_pivots[first]
        u0 = (u0 - third * u1 - before * u2 - entry * u3) * inverse_pivots[first]
        w[first], w[first + 1], w[first + 2], w[first + 3] = w0, w1, w2, w3
        u[first], u[first + 1], u[first + 2], u[first + 3] = u0, u1, u2, u3
        last = first
    for i in range(last - 1, -1, -1):
        row = rows[i]
        for_x, for_b = row[d], row[d + 1]
        for j in range(i + 1, d):
            for_x -= row[j] * w[j]
            for_b -= row[j] * u[j]
        w[i] = for_x * inverse_pivots[i]
        u[i] = for_b * inverse_pivots[i]


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
