"""Sync-LinUCB, Algorithm 4, and DisLinUCB, compiled; and with one client for all steps, one LinUCB for all clients."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from algorithms.compiled_run import CompiledRun, Events
from algorithms.exchange.pending import Pending, condense, forget, new_pending, record, write_model
from algorithms.exchange.read_ahead import read_arms_ahead, read_own_data_ahead
from algorithms.hyperparameters import Confidence, confidence_of
from algorithms.messages import numbers_in_statistics
from algorithms.methods.sync_linucb import CentralisedLinUCB, DisLinUCB, SyncLinUCB
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
    is_known: NDArray[np.bool_]
    has_server_state: NDArray[np.bool_]
    """Whether a client's model is based on the server's state: it has downloaded one."""
    joined_at: NDArray[np.int64]
    seen: NDArray[np.int64]
    log_ratio: NDArray[np.float64]
    synchronisations: NDArray[np.int64]
    """The number of synchronisations so far, in an array of length 1."""
    known_clients: NDArray[np.int64]
    """The number of clients that have acted, in an array of length 1."""
    with_data: NDArray[np.int64]
    """The number of clients that have acted since the last synchronisation, in an array of length 1."""
    first_step: NDArray[np.int64]
    """The first step after the last synchronisation, in an array of length 1."""
    transfers: NDArray[np.int64]
    welcomes: NDArray[np.bool_]
    needed_up: NDArray[np.int64]
    needed_down: NDArray[np.bool_]
    """Whether the acting client has downloaded since it last acted."""


class State(NamedTuple):
    """Everything that a step reads and changes."""

    events: Events
    confidence: Confidence
    threshold: float
    in_rounds: bool
    welcome: bool
    seed: int
    server: Synchronisation
    system: System
    choices: NDArray[np.int32]


class SyncLinUCBRun(CompiledRun):
    """One run of Sync-LinUCB."""

    def __init__(self, algorithm: SyncLinUCB | DisLinUCB | CentralisedLinUCB, problem: Stream, seed: int) -> None:
        super().__init__(problem)
        dimension = problem.items.shape[1]
        self.state = State(
            events=self.events,
            confidence=confidence_of(algorithm),
            threshold=getattr(algorithm, "threshold", math.inf),
            in_rounds=getattr(algorithm, "clock", "own") == "rounds",
            welcome=getattr(algorithm, "welcome", False),
            seed=seed,
            server=_new_synchronisation(problem.items, len(problem.client_ids), self.steps),
            system=new_system(dimension, problem.pools.shape[1]),
            choices=self.choices,
        )
        self._charges_all = getattr(algorithm, "charge", "known") == "all"

    def _advance(self, start: int, stop: int) -> int:
        return _run(start, stop, self.refer(self.state))

    def trace(self) -> Trace:
        """Return the trace of the run: a synchronisation is one upload and one download of every client charged."""
        server, clients = self.state.server, self.problem.client_numbers
        count, size = server.synchronisations[0], numbers_in_statistics(self.problem.items.shape[1])
        transfers, of_client = server.transfers, np.where(server.is_known, count - server.joined_at, 0)
        if self._charges_all:
            transfers = np.where(transfers > 0, len(of_client), 0)
            of_client = np.full_like(of_client, count)
        welcomes_of = np.bincount(clients[server.welcomes], minlength=len(of_client))
        needed_of = np.bincount(clients[server.needed_down], minlength=len(of_client))
        has_sent_since = server.is_known & (server.seen < count)  # and has not acted again
        by_step = (transfers, transfers + server.welcomes, server.needed_up, server.needed_down.astype(np.int64))
        by_client = (of_client, of_client + welcomes_of, needed_of - welcomes_of + has_sent_since, needed_of)
        counts = [Counts.of_one_size(*each, size_up=size, size_down=size) for each in (by_step, by_client)]
        return trace_of(self.problem, self.choices, *counts)


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
        is_known=np.zeros(clients, dtype=np.bool_),
        has_server_state=np.zeros(clients, dtype=np.bool_),
        joined_at=np.zeros(clients, dtype=np.int64),
        seen=np.zeros(clients, dtype=np.int64),
        log_ratio=np.zeros(clients),
        synchronisations=np.zeros(1, dtype=np.int64),
        known_clients=np.zeros(1, dtype=np.int64),
        with_data=np.zeros(1, dtype=np.int64),
        first_step=np.zeros(1, dtype=np.int64),
        transfers=np.zeros(steps, dtype=np.int64),
        needed_up=np.zeros(steps, dtype=np.int64),
        welcomes=np.zeros(steps, dtype=np.bool_),
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
        arrive(server, client, t, state.welcome)
        place_arms(system, events.items, pool, 0, dimension)
        if server.has_server_state[client]:
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
        if server.pending.own[client] == 1:
            server.with_data[0] += 1
        waited = float(server.pending.own[client])
        if state.in_rounds:
            waited = (t + 1 - server.first_step[0]) / server.known_clients[0]
        if waited * server.log_ratio[client] > threshold + TRIGGER * (1.0 + threshold):
            synchronise(server, t)
    return stop


@compiled
def arrive(server: Synchronisation, client: int, step: int, welcome: bool) -> None:
    """Make a client known, or let it notice a synchronisation since it last acted."""
    if not server.is_known[client]:
        server.is_known[client] = True
        server.joined_at[client] = server.synchronisations[0]
        server.known_clients[0] += 1
        server.welcomes[step] = server.needed_down[step] = welcome and server.synchronisations[0] > 0
        server.has_server_state[client] = server.welcomes[step]
    elif server.seen[client] < server.synchronisations[0]:
        server.has_server_state[client] = True
        server.log_ratio[client] = 0.0
        server.needed_down[step] = True
        forget(server.pending, client)
    server.seen[client] = server.synchronisations[0]


@compiled
def synchronise(server: Synchronisation, step: int) -> None:
    """Lines 11 to 18: all known clients upload, the server adds up, all known clients download."""
    server.synchronisations[0] += 1
    server.transfers[step] = server.known_clients[0]
    server.needed_up[step] = server.with_data[0]
    server.with_data[0] = 0
    server.first_step[0] = step + 1
    copy(server.server_V, server.server_b, server.all_V, server.all_b)


class DisLinUCBRun(SyncLinUCBRun):
    """One run of DisLinUCB."""


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
