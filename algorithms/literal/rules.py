"""The rules in plain Python."""

import math
from collections import Counter, defaultdict

import numpy as np

from algorithms.method import Method
from algorithms.methods.rules import HindsightLinear, MostPopular
from algorithms.numerics.literal_statistics import Array, Statistics
from algorithms.numerics.ties import pick
from algorithms.stream import Stream
from algorithms.trace import Transfers


class LiteralRule:
    """A rule reads the stream itself, which no contender may: the items behind the offered features.

    `sums` are sums of rewards, `counts` numbers of offers or choices, both by item or by whatever the rule needs.
    """

    role = "reference"

    def __init__(self, method: Method) -> None:
        self.method = method

    def read_stream(self, stream: Stream) -> None:
        """Start with empty tables."""
        self.stream, self.step = stream, 0
        self.sums: dict[object, float] = defaultdict(float)
        self.counts: Counter[object] = Counter()

    @property
    def pool(self) -> list[int]:
        """The items offered at this step."""
        return [int(item) for item in self.stream.offered_items[self.step]]

    @property
    def rows(self) -> list[int]:
        """The rows of their features."""
        return [int(row) for row in self.stream.pools[self.step]]

    def choose(self, client: int, contexts: Array, rng: np.random.Generator) -> int:
        """Choose the largest score."""
        self.choice = pick(np.array(self.scores(client), dtype=np.float64), rng)
        return self.choice

    def learn(self, client: int, context: Array, reward: float) -> Transfers:
        """Change the tables and go on to the next step; send nothing."""
        self.update(client, reward)
        self.step += 1
        return Transfers()

    def scores(self, client: int) -> list[float]:
        """Return the score of each item of the pool."""
        raise NotImplementedError

    def update(self, client: int, reward: float) -> None:
        """Change the tables after the choice; `reward` is the observed one."""


class LiteralRandomChoice(LiteralRule):
    """A tie between all arms."""

    def scores(self, client: int) -> list[float]:
        """All items are equal."""
        return [0.0 for _ in self.pool]


class LiteralMostPopular(LiteralRule):
    """A sum of rewards for each item, or for each client and item."""

    method: MostPopular

    def scores(self, client: int) -> list[float]:
        """The sums so far."""
        owner = client if self.method.per_client else None
        return [self.sums[owner, item] for item in self.pool]

    def update(self, client: int, reward: float) -> None:
        """Add the rewards of the whole pool, chosen or not."""
        owner = client if self.method.per_client else None
        for item, expected in zip(self.pool, self.stream.rewards[self.step], strict=True):
            self.sums[owner, item] += float(expected)


class LiteralMostSeen(LiteralRule):
    """A count for each item."""

    def scores(self, client: int) -> list[float]:
        """The offers so far."""
        return [self.counts[item] for item in self.pool]

    def update(self, client: int, reward: float) -> None:
        """Count the pool."""
        self.counts.update(self.pool)


class LiteralNeverOffered(LiteralMostSeen):
    """A count for each item, and for each client and item."""

    def scores(self, client: int) -> list[float]:
        """The offers so far, only of items that are new to the client if there are any."""
        new = [self.counts[client, item] == 0 for item in self.pool]
        counts = super().scores(client)
        return [count if is_new or not any(new) else -np.inf for count, is_new in zip(counts, new, strict=True)]

    def update(self, client: int, reward: float) -> None:
        """Count the pool, also for this client."""
        super().update(client, reward)
        self.counts.update((client, item) for item in self.pool)


class LiteralItemRewards(LiteralRule):
    """A sum of observed rewards and a number of choices for each item."""

    def scores(self, client: int) -> list[float]:
        """The means of an item's own rewards, and of one reward of 0."""
        return [self.sums[item] / (self.counts[item] + 1) for item in self.pool]

    def update(self, client: int, reward: float) -> None:
        """Add the observed reward to those of the chosen item."""
        item = self.pool[self.choice]
        self.sums[item] += reward
        self.counts[item] += 1


class LiteralHindsightLinear(LiteralRule):
    """θ = (Σ x xᵀ + λI)⁻¹ Σ x r over all arms of all pools."""

    method: HindsightLinear

    def read_stream(self, stream: Stream) -> None:
        """Fit θ."""
        super().read_stream(stream)
        statistics = Statistics(stream.items.shape[1])
        for pool, rewards in zip(stream.pools, stream.rewards, strict=True):
            for item, reward in zip(pool, rewards, strict=True):
                statistics.observe(stream.items[item], float(reward))
        self.theta = statistics.ridge_estimate(self.method.ridge)

    def scores(self, client: int) -> list[float]:
        """xᵀθ."""
        scores: list[float] = (self.stream.items[self.rows] @ self.theta).tolist()
        return scores


class LiteralRocchio(LiteralRule):
    """Σ x·y of each client."""

    def read_stream(self, stream: Stream) -> None:
        """Start with zeros."""
        super().read_stream(stream)
        self.profiles: dict[int, Array] = defaultdict(lambda: np.zeros(stream.items.shape[1]))

    def scores(self, client: int) -> list[float]:
        """xᵀ Σ x·y."""
        return [float(self.stream.items[row] @ self.profiles[client]) for row in self.rows]

    def update(self, client: int, reward: float) -> None:
        """Add the choice to those of this client."""
        self.profiles[client] += self.stream.items[self.rows[self.choice]] * reward


class LiteralHeldOutPopularity(LiteralRule):
    """The held-out users of each item."""

    def scores(self, client: int) -> list[float]:
        """Their number."""
        assert self.stream.held_out_count is not None
        return [float(self.stream.held_out_count[item]) for item in self.pool]


class LiteralHeldOutLikes(LiteralRule):
    """The held-out users of each item, and those who liked it."""

    def scores(self, client: int) -> list[float]:
        """The share of likes, with five users of the mean share."""
        count, likes = self.stream.held_out_count, self.stream.held_out_likes
        assert count is not None
        assert likes is not None
        mean = float(likes.sum()) / max(float(count.sum()), 1.0)
        return [(float(likes[item]) + 5.0 * mean) / (float(count[item]) + 5.0) for item in self.pool]


class LiteralCosinePopularity(LiteralRule):
    """The features of pairs, x = (2·p∘q, constant, popularity) / √5, and the held-out users of each item."""

    def scores(self, client: int) -> list[float]:
        """p·q + log(1+n) / max log(1+n)."""
        count = self.stream.held_out_count
        assert count is not None
        largest = max(math.log1p(count.max()), 1e-300)
        cosines = [float(sum(self.stream.items[row][:-2])) * math.sqrt(5.0) / 2.0 for row in self.rows]
        popularity = [math.log1p(count[item]) / largest for item in self.pool]
        return [cosine + popular for cosine, popular in zip(cosines, popularity, strict=True)]
