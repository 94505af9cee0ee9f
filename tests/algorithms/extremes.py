"""Both extremes of Async-LinUCB, written without thresholds: oracles for γ = 1 and γ = ∞."""

import numpy as np
from numpy.typing import NDArray

from algorithms import AsyncLinUCB, Transfers
from algorithms.numerics.literal_statistics import Array, Statistics, confidence_width, upper_bounds
from algorithms.numerics.ties import pick


class CentralisedLinUCB:
    """The extreme γ = 1: one LinUCB on the data of all clients. A client's first decision is made without data."""

    def __init__(self, parameters: AsyncLinUCB) -> None:
        self.parameters = parameters

    def start(self, client_ids: NDArray[np.int64], dimension: int) -> None:
        """Start with one shared model and no known clients."""
        self.dimension = dimension
        self.models: dict[int, Statistics] = {}
        self.shared = Statistics(dimension)

    def model_of(self, client: int) -> Statistics:
        """Return the shared model; for a new client an empty one."""
        return self.models.get(client, Statistics(self.dimension))

    def choose(self, client: int, contexts: Array, rng: np.random.Generator) -> int:
        """Choose by Eq. 5."""
        p = self.parameters
        model = self.model_of(client)
        alpha = confidence_width(model, p)
        return pick(upper_bounds(contexts, model, alpha, p.ridge), rng)

    def learn(self, client: int, context: Array, reward: float) -> Transfers:
        """All clients learn from every observation."""
        others = [other for other in self.models if other != client]
        is_behind = client not in self.models and bool(others)
        self.models[client] = self.shared
        self.shared.observe(context, reward)
        return Transfers(uploads=[client], downloads=[*others, client] if is_behind else others)


class IndependentLinUCB(CentralisedLinUCB):
    """The extreme γ = ∞: one LinUCB per client, no communication."""

    def learn(self, client: int, context: Array, reward: float) -> Transfers:
        """Only the client itself learns."""
        self.models.setdefault(client, Statistics(self.dimension)).observe(context, reward)
        return Transfers()
