"""The item that was offered most often, in plain Python."""

from collections import Counter

import numpy as np

from algorithms.literal import LiteralReference
from algorithms.numerics.literal_statistics import Array
from algorithms.numerics.ties import pick
from algorithms.stream import Stream
from algorithms.trace import Transfers


class LiteralMostSeen(LiteralReference):
    """A count for each item."""

    def read_stream(self, stream: Stream) -> None:
        """Start with no counts."""
        super().read_stream(stream)
        self.offers: Counter[int] = Counter()

    def choose(self, client: int, contexts: Array, rng: np.random.Generator) -> int:
        """Choose the item offered most often before."""
        return pick(np.array([float(self.offers[int(item)]) for item in self.pool]), rng)

    def learn(self, client: int, context: Array, reward: float) -> Transfers:
        """Count the pool."""
        self.offers.update(int(item) for item in self.pool)
        return super().learn(client, context, reward)
