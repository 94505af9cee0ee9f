"""The item that was rewarded most in earlier pools, in plain Python."""

from collections import defaultdict

import numpy as np

from algorithms.literal import LiteralReference
from algorithms.numerics.literal_statistics import Array
from algorithms.numerics.ties import pick
from algorithms.stream import Stream
from algorithms.trace import Transfers


class LiteralMostPopular(LiteralReference):
    """A sum of rewards for each item, or for each client and item."""

    def __init__(self, per_client: bool) -> None:
        self.per_client = per_client

    def read_stream(self, stream: Stream) -> None:
        """Start with empty sums."""
        super().read_stream(stream)
        self.sums: dict[tuple[int | None, int], float] = defaultdict(float)

    def choose(self, client: int, contexts: Array, rng: np.random.Generator) -> int:
        """Choose the largest sum."""
        owner = client if self.per_client else None
        return pick(np.array([self.sums[owner, int(item)] for item in self.pool]), rng)

    def learn(self, client: int, context: Array, reward: float) -> Transfers:
        """Add the rewards of the whole pool, chosen or not."""
        owner = client if self.per_client else None
        for item, expected in zip(self.pool, self.stream.rewards[self.step], strict=True):
            self.sums[owner, int(item)] += float(expected)
        return super().learn(client, context, reward)
