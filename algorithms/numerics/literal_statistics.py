"""{V, b} and upper confidence bounds in plain NumPy, for the literal methods."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from algorithms.messages import Message, pack, unpack
from algorithms.numerics.ties import pick

Array = NDArray[Any]


class Statistics:
    """The sufficient statistics {V, b} of `count` observations."""

    def __init__(self, dimension: int) -> None:
        self.V = np.zeros((dimension, dimension))
        self.b = np.zeros(dimension)
        self.count = 0

    @classmethod
    def of(cls, message: Message, dimension: int) -> "Statistics":
        """Return the statistics in a message."""
        statistics = cls(dimension)
        statistics.V, statistics.b = unpack(message.values, dimension)
        statistics.count = message.count
        return statistics

    def message(self, kind: str) -> Message:
        """Return a message with the statistics."""
        return Message(kind, pack(self.V, self.b), self.count)

    def observe(self, x: Array, y: float) -> None:
        """V += x xᵀ, b += x y."""
        self.V += np.outer(x, x)
        self.b += x * y
        self.count += 1

    def add(self, other: "Statistics") -> None:
        """V += V', b += b'."""
        self.V += other.V
        self.b += other.b
        self.count += other.count

    def clear(self) -> None:
        """V = 0, b = 0."""
        self.V[:] = 0
        self.b[:] = 0
        self.count = 0

    def log_det(self, ridge: float) -> float:
        """Return log det(V + λI)."""
        return float(np.linalg.slogdet(self.V + ridge * np.eye(len(self.b)))[1])

    def ridge_estimate(self, ridge: float) -> Array:
        """θ̂(λ) = (V + λI)⁻¹ b."""
        return np.linalg.solve(self.V + ridge * np.eye(len(self.b)), self.b)


def plus(left: Statistics, right: Statistics) -> Statistics:
    """{V + V', b + b'}."""
    total = Statistics(len(left.b))
    total.add(left)
    total.add(right)
    return total


def minus(left: Statistics, right: Statistics) -> Statistics:
    """{V - V', b - b'}."""
    difference = Statistics(len(left.b))
    difference.V = left.V - right.V
    difference.b = left.b - right.b
    difference.count = left.count - right.count
    return difference


def confidence_width(statistics: Statistics, parameters: Any, extra_sigma: float = 0.0) -> float:
    """α of a method: a fixed number, or σ·√(log(det V(λ) / det λI) + 2 log(1/δ)) + √λ (after Eq. 5)."""
    p = parameters
    if p.alpha != "theory":
        return float(p.alpha)
    log_ratio = statistics.log_det(p.ridge) - len(statistics.b) * math.log(p.ridge)
    width = math.sqrt(max(log_ratio, 0.0) + 2 * math.log(1 / p.delta))
    return float((p.sigma + extra_sigma) * width + math.sqrt(p.ridge))


def choose_by_bound(contexts: Array, statistics: Statistics, parameters: Any, rng: np.random.Generator) -> int:
    """Eq. 5: choose the arm with the largest upper bound, with α, λ, σ and δ of a method."""
    alpha = confidence_width(statistics, parameters)
    return pick(upper_bounds(contexts, statistics, alpha, parameters.ridge), rng)


def upper_bounds(contexts: Array, statistics: Statistics, alpha: float, ridge: float) -> Array:
    """Eq. 5: xᵀθ̂(λ) + α·‖x‖ in the norm of V(λ)⁻¹, for each row x."""
    inverse = np.linalg.inv(statistics.V + ridge * np.eye(len(statistics.b)))
    squared_widths = ((contexts @ inverse) * contexts).sum(axis=1)
    bounds: Array = contexts @ (inverse @ statistics.b) + alpha * np.sqrt(np.maximum(squared_widths, 0.0))
    return bounds
