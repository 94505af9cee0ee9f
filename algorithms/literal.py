"""The paper's Algorithms 1 to 5 in plain NumPy, line by line and without optimisation: documentation and oracle.

Names stand for the paper's symbols: `model` is {V_i, b_i}, `pending` {ΔV_i, Δb_i}, `server` {V_g, b_g},
`undelivered` {ΔV_-j, Δb_-j}, `ridge` λ. Every determinant is that of the matrix plus λI. Errors in the paper's
pseudo-code are corrected where a docstring says so. `literal(algorithm)` returns the learner of these
hyper-parameters for `replay`.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from algorithms.hyperparameters import Alpha, Threshold, per_client
from algorithms.methods.async_linucb import AsyncLinUCB
from algorithms.methods.async_linucb_am import AsyncLinUCBAM
from algorithms.methods.random_choice import RandomChoice
from algorithms.methods.sync_linucb import SyncLinUCB
from algorithms.numerics.ties import pick
from algorithms.numerics.tolerances import AM_SETTLED, AM_STOP, RANK, TRIGGER
from algorithms.trace import Transfers

Array = NDArray[Any]


class Statistics:
    """The sufficient statistics {V, b}."""

    def __init__(self, dimension: int) -> None:
        self.V = np.zeros((dimension, dimension))
        self.b = np.zeros(dimension)

    def observe(self, x: Array, y: float) -> None:
        """V += x xᵀ, b += x y."""
        self.V += np.outer(x, x)
        self.b += x * y

    def add(self, other: "Statistics") -> None:
        """V += V', b += b'."""
        self.V += other.V
        self.b += other.b

    def clear(self) -> None:
        """V = 0, b = 0."""
        self.V[:] = 0
        self.b[:] = 0

    def log_det(self, ridge: float) -> float:
        """Return log det(V + λI)."""
        return float(np.linalg.slogdet(self.V + ridge * np.eye(len(self.b)))[1])

    def ridge_estimate(self, ridge: float) -> Array:
        """θ̂(λ) = (V + λI)⁻¹ b."""
        return np.linalg.solve(self.V + ridge * np.eye(len(self.b)), self.b)


def minus(left: Statistics, right: Statistics) -> Statistics:
    """{V - V', b - b'}."""
    difference = Statistics(len(left.b))
    difference.V = left.V - right.V
    difference.b = left.b - right.b
    return difference


def confidence_width(statistics: Statistics, alpha: Alpha, ridge: float, sigma: float, delta: float) -> float:
    """α: a fixed number, or σ·√(log(det V(λ) / det λI) + 2 log(1/δ)) + √λ (after Eq. 5)."""
    if alpha != "theory":
        return float(alpha)
    log_ratio = statistics.log_det(ridge) - len(statistics.b) * math.log(ridge)
    return sigma * math.sqrt(max(log_ratio, 0.0) + 2 * math.log(1 / delta)) + math.sqrt(ridge)


def upper_bounds(contexts: Array, statistics: Statistics, alpha: float, ridge: float) -> Array:
    """Eq. 5: xᵀθ̂(λ) + α·‖x‖ in the norm of V(λ)⁻¹, for each row x."""
    inverse = np.linalg.inv(statistics.V + ridge * np.eye(len(statistics.b)))
    squared_widths = np.einsum("ki,ij,kj->k", contexts, inverse, contexts)
    bounds: Array = contexts @ (inverse @ statistics.b) + alpha * np.sqrt(np.maximum(squared_widths, 0.0))
    return bounds


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


def _by_client(name: str, value: Threshold | None, client_ids: NDArray[np.int64]) -> dict[int, float]:
    values = per_client(name, value, len(client_ids))
    return dict(zip(client_ids.tolist(), values.tolist(), strict=True))


class LiteralAsyncLinUCB:
    """Algorithm 2, Async-LinUCB."""

    def __init__(self, parameters: AsyncLinUCB) -> None:
        self.parameters = parameters

    def start(self, client_ids: NDArray[np.int64], dimension: int) -> None:
        """Line 2."""
        self.protocol = EventTriggeredProtocol(
            dimension,
            self.parameters.ridge,
            _by_client("gamma_upload", self.parameters.gamma_upload, client_ids),
            _by_client("gamma_download", self.parameters.gamma_download, client_ids),
        )

    def choose(self, client: int, contexts: Array, rng: np.random.Generator) -> int:
        """Lines 4-8: join if new, then choose by Eq. 5."""
        p = self.parameters
        self.protocol.join(client)
        model = self.protocol.model[client]
        alpha = confidence_width(model, p.alpha, p.ridge, p.sigma, p.delta)
        return pick(upper_bounds(contexts, model, alpha, p.ridge), rng)

    def learn(self, client: int, context: Array, reward: float) -> Transfers:
        """Lines 9-10: update the client, then communicate."""
        self.protocol.observe(client, context, reward)
        return self.protocol.communicate(client)


def pseudo_inverse(V: Array) -> Array:
    """(·)⁻, the Moore-Penrose inverse."""
    return np.linalg.pinv(V, rcond=RANK, hermitian=True) if V.size else V


def rank(V: Array) -> int:
    """Return the rank of a Gram matrix, with the same tolerance as `pseudo_inverse`."""
    eigenvalues = np.linalg.eigvalsh(V)
    return int((eigenvalues > RANK * eigenvalues[-1]).sum())


def project(theta: Array) -> Array:
    """Project onto the unit ball."""
    return theta / max(float(np.linalg.norm(theta)), 1.0)


class LiteralAsyncLinUCBAM:
    """Algorithm 3, Async-LinUCB-AM; with `warm_start`, Algorithm 5."""

    def __init__(self, parameters: AsyncLinUCBAM) -> None:
        self.parameters = parameters
        self.unsettled = False
        self.movement = 0.0

    def start(self, client_ids: NDArray[np.int64], dimension: int) -> None:
        """Line 2."""
        p = self.parameters
        self.dimension = dimension
        self.global_slice, self.local_slice = p.feature_slices(dimension)
        self.global_dim = self.transfer_dim = self.global_slice.stop - self.global_slice.start
        self.local_dim = self.local_slice.stop - self.local_slice.start
        self.protocol = EventTriggeredProtocol(
            self.global_dim,
            p.ridge,
            _by_client("gamma_upload", p.gamma_upload, client_ids),
            _by_client("gamma_download", p.gamma_download, client_ids),
        )
        self.local: dict[int, Statistics] = {}
        self.is_warm: dict[int, bool] = {}
        self.history: dict[int, list[tuple[Array, float]]] = {}

    def choose(self, client: int, contexts: Array, rng: np.random.Generator) -> int:
        """Algorithm 3, lines 4-8: join if new, then choose by Eq. 8; in state 0 of Algorithm 5 by Eq. 5."""
        p = self.parameters
        self.protocol.join(client)
        if client not in self.local:
            self.local[client] = Statistics(self.local_dim)
            self.is_warm[client] = not p.warm_start
            self.history[client] = []
        if not self.is_warm[client]:
            statistics = Statistics(self.dimension)
            for x, y in self.history[client]:
                statistics.observe(x, y)
            alpha = confidence_width(statistics, p.alpha, p.ridge, p.sigma, p.delta)
            return pick(upper_bounds(contexts, statistics, alpha, p.ridge), rng)
        scores = np.zeros(len(contexts))
        for statistics, features in (
            (self.protocol.model[client], self.global_slice),
            (self.local[client], self.local_slice),
        ):
            alpha = confidence_width(statistics, p.alpha, p.ridge, p.sigma + 2, p.delta)
            scores += upper_bounds(contexts[:, features], statistics, alpha, p.ridge)
        return pick(scores, rng)

    def learn(self, client: int, context: Array, reward: float) -> Transfers:
        """Algorithm 3, lines 9-11; in state 0 Algorithm 5, lines 11-15."""
        self.unsettled = False
        if self.is_warm[client]:
            x_g, x_l = context[self.global_slice], context[self.local_slice]
            y_g, y_l = self.alternate(client, x_g, x_l, reward)
            self.protocol.observe(client, x_g, y_g)
            self.local[client].observe(x_l, y_l)
        else:
            self.history[client].append((context, reward))
            self.warm_up(client)
        return self.protocol.communicate(client)

    def alternate(self, client: int, x_g: Array, x_l: Array, y: float) -> tuple[float, float]:
        """Eq. 7: alternate from the ridge estimates, local step first; return the partial rewards ŷ_g and ŷ_l."""
        ridge = self.parameters.ridge
        model, local = self.protocol.model[client], self.local[client]
        inverse_g = pseudo_inverse(model.V + np.outer(x_g, x_g))
        inverse_l = pseudo_inverse(local.V + np.outer(x_l, x_l))
        y_l = y - x_g @ model.ridge_estimate(ridge)
        y_g = y - x_l @ local.ridge_estimate(ridge)

        def iterate() -> float:
            nonlocal y_g, y_l
            before = y_g, y_l
            theta_l = project(inverse_l @ (local.b + x_l * y_l))
            y_g = y - x_l @ theta_l
            theta_g = project(inverse_g @ (model.b + x_g * y_g))
            y_l = y - x_g @ theta_g
            return float(max(abs(y_g - before[0]), abs(y_l - before[1])))

        self.repeat(iterate)
        return float(y_g), float(y_l)

    def warm_up(self, client: int) -> None:
        """Algorithm 5, lines 12-15: as soon as a rank is full, batch AM on the client's own history.

        θ_g starts at the global part of the least-squares estimate from the client's own observations if
        those have full rank, else at the least-squares estimate from the received data.
        """
        X = np.array([x for x, _ in self.history[client]])
        y = np.array([reward for _, reward in self.history[client]])
        received_data = self.protocol.model[client]
        if rank(X.T @ X) == self.dimension:
            theta_g = (pseudo_inverse(X.T @ X) @ (X.T @ y))[self.global_slice]
        elif rank(received_data.V) == self.global_dim:
            theta_g = pseudo_inverse(received_data.V) @ received_data.b
        else:
            return
        X_g, X_l = X[:, self.global_slice], X[:, self.local_slice]
        inverse_g = pseudo_inverse(received_data.V + X_g.T @ X_g)
        inverse_l = pseudo_inverse(X_l.T @ X_l)
        y_l = y - X_g @ theta_g
        y_g = np.full(len(y), np.inf)

        def iterate() -> float:
            nonlocal y_g, y_l
            before = y_g, y_l
            theta_l = project(inverse_l @ (X_l.T @ y_l))
            y_g = y - X_l @ theta_l
            theta_g = project(inverse_g @ (received_data.b + X_g.T @ y_g))
            y_l = y - X_g @ theta_g
            return float(max(np.abs(y_g - before[0]).max(), np.abs(y_l - before[1]).max()))

        self.repeat(iterate)
        for row in range(len(y)):
            self.protocol.observe(client, X_g[row], y_g[row])
            self.local[client].observe(X_l[row], y_l[row])
        self.is_warm[client] = True

    def repeat(self, iterate: Callable[[], float]) -> None:
        """Alternate until the iterates no longer move, or the maximum number of iterations is reached."""
        for _ in range(self.parameters.am_iterations):
            self.movement = iterate()
            if self.movement <= AM_STOP:
                break
        self.unsettled = self.movement > AM_SETTLED


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
        for other in self.model:
            self.server.add(self.pending[other])
            self.pending[other].clear()
            self.steps_since_sync[other] = 0
        for other in self.model:
            self.model[other].clear()
            self.model[other].add(self.server)
        return Transfers(uploads=list(self.model), downloads=list(self.model))


class LiteralRandomChoice:
    """A uniformly random arm."""

    def choose(self, client: int, contexts: Array, rng: np.random.Generator) -> int:
        """Break a tie between all arms."""
        return pick(np.zeros(len(contexts)), rng)

    def learn(self, client: int, context: Array, reward: float) -> Transfers:
        """Learn nothing and send nothing."""
        return Transfers()


Literal = LiteralAsyncLinUCB | LiteralAsyncLinUCBAM | LiteralSyncLinUCB | LiteralRandomChoice


def literal(algorithm: AsyncLinUCB | AsyncLinUCBAM | SyncLinUCB | RandomChoice) -> Literal:
    """Return the literal implementation of a built-in algorithm, with the same hyper-parameters."""
    match algorithm:
        case AsyncLinUCBAM():
            return LiteralAsyncLinUCBAM(algorithm)
        case AsyncLinUCB():
            return LiteralAsyncLinUCB(algorithm)
        case SyncLinUCB():
            return LiteralSyncLinUCB(algorithm)
        case RandomChoice():
            return LiteralRandomChoice()
