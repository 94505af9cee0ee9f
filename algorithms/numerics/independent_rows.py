"""Pseudo-inverses while a client has few observations: through their products, without any d x d matrix.

Let the rows of X be the client's n observations and t their targets: V = XᵀX and b = Xᵀt. While the rows are
linearly independent, G = X Xᵀ is invertible and V⁻b = XᵀG⁻¹t. With G⁻¹ = MᵀM, M lower triangular, and z = M t,
the newest observation x, which has no target yet, gives

    u·u = ‖z‖²,  u·w = z_n M_nn,  w·w = M_nn²,  x·u = 0,  x·w = 1      (u = V⁻b, w = V⁻x),

and a further observation appends a row to M and a number to z: the others do not change. If independence is
doubtful or G is badly conditioned, a client leaves this form permanently.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from algorithms.numerics.jit import compiled
from algorithms.numerics.pseudo_inverse import WELL_CONDITIONED, dot
from algorithms.numerics.small_loops import Matrix, Vector

INDEPENDENT = 1e-4
"""A row is independent of others if more than this share of ‖x‖² lies outside their span: twelve digits are correct."""

SCRATCH = 0
"""The place shared by clients without one of their own: recomputed at each step, which is cheap for a few rows."""


class IndependentRows(NamedTuple):
    """M (packed by rows), z and the items of each place; the traces of G and of its inverse."""

    first_feature: int
    dimension: int
    M: Matrix
    z: Matrix
    item: NDArray[np.int32]
    trace: Vector
    inverse_trace: Vector
    products: Vector
    projections: Vector
    newest: Vector
    """[0]: M_nn of the row that was tried last; [1]: z_n without its target; [2]: its ‖x‖²."""


def new_independent_rows(first_feature: int, dimension: int, places: int) -> IndependentRows:
    """Allocate; a place uses memory only once it is written."""
    return IndependentRows(
        first_feature=first_feature,
        dimension=dimension,
        M=np.empty((places, dimension * (dimension + 1) // 2)),
        z=np.empty((places, dimension)),
        item=np.empty((places, dimension), dtype=np.int32),
        trace=np.zeros(places),
        inverse_trace=np.zeros(places),
        products=np.zeros(dimension),
        projections=np.zeros(dimension),
        newest=np.zeros(3),
    )


@compiled
def try_row(rows: IndependentRows, place: int, count: int, items: Matrix, item: int) -> bool:
    """Compute the row of M for one more observation after `count`; false unless it is certainly independent."""
    first, dimension = rows.first_feature, rows.dimension
    if count >= dimension:
        return False
    x = items[item, first : first + dimension]
    M, z, products, projections = rows.M[place], rows.z[place], rows.products, rows.projections
    for s in range(count):
        products[s] = dot(items[rows.item[place, s], first : first + dimension], x)
    squared = dot(x, x)
    residual = squared
    newest_z = 0.0
    start = count * (count + 1) // 2
    new = M[start : start + count + 1]
    for s in range(count + 1):
        new[s] = 0.0
    start = 0
    for s in range(count):
        row = M[start : start + s + 1]
        start += s + 1
        projection = dot(row, products)
        projections[s] = projection
        residual -= projection * projection
        newest_z -= projection * z[s]
        for q in range(row.size):
            new[q] -= projection * row[q]
    if not residual > INDEPENDENT * squared:
        return False
    scale = 1.0 / np.sqrt(residual)
    new[count] = 1.0
    for s in range(count + 1):
        new[s] *= scale
    rows.newest[0] = scale
    rows.newest[1] = newest_z * scale
    rows.newest[2] = squared
    trace = rows.trace[place] if count > 0 else 0.0
    inverse_trace = rows.inverse_trace[place] if count > 0 else 0.0
    return bool((trace + squared) * (inverse_trace + dot(new, new)) <= WELL_CONDITIONED)


@compiled
def keep_row(rows: IndependentRows, place: int, count: int, item: int, target: float) -> None:
    """Append the row that was tried last, now that its target is known."""
    start = count * (count + 1) // 2
    new = rows.M[place, start : start + count + 1]
    if count == 0:
        rows.trace[place] = 0.0
        rows.inverse_trace[place] = 0.0
    rows.trace[place] += rows.newest[2]
    rows.inverse_trace[place] += dot(new, new)
    rows.z[place, count] = rows.newest[1] + target * rows.newest[0]
    rows.item[place, count] = item


@compiled
def solve_for(rows: IndependentRows, place: int, count: int, targets: Vector, items: Matrix, theta: Vector) -> None:
    """Set θ = V⁻Xᵀt for the given targets of the `count` rows."""
    M, coefficients = rows.M[place], rows.projections
    for s in range(count):
        coefficients[s] = 0.0
    start = 0
    for s in range(count):
        row = M[start : start + s + 1]
        start += s + 1
        value = dot(row, targets)
        for q in range(row.size):
            coefficients[q] += value * row[q]
    first = rows.first_feature
    for i in range(theta.size):
        theta[i] = 0.0
    for s in range(count):
        x = items[rows.item[place, s], first : first + theta.size]
        for i in range(theta.size):
            theta[i] += coefficients[s] * x[i]
