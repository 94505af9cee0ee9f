"""Algorithm 1 in plain NumPy, line by line, for the literal methods."""

import math

import numpy as np
from numpy.typing import NDArray

from algorithms.hyperparameters import Threshold, per_client
from algorithms.numerics.literal_statistics import Array, Statistics, minus
from algorithms.numerics.tolerances import TRIGGER
from algorithms.trace import Transfers


class EventTriggeredProtocol:
    """Algorithm 1, and how a new client joins (Algorithm 2, lines 5 to 7)."""

    def __init__(
        self, dimension: int, ridge: float, gamma_upload: dict[int, float], gamma_download: dict[int, float]
    ) -> None:
        self.dimension = dimension
        self.ridge = ridge
        self.gamma_upload = gamma_upload
        self.gamma_download = gamma_download
        self.server = Statistics(dimension)
        self.server_is_empty = True
        self.model: dict[int, Statistics] = {}
        self.pending: dict[int, Statistics] = {}
        self.undelivered: dict[int, Statistics] = {}
        self.has_pending: dict[int, bool] = {}
        self.has_undelivered: dict[int, bool] = {}

    def join(self, client: int) -> None:
        """Lines 5-7: a new client starts from zero; its download buffer is the whole server state."""
        if client in self.model:
            return
        self.model[client] = Statistics(self.dimension)
        self.pending[client] = Statistics(self.dimension)
        self.undelivered[client] = Statistics(self.dimension)
        self.undelivered[client].add(self.server)
        self.has_pending[client] = False
        self.has_undelivered[client] = not self.server_is_empty

    def observe(self, client: int, x: Array, y: float) -> None:
        """Algorithm 2, line 9."""
        self.model[client].observe(x, y)
        self.pending[client].observe(x, y)
        self.has_pending[client] = True

    def communicate(self, client: int) -> Transfers:
        """Algorithm 1; `client` is the acting client i."""
        if not self.upload_event(client):  # line 2
            return Transfers()
        self.server.add(self.pending[client])  # lines 3-4
        self.server_is_empty = False
        for other in self.model:
            if other != client:
                self.undelivered[other].add(self.pending[client])
                self.has_undelivered[other] = True
        self.pending[client].clear()  # line 5
        self.has_pending[client] = False
        downloads = [other for other in self.model if self.download_event(other)]  # lines 6-7
        for other in downloads:
            self.model[other].add(self.undelivered[other])  # lines 8-9
            self.undelivered[other].clear()  # line 10
            self.has_undelivered[other] = False
        return Transfers(uploads=[client], downloads=downloads)

    def upload_event(self, client: int) -> bool:
        """Eq. 3: det V_i / det(V_i - ΔV_i) > γ_U. With nothing pending the ratio is exactly 1."""
        if not self.has_pending[client]:
            return False
        model = self.model[client]
        log_ratio = model.log_det(self.ridge) - minus(model, self.pending[client]).log_det(self.ridge)
        return log_ratio > math.log(self.gamma_upload[client]) + TRIGGER

    def download_event(self, client: int) -> bool:
        """Eq. 4: det V_g / det(V_g - ΔV_-j) > γ_D. With nothing undelivered the ratio is exactly 1."""
        if not self.has_undelivered[client]:
            return False
        agreed_state = minus(self.server, self.undelivered[client])
        log_ratio = self.server.log_det(self.ridge) - agreed_state.log_det(self.ridge)
        return log_ratio > math.log(self.gamma_download[client]) + TRIGGER


def by_client(name: str, value: Threshold | None, client_ids: NDArray[np.int64]) -> dict[int, float]:
    """Return the threshold of each client by its id."""
    values = per_client(name, value, len(client_ids))
    return dict(zip(client_ids.tolist(), values.tolist(), strict=True))
