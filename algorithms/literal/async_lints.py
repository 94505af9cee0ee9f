"""Async-LinTS, line by line: Algorithm 2 with Thompson sampling in line 8."""

import math

import numpy as np

from algorithms.exchange.literal_protocol import EventTriggeredClient, EventTriggeredServer
from algorithms.messages import Message, Problem, for_purpose
from algorithms.methods.async_lints import AsyncLinTS
from algorithms.numerics.literal_statistics import Array
from algorithms.numerics.random_numbers import THOMPSON, normals
from algorithms.numerics.ties import pick


class AsyncLinTSClient(EventTriggeredClient):
    """The client of Async-LinTS."""

    def __init__(self, parameters: AsyncLinTS, number: int, problem: Problem) -> None:
        super().__init__(parameters, number, problem)
        self.parameters = parameters

    def choose(self, contexts: Array, rng: np.random.Generator) -> int:
        """With V_i(λ) = LLᵀ and one standard normal z for the whole pool, maximise xᵀθ̂_i + v·(L⁻¹x)ᵀz."""
        d = len(self.model.b)
        z = normals(for_purpose(rng, THOMPSON), d)
        L = np.linalg.cholesky(self.model.V + self.ridge * np.eye(d))
        means = contexts @ self.model.ridge_estimate(self.ridge)
        return pick(means + self.scale() * (z @ np.linalg.solve(L, contexts.T)), rng)

    def scale(self) -> float:
        """Return v: a fixed number, or σ√(9d·log(max(n_i, 2)/δ))."""
        p = self.parameters
        if p.v != "theory":
            return p.v
        return p.sigma * math.sqrt(9 * len(self.model.b) * math.log(max(self.model.count, 2) / p.delta))

    def learn(self, context: Array, reward: float) -> list[Message]:
        """Algorithm 2, lines 9-10: update, then communicate."""
        self.observe(context, reward)
        return self.communicate()


class AsyncLinTSServer(EventTriggeredServer):
    """The server of Algorithm 2."""
