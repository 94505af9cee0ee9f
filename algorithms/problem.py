"""What an algorithm needs to know of a stream: arrays, not files."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from algorithms.trace import Trace


class Problem(Protocol):
    """The part of an `EventStream` that algorithms read."""

    @property
    def items(self) -> NDArray[np.float64]:
        """Features, one row an item."""

    @property
    def pools(self) -> NDArray[np.int32]:
        """The items offered at each step."""

    @property
    def rewards(self) -> NDArray[np.float64]:
        """The expected reward of each offered arm."""

    @property
    def noise(self) -> NDArray[np.float64]:
        """What is added to the reward observed at each step."""

    @property
    def client_ids(self) -> NDArray[np.int64]:
        """The distinct client ids, in increasing order."""

    @property
    def client_numbers(self) -> NDArray[np.int32]:
        """For each step the position of its client in `client_ids`."""


def trace_of(
    problem: Problem,
    choices: NDArray[np.int32],
    uploads: NDArray[np.int64],
    downloads: NDArray[np.int64],
    client_uploads: NDArray[np.int64],
    client_downloads: NDArray[np.int64],
    *,
    unsettled: NDArray[np.bool_] | None = None,
    transfer_dim: int | None = None,
) -> Trace:
    """Derive rewards and regret from the choices and put the outcome together."""
    steps = np.arange(len(choices))
    expected = problem.rewards[steps, choices]
    observed = expected + problem.noise
    return Trace(
        choices=choices,
        rewards=observed,
        regret=problem.rewards.max(axis=1) - expected,
        uploads=uploads,
        downloads=downloads,
        unsettled=np.zeros(len(choices), dtype=np.bool_) if unsettled is None else unsettled,
        client_ids=problem.client_ids,
        client_rewards=np.bincount(problem.client_numbers, observed, len(problem.client_ids)).astype(np.float64),
        client_uploads=client_uploads,
        client_downloads=client_downloads,
        transfer_dim=problem.items.shape[1] if transfer_dim is None else transfer_dim,
    )
