"""Async-LinUCB-Shrunk, line by line."""

import numpy as np

from algorithms.exchange.literal_protocol import EventTriggeredClient, EventTriggeredServer
from algorithms.messages import Message, Problem
from algorithms.methods.async_linucb_shrunk import AsyncLinUCBShrunk
from algorithms.numerics.literal_statistics import Array, Statistics
from algorithms.numerics.ties import pick


class AsyncLinUCBShrunkClient(EventTriggeredClient):
    """The client: `model` is {V_c, b_c}, exchanged by Algorithm 1; `own` is {V_o, b_o}, never sent nor mixed."""

    def __init__(self, parameters: AsyncLinUCBShrunk, number: int, problem: Problem) -> None:
        super().__init__(parameters, number, problem)
        self.parameters = parameters
        self.own = Statistics(problem.dimension)

    def choose(self, contexts: Array, rng: np.random.Generator) -> int:
        """Maximise xᵀθ_i + α√(xᵀ(V_o + ρI)⁻¹x), with h = θ̂(V_c, b_c) and θ_i = h + (V_o + ρI)⁻¹(b_o - V_o·h)."""
        p, own = self.parameters, self.own
        h = self.model.ridge_estimate(p.ridge)
        inverse = np.linalg.inv(own.V + p.pull * np.eye(len(h)))
        theta = h + inverse @ (own.b - own.V @ h)
        squared_widths = np.einsum("ki,ij,kj->k", contexts, inverse, contexts)
        return pick(contexts @ theta + p.alpha * np.sqrt(np.maximum(squared_widths, 0.0)), rng)

    def learn(self, context: Array, reward: float) -> list[Message]:
        """Add the observation to both, then communicate."""
        self.own.observe(context, reward)
        self.observe(context, reward)
        return self.communicate()


class AsyncLinUCBShrunkServer(EventTriggeredServer):
    """The server of Algorithm 2."""
