"""One LinUCB for all steps, in plain NumPy."""

import numpy as np
from numpy.typing import NDArray

from algorithms.methods.centralised_linucb import CentralisedLinUCB
from algorithms.numerics.literal_statistics import Array, Statistics, confidence_width, upper_bounds
from algorithms.numerics.ties import pick
from algorithms.trace import Transfers


class LiteralCentralisedLinUCB:
    """LinUCB with one {V, b} for all clients."""

    def __init__(self, parameters: CentralisedLinUCB) -> None:
        self.parameters = parameters

    def start(self, client_ids: NDArray[np.int64], dimension: int) -> None:
        """Start without observations."""
        self.model = Statistics(dimension)

    def choose(self, client: int, contexts: Array, rng: np.random.Generator) -> int:
        """Choose by Eq. 5."""
        p = self.parameters
        alpha = confidence_width(self.model, p.alpha, p.ridge, p.sigma, p.delta)
        return pick(upper_bounds(contexts, self.model, alpha, p.ridge), rng)

    def learn(self, client: int, context: Array, reward: float) -> Transfers:
        """Learn; send nothing, because all clients are one."""
        self.model.observe(context, reward)
        return Transfers()
