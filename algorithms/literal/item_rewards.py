"""The item that earned most when it was chosen, in plain Python."""

from collections import Counter, defaultdict

import numpy as np

from algorithms.literal import LiteralReference
from algorithms.numerics.literal_statistics import Array
from algorithms.numerics.ties import pick
from algorithms.stream import Stream
from algorithms.trace import Transfers


class LiteralItemRewards(LiteralReference):
    """A sum of observed rewards and a number of choices for each item."""

    def read_stream(self, stream: Stream) -> None:
        """Start with empty sums."""
        super().read_stream(stream)
        self.sums: dict[int, float] = defaultdict(float)
        self.chosen: Counter[int] = Counter()

    def choose(self, client: int, contexts: Array, rng: np.random.Generator) -> int:
        """Choose the largest mean."""
        means = [self.sums[int(item)] / (self.chosen[int(item)] + 1) for item in self.pool]
        self.choice = pick(np.array(means), rng)
        return self.choice

    def learn(self, client: int, context: Array, reward: float) -> Transfers:
        """Add the observed reward to those of the chosen item."""
        item = int(self.pool[self.choice])
        self.sums[item] += reward
        self.chosen[item] += 1
        return super().learn(client, context, reward)
