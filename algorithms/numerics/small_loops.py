"""Small loops over {V, b}, written out because array expressions would allocate memory inside the kernels."""

import numpy as np
from numpy.typing import NDArray

from algorithms.numerics.jit import compiled

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]


@compiled
def add_rank_one(V: Matrix, b: Vector, x: Vector, y: float) -> None:
    """V += x xᵀ, b += x y."""
    for i in range(b.size):
        row = V[i]
        scale = x[i]
        for j in range(b.size):
            row[j] += scale * x[j]
        b[i] += scale * y


@compiled
def add_outer(V: Matrix, x: Vector, scale: float) -> None:
    """V += scale · x xᵀ; if x is shorter than V, only its first rows and columns change."""
    for i in range(x.size):
        row = V[i]
        factor = scale * x[i]
        for j in range(x.size):
            row[j] += factor * x[j]


@compiled
def add_scaled(b: Vector, x: Vector, y: float) -> None:
    """b += x y; x may be longer than b."""
    for i in range(b.size):
        b[i] += x[i] * y


@compiled
def clear(V: Matrix, b: Vector) -> None:
    """V = 0, b = 0."""
    for i in range(b.size):
        row = V[i]
        for j in range(b.size):
            row[j] = 0.0
        b[i] = 0.0


@compiled
def set_zero(V: Matrix) -> None:
    """V = 0."""
    for i in range(V.shape[0]):
        row = V[i]
        for j in range(V.shape[1]):
            row[j] = 0.0


@compiled
def copy(V: Matrix, b: Vector, from_V: Matrix, from_b: Vector) -> None:
    """V = V', b = b'."""
    for i in range(b.size):
        row, from_row = V[i], from_V[i]
        for j in range(b.size):
            row[j] = from_row[j]
        b[i] = from_b[i]


@compiled
def add(V: Matrix, b: Vector, more_V: Matrix, more_b: Vector) -> None:
    """V += V', b += b'."""
    for i in range(b.size):
        row, more_row = V[i], more_V[i]
        for j in range(b.size):
            row[j] += more_row[j]
        b[i] += more_b[i]
