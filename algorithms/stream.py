"""The interface of a stream as algorithms see it: arrays, not files."""

from dataclasses import dataclass
from math import nan
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from algorithms.trace import Counts, Trace


@dataclass(frozen=True)
class StreamOutline:
    """What is known about a stream before it is built; `None` where a size is not known yet.

    In a simulation, `clients` is the number of clients that may appear.

    Attributes:
        has_held_out_users: whether users who do not play are counted for each item.
        has_held_out_likes: whether it is also known how many of them liked it.
        has_profiles: whether features are those of pairs of a client's profile and an item.
    """

    name: str
    arms: int
    dimension: int | None = None
    steps: int | None = None
    clients: int | None = None
    has_held_out_users: bool = False
    has_held_out_likes: bool = False
    has_profiles: bool = False

    @classmethod
    def of(cls, stream: "Stream") -> "StreamOutline":
        """Return the outline of a stream that is built."""
        steps, arms = stream.pools.shape
        has_held_out_users = stream.held_out_count is not None
        return cls(
            stream.name,
            arms,
            stream.items.shape[1],
            steps,
            len(stream.client_ids),
            has_held_out_users,
            stream.held_out_likes is not None,
            has_held_out_users and stream.item_of_row is not None,
        )


class Stream(Protocol):
    """The part of an `EventStream` that algorithms read."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def items(self) -> NDArray[np.float64]:
        """Features, one row per item, or per pair of a client and an item."""

    @property
    def item_of_row(self) -> NDArray[np.int32] | None:
        """The item of each row of `items`; `None` if a row is an item."""

    @property
    def pools(self) -> NDArray[np.int32]:
        """The rows of `items` offered at each step."""

    @property
    def offered_items(self) -> NDArray[np.int32]:
        """The items behind these rows."""

    @property
    def item_count(self) -> int:
        """The number of items."""

    @property
    def held_out_count(self) -> NDArray[np.int64] | None:
        """For each item the number of its users among those who do not play; `None` if there are no such users."""

    @property
    def held_out_likes(self) -> NDArray[np.int64] | None:
        """For each item the number of these users who liked it; `None` without ratings."""

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
    keys = stream.client_numbers[:, None].astype(np.int64) * stream.item_count + stream.offered_items
    distinct, numbers = np.unique(keys.ravel(), return_inverse=True)
    return numbers.reshape(keys.shape).astype(np.int32), len(distinct)


def trace_of(
    stream: Stream,
    choices: NDArray[np.int32],
    by_step: Counts,
    by_client: Counts,
    *,
    unsettled: NDArray[np.bool_] | None = None,
) -> Trace:
    """Derive rewards and regret from the choices and return the trace."""
    steps = np.arange(len(choices))
    expected = stream.rewards[steps, choices]
    observed = expected + stream.noise
    return Trace(
        choices=choices,
        rewards=observed,
        regret=stream.rewards.max(axis=1) - expected,
        **by_step._asdict(),
        unsettled=np.zeros(len(choices), dtype=np.bool_) if unsettled is None else unsettled,
        client_ids=stream.client_ids,
        client_rewards=np.bincount(stream.client_numbers, observed, len(stream.client_ids)).astype(np.float64),
        **{f"client_{name}": counts for name, counts in by_client._asdict().items()},
        random_reward=float(stream.rewards.sum()) / stream.rewards.shape[1] if stream.rewards.min() >= 0 else nan,
    )


def silent_trace(stream: Stream, choices: NDArray[np.int32]) -> Trace:
    """Return the trace of a run without any transfer."""
    return trace_of(stream, choices, Counts.zeros(len(choices)), Counts.zeros(len(stream.client_ids)))
