"""Algorithm 4, Sync-LinUCB, line by line, and one LinUCB for all steps."""

import numpy as np
from numpy.typing import NDArray

from algorithms.methods.sync_linucb import CentralisedLinUCB, SyncLinUCB
from algorithms.numerics.literal_statistics import Array, Statistics, confidence_width, minus, upper_bounds
from algorithms.numerics.ties import pick
from algorithms.numerics.tolerances import TRIGGER
from algorithms.trace import Transfers


class LiteralSyncLinUCB:
    """Algorithm 4, Sync-LinUCB. Correction: ΔV is added to the server before it is reset, not after."""

    def __init__(self, parameters: SyncLinUCB) -> None:
        self.parameters = parameters

    def start(self, client_ids: NDArray[np.int64], dimension: int) -> None:
        """Line 2."""
        self.dimension = dimension
        self.server = Statistics(dimension)
        self.model: dict[int, Statistics] = {}
        self.pending: dict[int, Statistics] = {}
        self.steps_since_sync: dict[int, int] = {}

    def choose(self, client: int, contexts: Array, rng: np.random.Generator) -> int:
        """Lines 4-8."""
        p = self.parameters
        if client not in self.model:
            self.model[client] = Statistics(self.dimension)
            self.pending[client] = Statistics(self.dimension)
            self.steps_since_sync[client] = 0
        model = self.model[client]
        alpha = confidence_width(model, p.alpha, p.ridge, p.sigma, p.delta)
        return pick(upper_bounds(contexts, model, alpha, p.ridge), rng)

    def learn(self, client: int, context: Array, reward: float) -> Transfers:
        """Lines 9-19: update; if Δt·log(det V_i / det(V_i - ΔV_i)) > D, all known clients upload, then download."""
        model, pending = self.model[client], self.pending[client]
        model.observe(context, reward)
        pending.observe(context, reward)
        self.steps_since_sync[client] += 1
        ridge, threshold = self.parameters.ridge, self.parameters.threshold
        log_ratio = model.log_det(ridge) - minus(model, pending).log_det(ridge)
        if not self.steps_since_sync[client] * log_ratio > threshold + TRIGGER * (1 + threshold):
            return Transfers()
        without_data = [other for other in self.model if self.steps_since_sync[other] == 0]
        for other in self.model:
            self.server.add(self.pending[other])
            self.pending[other].clear()
            self.steps_since_sync[other] = 0
        for other in self.model:
            self.model[other].clear()
            self.model[other].add(self.server)
        return Transfers(uploads=list(self.model), downloads=list(self.model), empty_uploads=without_data)


class LiteralCentralisedLinUCB:
    """LinUCB with one {V, b} for all clients."""

    def __init__(self, parameters: CentralisedLinUCB) -> None:
        self.parameters = parameters

    def start(self, client_ids: NDArray[np.int64], dimension: int) -> None:
        """Start without observations."""
        self.model = Statistics(dimension)

    def choose(self, client: int, contexts: Array, rng: np.random.Generator) -> int:
        """Choose by Eq. 5."""
        p = self.parameters
        alpha = confidence_width(self.model, p.alpha, p.ridge, p.sigma, p.delta)
        return pick(upper_bounds(contexts, self.model, alpha, p.ridge), rng)

    def learn(self, client: int, context: Array, reward: float) -> Transfers:
        """Learn; send nothing, because all clients are one."""
        self.model.observe(context, reward)
        return Transfers()
