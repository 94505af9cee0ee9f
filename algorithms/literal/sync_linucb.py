"""Algorithm 4, Sync-LinUCB, line by line; DisLinUCB, which has another clock; and one LinUCB for all steps."""

import numpy as np
from numpy.typing import NDArray

from algorithms.exchange.literal_protocol import JoiningClient, ServerWithoutSchedule
from algorithms.messages import Message, Problem
from algorithms.methods.sync_linucb import CentralisedLinUCB, DisLinUCB, SyncLinUCB
from algorithms.numerics.literal_statistics import Array, Statistics, choose_by_bound, minus
from algorithms.numerics.tolerances import TRIGGER
from algorithms.trace import Transfers


class SyncLinUCBClient(JoiningClient):
    """The client of Algorithm 4. Correction: ΔV is added to the server before it is reset, not after.

    With `clock="rounds"`, the server tells the number of steps since the last synchronisation, this one included, and
    the number of known clients; their ratio replaces the client's own clock Δt.
    """

    def __init__(self, parameters: SyncLinUCB | DisLinUCB, number: int, problem: Problem) -> None:
        self.parameters = parameters
        self.model = Statistics(problem.dimension)
        self.pending = Statistics(problem.dimension)
        self.rounds = self.known = 0

    def arrive(self) -> list[Message]:
        """Lines 5-7; only the server knows the clock of the rounds."""
        return [*super().arrive(), *([Message("ask")] if self.parameters.clock == "rounds" else [])]

    def choose(self, contexts: Array, rng: np.random.Generator) -> int:
        """Line 8: choose by Eq. 5."""
        return choose_by_bound(contexts, self.model, self.parameters, rng)

    def learn(self, context: Array, reward: float) -> list[Message]:
        """Lines 9-10: update, then request a synchronisation if Δt·log(det V_i / det(V_i - ΔV_i)) > D."""
        self.model.observe(context, reward)
        self.pending.observe(context, reward)
        ridge, threshold = self.parameters.ridge, self.parameters.threshold
        log_ratio = self.model.log_det(ridge) - minus(self.model, self.pending).log_det(ridge)
        waited = self.rounds / self.known if self.parameters.clock == "rounds" else self.pending.count
        return [Message("request")] if waited * log_ratio > threshold + TRIGGER * (1 + threshold) else []

    def receive(self, message: Message) -> list[Message]:
        """Lines 11-18: answer a poll with what is pending; replace the model by a download."""
        if message.kind == "steps":
            self.rounds = message.count
        elif message.kind == "known":
            self.known = message.count
        elif message.kind == "poll":
            upload = self.pending.message("upload")
            self.pending.clear()
            return [upload]
        else:
            self.model = Statistics.of(message, len(self.model.b))
        return []


class SyncLinUCBServer(ServerWithoutSchedule):
    """The server of Algorithm 4."""

    def __init__(self, parameters: SyncLinUCB | DisLinUCB, problem: Problem) -> None:
        self.parameters = parameters
        self.state = Statistics(problem.dimension)
        self.known: list[int] = []
        self.awaited = 0
        self.step = 0
        self.first_step_of_round = 0

    def begin_step(self, step: int) -> list[tuple[int, Message]]:
        """Keep the number of the step."""
        self.step = step
        return []

    def receive(self, client: int, message: Message) -> list[tuple[int, Message]]:
        """Lines 11-18: on a request all known clients upload; after the last upload all download."""
        if message.kind == "join":
            self.known.append(client)
            return [self.download(client)] if self.parameters.welcome and self.state.count else []
        if message.kind == "ask":
            steps = Message("steps", count=self.step - self.first_step_of_round + 1)
            return [(client, steps), (client, Message("known", count=len(self.known)))]
        if message.kind == "request":
            self.awaited = len(self.known)
            return [(other, Message("poll")) for other in self.known]
        self.state.add(Statistics.of(message, len(self.state.b)))
        self.awaited -= 1
        if self.awaited:
            return []
        self.first_step_of_round = self.step + 1
        return [self.download(other) for other in self.known]

    def download(self, client: int) -> tuple[int, Message]:
        """Send the server's state."""
        return client, self.state.message("download")


class DisLinUCBClient(SyncLinUCBClient):
    """The client of DisLinUCB: that of Algorithm 4 with the clock of the rounds."""


class DisLinUCBServer(SyncLinUCBServer):
    """The server of DisLinUCB."""


class LiteralCentralisedLinUCB:
    """LinUCB with one {V, b} for all clients."""

    def __init__(self, parameters: CentralisedLinUCB) -> None:
        self.parameters = parameters

    def start(self, client_ids: NDArray[np.int64], dimension: int) -> None:
        """Start without observations."""
        self.model = Statistics(dimension)

    def choose(self, client: int, contexts: Array, rng: np.random.Generator) -> int:
        """Choose by Eq. 5."""
        return choose_by_bound(contexts, self.model, self.parameters, rng)

    def learn(self, client: int, context: Array, reward: float) -> Transfers:
        """Learn; send nothing, because all clients are one."""
        self.model.observe(context, reward)
        return Transfers()
