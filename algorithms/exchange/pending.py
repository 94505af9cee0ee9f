"""Each client's own observations since it last agreed with the server: a few rows, or their sums.

The rows of a client are its latest steps: `previous` links each step to the same client's previous step. A client
with more than `row_limit` of them gets a slot with the sums {ΔV, Δb} instead, so that a million clients
that act once or twice need a few bytes each and a busy client costs the same at every step.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from algorithms.numerics.jit import compiled
from algorithms.numerics.small_loops import add, add_rank_one, clear

FEW_ROWS = 8
"""Adding this many rows one by one costs about as much as one elimination."""

DENSE_BUDGET = 1 << 30
"""If slots for all clients fit into this many bytes, they are assigned early, else only after d rows."""


class Pending(NamedTuple):
    """Own data of every client. Of the `own` latest rows, `unsent` are not yet uploaded."""

    items: NDArray[np.float64]
    first_feature: int
    row_limit: int
    previous: NDArray[np.int32]
    row_item: NDArray[np.int32]
    row_target: NDArray[np.float64]
    latest: NDArray[np.int32]
    own: NDArray[np.int32]
    unsent: NDArray[np.int32]
    slot: NDArray[np.int32]
    slot_V: NDArray[np.float64]
    slot_b: NDArray[np.float64]
    free_slots: NDArray[np.int32]
    free_count: NDArray[np.int64]


def new_pending(items: NDArray[np.float64], first_feature: int, dimension: int, clients: int, steps: int) -> Pending:
    """Allocate for N clients and T steps; slots use memory only after they are written."""
    fits = clients * (dimension + 1) * dimension * 8 <= DENSE_BUDGET
    row_limit = FEW_ROWS if fits else max(FEW_ROWS, dimension)
    slots = min(clients, steps // (row_limit + 1)) + 1
    return Pending(
        items=items,
        first_feature=first_feature,
        row_limit=row_limit,
        previous=np.empty(steps, dtype=np.int32),
        row_item=np.empty(steps, dtype=np.int32),
        row_target=np.empty(steps),
        latest=np.full(clients, -1, dtype=np.int32),
        own=np.zeros(clients, dtype=np.int32),
        unsent=np.zeros(clients, dtype=np.int32),
        slot=np.full(clients, -1, dtype=np.int32),
        slot_V=np.empty((slots, dimension, dimension)),
        slot_b=np.empty((slots, dimension)),
        free_slots=np.arange(slots - 1, -1, -1, dtype=np.int32),
        free_count=np.array([slots], dtype=np.int64),
    )


@compiled
def add_rows(
    pending: Pending, client: int, skip: int, count: int, V: NDArray[np.float64], b: NDArray[np.float64]
) -> None:
    """Add `count` of the client's rows to {V, b}, newest first, after skipping the `skip` newest."""
    step = pending.latest[client]
    for _ in range(skip):
        step = pending.previous[step]
    first = pending.first_feature
    for _ in range(count):
        x = pending.items[pending.row_item[step], first : first + b.size]
        add_rank_one(V, b, x, pending.row_target[step])
        step = pending.previous[step]


@compiled
def remember(pending: Pending, client: int, step: int, item: int) -> None:
    """Append an observation to the client's rows, without adding it to its data yet."""
    pending.previous[step] = pending.latest[client]
    pending.latest[client] = step
    pending.row_item[step] = item


@compiled
def record(pending: Pending, client: int, step: int, item: int, target: float) -> None:
    """Append one observation to the client's own unsent data."""
    remember(pending, client, step, item)
    pending.row_target[step] = target
    pending.own[client] += 1
    pending.unsent[client] += 1
    slot = pending.slot[client]
    if slot >= 0:
        b = pending.slot_b[slot]
        first = pending.first_feature
        add_rank_one(pending.slot_V[slot], b, pending.items[item, first : first + b.size], target)


@compiled
def condense(pending: Pending, client: int) -> None:
    """Sum the client's unsent rows into a slot, which from now on holds its own data."""
    pending.free_count[0] -= 1
    slot = pending.free_slots[pending.free_count[0]]
    pending.slot[client] = slot
    clear(pending.slot_V[slot], pending.slot_b[slot])
    add_rows(pending, client, 0, pending.unsent[client], pending.slot_V[slot], pending.slot_b[slot])
    pending.own[client] = pending.unsent[client]


@compiled
def record_unshared(pending: Pending, client: int, step: int, item: int, target: float) -> None:
    """Append one observation to data that are never sent: a few rows, then their sums."""
    record(pending, client, step, item, target)
    if pending.slot[client] < 0 and pending.own[client] > pending.row_limit:
        condense(pending, client)


@compiled
def add_unsent(pending: Pending, client: int, V: NDArray[np.float64], b: NDArray[np.float64]) -> None:
    """Add the client's unsent data to {V, b}."""
    slot = pending.slot[client]
    if slot < 0:
        add_rows(pending, client, 0, pending.unsent[client], V, b)
        return
    add(V, b, pending.slot_V[slot], pending.slot_b[slot])


@compiled
def forget(pending: Pending, client: int) -> None:
    """Drop all own data: the client's agreed state now contains it."""
    pending.own[client] = 0
    pending.unsent[client] = 0
    slot = pending.slot[client]
    if slot >= 0:
        pending.free_slots[pending.free_count[0]] = slot
        pending.free_count[0] += 1
        pending.slot[client] = -1


@compiled
def write_base(
    base_V: NDArray[np.float64], base_b: NDArray[np.float64], rows: NDArray[np.float64], b_column: int
) -> None:
    """Write {V, b} into the rows of a system."""
    for i in range(base_b.size):
        row, base_row = rows[i], base_V[i]
        for j in range(base_b.size):
            row[j] = base_row[j]
        row[b_column] = base_b[i]


@compiled
def recall(pending: Pending, client: int, count: int) -> None:
    """Make the client's `count` latest observations, uploaded or not, its own unsent data, as rows."""
    forget(pending, client)
    pending.own[client] = count
    pending.unsent[client] = count


@compiled
def write_model(
    pending: Pending,
    client: int,
    base_V: NDArray[np.float64],
    base_b: NDArray[np.float64],
    rows: NDArray[np.float64],
    b_column: int,
) -> None:
    """Write {V, b} = base + own data into the rows of a system."""
    dimension = base_b.size
    slot = pending.slot[client]
    if slot >= 0:
        slot_V, slot_b = pending.slot_V[slot], pending.slot_b[slot]
        for i in range(dimension):
            row, base_row, slot_row = rows[i], base_V[i], slot_V[i]
            for j in range(dimension):
                row[j] = base_row[j] + slot_row[j]
            row[b_column] = base_b[i] + slot_b[i]
        return
    write_base(base_V, base_b, rows, b_column)
    step = pending.latest[client]
    first = pending.first_feature
    for _ in range(pending.own[client]):
        x = pending.items[pending.row_item[step], first : first + dimension]
        target = pending.row_target[step]
        for i in range(dimension):
            row = rows[i]
            scale = x[i]
            for j in range(dimension):
                row[j] += scale * x[j]
            row[b_column] += scale * target
        step = pending.previous[step]
