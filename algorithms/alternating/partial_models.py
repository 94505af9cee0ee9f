"""The two models of a heterogeneous client: the global one, shared by the protocol, and its own local one.

Each has a ridge estimate for choosing and a pseudo-inverse for alternating minimisation, in the cheapest form that is
safe: from the client's own rows while these are few and independent; then as a matrix P, maintained by rank-1 updates
until a download changes V as a whole. From then on a well-conditioned global V is solved again at each step, and any
other is rebuilt once.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from algorithms.alternating.alternation import Line, line_of, line_of_newest
from algorithms.exchange.pending import Pending, condense, new_pending, record
from algorithms.exchange.pending import write_model as write_own_model
from algorithms.exchange.protocol import Protocol, base_of, write_model
from algorithms.exchange.read_ahead import prefetch
from algorithms.exchange.versions import EMPTY
from algorithms.numerics.elimination import System, new_system, place_arms, solve_two
from algorithms.numerics.independent_rows import SCRATCH, IndependentRows, keep_row, new_independent_rows, try_row
from algorithms.numerics.jit import compiled
from algorithms.numerics.pseudo_inverse import (
    OUTDATED,
    REFRESH_AFTER,
    SOLVABLE,
    WELL_CONDITIONED,
    Scratch,
    complete,
    dot,
    include,
    least_eigenvalue,
    multiply,
    new_scratch,
    trace_of,
)
from algorithms.numerics.small_loops import Matrix, Vector


class Inverses(NamedTuple):
    """Matrices P = V⁻ for the clients that need one. `status`: rank, updates since a rebuild.

    `place`: 0 for a client without a matrix, negative if a download has made it outdated.
    """

    place: NDArray[np.int32]
    P: NDArray[np.float64]
    status: Matrix
    used: NDArray[np.int64]


class Part(NamedTuple):
    """One of the two models: the form it has for each client, its rows or its P, and buffers for the acting client.

    `trace` and `b` are the trace of V and b before the step, `P` and `status` are buffers for a warm start.
    """

    first_feature: int
    dimension: int
    is_independent: NDArray[np.bool_]
    rows: IndependentRows
    inverses: Inverses
    system: System
    solver: System
    scratch: Scratch
    V: Matrix
    P: Matrix
    status: Vector
    b: Vector
    trace: Vector
    u: Vector
    w: Vector


class PartialModels(NamedTuple):
    """Both models of all clients; `own` holds the local observations, with their partial rewards as targets."""

    global_part: Part
    local_part: Part
    own: Pending
    empty_V: Matrix
    empty_b: Vector


def new_models(
    items: Matrix, clients: int, steps: int, arms: int, global_slice: slice, local_slice: slice
) -> PartialModels:
    """Start with clients that have no data. Memory is used only for clients that act."""
    local_dim = local_slice.stop - local_slice.start
    own = new_pending(items, local_slice.start, local_dim, clients, steps)
    places = len(own.slot_b) + 1
    return PartialModels(
        global_part=new_part(global_slice, clients, places, arms),
        local_part=new_part(local_slice, clients, places, arms),
        own=own,
        empty_V=np.zeros((local_dim, local_dim)),
        empty_b=np.zeros(local_dim),
    )


def new_part(features: slice, clients: int, places: int, arms: int) -> Part:
    """Allocate the model of one part of the features."""
    d = features.stop - features.start
    return Part(
        first_feature=features.start,
        dimension=d,
        is_independent=np.ones(clients, dtype=np.bool_),
        rows=new_independent_rows(features.start, d, places),
        inverses=Inverses(
            place=np.zeros(clients, dtype=np.int32),
            P=np.zeros((1, d, d)),
            status=np.zeros((1, 2)),
            used=np.ones(1, dtype=np.int64),
        ),
        system=new_system(d, arms),
        solver=new_system(d, 1),
        scratch=new_scratch(d),
        V=np.zeros((d, d)),
        P=np.zeros((d, d)),
        status=np.zeros(2),
        b=np.zeros(d),
        trace=np.zeros(1),
        u=np.zeros(d),
        w=np.zeros(d),
    )


def prepared_models(models: PartialModels, steps: int) -> PartialModels:
    """Return models with space for the matrices P that the next `steps` steps can need: one per step."""
    return models._replace(
        global_part=with_room(models.global_part, steps), local_part=with_room(models.local_part, steps)
    )


def with_room(part: Part, more: int) -> Part:
    """Return a part with space for `more` matrices P: the same, or a larger copy."""
    inverses = part.inverses
    used, capacity = int(inverses.used[0]), len(inverses.P)
    needed = min(used + more, len(inverses.place) + 1)
    if capacity >= needed:
        return part
    larger = min(max(2 * capacity, needed), len(inverses.place) + 1)
    P, status = np.empty((larger, part.dimension, part.dimension)), np.zeros((larger, 2))
    P[:used], status[:used] = inverses.P[:used], inverses.status[:used]
    return part._replace(inverses=inverses._replace(P=P, status=status))


@compiled
def read_form_ahead(part: Part, own: Pending, client: int) -> None:
    """Start to read what the client's part is kept as: its rows, or a current matrix P."""
    if part.is_independent[client]:
        slot = own.slot[client]
        if slot >= 0:
            prefetch(part.rows.M, slot + 1)
        return
    place = part.inverses.place[client]
    if place > 0:
        prefetch(part.inverses.P, place)


@compiled
def write_models(models: PartialModels, protocol: Protocol, client: int, pool: NDArray[np.int32]) -> None:
    """Write both systems of a decision."""
    global_part, local_part, own = models.global_part, models.local_part, models.own
    dg, dl, arms = global_part.dimension, local_part.dimension, pool.size
    write_model(protocol, client, global_part.system.rows, dg + arms)
    write_own_model(own, client, models.empty_V, models.empty_b, local_part.system.rows, dl + arms)
    place_arms(global_part.system, own.items, pool, global_part.first_feature, dg)
    place_arms(local_part.system, own.items, pool, local_part.first_feature, dl)
    _note(global_part, arms)
    _note(local_part, arms)


@compiled
def _note(part: Part, arms: int) -> None:
    """Save b and the trace of V, which the decision overwrites, for learning."""
    rows, d = part.system.rows, part.dimension
    trace = 0.0
    for i in range(d):
        trace += rows[i, i]
        part.b[i] = rows[i, d + arms]
    part.trace[0] = trace


@compiled
def local_line(models: PartialModels, client: int, item: int) -> Line:
    """Describe the iterates of the local step of Eq. 7, including the observed item."""
    part, own = models.local_part, models.own
    if part.is_independent[client]:
        if _try_newest(part, models, own, client, item):
            return line_of_newest(part.rows, own.slot[client] + 1, own.own[client])
        part.is_independent[client] = False
    x = own.items[item, part.first_feature : part.first_feature + part.dimension]
    if not update_in_place(part, client, x):
        write_own_model(own, client, models.empty_V, models.empty_b, part.solver.rows, part.dimension + 1)
        multiply_by_inverse(part, client, x)
    return line_of(x, part.u, part.w)


@compiled
def global_line(models: PartialModels, protocol: Protocol, client: int, item: int, downloaded: bool) -> Line:
    """Describe the iterates of the global step of Eq. 7, including the observed item."""
    part, own = models.global_part, models.own
    if part.is_independent[client]:
        if base_of(protocol, client) == EMPTY and _try_newest(part, models, protocol.pending, client, item):
            return line_of_newest(part.rows, own.slot[client] + 1, own.own[client])
        part.is_independent[client] = False
    if downloaded:
        part.inverses.place[client] = -abs(part.inverses.place[client])
    x = own.items[item, part.first_feature : part.first_feature + part.dimension]
    if not update_in_place(part, client, x):
        write_model(protocol, client, part.solver.rows, part.dimension + 1)
        if _is_solvable(part, protocol, client, part.trace[0] + dot(x, x)):
            solve_two(part.solver, x, part.u, part.w)
        else:
            multiply_by_inverse(part, client, x)
    return line_of(x, part.u, part.w)


@compiled
def _try_newest(part: Part, models: PartialModels, chain: Pending, client: int, item: int) -> bool:
    """Try to append an observation to the client's independent rows, which `chain` links."""
    count = models.own.own[client]
    place = models.own.slot[client] + 1
    if place == SCRATCH:
        take_over(part.rows, SCRATCH, chain, client, count)
    return try_row(part.rows, place, count, chain.items, item)


@compiled
def take_over(rows: IndependentRows, place: int, pending: Pending, client: int, count: int) -> bool:
    """Fill a place with the `count` latest observations of a client; false if they are not independent."""
    if count > rows.dimension:
        return False
    step = pending.latest[client]
    for s in range(count - 1, -1, -1):
        rows.item[place, s] = pending.row_item[step]
        rows.z[place, s] = pending.row_target[step]
        step = pending.previous[step]
    for s in range(count):
        item = rows.item[place, s]
        if not try_row(rows, place, s, pending.items, item):
            return False
        keep_row(rows, place, s, item, rows.z[place, s])
    return True


@compiled
def learn_local(models: PartialModels, client: int, step: int, item: int, target: float) -> None:
    """Add an observation with its partial reward to the client's own observations."""
    own, part = models.own, models.local_part
    place = own.slot[client] + 1
    if part.is_independent[client] and place != SCRATCH:
        keep_row(part.rows, place, own.own[client], item, target)
    record(own, client, step, item, target)
    if place == SCRATCH and own.own[client] > own.row_limit:
        condense(own, client)
        if part.is_independent[client]:
            take_over(part.rows, own.slot[client] + 1, own, client, own.own[client])


@compiled
def learn_global(models: PartialModels, protocol: Protocol, client: int, item: int, target: float) -> None:
    """Update the global part, whose data the protocol stores; call this after `learn_local` and `observe`."""
    own, part = models.own, models.global_part
    if not part.is_independent[client]:
        return
    place, before = own.slot[client] + 1, own.own[client] - 1
    if place != SCRATCH:
        if before == own.row_limit:  # the place is new
            take_over(part.rows, place, protocol.pending, client, own.own[client])
        else:
            keep_row(part.rows, place, before, item, target)


@compiled
def update_in_place(part: Part, client: int, x: Vector) -> bool:
    """Update a current P = V⁻¹ of full rank by x, and set u and w; false if that would lose precision.

    With k = P x: V⁻¹ loses k kᵀ / (1 + xᵀk), by Sherman and Morrison, u = P b - w (kᵀb), w = k / (1 + xᵀk).
    """
    place, d = part.inverses.place[client], part.dimension
    if place <= 0:
        return False
    P, status = part.inverses.P[place], part.inverses.status[place]
    if status[0] != d or status[1] >= REFRESH_AFTER:
        return False
    b, u, k = part.b, part.u, part.w
    for i in range(d):
        u[i] = 0.0
        k[i] = 0.0
    for j in range(d):
        row, b_j, x_j = P[j], b[j], x[j]
        for i in range(d):
            u[i] += b_j * row[i]
            k[i] += x_j * row[i]
    scale = 1.0 + dot(x, k)
    before = trace_of(P)
    after = before - dot(k, k) / scale
    trace = part.trace[0]
    # false for NaN
    if not max(scale, trace * before, (trace + dot(x, x)) * after) <= WELL_CONDITIONED:
        return False
    along = dot(k, b)
    for i in range(d):
        k[i] /= scale
    for i in range(d):
        row, factor = P[i], k[i] * scale
        for j in range(d):
            row[j] -= factor * k[j]
        u[i] -= along * k[i]
    status[1] += 1.0
    return True


@compiled
def multiply_by_inverse(part: Part, client: int, x: Vector) -> None:
    """Set u = V⁻b and w = V⁻x, for V with x, by the client's matrix P; the solver holds V without x, and b."""
    P = part.inverses.P[updated_inverse(part, client, x)]
    multiply(P, part.b, part.u)
    multiply(P, x, part.w)


@compiled
def updated_inverse(part: Part, client: int, x: Vector) -> int:
    """Set `V`, with x, and `b` from the solver and return the place of the client's P = V⁻."""
    V, b, inverses, scratch = part.V, part.b, part.inverses, part.scratch
    d = x.size
    for i in range(d):
        row, V_row = part.solver.rows[i], V[i]
        for j in range(d):
            V_row[j] = row[j]
        b[i] = row[d + 1]
    place = abs(inverses.place[client])
    is_current = inverses.place[client] > 0
    if place == 0:
        place = inverses.used[0]
        inverses.used[0] += 1
    inverses.place[client] = place
    P, status = inverses.P[place], inverses.status[place]
    outcome = include(V, P, status, x, scratch) if is_current else OUTDATED
    for i in range(d):
        V_row = V[i]
        for j in range(d):
            V_row[j] += x[i] * x[j]
    complete(V, P, status, scratch, outcome)
    return int(place)


@compiled
def _is_solvable(part: Part, protocol: Protocol, client: int, trace: float) -> bool:
    """Tell whether V_i, with the given trace, certainly has full rank, judging by its base version alone."""
    if part.inverses.place[client] > 0:
        return False  # its own P is current
    versions = protocol.versions
    base = base_of(protocol, client)
    bound = versions.least_eigenvalue[base]
    if bound < 0.0 or 0.0 < bound * SOLVABLE <= trace:
        bound = max(least_eigenvalue(versions.V[base], part.scratch), 0.0)
        versions.least_eigenvalue[base] = bound
    return bool(bound * SOLVABLE > trace)
