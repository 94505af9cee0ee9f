"""Algorithm 1 in plain NumPy, line by line, as a client and a server: the base of literal methods."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from algorithms.hyperparameters import per_client
from algorithms.messages import Message, Problem
from algorithms.numerics.literal_statistics import Array, Statistics, minus, plus
from algorithms.numerics.tolerances import TRIGGER


class JoiningClient:
    """A client that makes itself known at its first step."""

    has_joined = False

    def arrive(self) -> list[Message]:
        """Join before the first decision."""
        if self.has_joined:
            return []
        self.has_joined = True
        return [Message("join")]


class ServerWithoutSchedule:
    """A server that only answers."""

    def begin_step(self, step: int) -> Sequence[tuple[int, Message]]:
        """Send nothing."""
        return ()

    def end_step(self, step: int) -> Sequence[tuple[int, Message]]:
        """Send nothing."""
        return ()


class EventTriggeredClient(JoiningClient):
    """The client i of Algorithm 1: `model` is {V_i, b_i}, `pending` {ΔV_i, Δb_i}."""

    def __init__(self, parameters: Any, number: int, problem: Problem, dimension: int | None = None) -> None:
        dimension = problem.dimension if dimension is None else dimension
        self.ridge = parameters.ridge
        self.gamma_upload = per_client("gamma_upload", parameters.gamma_upload, problem.clients)[number]
        self.model = Statistics(dimension)
        self.pending = Statistics(dimension)

    def observe(self, x: Array, y: float) -> None:
        """Algorithm 2, line 9."""
        self.model.observe(x, y)
        self.pending.observe(x, y)

    def communicate(self) -> list[Message]:
        """Algorithm 1, lines 2 to 5."""
        if not self.upload_event():
            return []
        upload = self.pending.message("upload")
        self.pending.clear()
        return [upload]

    def upload_event(self) -> bool:
        """Eq. 3: det V_i / det(V_i - ΔV_i) > γ_U. With nothing pending the ratio is exactly 1."""
        if self.pending.count == 0:
            return False
        log_ratio = self.model.log_det(self.ridge) - minus(self.model, self.pending).log_det(self.ridge)
        return log_ratio > math.log(self.gamma_upload) + TRIGGER

    def receive(self, message: Message) -> list[Message]:
        """Lines 8-9: a download is added to the model."""
        self.model.add(Statistics.of(message, len(self.model.b)))
        return []


class EventTriggeredServer(ServerWithoutSchedule):
    """The server of Algorithm 1: `state` is {V_g, b_g}.

    For each client j that has joined, in that order, `agreed` is V_g - ΔV_-j, the state on which server and client
    agree (appendix B): the download buffer {ΔV_-j, Δb_-j} is the difference of both. Uploads of other clients are
    added to V_g and to the buffer, so neither the agreed state nor its determinant changes. A state is never modified,
    only replaced, so clients may agree on the same one.
    """

    def __init__(self, parameters: Any, problem: Problem, dimension: int | None = None) -> None:
        self.ridge, self.welcome = parameters.ridge, parameters.welcome
        gamma_download = per_client("gamma_download", parameters.gamma_download, problem.clients)
        self.log_gamma_download: list[float] = np.log(gamma_download).tolist()
        self.empty = self.state = Statistics(problem.dimension if dimension is None else dimension)
        self.log_det = self.state.log_det(self.ridge)
        self.agreed: dict[int, Statistics] = {}
        self.agreed_log_det: dict[int, float] = {}

    def receive(self, client: int, message: Message) -> list[tuple[int, Message]]:
        """Let a client join, or add its upload and send the downloads that it triggers."""
        if message.kind == "join":
            return self.join(client)
        upload = Statistics.of(message, len(self.state.b))
        self.state = plus(self.state, upload)  # lines 3-4; V_g and all buffers but the client's own grow
        self.log_det = self.state.log_det(self.ridge)
        self.agreed[client] = plus(self.agreed[client], upload)
        self.agreed_log_det[client] = self.agreed[client].log_det(self.ridge)
        return [self.download(other) for other in self.agreed if self.download_event(other)]  # lines 6-7

    def join(self, client: int) -> list[tuple[int, Message]]:
        """Algorithm 2, lines 5-7: the agreed state is empty, so the buffer is the whole server state."""
        self.agreed[client] = self.empty
        self.agreed_log_det[client] = self.empty.log_det(self.ridge)
        return [self.download(client)] if self.welcome and self.state.count else []

    def download_event(self, client: int) -> bool:
        """Eq. 4: det V_g / det(V_g - ΔV_-j) > γ_D. With an empty buffer the ratio is exactly 1."""
        log_ratio = self.log_det - self.agreed_log_det[client]
        return log_ratio > self.log_gamma_download[client] + TRIGGER and self.agreed[client].count < self.state.count

    def download(self, client: int) -> tuple[int, Message]:
        """Lines 8-10: send the buffer, and empty it."""
        undelivered = minus(self.state, self.agreed[client])
        self.agreed[client], self.agreed_log_det[client] = self.state, self.log_det
        return client, undelivered.message("download")
