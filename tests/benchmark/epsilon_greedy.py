"""Example of an algorithm added in plain Python: ε-greedy ridge regression with periodic exchange."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from algorithms.numerics.ties import pick
from algorithms.trace import Transfers


@dataclass
class EpsilonGreedy:
    """Every client uploads its new data and downloads the data of all clients after every `period` observations."""

    epsilon: float = 0.05
    period: int = 10

    def start(self, client_ids: NDArray[np.int64], dimension: int) -> None:
        """Start without data: [V | b] of the server, of each client's model, and of its unsent data."""
        self.server = np.hstack([np.eye(dimension), np.zeros((dimension, 1))])
        self.model = {int(client): self.server.copy() for client in client_ids}
        self.unsent = {int(client): np.zeros_like(self.server) for client in client_ids}
        self.observations = dict.fromkeys(self.model, 0)

    def choose(self, client: int, contexts: NDArray[np.float64], rng: np.random.Generator) -> int:
        """Explore with probability ε, else choose the arm with the best estimate."""
        theta = np.linalg.solve(self.model[client][:, :-1], self.model[client][:, -1])
        return int(rng.integers(len(contexts))) if rng.random() < self.epsilon else pick(contexts @ theta, rng)

    def learn(self, client: int, context: NDArray[np.float64], reward: float) -> Transfers:
        """Add the observation; exchange data after each period, and report the transfers."""
        self.unsent[client] += np.outer(context, [*context, reward])
        self.model[client] += np.outer(context, [*context, reward])
        self.observations[client] += 1
        if self.observations[client] % self.period:
            return Transfers()
        self.server, self.unsent[client] = self.server + self.unsent[client], np.zeros_like(self.server)
        self.model[client] = self.server.copy()
        return Transfers(uploads=[client], downloads=[client])
