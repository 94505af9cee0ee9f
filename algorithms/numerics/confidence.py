"""The parameters of confidence bounds, as kernels take them."""

import math
from typing import Any, NamedTuple


class Confidence(NamedTuple):
    """The parameters of the width of a confidence bound: α (NaN for the formula), λ, σ and δ."""

    alpha: float
    ridge: float
    sigma: float
    delta: float


def confidence_of(algorithm: Any, extra_sigma: float = 0.0) -> Confidence:
    """Encode α, λ, σ and δ for a kernel; α is NaN for "theory"."""
    alpha = math.nan if algorithm.alpha == "theory" else float(algorithm.alpha)
    return Confidence(alpha, algorithm.ridge, algorithm.sigma + extra_sigma, algorithm.delta)
