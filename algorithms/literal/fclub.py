"""FCLUB line by line: clusters of clients, with Algorithm 1 inside each."""

import math
from typing import Any

import numpy as np
from scipy.sparse.csgraph import connected_components

from algorithms.exchange.literal_protocol import JoiningClient, ServerWithoutSchedule
from algorithms.messages import Message, Problem, unpack
from algorithms.numerics.literal_statistics import Array, Statistics, choose_by_bound
from algorithms.numerics.tolerances import EDGE, TRIGGER


def ratio_event(new: Statistics, old: Statistics, gamma: float, ridge: float) -> bool:
    """The ratio test of new over old: det V_new / det V_old > γ. If nothing was added to old, it fails."""
    if new.count == old.count:
        return False
    return new.log_det(ridge) - old.log_det(ridge) > math.log(gamma) + TRIGGER


def total(*parts: Statistics) -> Statistics:
    """Return the sum of statistics."""
    result = Statistics(len(parts[0].b))
    for part in parts:
        result.add(part)
    return result


class FCLUBClient(JoiningClient):
    """A client: `own` is {V_i, b_i}, `model` its copy {S_i, u_i} of its cluster's state, `buffer` {ΔS, Δu}."""

    def __init__(self, parameters: Any, number: int, problem: Problem) -> None:
        self.parameters = parameters
        self.own = Statistics(problem.dimension)
        self.model = Statistics(problem.dimension)
        self.buffer = Statistics(problem.dimension)
        self.rebuilds = 0

    def choose(self, contexts: Array, rng: np.random.Generator) -> int:
        """Choose by the copy of the cluster's state, without the buffer."""
        return choose_by_bound(contexts, self.model, self.parameters, rng)

    def learn(self, context: Array, reward: float) -> list[Message]:
        """Update, then upload the buffer if it changes the copy enough."""
        self.own.observe(context, reward)
        self.buffer.observe(context, reward)
        model = total(self.model, self.buffer)
        if not ratio_event(model, self.model, self.parameters.gamma_upload, self.parameters.ridge):
            return []
        upload = self.buffer.message("upload")
        self.model = model
        self.buffer.clear()
        return [upload]

    def receive(self, message: Message) -> list[Message]:
        """Answer a poll with all own data; replace the copy by a download, whose `count` is the number of rebuilds."""
        if message.kind == "poll":
            return [self.own.message("report")]
        self.model.V, self.model.b = unpack(message.values, len(self.model.b))
        if message.count > self.rebuilds:  # the state of a new cluster has all own data
            self.rebuilds = message.count
            self.buffer.clear()
        return []


class FCLUBServer(ServerWithoutSchedule):
    """The server: `state` is {S_k, u_k} of each cluster, `copy` {S_j, u_j} of each client."""

    def __init__(self, parameters: Any, problem: Problem) -> None:
        self.parameters = parameters
        self.dimension = problem.dimension
        self.cluster: dict[int, int] = {}
        self.copy: dict[int, Statistics] = {}
        self.state: dict[int, Statistics] = {}
        self.reports: dict[int, Statistics] = {}
        self.rebuilds = 0

    def begin_step(self, step: int) -> list[tuple[int, Message]]:
        """Start a phase before steps 1, 3, 7, … (0, 2, 6, … counted from 0): poll all known clients."""
        self.reports = {}
        is_phase = (step + 2).bit_count() == 1
        return [(client, Message("poll")) for client in self.cluster] if is_phase else []

    def receive(self, client: int, message: Message) -> list[tuple[int, Message]]:
        """Let a client join as a cluster of its own, add its upload, or collect the reports of a phase."""
        if message.kind == "join":
            self.cluster[client] = len(self.state)
            self.state[len(self.state)], self.copy[client] = Statistics(self.dimension), Statistics(self.dimension)
            return []
        statistics = Statistics.of(message, self.dimension)
        if message.kind == "upload":
            return self.add(client, statistics)
        self.reports[client] = statistics
        return self.rebuild() if len(self.reports) == len(self.cluster) else []

    def add(self, client: int, upload: Statistics) -> list[tuple[int, Message]]:
        """S_k += ΔS and S_i += ΔS; members whose copy lags too far behind download."""
        state = self.state[self.cluster[client]]
        state.add(upload)
        self.copy[client].add(upload)
        members = [other for other in self.cluster if self.cluster[other] == self.cluster[client]]
        gamma, ridge = self.parameters.gamma_download, self.parameters.ridge
        return [self.download(member) for member in members if ratio_event(state, self.copy[member], gamma, ridge)]

    def rebuild(self) -> list[tuple[int, Message]]:
        """Cluster the clients; unless the clusters are the same as before, rebuild all of them."""
        labels = dict(zip(self.reports, self.components([*self.reports.values()]), strict=True))
        if partition(labels) == partition(self.cluster):
            return []
        self.rebuilds += 1
        self.cluster = labels
        self.state = {
            label: total(*(self.reports[client] for client in labels if labels[client] == label))
            for label in {*labels.values()}
        }
        return [self.download(client) for client in self.cluster]

    def components(self, reports: list[Statistics]) -> list[int]:
        """‖θ̂_i - θ̂_j‖ < distance·(f(n_i) + f(n_j)) is an edge, with f(n) = √((1 + log(1 + n)) / (1 + n))."""
        estimates = np.array([report.ridge_estimate(self.parameters.ridge) for report in reports])
        counts = np.array([report.count for report in reports])
        f = np.sqrt((1 + np.log(1 + counts)) / (1 + counts))
        distances = np.linalg.norm(estimates[:, None] - estimates, axis=2)
        edges = distances < (1 - EDGE) * self.parameters.distance * (f[:, None] + f)
        labels: list[int] = connected_components(edges, directed=False)[1].tolist()
        return labels

    def download(self, client: int) -> tuple[int, Message]:
        """Send the state of the client's cluster."""
        state = self.state[self.cluster[client]]
        self.copy[client] = total(state)
        return client, Message("download", state.message("download").values, self.rebuilds)


def partition(cluster: dict[int, int]) -> set[frozenset[int]]:
    """Return the clusters as sets of clients."""
    return {frozenset(client for client in cluster if cluster[client] == number) for number in cluster.values()}
