"""An item new to this client, then the most seen, in plain Python."""

from collections import Counter

import numpy as np

from algorithms.literal import LiteralReference
from algorithms.numerics.literal_statistics import Array
from algorithms.numerics.ties import pick
from algorithms.stream import Stream
from algorithms.trace import Transfers


class LiteralNeverOffered(LiteralReference):
    """A count for each item, and the set of pairs (client, item) offered so far."""

    def read_stream(self, stream: Stream) -> None:
        """Start with no counts."""
        super().read_stream(stream)
        self.offers: Counter[int] = Counter()
        self.offered: set[tuple[int, int]] = set()

    def choose(self, client: int, contexts: Array, rng: np.random.Generator) -> int:
        """Choose the most seen of the new items; of all items if none is new."""
        new = [(client, int(item)) not in self.offered for item in self.pool]
        candidates = new if any(new) else [True] * len(new)
        counts = [float(self.offers[int(item)]) for item in self.pool]
        return pick(np.where(candidates, counts, -np.inf), rng)

    def learn(self, client: int, context: Array, reward: float) -> Transfers:
        """Count and mark the pool."""
        self.offers.update(int(item) for item in self.pool)
        self.offered.update((client, int(item)) for item in self.pool)
        return super().learn(client, context, reward)
