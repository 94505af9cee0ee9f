"""Alternating minimisation, Eq. 7, as a recursion in two scalars.

Within one step both matrices are fixed, so with u = V⁻b and w = V⁻x an iterate before its projection is u + w·ŷ. Its
norm and its product with x follow from u·u, u·w, w·w, x·u and x·w: no vector is touched while iterating.
"""

from typing import NamedTuple

import numpy as np

from algorithms.numerics.independent_rows import IndependentRows
from algorithms.numerics.jit import compiled
from algorithms.numerics.small_loops import Vector
from algorithms.numerics.tolerances import AM_STOP


class Line(NamedTuple):
    """The products that describe all iterates u + w·ŷ of one part, global or local."""

    uu: float
    uw: float
    ww: float
    xu: float
    xw: float


@compiled
def line_of(x: Vector, u: Vector, w: Vector) -> Line:
    """Compute the five products."""
    uu, uw, ww, xu, xw = 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(x.size):
        uu += u[i] * u[i]
        uw += u[i] * w[i]
        ww += w[i] * w[i]
        xu += x[i] * u[i]
        xw += x[i] * w[i]
    return Line(uu, uw, ww, xu, xw)


@compiled
def line_of_newest(rows: IndependentRows, place: int, count: int) -> Line:
    """Describe all iterates u + w·ŷ for the row that was tried last after `count` independent rows."""
    scale, newest_z = rows.newest[0], rows.newest[1]
    z = rows.z[place]
    uu = newest_z * newest_z
    for s in range(count):
        uu += z[s] * z[s]
    return Line(uu, newest_z * scale, scale * scale, 0.0, 1.0)


@compiled
def predicted(line: Line, target: float) -> float:
    """Return xᵀ proj(u + w·ŷ), projected onto the unit ball."""
    squared_norm = line.uu + target * (2.0 * line.uw + target * line.ww)
    value = line.xu + target * line.xw
    return value / np.sqrt(squared_norm) if squared_norm > 1.0 else value


@compiled
def alternate(
    reward: float, first: Line, second: Line, for_first: float, for_second: float, iterations: int
) -> tuple[float, float, float]:
    """Alternate from the given partial rewards; return those of the first and second part, and the last movement."""
    movement = np.inf
    for _ in range(iterations):
        new_for_second = reward - predicted(first, for_first)
        new_for_first = reward - predicted(second, new_for_second)
        movement = max(abs(new_for_first - for_first), abs(new_for_second - for_second))
        for_first, for_second = new_for_first, new_for_second
        if movement <= AM_STOP:
            break
    return for_first, for_second, movement
