"""The interface of a stream as algorithms see it: arrays, not files."""

from dataclasses import dataclass
from math import nan
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from algorithms.trace import Trace


@dataclass(frozen=True)
class StreamOutline:
    """What is known about a stream before it is built; `None` where a size is not known yet.

    In a simulation, `clients` is the number of clients that may appear.
    """

    name: str
    arms: int
    dimension: int | None = None
    steps: int | None = None
    clients: int | None = None


class Stream(Protocol):
    """The part of an `EventStream` that algorithms read."""

    @property
    def items(self) -> NDArray[np.float64]:
        """Item features, one row per item."""

    @property
    def pools(self) -> NDArray[np.int32]:
        """The items offered at each step."""

    @property
    def rewards(self) -> NDArray[np.float64]:
        """The expected reward of each offered arm."""

    @property
    def noise(self) -> NDArray[np.float64]:
        """The noise added to the observed reward of each step."""

    @property
    def client_ids(self) -> NDArray[np.int64]:
        """The distinct client ids, in increasing order."""

    @property
    def client_numbers(self) -> NDArray[np.int32]:
        """For each step the position of its client in `client_ids`."""


def pair_numbers(stream: Stream) -> tuple[NDArray[np.int32], int]:
    """Return for each offered arm the number of its pair (client, item), and the number of distinct pairs."""
    keys = stream.client_numbers[:, None].astype(np.int64) * len(stream.items) + stream.pools
    distinct, numbers = np.unique(keys.ravel(), return_inverse=True)
    return numbers.reshape(keys.shape).astype(np.int32), len(distinct)


def trace_of(
    stream: Stream,
    choices: NDArray[np.int32],
    uploads: NDArray[np.int64],
    downloads: NDArray[np.int64],
    client_uploads: NDArray[np.int64],
    client_downloads: NDArray[np.int64],
    *,
    unsettled: NDArray[np.bool_] | None = None,
    transfer_dim: int | None = None,
) -> Trace:
    """Derive rewards and regret from the choices and return the trace."""
    steps = np.arange(len(choices))
    expected = stream.rewards[steps, choices]
    observed = expected + stream.noise
    return Trace(
        choices=choices,
        rewards=observed,
        regret=stream.rewards.max(axis=1) - expected,
        uploads=uploads,
        downloads=downloads,
        unsettled=np.zeros(len(choices), dtype=np.bool_) if unsettled is None else unsettled,
        client_ids=stream.client_ids,
        client_rewards=np.bincount(stream.client_numbers, observed, len(stream.client_ids)).astype(np.float64),
        client_uploads=client_uploads,
        client_downloads=client_downloads,
        transfer_dim=stream.items.shape[1] if transfer_dim is None else transfer_dim,
        random_reward=float(stream.rewards.sum()) / stream.rewards.shape[1] if stream.rewards.min() >= 0 else nan,
    )
