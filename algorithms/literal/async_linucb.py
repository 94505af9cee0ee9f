"""Algorithm 2, Async-LinUCB, line by line, and with the two peculiarities of the published script."""

from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from algorithms.exchange.literal_protocol import EventTriggeredProtocol, by_client
from algorithms.methods.async_linucb import AsyncLinUCB, AsyncLinUCBAsPublished
from algorithms.numerics.literal_statistics import Array, Statistics, confidence_width, upper_bounds
from algorithms.numerics.ties import pick
from algorithms.numerics.tolerances import TIE
from algorithms.trace import Transfers

Parameters = TypeVar("Parameters", bound=AsyncLinUCB)


class LiteralAsyncLinUCB(Generic[Parameters]):
    """Algorithm 2, Async-LinUCB."""

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters

    def start(self, client_ids: NDArray[np.int64], dimension: int) -> None:
        """Line 2."""
        self.protocol = EventTriggeredProtocol(
            dimension,
            self.parameters.ridge,
            by_client("gamma_upload", self.parameters.gamma_upload, client_ids),
            by_client("gamma_download", self.parameters.gamma_download, client_ids),
        )

    def choose(self, client: int, contexts: Array, rng: np.random.Generator) -> int:
        """Lines 4-8: join if new, then choose by Eq. 5."""
        p = self.parameters
        self.protocol.join(client)
        model = self.protocol.model[client]
        alpha = confidence_width(model, p.alpha, p.ridge, p.sigma, p.delta)
        return pick(upper_bounds(contexts, model, alpha, p.ridge), rng)

    def learn(self, client: int, context: Array, reward: float) -> Transfers:
        """Lines 9-10: update the client, then communicate."""
        self.protocol.observe(client, context, reward)
        return self.protocol.communicate(client)


class LiteralAsyncLinUCBAsPublished(LiteralAsyncLinUCB[AsyncLinUCBAsPublished]):
    """Async-LinUCB; with `stale_models` a client chooses with the model it had before its latest download."""

    def start(self, client_ids: NDArray[np.int64], dimension: int) -> None:
        """Line 2; no client has a stored model yet."""
        super().start(client_ids, dimension)
        self.stored: dict[int, Statistics] = {}

    def choose(self, client: int, contexts: Array, rng: np.random.Generator) -> int:
        """Lines 4-8, with the stored model, or the first of equal scores."""
        p = self.parameters
        self.protocol.join(client)
        model = self.protocol.model[client]
        if p.stale_models:
            model = self.stored.setdefault(client, Statistics(contexts.shape[1]))
        alpha = confidence_width(model, p.alpha, p.ridge, p.sigma, p.delta)
        scores = upper_bounds(contexts, model, alpha, p.ridge)
        if not p.first_maximum:
            return pick(scores, rng)
        best = scores.max()
        return int(np.flatnonzero(scores >= best - TIE * (1 + abs(best)))[0])

    def learn(self, client: int, context: Array, reward: float) -> Transfers:
        """Lines 9-10; the model is stored before any download."""
        self.protocol.observe(client, context, reward)
        self.stored[client] = Statistics(len(context))
        self.stored[client].add(self.protocol.model[client])
        return self.protocol.communicate(client)
