"""A uniformly random arm, in plain Python."""

import numpy as np

from algorithms.numerics.literal_statistics import Array
from algorithms.numerics.ties import pick
from algorithms.trace import Transfers


class LiteralRandomChoice:
    """A uniformly random arm."""

    def choose(self, client: int, contexts: Array, rng: np.random.Generator) -> int:
        """Break a tie between all arms."""
        return pick(np.zeros(len(contexts)), rng)

    def learn(self, client: int, context: Array, reward: float) -> Transfers:
        """Learn nothing and send nothing."""
        return Transfers()
