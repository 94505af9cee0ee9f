"""Algorithm 5: before its own data, or what it received, have full rank, a client runs LinUCB on its own.

A beginner (state 0) uploads nothing; what it downloads is kept. Once a rank suffices, alternating minimisation
over its whole history splits each reward into its global and its local part, and the client goes on as in
Algorithm 3.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from algorithms.elimination import Confidence, System, eliminate, place_arms, score
from algorithms.jit import compiled
from algorithms.moore_penrose import Scratch, complete, dot, include, least_eigenvalue, multiply, new_scratch, rebuild
from algorithms.partial_models import PartialModels
from algorithms.pending import Pending, remember
from algorithms.protocol import Protocol, base_of, write_model
from algorithms.statistics import Matrix, Vector, add_rank_one, add_scaled, clear, copy
from algorithms.tolerances import AM_STOP, RANK


class Beginners(NamedTuple):
    """Each client's own observations over the whole x, and the partial rewards of the steps in state 0."""

    is_warm: NDArray[np.bool_]
    observations: NDArray[np.int32]
    V: Matrix
    b: Matrix
    P: Matrix
    status: Matrix
    scratch: Scratch
    reward: Vector
    for_local: Vector
    theta: Vector


def new_beginners(clients: int, steps: int, dimension: int) -> Beginners:
    """Allocate zeros: nobody has data yet."""
    return Beginners(
        is_warm=np.zeros(clients, dtype=np.bool_),
        observations=np.zeros(clients, dtype=np.int32),
        V=np.zeros((clients, dimension, dimension)),
        b=np.zeros((clients, dimension)),
        P=np.zeros((clients, dimension, dimension)),
        status=np.zeros((clients, 2)),
        scratch=new_scratch(dimension),
        reward=np.zeros(steps),
        for_local=np.zeros(steps),
        theta=np.zeros(dimension),
    )


@compiled
def choose_alone(
    beginners: Beginners,
    client: int,
    system: System,
    items: Matrix,
    pool: NDArray[np.int32],
    confidence: Confidence,
) -> None:
    """Line 10: score by Eq. 5 on the client's own observations."""
    d, arms = items.shape[1], pool.size
    place_arms(system, items, pool, 0, d)
    for i in range(d):
        row, V_row = system.rows[i], beginners.V[client, i]
        for j in range(d):
            row[j] = V_row[j]
        row[d + arms] = beginners.b[client, i]
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
    x = protocol.pending.items[item]
    remember(protocol.pending, client, step, item)
    beginners.reward[step] = reward
    beginners.observations[client] += 1
    V, b, P, status = beginners.V[client], beginners.b[client], beginners.P[client], beginners.status[client]
    outcome = include(V, P, status, x, beginners.scratch)
    add_rank_one(V, b, x, reward)
    complete(V, P, status, beginners.scratch, outcome)

    base = base_of(protocol, client)
    copy(models.V, models.b, protocol.versions.V[base], protocol.versions.b[base])  # a beginner's V_i
    start = models.u  # θ_g
    if status[0] == x.size:
        multiply(P, b, beginners.theta)
        for i in range(models.global_dim):
            start[i] = beginners.theta[models.global_first + i]
    elif _has_full_rank(protocol, base, models.global_scratch):
        rebuild(models.V, models.global_P[client], models.global_status[client], models.global_scratch)
        multiply(models.global_P[client], models.b, start)
    else:
        return 0.0, 0.0
    return _warm_up(beginners, models, protocol, client, iterations, ridge)


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
    """Batch alternating minimisation from θ_g in `models.u`, with what was received in `models.V` and `models.b`."""
    pending = protocol.pending
    count = beginners.observations[client]
    V, b = models.local_V[client], models.local_b[client]
    step = pending.latest[client]
    for _ in range(count):
        x = pending.items[pending.row_item[step]]
        add_rank_one(models.V, models.w, x[models.global_first :], 0.0)
        add_rank_one(V, b, x[models.local_first :], 0.0)
        beginners.for_local[step] = beginners.reward[step] - dot(models.u, x[models.global_first :])
        pending.row_target[step] = np.inf
        step = pending.previous[step]
    rebuild(models.V, models.global_P[client], models.global_status[client], models.global_scratch)
    rebuild(V, models.local_P[client], models.local_status[client], models.local_scratch)
    movement = np.inf
    for _ in range(iterations):
        movement = _alternate_batch(beginners, models, pending, client, count)
        if movement <= AM_STOP:
            break
    clear(V, b)
    step = pending.latest[client]
    for _ in range(count):
        x = pending.items[pending.row_item[step]]
        add_rank_one(V, b, x[models.local_first :], beginners.for_local[step])
        step = pending.previous[step]
    pending.own[client] = count
    pending.unsent[client] = count
    beginners.is_warm[client] = True
    write_model(protocol, client, models.global_system.rows, models.global_dim + models.global_system.scores.size)
    log_det = eliminate(models.global_system, models.global_dim, models.global_system.scores.size, ridge)
    return log_det, movement


@compiled
def _alternate_batch(beginners: Beginners, models: PartialModels, pending: Pending, client: int, count: int) -> float:
    """One local and one global step over the client's history; return how far a partial reward moved."""
    target, for_local = pending.row_target, beginners.for_local
    right_l, theta_l = models.local_u, models.local_w
    for i in range(models.local_dim):
        right_l[i] = 0.0
    step = pending.latest[client]
    for _ in range(count):
        x = pending.items[pending.row_item[step]]
        add_scaled(right_l, x[models.local_first :], for_local[step])
        step = pending.previous[step]
    multiply(models.local_P[client], right_l, theta_l)
    _project(theta_l)

    right_g, theta_g = models.u, models.w
    for i in range(models.global_dim):
        right_g[i] = models.b[i]
    movement = 0.0
    step = pending.latest[client]
    for _ in range(count):
        x = pending.items[pending.row_item[step]]
        new = beginners.reward[step] - dot(theta_l, x[models.local_first :])
        movement = max(movement, abs(new - target[step]))
        target[step] = new
        add_scaled(right_g, x[models.global_first :], new)
        step = pending.previous[step]
    multiply(models.global_P[client], right_g, theta_g)
    _project(theta_g)

    step = pending.latest[client]
    for _ in range(count):
        x = pending.items[pending.row_item[step]]
        new = beginners.reward[step] - dot(theta_g, x[models.global_first :])
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
