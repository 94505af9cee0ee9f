"""Algorithm 2, Async-LinUCB, line by line."""

from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from algorithms.exchange.literal_protocol import EventTriggeredProtocol, by_client
from algorithms.methods.async_linucb import AsyncLinUCB
from algorithms.numerics.literal_statistics import Array, confidence_width, upper_bounds
from algorithms.numerics.ties import pick
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
