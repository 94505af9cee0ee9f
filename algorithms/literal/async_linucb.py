"""Algorithm 2, Async-LinUCB, line by line, and with the two peculiarities of the published script."""

import numpy as np

from algorithms.exchange.literal_protocol import EventTriggeredClient, EventTriggeredServer
from algorithms.messages import Message, Problem
from algorithms.methods.async_linucb import AsyncLinUCB, AsyncLinUCBAsPublished
from algorithms.numerics.literal_statistics import (
    Array,
    Statistics,
    choose_by_bound,
    confidence_width,
    upper_bounds,
)
from algorithms.numerics.tolerances import TIE


class AsyncLinUCBClient(EventTriggeredClient):
    """The client of Algorithm 2, Async-LinUCB."""

    def __init__(self, parameters: AsyncLinUCB, number: int, problem: Problem) -> None:
        super().__init__(parameters, number, problem)
        self.parameters = parameters

    def choose(self, contexts: Array, rng: np.random.Generator) -> int:
        """Line 8: choose by Eq. 5."""
        return choose_by_bound(contexts, self.model, self.parameters, rng)

    def learn(self, context: Array, reward: float) -> list[Message]:
        """Lines 9-10: update, then communicate."""
        self.observe(context, reward)
        return self.communicate()


class AsyncLinUCBServer(EventTriggeredServer):
    """The server of Algorithm 2."""


class AsyncLinUCBAsPublishedClient(EventTriggeredClient):
    """Async-LinUCB; with `stale_models` a client chooses with the model it had before its latest download."""

    def __init__(self, parameters: AsyncLinUCBAsPublished, number: int, problem: Problem) -> None:
        super().__init__(parameters, number, problem)
        self.parameters = parameters
        self.stored = Statistics(problem.dimension)

    def choose(self, contexts: Array, rng: np.random.Generator) -> int:
        """Line 8, with the stored model, or the first of equal scores."""
        p = self.parameters
        model = self.stored if p.stale_models else self.model
        if not p.first_maximum:
            return choose_by_bound(contexts, model, p, rng)
        scores = upper_bounds(contexts, model, confidence_width(model, p), p.ridge)
        best = scores.max()
        return int(np.flatnonzero(scores >= best - TIE * (1 + abs(best)))[0])

    def learn(self, context: Array, reward: float) -> list[Message]:
        """Lines 9-10; the model is stored before any download."""
        self.observe(context, reward)
        self.stored.clear()
        self.stored.add(self.model)
        return self.communicate()


class AsyncLinUCBAsPublishedServer(EventTriggeredServer):
    """The server of Algorithm 2."""
