"""Transfers where only the acting client exchanges data: every upload is answered by a download."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from algorithms.numerics.jit import compiled
from algorithms.stream import Stream
from algorithms.trace import Counts


class Exchanges(NamedTuple):
    """For each step, whether its client uploads and downloads after it, is welcomed before it, and uses a download."""

    uploads: NDArray[np.bool_]
    welcomes: NDArray[np.bool_]
    needed_down: NDArray[np.bool_]


def new_exchanges(steps: int) -> Exchanges:
    """Start without transfers."""
    return Exchanges(*np.zeros((len(Exchanges._fields), steps), dtype=np.bool_))


@compiled
def use_download(exchanges: Exchanges, step: int, previous: int) -> None:
    """Count a welcome, or the download after the client's previous step; that is negative at its first one."""
    exchanges.needed_down[step] = exchanges.uploads[previous] if previous >= 0 else exchanges.welcomes[step]


def transfer_counts(exchanges: Exchanges, stream: Stream, size: int) -> tuple[Counts, Counts]:
    """Return the transfers by step and by client; each moves `size` numbers. Every upload is needed: it has data."""
    by_step = [each.astype(np.int64) for each in exchanges]
    clients, number = stream.client_numbers, len(stream.client_ids)
    by_client = [np.bincount(clients[each], minlength=number) for each in exchanges]
    of_step, of_client = (
        Counts.of_one_size(uploads, uploads + welcomes, uploads.copy(), needed, size_up=size, size_down=size)
        for uploads, welcomes, needed in (by_step, by_client)
    )
    return of_step, of_client
