"""Algorithm 5: until its own data or the received data have full rank, a client runs LinUCB on its own data.

A beginner (state 0) uploads nothing, but keeps what it downloads. As soon as a rank is full, alternating minimisation
over its whole history splits each reward into its global and its local part, and the client continues as in
Algorithm 3.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from algorithms.alternating.partial_models import Part, PartialModels, new_part, take_over, updated_inverse, with_room
from algorithms.exchange.pending import Pending, condense, new_pending, record, remember
from algorithms.exchange.pending import write_model as write_own_model
from algorithms.exchange.protocol import Protocol, base_of, write_model
from algorithms.hyperparameters import Confidence
from algorithms.numerics.elimination import System, eliminate, place_arms, score
from algorithms.numerics.independent_rows import SCRATCH, solve_for
from algorithms.numerics.jit import compiled
from algorithms.numerics.pseudo_inverse import Scratch, dot, least_eigenvalue, multiply, rebuild
from algorithms.numerics.small_loops import Matrix, Vector, add_rank_one, add_scaled, copy
from algorithms.numerics.tolerances import AM_STOP, RANK


class Beginners(NamedTuple):
    """Each client's own observations over the whole x, and a pseudo-inverse that shows their rank."""

    is_warm: NDArray[np.bool_]
    own: Pending
    part: Part
    empty_V: Matrix
    empty_b: Vector
    targets: Vector
    """Buffer for the targets of one client's observations, the oldest first."""


def new_beginners(items: Matrix, clients: int, steps: int) -> Beginners:
    """Start without data, with space for the given number of steps."""
    dimension = items.shape[1]
    return Beginners(
        is_warm=np.zeros(clients, dtype=np.bool_),
        own=new_pending(items, 0, dimension, clients, steps),
        part=new_part(slice(0, dimension), clients, 1, 1),
        empty_V=np.zeros((dimension, dimension)),
        empty_b=np.zeros(dimension),
        targets=np.zeros(dimension),
    )


def prepared_beginners(beginners: Beginners, steps: int) -> Beginners:
    """Return beginners with space for the matrices that the next `steps` steps can need."""
    return beginners._replace(part=with_room(beginners.part, steps))


@compiled
def choose_alone(
    beginners: Beginners, client: int, system: System, pool: NDArray[np.int32], confidence: Confidence
) -> None:
    """Line 10: score by Eq. 5 on the client's own observations."""
    own, d = beginners.own, beginners.part.dimension
    place_arms(system, own.items, pool, 0, d)
    write_own_model(own, client, beginners.empty_V, beginners.empty_b, system.rows, d + pool.size)
    score(system, d, confidence)


@compiled
def learn_alone(
    beginners: Beginners,
    models: PartialModels,
    protocol: Protocol,
    client: int,
    step: int,
    item: int,
    reward: float,
    iterations: int,
    ridge: float,
) -> tuple[float, float]:
    """Lines 11 to 15; return log det of V_i(λ), where it changed, and the last movement of the alternation."""
    own, part = models.own, models.global_part
    remember(protocol.pending, client, step, item)
    remember(own, client, step, item)
    has_full_rank = _learn_whole(beginners, client, step, item, reward)
    base = base_of(protocol, client)
    copy(part.V, part.b, protocol.versions.V[base], protocol.versions.b[base])  # a beginner's V_i
    start = part.u  # θ_g
    if has_full_rank:
        theta = beginners.part.u[part.first_feature :]
        for i in range(part.dimension):
            start[i] = theta[i]
    elif _has_full_rank(protocol, base, part.scratch):
        rebuild(part.V, part.P, part.status, part.scratch)
        multiply(part.P, part.b, start)
    else:
        return 0.0, 0.0
    return _warm_up(beginners, models, protocol, client, iterations, ridge)


@compiled
def _learn_whole(beginners: Beginners, client: int, step: int, item: int, reward: float) -> bool:
    """Record an observation over the whole x; if all have full rank now, set `u` to the least-squares estimate.

    With fewer observations than dimensions the rank cannot be full.
    """
    own, part = beginners.own, beginners.part
    d = part.dimension
    has_enough = own.own[client] + 1 >= d
    place = 0
    if has_enough:
        write_own_model(own, client, beginners.empty_V, beginners.empty_b, part.solver.rows, d + 1)
        place = updated_inverse(part, client, own.items[item])
    record(own, client, step, item, reward)
    if own.slot[client] < 0 and own.own[client] > own.row_limit:
        condense(own, client)
    if not has_enough or part.inverses.status[place, 0] < d:
        return False
    add_scaled(part.b, own.items[item], reward)
    multiply(part.inverses.P[place], part.b, part.u)
    return True


@compiled
def _has_full_rank(protocol: Protocol, version: int, scratch: Scratch) -> bool:
    V = protocol.versions.V[version]
    largest = 0.0
    for i in range(V.shape[0]):
        largest += V[i, i]
    if protocol.versions.least_eigenvalue[version] > RANK * largest:
        return True
    least = least_eigenvalue(V, scratch)
    protocol.versions.least_eigenvalue[version] = max(least, 0.0)
    largest = 0.0
    for i in range(V.shape[0]):
        largest = max(largest, scratch.values[i, i])
    return least > RANK * largest


@compiled
def _warm_up(
    beginners: Beginners,
    models: PartialModels,
    protocol: Protocol,
    client: int,
    iterations: int,
    ridge: float,
) -> tuple[float, float]:
    """Batch alternating minimisation from θ_g in `u`, with the received data in `V` and `b` of the global part."""
    pending, own = protocol.pending, models.own
    global_part, local_part = models.global_part, models.local_part
    count = beginners.own.own[client]
    step = pending.latest[client]
    for _ in range(count):
        x = pending.items[pending.row_item[step]]
        x_g = x[global_part.first_feature : global_part.first_feature + global_part.dimension]
        add_rank_one(global_part.V, global_part.w, x_g, 0.0)
        own.row_target[step] = beginners.own.row_target[step] - dot(global_part.u, x_g)
        pending.row_target[step] = np.inf
        step = pending.previous[step]
    rebuild(global_part.V, global_part.P, global_part.status, global_part.scratch)
    is_independent = take_over(local_part.rows, SCRATCH, own, client, count)
    if not is_independent:
        _rebuild_local(models, client, count)
    movement = np.inf
    for _ in range(iterations):
        movement = _alternate_batch(beginners, models, pending, client, count, is_independent)
        if movement <= AM_STOP:
            break
    own.own[client] = count
    own.unsent[client] = count
    if count > own.row_limit:
        condense(own, client)
    local_part.is_independent[client] = is_independent and count < local_part.dimension
    if local_part.is_independent[client] and own.slot[client] >= 0:
        take_over(local_part.rows, own.slot[client] + 1, own, client, count)
    global_part.is_independent[client] = False
    pending.own[client] = count
    pending.unsent[client] = count
    beginners.is_warm[client] = True
    arms = global_part.system.scores.size
    write_model(protocol, client, global_part.system.rows, global_part.dimension + arms)
    log_det = eliminate(global_part.system, global_part.dimension, arms, ridge)
    return log_det, movement


@compiled
def _rebuild_local(models: PartialModels, client: int, count: int) -> None:
    """Set P of the local part from the client's observations."""
    part, own = models.local_part, models.own
    copy(part.V, part.b, models.empty_V, models.empty_b)
    step = own.latest[client]
    for _ in range(count):
        x = own.items[own.row_item[step], part.first_feature : part.first_feature + part.dimension]
        add_rank_one(part.V, part.b, x, 0.0)
        step = own.previous[step]
    rebuild(part.V, part.P, part.status, part.scratch)


@compiled
def _alternate_batch(
    beginners: Beginners, models: PartialModels, pending: Pending, client: int, count: int, is_independent: bool
) -> float:
    """One local and one global step over the client's history; return how far a partial reward moved."""
    own, global_part, local_part = models.own, models.global_part, models.local_part
    reward, target, for_local = beginners.own.row_target, pending.row_target, own.row_target
    first_g, dg = global_part.first_feature, global_part.dimension
    first_l, dl = local_part.first_feature, local_part.dimension
    right_l, theta_l = local_part.u, local_part.w
    step = pending.latest[client]
    if is_independent:
        for s in range(count - 1, -1, -1):
            beginners.targets[s] = for_local[step]
            step = pending.previous[step]
        solve_for(local_part.rows, SCRATCH, count, beginners.targets, pending.items, theta_l)
    else:
        for i in range(dl):
            right_l[i] = 0.0
        for _ in range(count):
            add_scaled(right_l, pending.items[pending.row_item[step], first_l : first_l + dl], for_local[step])
            step = pending.previous[step]
        multiply(local_part.P, right_l, theta_l)
    _project(theta_l)

    right_g, theta_g = global_part.u, global_part.w
    for i in range(dg):
        right_g[i] = global_part.b[i]
    movement = 0.0
    step = pending.latest[client]
    for _ in range(count):
        x = pending.items[pending.row_item[step]]
        new = reward[step] - dot(theta_l, x[first_l : first_l + dl])
        movement = max(movement, abs(new - target[step]))
        target[step] = new
        add_scaled(right_g, x[first_g : first_g + dg], new)
        step = pending.previous[step]
    multiply(global_part.P, right_g, theta_g)
    _project(theta_g)

    step = pending.latest[client]
    for _ in range(count):
        x = pending.items[pending.row_item[step], first_g : first_g + dg]
        new = reward[step] - dot(theta_g, x)
        movement = max(movement, abs(new - for_local[step]))
        for_local[step] = new
        step = pending.previous[step]
    return movement


@compiled
def _project(theta: Vector) -> None:
    """Project onto the unit ball."""
    squared_norm = dot(theta, theta)
    if squared_norm > 1.0:
        norm = np.sqrt(squared_norm)
        for i in range(theta.size):
            theta[i] /= norm
