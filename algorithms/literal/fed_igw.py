"""FedIGW with a linear model, line by line."""

import numpy as np

from algorithms.exchange.literal_protocol import JoiningClient
from algorithms.exchange.literal_schedule import PollingServer
from algorithms.messages import Message, Problem, for_purpose
from algorithms.methods.fed_igw import FedIGW
from algorithms.numerics.literal_statistics import Array, Statistics
from algorithms.numerics.random_numbers import CHOICE
from algorithms.numerics.ties import pick


class FedIGWClient(JoiningClient):
    """It decides with the θ that it was sent last, an estimate from `count` observations."""

    def __init__(self, parameters: FedIGW, number: int, problem: Problem) -> None:
        self.parameters = parameters
        self.theta = np.zeros(problem.dimension)
        self.count = 0
        self.pending = Statistics(problem.dimension)

    def choose(self, contexts: Array, rng: np.random.Generator) -> int:
        """Take the smallest k with u < p_1 + … + p_k, or else the last arm."""
        estimates = contexts @ self.theta
        probabilities = self.probabilities(estimates, pick(estimates, rng))
        is_above = for_purpose(rng, CHOICE).random() < np.cumsum(probabilities)
        return int(np.argmax(is_above)) if is_above.any() else len(contexts) - 1

    def probabilities(self, estimates: Array, best: int) -> Array:
        """Return p_k: by the rule for all arms but the best, which has the rest; softmax needs no best arm."""
        p, arms = self.parameters, len(estimates)
        if p.rule == "softmax":
            probabilities: Array = np.exp(p.sharpness * (estimates - estimates.max()))
            probabilities /= probabilities.sum()
            return probabilities
        if p.rule == "igw":
            g = p.sharpness * np.sqrt(arms * self.count / len(self.theta))
            probabilities = 1 / (arms + g * np.maximum(estimates[best] - estimates, 0))
        else:
            probabilities = np.full(arms, min(1, 1 / max(p.sharpness, 1)) / arms)
        probabilities[best] = 1 - np.delete(probabilities, best).sum()
        return probabilities

    def learn(self, context: Array, reward: float) -> list[Message]:
        """ΔV_i, Δb_i += (x, y)."""
        self.pending.observe(context, reward)
        return []

    def receive(self, message: Message) -> list[Message]:
        """Answer a poll with new data, without values if there are none; keep a download."""
        if message.kind == "poll":
            answer = self.pending.message("upload") if self.pending.count else Message("nothing")
            self.pending.clear()
            return [answer]
        self.theta, self.count = message.values, message.count
        return []


class FedIGWServer(PollingServer):
    """It polls after the last step of each epoch."""

    def __init__(self, parameters: FedIGW, problem: Problem) -> None:
        super().__init__()
        self.parameters = parameters
        self.state = Statistics(problem.dimension)
        self.epoch = 1
        self.steps_of_epoch = 0

    def poll_after(self, step: int) -> Message | None:
        """Count steps; epoch l has min(2^l, longest) of them."""
        self.steps_of_epoch += 1
        if self.steps_of_epoch < min(2**self.epoch, self.parameters.longest):
            return None
        self.epoch, self.steps_of_epoch = self.epoch + 1, 0
        return Message("poll")

    def collect(self, answer: Message) -> None:
        """V, b, n += Σ."""
        if answer.values.size:
            self.state.add(Statistics.of(answer, len(self.state.b)))

    def conclude(self) -> Message:
        """θ = θ̂(V, b)."""
        return Message("download", self.state.ridge_estimate(self.parameters.ridge), self.state.count)

    def greeting(self) -> list[Message]:
        """A client that joins is sent the current θ, unless n = 0: `state` changes together with θ."""
        return [self.conclude()] if self.state.count else []
