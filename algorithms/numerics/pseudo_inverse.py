"""The Moore-Penrose inverse P = V⁻ of a growing Gram matrix, maintained by rank-1 updates.

For x in the range of V the update is Sherman-Morrison's; for x with a part r = x - V P x outside, it is Meyer's:

    (V + x xᵀ)⁻ = P - k hᵀ - h kᵀ + (1 + xᵀk) h hᵀ,   k = P x,  h = r / ‖r‖².

If a V of full rank is so badly conditioned that an update loses digits, a Newton-Schulz step, P = 2P - P V P, restores
them. P is rebuilt from an eigendecomposition if a V of lower rank is badly conditioned, if it is unclear whether r is
zero, or if an eigenvalue may be near the bound below which it counts as zero.
"""

from typing import NamedTuple

import numpy as np

from algorithms.numerics.elimination import System, eliminate, new_system
from algorithms.numerics.jit import compiled
from algorithms.numerics.small_loops import Matrix, Vector
from algorithms.numerics.tolerances import RANK

UNKNOWN = -1.0
"""The rank of an outdated P."""

CERTAIN = 1e-7
"""A squared residual above this share of ‖x‖² is a new direction."""

WELL_CONDITIONED = 1e6
"""Up to this condition number rank-1 updates keep ten digits; beyond it, each update is followed by a refinement."""

SOLVABLE = 1e9
"""Up to this condition number no eigenvalue is near the bound below which it counts as zero."""

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
    """Set P to V⁻: by inversion if that is safe, else from the eigenvalues.

    Eigenvalues below RANK times the largest are zero.
    """
    d = V.shape[0]
    invert(V, P, scratch.system)
    if trace_of(V) * trace_of(P) <= SOLVABLE:  # false for NaN
        status[0] = d
        status[1] = 0.0
        return
    values, vectors = scratch.values, scratch.vectors
    diagonalise(V, scratch)
    largest = 0.0
    for k in range(d):
        largest = max(largest, values[k, k])
    rank = 0
    for i in range(d):
        for j in range(d):
            P[i, j] = 0.0
    for k in range(d):
        if values[k, k] > RANK * largest:
            rank += 1
            vector = vectors[k]
            for i in range(d):
                row = P[i]
                factor = vector[i] / values[k, k]
                for j in range(d):
                    row[j] += factor * vector[j]
    status[0] = rank
    status[1] = 0.0


@compiled
def invert(V: Matrix, P: Matrix, system: System) -> None:
    """Set P = V⁻¹ = L⁻ᵀ D⁻¹ L⁻¹, where elimination turns the identity into L⁻¹; P is not finite if V is singular."""
    d = V.shape[0]
    rows = system.rows
    for i in range(d):
        row, V_row, P_row = rows[i], V[i], P[i]
        for j in range(d):
            row[j] = V_row[j]
            row[d + j] = 1.0 if i == j else 0.0
            P_row[j] = 0.0
    eliminate(system, d, d, 0.0)
    for k in range(d):
        reduced = rows[k, d:]
        for i in range(k + 1):
            row = P[i]
            factor = reduced[i] * system.inverse_pivots[k]
            for j in range(k + 1):
                row[j] += factor * reduced[j]


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


@compiled
def solve_two(system: System, x: Vector, u: Vector, w: Vector) -> None:
    """Set u = (V + x xᵀ)⁻¹b and w = (V + x xᵀ)⁻¹x by elimination; the system holds V, of full rank, and b."""
    d = x.size
    rows, inverse_pivots = system.rows, system.inverse_pivots
    for i in range(d):
        row, scale = rows[i], x[i]
        for j in range(d):
            row[j] += scale * x[j]
        row[d] = scale
    eliminate(system, d, 1, 0.0)
    for i in range(d - 1, -1, -1):
        row = rows[i]
        for_x, for_b = row[d], row[d + 1]
        for j in range(i + 1, d):
            for_x -= row[j] * w[j]
            for_b -= row[j] * u[j]
        w[i] = for_x * inverse_pivots[i]
        u[i] = for_b * inverse_pivots[i]
