"""Mean-LinUCB, line by line."""

import math

import numpy as np

from algorithms.exchange.literal_protocol import JoiningClient, ServerWithoutSchedule
from algorithms.messages import Message, Problem
from algorithms.methods.mean_linucb import MeanLinUCB
from algorithms.numerics.literal_statistics import Array, Statistics, upper_bounds
from algorithms.numerics.ties import pick
from algorithms.numerics.tolerances import TRIGGER


class MeanLinUCBClient(JoiningClient):
    """The client: `own` is {Vo, bo}, `centre` is h, the last download."""

    def __init__(self, parameters: MeanLinUCB, number: int, problem: Problem) -> None:
        self.parameters = parameters
        self.own = Statistics(problem.dimension)
        self.centre = np.zeros(problem.dimension)
        self.uploaded_log_det = self.own.log_det(parameters.pull)

    def choose(self, contexts: Array, rng: np.random.Generator) -> int:
        """Maximise xᵀθ + α√(xᵀ(Vo + ρI)⁻¹x) with θ = h + (Vo + ρI)⁻¹(bo - Vo·h)."""
        residual = Statistics(len(self.centre))
        residual.V, residual.b = self.own.V, self.own.b - self.own.V @ self.centre
        bounds = upper_bounds(contexts, residual, self.parameters.alpha, self.parameters.pull)
        return pick(contexts @ self.centre + bounds, rng)

    def learn(self, context: Array, reward: float) -> list[Message]:
        """Upload θ̂(Vo, bo; ρ) if det Vo over that at the last upload, both with ridge ρ, is above γ."""
        self.own.observe(context, reward)
        log_det = self.own.log_det(self.parameters.pull)
        if log_det - self.uploaded_log_det <= math.log(self.parameters.gamma) + TRIGGER:
            return []
        self.uploaded_log_det = log_det
        return [Message("upload", self.own.ridge_estimate(self.parameters.pull), self.own.count)]

    def receive(self, message: Message) -> list[Message]:
        """A download is the new centre."""
        self.centre = message.values
        return []


class MeanLinUCBServer(ServerWithoutSchedule):
    """The server: `latest` is the last estimate of each client that has sent one."""

    def __init__(self, parameters: MeanLinUCB, problem: Problem) -> None:
        self.latest: dict[int, Array] = {}

    def receive(self, client: int, message: Message) -> list[tuple[int, Message]]:
        """Answer an upload with the mean of all estimates, the new one included."""
        if message.kind == "join":
            return []
        self.latest[client] = message.values
        return [(client, Message("download", np.mean(list(self.latest.values()), axis=0)))]
