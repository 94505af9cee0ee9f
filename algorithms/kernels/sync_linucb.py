"""Sync-LinUCB, Algorithm 4, compiled; and with a single client that acts at all steps, one LinUCB for all."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from algorithms.compiled_run import CompiledRun, Events
from algorithms.exchange.pending import Pending, condense, forget, new_pending, record, write_model
from algorithms.exchange.read_ahead import read_arms_ahead, read_own_data_ahead
from algorithms.hyperparameters import Confidence, confidence_of
from algorithms.methods.sync_linucb import CentralisedLinUCB, SyncLinUCB
from algorithms.numerics.elimination import System, new_system, place_arms, score
from algorithms.numerics.jit import compiled, entry_point
from algorithms.numerics.small_loops import add_rank_one, copy
from algorithms.numerics.ties import pick_compiled
from algorithms.numerics.tolerances import TRIGGER
from algorithms.stream import Stream, silent_trace, trace_of
from algorithms.trace import Counts, Trace


class Synchronisation(NamedTuple):
    """The state of the server and of each client.

    Since all unsent data reach the server together, its next state is the sum of all data.
    A client's log-ratio is the sum of log(1 + ‖x‖²) over its own observations since the last synchronisation.
    """

    pending: Pending
    all_V: NDArray[np.float64]
    all_b: NDArray[np.float64]
    server_V: NDArray[np.float64]
    server_b: NDArray[np.float64]
    empty_V: NDArray[np.float64]
    empty_b: NDArray[np.float64]
    joined_at: NDArray[np.int64]
    seen: NDArray[np.int64]
    log_ratio: NDArray[np.float64]
    synchronisations: NDArray[np.int64]
    """The number of synchronisations so far, in an array of length 1."""
    known_clients: NDArray[np.int64]
    """The number of clients that have acted, in an array of length 1."""
    with_data: NDArray[np.int64]
    """The number of clients that have acted since the last synchronisation, in an array of length 1."""
    transfers: NDArray[np.int64]
    needed_up: NDArray[np.int64]
    needed_down: NDArray[np.bool_]
    """Whether there was a synchronisation since the acting client last acted."""


class State(NamedTuple):
    """Everything that a step reads and changes."""

    events: Events
    confidence: Confidence
    threshold: float
    seed: int
    server: Synchronisation
    system: System
    choices: NDArray[np.int32]


class SyncLinUCBRun(CompiledRun):
    """One run of Sync-LinUCB."""

    def __init__(self, algorithm: SyncLinUCB | CentralisedLinUCB, problem: Stream, seed: int) -> None:
        super().__init__(problem)
        dimension = problem.items.shape[1]
        self.state = State(
            events=self.events,
            confidence=confidence_of(algorithm),
            threshold=getattr(algorithm, "threshold", math.inf),
            seed=seed,
            server=_new_synchronisation(problem.items, len(problem.client_ids), self.steps),
            system=new_system(dimension, problem.pools.shape[1]),
            choices=self.choices,
        )

    def _advance(self, start: int, stop: int) -> int:
        return _run(start, stop, self.refer(self.state))

    def trace(self) -> Trace:
        """Return the trace of the run: a synchronisation is one upload and one download of every known client."""
        server, count = self.state.server, self.state.server.synchronisations[0]
        transfers, of_client = server.transfers, np.where(server.joined_at >= 0, count - server.joined_at, 0)
        needed_of = np.bincount(self.problem.client_numbers[server.needed_down], minlength=len(of_client))
        has_sent_since = (server.joined_at >= 0) & (server.seen < count)  # and has not acted again
        needed_down = server.needed_down.astype(np.int64)
        by_step = Counts(transfers, transfers.copy(), server.needed_up, needed_down)
        by_client = Counts(of_client, of_client.copy(), needed_of + has_sent_since, needed_of)
        return trace_of(self.problem, self.choices, by_step, by_client)


def _new_synchronisation(items: NDArray[np.float64], clients: int, steps: int) -> Synchronisation:
    """Start with an empty server and no known clients."""
    d = items.shape[1]
    return Synchronisation(
        pending=new_pending(items, 0, d, clients, steps),
        all_V=np.zeros((d, d)),
        all_b=np.zeros(d),
        server_V=np.zeros((d, d)),
        server_b=np.zeros(d),
        empty_V=np.zeros((d, d)),
        empty_b=np.zeros(d),
        joined_at=np.full(clients, -1, dtype=np.int64),
        seen=np.zeros(clients, dtype=np.int64),
        log_ratio=np.zeros(clients),
        synchronisations=np.zeros(1, dtype=np.int64),
        known_clients=np.zeros(1, dtype=np.int64),
        with_data=np.zeros(1, dtype=np.int64),
        transfers=np.zeros(steps, dtype=np.int64),
        needed_up=np.zeros(steps, dtype=np.int64),
        needed_down=np.zeros(steps, dtype=np.bool_),
    )


@entry_point
def _run(start: int, stop: int, state: State) -> int:
    """Algorithm 4, lines 3 to 19; return the step it stopped at, earlier where scores are not finite."""
    events, server, system, threshold = state.events, state.server, state.system, state.threshold
    dimension = events.items.shape[1]
    for t in range(start, stop):
        client = events.clients[t]
        pool = events.pools[t]
        join(server, client, t)
        place_arms(system, events.items, pool, 0, dimension)
        if server.joined_at[client] < server.synchronisations[0]:
            base_V, base_b = server.server_V, server.server_b
        else:
            base_V, base_b = server.empty_V, server.empty_b
        write_model(server.pending, client, base_V, base_b, system.rows, dimension + pool.size)
        if t + 1 < stop:
            read_arms_ahead(events.items, events.pools[t + 1])
            read_own_data_ahead(server.pending, events.clients[t + 1])
        score(system, dimension, state.confidence)
        choice = pick_compiled(system.scores, pool.size, state.seed, t)
        if choice < 0:
            return t
        state.choices[t] = choice
        reward = events.rewards[t, choice] + events.noise[t]
        item = pool[choice]
        record(server.pending, client, t, item, reward)
        if server.pending.slot[client] < 0 and server.pending.own[client] > server.pending.row_limit:
            condense(server.pending, client)
        add_rank_one(server.all_V, server.all_b, events.items[item], reward)
        server.log_ratio[client] += np.log1p(system.squared_widths[choice])
        waited = server.pending.own[client]
        if waited == 1:
            server.with_data[0] += 1
        if waited * server.log_ratio[client] > threshold + TRIGGER * (1.0 + threshold):
            synchronise(server, t)
    return stop


@compiled
def join(server: Synchronisation, client: int, step: int) -> None:
    """Make a client known, or let it notice a synchronisation since it last acted."""
    if server.joined_at[client] < 0:
        server.joined_at[client] = server.synchronisations[0]
        server.seen[client] = server.synchronisations[0]
        server.known_clients[0] += 1
    elif server.seen[client] < server.synchronisations[0]:
        server.seen[client] = server.synchronisations[0]
        server.log_ratio[client] = 0.0
        server.needed_down[step] = True
        forget(server.pending, client)


@compiled
def synchronise(server: Synchronisation, step: int) -> None:
    """Lines 11 to 18: all known clients upload, the server adds up, all known clients download."""
    server.synchronisations[0] += 1
    server.transfers[step] = server.known_clients[0]
    server.needed_up[step] = server.with_data[0]
    server.with_data[0] = 0
    copy(server.server_V, server.server_b, server.all_V, server.all_b)


class CentralisedLinUCBRun(SyncLinUCBRun):
    """One run of CentralisedLinUCB: Sync-LinUCB as if one client acted at all steps, which never synchronises."""

    def __init__(self, method: CentralisedLinUCB, problem: Stream, seed: int) -> None:
        super().__init__(method, problem, seed)
        one_client = self.events._replace(clients=np.zeros(self.steps, dtype=np.int32))
        server = _new_synchronisation(problem.items, 1, self.steps)
        self.state = self.state._replace(events=one_client, server=server)

    def trace(self) -> Trace:
        """Return the trace of the run: nothing is sent."""
        return silent_trace(self.problem, self.choices)
