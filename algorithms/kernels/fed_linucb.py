"""FedLinUCB, compiled. A client's synced state is a version of the server's state, which clients may share."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from algorithms.compiled_run import CompiledRun, Events
from algorithms.exchange.acting_client import Exchanges, new_exchanges, transfer_counts, use_download
from algorithms.exchange.pending import (
    Pending,
    add_unsent,
    condense,
    forget,
    new_pending,
    record,
    write_base,
    write_model,
)
from algorithms.exchange.read_ahead import prefetch, read_arms_ahead, read_own_data_ahead
from algorithms.exchange.versions import EMPTY, Versions, make_version, new_versions, release
from algorithms.hyperparameters import Confidence, confidence_of
from algorithms.messages import numbers_in_statistics
from algorithms.methods.fed_linucb import FedLinUCB
from algorithms.numerics.elimination import System, eliminate, new_system, place_arms, score
from algorithms.numerics.jit import compiled, entry_point
from algorithms.numerics.ties import pick_compiled
from algorithms.numerics.tolerances import TRIGGER
from algorithms.stream import Stream, trace_of
from algorithms.trace import Trace


class State(NamedTuple):
    """Everything that a step reads and changes. `synced` is the version that each client last downloaded."""

    events: Events
    confidence: Confidence
    log_gamma: float
    own_data: bool
    welcome: bool
    seed: int
    pending: Pending
    versions: Versions
    synced: NDArray[np.int32]
    system: System
    scratch: System
    exchanges: Exchanges
    choices: NDArray[np.int32]


class FedLinUCBRun(CompiledRun):
    """One run of FedLinUCB."""

    def __init__(self, method: FedLinUCB, problem: Stream, seed: int) -> None:
        super().__init__(problem)
        dimension, clients = problem.items.shape[1], len(problem.client_ids)
        self.state = State(
            events=self.events,
            confidence=confidence_of(method),
            log_gamma=float(np.log(method.gamma)),
            own_data=method.own_data,
            welcome=method.welcome,
            seed=seed,
            pending=new_pending(problem.items, 0, dimension, clients, self.steps),
            versions=new_versions(clients + 3, dimension, method.ridge),  # also the empty, the newest and the next one
            synced=np.full(clients, EMPTY, dtype=np.int32),
            system=new_system(dimension, problem.pools.shape[1]),
            scratch=new_system(dimension, 0),
            exchanges=new_exchanges(self.steps),
            choices=self.choices,
        )

    def _advance(self, start: int, stop: int) -> int:
        return _run(start, stop, self.refer(self.state))

    def trace(self) -> Trace:
        """Return the trace of the run."""
        size = numbers_in_statistics(self.problem.items.shape[1])
        return trace_of(self.problem, self.choices, *transfer_counts(self.state.exchanges, self.problem, size))


@entry_point
def _run(start: int, stop: int, state: State) -> int:
    """Choose and learn; return the step it stopped at, earlier where scores are not finite."""
    events, pending, versions, system = state.events, state.pending, state.versions, state.system
    dimension = events.items.shape[1]
    for t in range(start, stop):
        client = events.clients[t]
        pool = events.pools[t]
        if pending.latest[client] < 0:
            _join(state, client, t)
        use_download(state.exchanges, t, pending.latest[client])
        synced = state.synced[client]
        place_arms(system, events.items, pool, 0, dimension)
        if state.own_data:
            write_model(pending, client, versions.V[synced], versions.b[synced], system.rows, dimension + pool.size)
        else:
            write_base(versions.V[synced], versions.b[synced], system.rows, dimension + pool.size)
        if t + 1 < stop:
            read_arms_ahead(events.items, events.pools[t + 1])
            read_own_data_ahead(pending, events.clients[t + 1])
            prefetch(versions.V, state.synced[events.clients[t + 1]])
        log_det = score(system, dimension, state.confidence)
        choice = pick_compiled(system.scores, pool.size, state.seed, t)
        if choice < 0:
            return t
        state.choices[t] = choice
        record(pending, client, t, pool[choice], events.rewards[t, choice] + events.noise[t])
        if pending.slot[client] < 0 and pending.own[client] > pending.row_limit:
            condense(pending, client)
        if state.own_data or pending.own[client] == 1:  # the scored V lacks this observation only
            log_det += np.log1p(system.squared_widths[choice])
        else:
            log_det = _log_det_with_buffer(state, client)
        if log_det - versions.log_det[synced] > state.log_gamma + TRIGGER:
            _exchange(state, client, t, log_det)
    return stop


@compiled
def _join(state: State, client: int, step: int) -> None:
    """Let a client start without data; if it is welcome, with the server's state."""
    versions = state.versions
    if state.welcome and versions.newest[0] != EMPTY:
        state.synced[client] = versions.newest[0]
        state.exchanges.welcomes[step] = True
    versions.references[state.synced[client]] += 1


@compiled
def _log_det_with_buffer(state: State, client: int) -> float:
    """Return log det(Vm + ΔV + λI)."""
    versions, scratch, synced = state.versions, state.scratch, state.synced[client]
    dimension = versions.b.shape[1]
    write_model(state.pending, client, versions.V[synced], versions.b[synced], scratch.rows, dimension)
    return eliminate(scratch, dimension, 0, state.confidence.ridge)


@compiled
def _exchange(state: State, client: int, step: int, log_det: float) -> None:
    """Add the client's buffer to the server's state, as a new version, and let the client download it."""
    versions, old, synced = state.versions, state.versions.newest[0], state.synced[client]
    new = make_version(versions, old)
    versions.newest[0] = new
    add_unsent(state.pending, client, versions.V[new], versions.b[new])
    forget(state.pending, client)
    if synced == old:
        versions.log_det[new] = log_det
    else:
        write_base(versions.V[new], versions.b[new], state.scratch.rows, versions.b.shape[1])
        versions.log_det[new] = eliminate(state.scratch, versions.b.shape[1], 0, state.confidence.ridge)
    release(versions, old)
    release(versions, synced)
    versions.references[new] += 1
    state.synced[client] = new
    state.exchanges.uploads[step] = True
