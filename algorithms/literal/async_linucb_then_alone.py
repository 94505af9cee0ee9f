"""Async-LinUCB, then alone, line by line: Algorithm 2 for a while."""

import numpy as np

from algorithms.exchange.literal_protocol import EventTriggeredClient, EventTriggeredServer
from algorithms.messages import Message, Problem
from algorithms.methods.async_linucb_then_alone import AsyncLinUCBThenAlone
from algorithms.numerics.literal_statistics import Array, Statistics, choose_by_bound


class AsyncLinUCBThenAloneClient(EventTriggeredClient):
    """The client: `model` is that of Algorithm 1, `own` has all its own observations."""

    def __init__(self, parameters: AsyncLinUCBThenAlone, number: int, problem: Problem) -> None:
        super().__init__(parameters, number, problem)
        self.parameters = parameters
        self.own = Statistics(problem.dimension)

    def arrive(self) -> list[Message]:
        """Join; with τ = 0 leave at once."""
        messages = super().arrive()
        return [*messages, Message("leave")] if messages and self.parameters.share_for == 0 else messages

    def choose(self, contexts: Array, rng: np.random.Generator) -> int:
        """Choose by Eq. 5: after τ observations with its own only, or with the model that it had, and its own since."""
        p = self.parameters
        is_alone = self.own.count >= p.share_for
        return choose_by_bound(contexts, self.own if is_alone and p.keep == "own" else self.model, p, rng)

    def learn(self, context: Array, reward: float) -> list[Message]:
        """Update; then communicate, or after the τ-th observation leave."""
        self.observe(context, reward)
        self.own.observe(context, reward)
        if self.own.count < self.parameters.share_for:
            return self.communicate()
        return [Message("leave")] if self.own.count == self.parameters.share_for else []


class AsyncLinUCBThenAloneServer(EventTriggeredServer):
    """The server of Algorithm 2, which forgets clients that leave."""

    def receive(self, client: int, message: Message) -> list[tuple[int, Message]]:
        """Drop the buffer of a client that leaves; otherwise as in Algorithm 1."""
        if message.kind != "leave":
            return super().receive(client, message)
        del self.agreed[client], self.agreed_log_det[client]
        return []
