"""FedLinUCB, line by line."""

import math

import numpy as np

from algorithms.exchange.literal_protocol import JoiningClient, ServerWithoutSchedule
from algorithms.messages import Message, Problem
from algorithms.methods.fed_linucb import FedLinUCB
from algorithms.numerics.literal_statistics import Array, Statistics, choose_by_bound
from algorithms.numerics.tolerances import TRIGGER


class FedLinUCBClient(JoiningClient):
    """The client: `synced` is {Vm, bm}, the last download; `buffer` is {ΔV, Δb}, its observations since then."""

    def __init__(self, parameters: FedLinUCB, number: int, problem: Problem) -> None:
        self.parameters = parameters
        self.synced = Statistics(problem.dimension)
        self.buffer = Statistics(problem.dimension)

    def choose(self, contexts: Array, rng: np.random.Generator) -> int:
        """Maximise xᵀθ̂(Vm, bm) + α·w(x, Vm); with own data, of {Vm + ΔV, bm + Δb}."""
        model = self.synced_and_buffer() if self.parameters.own_data else self.synced
        return choose_by_bound(contexts, model, self.parameters, rng)

    def learn(self, context: Array, reward: float) -> list[Message]:
        """Add to the buffer; upload and empty it if det(Vm + ΔV) / det Vm > γ."""
        self.buffer.observe(context, reward)
        ridge = self.parameters.ridge
        log_ratio = self.synced_and_buffer().log_det(ridge) - self.synced.log_det(ridge)
        if log_ratio <= math.log(self.parameters.gamma) + TRIGGER:
            return []
        upload = self.buffer.message("upload")
        self.buffer.clear()
        return [upload]

    def receive(self, message: Message) -> list[Message]:
        """A download replaces {Vm, bm}."""
        self.synced = Statistics.of(message, len(self.synced.b))
        return []

    def synced_and_buffer(self) -> Statistics:
        """Return {Vm + ΔV, bm + Δb}."""
        total = Statistics(len(self.synced.b))
        total.add(self.synced)
        total.add(self.buffer)
        return total


class FedLinUCBServer(ServerWithoutSchedule):
    """The server: `state` is {Vs, bs}."""

    def __init__(self, parameters: FedLinUCB, problem: Problem) -> None:
        self.welcome = parameters.welcome
        self.state = Statistics(problem.dimension)

    def receive(self, client: int, message: Message) -> list[tuple[int, Message]]:
        """Add an upload and send the state back; with welcome, also answer a client that joins, if there are data."""
        if message.kind == "upload":
            self.state.add(Statistics.of(message, len(self.state.b)))
        elif not self.welcome or self.state.count == 0:
            return []
        return [(client, self.state.message("download"))]
