"""Algorithm 3, Async-LinUCB-AM, and Algorithm 5, its warm start, line by line."""

from collections.abc import Callable

import numpy as np

from algorithms.exchange.literal_protocol import EventTriggeredClient, EventTriggeredServer
from algorithms.messages import Message, Problem
from algorithms.methods.async_linucb_am import AsyncLinUCBAM
from algorithms.numerics.literal_statistics import (
    Array,
    Statistics,
    choose_by_bound,
    confidence_width,
    upper_bounds,
)
from algorithms.numerics.ties import pick
from algorithms.numerics.tolerances import AM_SETTLED, AM_STOP, RANK


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


class AsyncLinUCBAMClient(EventTriggeredClient):
    """The client of Algorithm 3, Async-LinUCB-AM; with `warm_start`, of Algorithm 5.

    Only the global part is exchanged: `model` and `pending` are those of the global features.
    """

    def __init__(self, parameters: AsyncLinUCBAM, number: int, problem: Problem) -> None:
        self.global_slice, self.local_slice = parameters.feature_slices(problem.dimension)
        super().__init__(parameters, number, problem, _length(self.global_slice))
        self.parameters = parameters
        self.dimension = problem.dimension
        self.local = Statistics(_length(self.local_slice))
        self.is_warm = not parameters.warm_start
        self.history: list[tuple[Array, float]] = []
        self.unsettled = False
        self.movement = 0.0

    def choose(self, contexts: Array, rng: np.random.Generator) -> int:
        """Algorithm 3, line 8: choose by Eq. 8; in state 0 of Algorithm 5 by Eq. 5, with own observations only."""
        p = self.parameters
        if not self.is_warm:
            own = Statistics(self.dimension)
            for x, y in self.history:
                own.observe(x, y)
            return choose_by_bound(contexts, own, p, rng)
        scores = np.zeros(len(contexts))
        for statistics, features in ((self.model, self.global_slice), (self.local, self.local_slice)):
            alpha = confidence_width(statistics, p, p.extra_sigma)
            scores += upper_bounds(contexts[:, features], statistics, alpha, p.ridge)
        return pick(scores, rng)

    def learn(self, context: Array, reward: float) -> list[Message]:
        """Algorithm 3, lines 9-11; in state 0 Algorithm 5, lines 11-15."""
        self.unsettled = False
        if self.is_warm:
            x_g, x_l = context[self.global_slice], context[self.local_slice]
            y_g, y_l = self.alternate(x_g, x_l, reward)
            self.observe(x_g, y_g)
            self.local.observe(x_l, y_l)
        else:
            self.history.append((context, reward))
            self.warm_up()
        return self.communicate()

    def alternate(self, x_g: Array, x_l: Array, y: float) -> tuple[float, float]:
        """Eq. 7: alternate from the ridge estimates, in the given order; return the partial rewards ŷ_g and ŷ_l."""
        ridge = self.parameters.ridge
        model, local = self.model, self.local
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

    def warm_up(self) -> None:
        """Algorithm 5, lines 12-15: as soon as a rank is full, batch AM on the client's own history.

        θ_g starts at the global part of the least-squares estimate from the client's own observations if
        those have full rank, else at the least-squares estimate from the received data.
        """
        X = np.array([x for x, _ in self.history])
        y = np.array([reward for _, reward in self.history])
        received_data = self.model
        if rank(X.T @ X) == self.dimension:
            theta_g = (pseudo_inverse(X.T @ X) @ (X.T @ y))[self.global_slice]
        elif rank(received_data.V) == len(received_data.b):
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
            self.observe(X_g[row], y_g[row])
            self.local.observe(X_l[row], y_l[row])
        self.is_warm = True

    def repeat(self, iterate: Callable[[], float]) -> None:
        """Alternate until the iterates no longer move, or the maximum number of iterations is reached."""
        for _ in range(self.parameters.am_iterations):
            self.movement = iterate()
            if self.movement <= AM_STOP:
                break
        self.unsettled = self.movement > AM_SETTLED


class AsyncLinUCBAMServer(EventTriggeredServer):
    """The server of Algorithm 3."""

    def __init__(self, parameters: AsyncLinUCBAM, problem: Problem) -> None:
        super().__init__(parameters, problem, _length(parameters.feature_slices(problem.dimension)[0]))


def _length(features: slice) -> int:
    return int(features.stop - features.start)
