"""Exchanges of all known clients after fixed steps: who sends and receives when does not depend on any choice."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from algorithms.messages import numbers_in_statistics
from algorithms.stream import Stream
from algorithms.trace import Counts

Integers = NDArray[np.int64]


class Tally(NamedTuple):
    """Numbers of transfers of one kind, per step and per client."""

    by_step: Integers
    by_client: Integers

    def and_also(self, other: "Tally") -> "Tally":
        """Return the numbers of both."""
        return Tally(self.by_step + other.by_step, self.by_client + other.by_client)


class Schedule:
    """The exchanges of a run, numbered from 0; `ends` are the numbers of steps after which they take place.

    Attributes:
        before: for each step, the number of exchanges before it.
        joined_at: for each client, the first exchange in which it is known.
    """

    def __init__(self, stream: Stream, ends: Integers) -> None:
        self.ends, self._clients = ends, stream.client_numbers
        self.before: Integers = np.searchsorted(ends, np.arange(len(self._clients)), side="right")
        clients, self._first_steps = np.unique(self._clients, return_index=True)
        self.joined_at = np.full(len(stream.client_ids), len(ends))
        self.joined_at[clients] = self.before[self._first_steps]
        self._dimension = stream.items.shape[1]

    def of_all(self) -> Tally:
        """Return the transfers if every known client makes one in each exchange."""
        known = np.cumsum(np.bincount(self.joined_at, minlength=len(self.ends) + 1))
        return Tally(self._at_ends(known[: len(self.ends)]), len(self.ends) - self.joined_at)

    def with_data(self, exchange_of_step: Integers) -> Tally:
        """Return the transfers if a client makes one only with data; there may be no exchange for those of a step."""
        is_sent = exchange_of_step < len(self.ends)
        pairs = np.unique(exchange_of_step[is_sent] * len(self.joined_at) + self._clients[is_sent])
        exchanges, clients = np.divmod(pairs, len(self.joined_at))
        by_exchange = np.bincount(exchanges, minlength=len(self.ends))
        return Tally(self._at_ends(by_exchange), np.bincount(clients, minlength=len(self.joined_at)))

    def welcomes(self) -> Tally:
        """Return one download for each client that joins after the first exchange."""
        is_welcome = np.zeros(len(self._clients), dtype=np.bool_)
        is_welcome[self._first_steps] = self.before[self._first_steps] > 0
        return self._at(is_welcome)

    def needed_downloads(self) -> Tally:
        """Return one download for each decision with an exchange between it and the client's last one."""
        order = np.argsort(self._clients, kind="stable")
        is_needed = np.zeros(len(order), dtype=np.bool_)
        is_needed[order[1:]] = (np.diff(self._clients[order]) == 0) & (np.diff(self.before[order]) > 0)
        return self._at(is_needed)

    def counts(self, *tallies: Tally, size_down: int | None = None) -> tuple[Counts, Counts]:
        """Return uploads, downloads and the needed ones as counts per step and per client.

        Uploads are statistics, and downloads too, unless their size is given.
        """
        size = numbers_in_statistics(self._dimension)
        by_step, by_client = (
            Counts.of_one_size(*numbers, size_up=size, size_down=size if size_down is None else size_down)
            for numbers in zip(*tallies, strict=True)
        )
        return by_step, by_client

    def _at_ends(self, by_exchange: Integers) -> Integers:
        by_step = np.zeros(len(self._clients), dtype=np.int64)
        by_step[self.ends - 1] = by_exchange
        return by_step

    def _at(self, steps: NDArray[np.bool_]) -> Tally:
        by_client = np.bincount(self._clients[steps], minlength=len(self.joined_at))
        return Tally(steps.astype(np.int64), by_client)
