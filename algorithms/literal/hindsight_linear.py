"""Ridge regression on all rewards of the stream, in plain NumPy."""

import numpy as np

from algorithms.literal import LiteralReference
from algorithms.numerics.literal_statistics import Array, Statistics
from algorithms.numerics.ties import pick
from algorithms.stream import Stream


class LiteralHindsightLinear(LiteralReference):
    """θ = (Σ x xᵀ + λI)⁻¹ Σ x r over all arms of all pools."""

    def __init__(self, ridge: float) -> None:
        self.ridge = ridge

    def read_stream(self, stream: Stream) -> None:
        """Fit θ."""
        super().read_stream(stream)
        statistics = Statistics(stream.items.shape[1])
        for pool, rewards in zip(stream.pools, stream.rewards, strict=True):
            for item, reward in zip(pool, rewards, strict=True):
                statistics.observe(stream.items[item], float(reward))
        self.theta = statistics.ridge_estimate(self.ridge)

    def choose(self, client: int, contexts: Array, rng: np.random.Generator) -> int:
        """Choose the largest xᵀθ."""
        return pick(contexts @ self.theta, rng)
