"""The two models of a heterogeneous client: the global one, shared by the protocol, and its own local one.

Each has a ridge estimate for choosing and a pseudo-inverse for alternating minimisation. The local
pseudo-inverse is kept by rank-1 updates; so is the global one until a download changes V as a whole. From then on a
global V known to be well-conditioned is solved afresh at each step, and any other is rebuilt once.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from algorithms.alternating import Line, line_of
from algorithms.elimination import System, new_system, place_arms
from algorithms.jit import compiled
from algorithms.moore_penrose import (
    SOLVABLE,
    UNKNOWN,
    Scratch,
    include,
    least_eigenvalue,
    multiply,
    new_scratch,
    rebuild,
    solve_two,
    trace_of,
)
from algorithms.protocol import Protocol, base_of, write_model
from algorithms.statistics import Matrix, Vector

Matrices = Matrix
"""One matrix for each client."""


class PartialModels(NamedTuple):
    """Statistics and pseudo-inverses of all clients, and room for the one that acts.

    `global_P` and `local_P` are pseudo-inverses, each with its status: rank, and updates since a rebuild.
    """

    global_first: int
    global_dim: int
    local_first: int
    local_dim: int
    local_V: Matrices
    local_b: Matrix
    local_P: Matrices
    local_status: Matrix
    global_P: Matrices
    global_status: Matrix
    global_system: System
    local_system: System
    solver: System
    global_scratch: Scratch
    local_scratch: Scratch
    V: Matrix
    b: Vector
    u: Vector
    w: Vector
    local_u: Vector
    local_w: Vector


def new_models(clients: int, arms: int, global_part: slice, local_part: slice) -> PartialModels:
    """Allocate zeros: no client has data yet. Memory is taken only for clients that act."""
    dg, dl = global_part.stop - global_part.start, local_part.stop - local_part.start
    return PartialModels(
        global_first=global_part.start,
        global_dim=dg,
        local_first=local_part.start,
        local_dim=dl,
        local_V=np.zeros((clients, dl, dl)),
        local_b=np.zeros((clients, dl)),
        local_P=np.zeros((clients, dl, dl)),
        local_status=np.zeros((clients, 2)),
        global_P=np.zeros((clients, dg, dg)),
        global_status=np.zeros((clients, 2)),
        global_system=new_system(dg, arms),
        local_system=new_system(dl, arms),
        solver=new_system(dg, 1),
        global_scratch=new_scratch(dg),
        local_scratch=new_scratch(dl),
        V=np.zeros((dg, dg)),
        b=np.zeros(dg),
        u=np.zeros(dg),
        w=np.zeros(dg),
        local_u=np.zeros(dl),
        local_w=np.zeros(dl),
    )


@compiled
def write_models(
    models: PartialModels, protocol: Protocol, client: int, items: Matrix, pool: NDArray[np.int32]
) -> None:
    """Write both systems of a decision, and keep the global {V, b} for the learning after it."""
    dg, dl, arms = models.global_dim, models.local_dim, pool.size
    place_arms(models.global_system, items, pool, models.global_first, dg)
    place_arms(models.local_system, items, pool, models.local_first, dl)
    rows = models.global_system.rows
    write_model(protocol, client, rows, dg + arms)
    for i in range(dg):
        row, V_row = rows[i], models.V[i]
        for j in range(dg):
            V_row[j] = row[j]
        models.b[i] = row[dg + arms]
    for i in range(dl):
        row, V_row = models.local_system.rows[i], models.local_V[client, i]
        for j in range(dl):
            row[j] = V_row[j]
        row[dl + arms] = models.local_b[client, i]


@compiled
def local_line(models: PartialModels, client: int, x: Vector) -> Line:
    """Include x in the local pseudo-inverse and describe the iterates of the local step of Eq. 7."""
    V, b, P = models.local_V[client], models.local_b[client], models.local_P[client]
    status, scratch = models.local_status[client], models.local_scratch
    x_l = x[models.local_first : models.local_first + models.local_dim]
    if not include(V, P, status, x_l, scratch):
        # V itself takes x only after the alternation, with its partial reward
        _add_outer(V, x_l, 1.0)
        rebuild(V, P, status, scratch)
        _add_outer(V, x_l, -1.0)
    multiply(P, b, models.local_u)
    multiply(P, x_l, models.local_w)
    return line_of(x_l, models.local_u, models.local_w)


@compiled
def global_line(models: PartialModels, protocol: Protocol, client: int, x: Vector, downloaded: bool) -> Line:
    """Include x in the global model and describe the iterates of the global step of Eq. 7."""
    V, b, u, w = models.V, models.b, models.u, models.w
    P, status, scratch = models.global_P[client], models.global_status[client], models.global_scratch
    x_g = x[models.global_first : models.global_first + models.global_dim]
    if downloaded:
        status[0] = UNKNOWN
    is_current = status[0] != UNKNOWN and include(V, P, status, x_g, scratch)
    _add_outer(V, x_g, 1.0)
    if not is_current:
        if status[0] == UNKNOWN and _is_solvable(protocol, client, trace_of(V), scratch):
            solve_two(models.solver, V, b, x_g, u, w)
            return line_of(x_g, u, w)
        rebuild(V, P, status, scratch)
    multiply(P, b, u)
    multiply(P, x_g, w)
    return line_of(x_g, u, w)


@compiled
def _add_outer(V: Matrix, x: Vector, scale: float) -> None:
    for i in range(x.size):
        row = V[i]
        factor = scale * x[i]
        for j in range(x.size):
            row[j] += factor * x[j]


@compiled
def _is_solvable(protocol: Protocol, client: int, trace: float, scratch: Scratch) -> bool:
    """Tell whether V_i, of the given trace, is surely of full rank: its base version alone suffices."""
    versions = protocol.versions
    base = base_of(protocol, client)
    bound = versions.least_eigenvalue[base]
    if bound < 0.0 or 0.0 < bound * SOLVABLE <= trace:
        bound = max(least_eigenvalue(versions.V[base], scratch), 0.0)
        versions.least_eigenvalue[base] = bound
    return bool(bound * SOLVABLE > trace)
