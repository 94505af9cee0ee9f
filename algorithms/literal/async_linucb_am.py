"""Algorithm 3, Async-LinUCB-AM, and Algorithm 5, its warm start, line by line."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from algorithms.exchange.literal_protocol import EventTriggeredProtocol, by_client
from algorithms.methods.async_linucb_am import AsyncLinUCBAM
from algorithms.numerics.literal_statistics import Array, Statistics, confidence_width, upper_bounds
from algorithms.numerics.ties import pick
from algorithms.numerics.tolerances import AM_SETTLED, AM_STOP, RANK
from algorithms.trace import Transfers


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
            by_client("gamma_upload", p.gamma_upload, client_ids),
            by_client("gamma_download", p.gamma_download, client_ids),
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
            alpha = confidence_width(statistics, p.alpha, p.ridge, p.sigma + p.extra_sigma, p.delta)
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
        """Eq. 7: alternate from the ridge estimates, in the given order; return the partial rewards ŷ_g and ŷ_l."""
        ridge = self.parameters.ridge
        model, local = self.protocol.model[client], self.local[client]
        inverse_g = pseudo_inverse(model.V + np.outer(x_g, x_g))
        inverse_l = pseudo_inverse(local.V + np.outer(x_l, x_l))
        y_l = y - x_g @ model.ridge_estimate(ridge)
        y_g = y - x_l @ local.ridge_estimate(ridge)

        def step_globally() -> None:
            nonlocal y_l
            y_l = y - x_g @ project(inverse_g @ (model.b + x_g * y_g))

        def step_locally() -> None:
            nonlocal y_g
            y_g = y - x_l @ project(inverse_l @ (local.b + x_l * y_l))

        steps = (step_globally, step_locally) if self.parameters.order == "global" else (step_locally, step_globally)

        def iterate() -> float:
            before = y_g, y_l
            for step in steps:
                step()
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
