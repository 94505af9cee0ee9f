"""{V, b} and upper confidence bounds in plain NumPy, for the literal methods."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from algorithms.hyperparameters import Alpha

Array = NDArray[Any]


class Statistics:
    """The sufficient statistics {V, b}."""

    def __init__(self, dimension: int) -> None:
        self.V = np.zeros((dimension, dimension))
        self.b = np.zeros(dimension)

    def observe(self, x: Array, y: float) -> None:
        """V += x xᵀ, b += x y."""
        self.V += np.outer(x, x)
        self.b += x * y

    def add(self, other: "Statistics") -> None:
        """V += V', b += b'."""
        self.V += other.V
        self.b += other.b

    def clear(self) -> None:
        """V = 0, b = 0."""
        self.V[:] = 0
        self.b[:] = 0

    def log_det(self, ridge: float) -> float:
        """Return log det(V + λI)."""
        return float(np.linalg.slogdet(self.V + ridge * np.eye(len(self.b)))[1])

    def ridge_estimate(self, ridge: float) -> Array:
        """θ̂(λ) = (V + λI)⁻¹ b."""
        return np.linalg.solve(self.V + ridge * np.eye(len(self.b)), self.b)


def minus(left: Statistics, right: Statistics) -> Statistics:
    """{V - V', b - b'}."""
    difference = Statistics(len(left.b))
    difference.V = left.V - right.V
    difference.b = left.b - right.b
    return difference


def confidence_width(statistics: Statistics, alpha: Alpha, ridge: float, sigma: float, delta: float) -> float:
    """α: a fixed number, or σ·√(log(det V(λ) / det λI) + 2 log(1/δ)) + √λ (after Eq. 5)."""
    if alpha != "theory":
        return float(alpha)
    log_ratio = statistics.log_det(ridge) - len(statistics.b) * math.log(ridge)
    return sigma * math.sqrt(max(log_ratio, 0.0) + 2 * math.log(1 / delta)) + math.sqrt(ridge)


def upper_bounds(contexts: Array, statistics: Statistics, alpha: float, ridge: float) -> Array:
    """Eq. 5: xᵀθ̂(λ) + α·‖x‖ in the norm of V(λ)⁻¹, for each row x."""
    inverse = np.linalg.inv(statistics.V + ridge * np.eye(len(statistics.b)))
    squared_widths = np.einsum("ki,ij,kj->k", contexts, inverse, contexts)
    bounds: Array = contexts @ (inverse @ statistics.b) + alpha * np.sqrt(np.maximum(squared_widths, 0.0))
    return bounds
