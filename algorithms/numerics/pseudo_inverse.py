"""The Moore-Penrose inverse P = V⁻ of a growing Gram matrix, maintained by rank-1 updates.

For x in the range of V the update is Sherman-Morrison's; for x with a part r = x - V P x outside, it is Meyer's:

    (V + x xᵀ)⁻ = P - k hᵀ - h kᵀ + (1 + xᵀk) h hᵀ,   k = P x,  h = r / ‖r‖².

If a V of full rank is so badly conditioned that an update loses digits, a Newton-Schulz step, P = 2P - P V P, restores
them. P is rebuilt from an eigendecomposition if a V of lower rank is badly conditioned, if it is unclear whether r is
zero, or if an eigenvalue may be near the bound below which it counts as zero.
"""

from typing import NamedTuple

import numpy as np

from algorithms.numerics.elimination import System, factorise, new_system
from algorithms.numerics.jit import compiled
from algorithms.numerics.small_loops import Matrix, Vector, add_outer, set_zero
from algorithms.numerics.tolerances import RANK

CERTAIN = 1e-7
"""A squared residual above this share of ‖x‖² is a new direction."""

WELL_CONDITIONED = 1e6
"""Up to this condition number rank-1 updates keep ten digits; beyond it, each update is followed by a refinement."""

SOLVABLE = 1e9
"""Up to this condition number no eigenvalue is near the bound below which it counts as zero."""

NEGLIGIBLE = 1e-14
"""A pivot below this share of the largest diagonal entry is rounding error."""

CURRENT, INACCURATE, OUTDATED = 0, 1, 2
"""The status of P after an update: accurate, to be refined, or to be rebuilt."""

REFRESH_AFTER = 1000
"""Rank-1 updates between two rebuilds."""

MOST_SWEEPS = 30
"""Jacobi's rotations converge in about eight sweeps."""


class Scratch(NamedTuple):
    """Scratch buffers."""

    k: Vector
    r: Vector
    inside: Vector
    image: Vector
    values: Matrix
    vectors: Matrix
    system: System


def new_scratch(dimension: int) -> Scratch:
    """Allocate for d dimensions."""
    square = (dimension, dimension)
    return Scratch(
        k=np.zeros(dimension),
        r=np.zeros(dimension),
        inside=np.zeros(dimension),
        image=np.zeros(dimension),
        values=np.zeros(square),
        vectors=np.zeros(square),
        system=new_system(dimension, dimension),
    )


@compiled
def trace_of(V: Matrix) -> float:
    """Return the sum of the diagonal, an upper bound for the largest eigenvalue of a Gram matrix."""
    total = 0.0
    for i in range(V.shape[0]):
        total += V[i, i]
    return total


@compiled
def multiply(P: Matrix, x: Vector, result: Vector) -> None:
    """Set `result` to P x for a symmetric P."""
    for i in range(x.size):
        result[i] = dot(P[i], x)


@compiled
def dot(x: Vector, y: Vector) -> float:
    """Return xᵀy; y may be longer."""
    total = 0.0
    for i in range(x.size):
        total += x[i] * y[i]
    return total


@compiled
def least_eigenvalue(V: Matrix, scratch: Scratch) -> float:
    """Return the least eigenvalue of V."""
    diagonalise(V, scratch)
    least = np.inf
    for k in range(V.shape[0]):
        least = min(least, scratch.values[k, k])
    return least


@compiled
def rebuild(V: Matrix, P: Matrix, status: Vector, scratch: Scratch) -> None:
    """Set P to V⁻: by inversion if that is safe, else from a factor of lower rank, else from the eigenvalues.

    Eigenvalues below RANK times the largest are zero.
    """
    d = V.shape[0]
    if invert(V, P, scratch.system) and trace_of(V) * trace_of(P) <= SOLVABLE:  # false for NaN
        status[0] = d
        status[1] = 0.0
        return
    if rebuild_at_lower_rank(V, P, status, scratch):
        return
    values, vectors = scratch.values, scratch.vectors
    diagonalise(V, scratch)
    largest = 0.0
    for k in range(d):
        largest = max(largest, values[k, k])
    rank = 0
    set_zero(P)
    for k in range(d):
        if values[k, k] > RANK * largest:
            rank += 1
            add_outer(P, vectors[k], 1.0 / values[k, k])
    status[0] = rank
    status[1] = 0.0


@compiled
def rebuild_at_lower_rank(V: Matrix, P: Matrix, status: Vector, scratch: Scratch) -> bool:
    """Set P = V⁻ = Y Yᵀ with Y = L(LᵀL)⁻¹, for V = L Lᵀ with few columns; false if the rank is not certain.

    It is certain if the rest V - L Lᵀ is rounding error and the condition number shows that no eigenvalue is small.
    """
    d = V.shape[0]
    L, system = scratch.vectors, scratch.system  # L by columns, later Y
    rank = factor_of(V, scratch)
    if rank == d:
        return False
    rows = system.rows
    for i in range(rank):
        row = rows[i]
        for j in range(i, rank):
            product = dot(L[i], L[j])
            row[j] = product
            rows[j, i] = product
        for j in range(d):
            row[rank + j] = L[i, j]
    factorise(system, rank)
    for i in range(rank - 1, -1, -1):
        column, row = L[i], rows[i]
        for j in range(d):
            column[j] = row[rank + j]
        for k in range(i + 1, rank):
            later = L[k]
            factor = row[k]
            for j in range(d):
                column[j] -= factor * later[j]
        for j in range(d):
            column[j] *= system.inverse_pivots[i]
    inverse_trace = 0.0
    for k in range(rank):
        inverse_trace += dot(L[k], L[k])
    if not trace_of(V) * inverse_trace <= WELL_CONDITIONED:  # true for NaN
        return False
    set_zero(P)
    for k in range(rank):
        add_outer(P, L[k], 1.0)
    status[0] = rank
    status[1] = 0.0
    return True


@compiled
def factor_of(V: Matrix, scratch: Scratch) -> int:
    """Set the rows of `vectors` to the columns of L in V = L Lᵀ, the largest pivot first; return how many there are."""
    d = V.shape[0]
    rest, L = scratch.values, scratch.vectors
    largest = 0.0
    for i in range(d):
        largest = max(largest, V[i, i])
        for j in range(d):
            rest[i, j] = V[i, j]
    for rank in range(d):
        pivot = 0
        for i in range(1, d):
            if rest[i, i] > rest[pivot, pivot]:
                pivot = i
        if not rest[pivot, pivot] > NEGLIGIBLE * largest:
            return int(rank)
        column = L[rank]
        scale = 1.0 / np.sqrt(rest[pivot, pivot])
        for j in range(d):
            column[j] = rest[pivot, j] * scale
        add_outer(rest, column, -1.0)
        for j in range(d):
            rest[pivot, j] = 0.0
            rest[j, pivot] = 0.0
    return int(d)


@compiled
def invert(V: Matrix, P: Matrix, system: System) -> bool:
    """Set P = V⁻¹ = L⁻ᵀ D⁻¹ L⁻¹, where elimination turns the identity into L⁻¹; false if a pivot is too small for that.

    A diagonal entry of V⁻¹ is at least its inverse pivot, so then V is not solvable.
    """
    d = V.shape[0]
    rows, inverse_pivots = system.rows, system.inverse_pivots
    for i in range(d):
        row, V_row = rows[i], V[i]
        for j in range(d):
            row[j] = V_row[j]
            row[d + j] = 1.0 if i == j else 0.0
    factorise(system, d)
    trace = trace_of(V)
    for k in range(d):
        if not trace * inverse_pivots[k] <= SOLVABLE:  # true for NaN
            return False
    set_zero(P)
    for k in range(d):
        add_outer(P, rows[k, d : d + k + 1], inverse_pivots[k])
    return True


@compiled
def diagonalise(V: Matrix, scratch: Scratch) -> None:
    """Find the eigenvalues (on the diagonal of `values`) and eigenvectors (rows) of V by Jacobi's rotations."""
    d = V.shape[0]
    values, vectors = scratch.values, scratch.vectors
    for i in range(d):
        for j in range(d):
            values[i, j] = V[i, j]
            vectors[i, j] = 1.0 if i == j else 0.0
    for _ in range(MOST_SWEEPS):
        rotated = False
        for p in range(d - 1):
            for q in range(p + 1, d):
                if abs(values[p, q]) > 1e-17 * (abs(values[p, p]) + abs(values[q, q])):
                    rotate(values, vectors, p, q)
                    rotated = True
        if not rotated:
            return


@compiled
def rotate(values: Matrix, vectors: Matrix, p: int, q: int) -> None:
    """Rotate the plane of axes p and q so that the entry (p, q) becomes zero."""
    d = values.shape[0]
    half = (values[q, q] - values[p, p]) / (2.0 * values[p, q])
    tangent = 1.0 / (abs(half) + np.sqrt(half * half + 1.0))
    if half < 0.0:
        tangent = -tangent
    cosine = 1.0 / np.sqrt(tangent * tangent + 1.0)
    sine = tangent * cosine
    for i in range(d):
        at_p, at_q = values[p, i], values[q, i]
        values[p, i] = cosine * at_p - sine * at_q
        values[q, i] = sine * at_p + cosine * at_q
        at_p, at_q = vectors[p, i], vectors[q, i]
        vectors[p, i] = cosine * at_p - sine * at_q
        vectors[q, i] = sine * at_p + cosine * at_q
    for i in range(d):
        at_p, at_q = values[i, p], values[i, q]
        values[i, p] = cosine * at_p - sine * at_q
        values[i, q] = sine * at_p + cosine * at_q
    values[p, q] = 0.0
    values[q, p] = 0.0


@compiled
def include(V: Matrix, P: Matrix, status: Vector, x: Vector, scratch: Scratch) -> int:
    """Update P = V⁻ to (V + x xᵀ)⁻ before x is added to V; return whether `complete` must refine or rebuild P.

    `status` holds the rank and the number of updates since the last rebuild.
    """
    d = x.size
    k, r = scratch.k, scratch.r
    squared = dot(x, x)
    if squared == 0.0:
        return CURRENT
    trace_V = trace_of(V)
    condition = trace_V * trace_of(P)
    if status[1] >= REFRESH_AFTER or condition > (SOLVABLE if status[0] == d else WELL_CONDITIONED):
        return OUTDATED
    multiply(P, x, k)
    scale = 1.0 + dot(x, k)
    residual = 0.0
    if status[0] < d:
        project_out(V, P, x, r, scratch)
        residual = dot(r, r)
        noise = 1e-15 * max(condition, 10.0)
        if residual <= noise * noise * squared:
            residual = 0.0
        elif residual < CERTAIN * squared:
            return OUTDATED
    if residual == 0.0:
        for i in range(d):
            row = P[i]
            factor = k[i] / scale
            for j in range(d):
                row[j] -= factor * k[j]
    else:
        for i in range(d):
            r[i] /= residual
        for i in range(d):
            row = P[i]
            for j in range(d):
                row[j] += scale * r[i] * r[j] - k[i] * r[j] - r[i] * k[j]
        status[0] += 1.0
    status[1] += 1.0
    # an update loses digits if P shrinks along x, and if V is badly conditioned before or after it
    condition = max(condition, scale, (trace_V + squared) * trace_of(P))
    if condition <= WELL_CONDITIONED:
        return CURRENT
    return INACCURATE if status[0] == d and condition <= SOLVABLE else OUTDATED


@compiled
def project_out(V: Matrix, P: Matrix, x: Vector, r: Vector, scratch: Scratch) -> None:
    """Set r to the part of x outside the range of V. Projecting twice squares the effect of an error in P."""
    for i in range(x.size):
        r[i] = x[i]
    inside, image = scratch.inside, scratch.image
    for _ in range(2):
        multiply(P, r, inside)
        multiply(V, inside, image)
        for i in range(x.size):
            r[i] -= image[i]


@compiled
def complete(V: Matrix, P: Matrix, status: Vector, scratch: Scratch, outcome: int) -> None:
    """Finish the update by `include`, after x was added to V."""
    if outcome == INACCURATE:
        refine(V, P, scratch)
    elif outcome == OUTDATED:
        rebuild(V, P, status, scratch)


@compiled
def refine(V: Matrix, P: Matrix, scratch: Scratch) -> None:
    """P = 2P - P V P: squares the error of a P that is nearly V⁻¹."""
    d = V.shape[0]
    product, correction = scratch.values, scratch.vectors
    multiply_matrices(V, P, product)
    multiply_matrices(P, product, correction)
    for i in range(d):
        for j in range(i + 1):
            entry = P[i, j] + P[j, i] - 0.5 * (correction[i, j] + correction[j, i])
            P[i, j] = entry
            P[j, i] = entry


@compiled
def multiply_matrices(A: Matrix, B: Matrix, product: Matrix) -> None:
    """Set `product` to A B."""
    d = A.shape[0]
    for i in range(d):
        row, factors = product[i], A[i]
        for j in range(d):
            row[j] = 0.0
        for k in range(d):
            B_row = B[k]
            factor = factors[k]
            for j in range(d):
                row[j] += factor * B_row[j]
