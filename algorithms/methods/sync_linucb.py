"""Sync-LinUCB, Algorithm 4: whenever one client has waited long enough, all known clients synchronise."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from algorithms import hyperparameters as check
from algorithms.compiled_run import CompiledRun, Events
from algorithms.exchange.pending import Pending, condense, forget, new_pending, record, write_model
from algorithms.hyperparameters import Alpha
from algorithms.numerics.elimination import Confidence, System, new_system, place_arms, score
from algorithms.numerics.jit import compiled, entry_point
from algorithms.numerics.small_loops import add_rank_one, copy
from algorithms.numerics.ties import pick_compiled
from algorithms.numerics.tolerances import TRIGGER
from algorithms.stream import Stream, trace_of
from algorithms.trace import Trace


@dataclass(frozen=True, kw_only=True)
class SyncLinUCB:
    """Hyper-parameters of Sync-LinUCB: `threshold` is D, the others are as in Async-LinUCB."""

    name: ClassVar[str] = "sync-linucb"
    compile_seconds: ClassVar[int] = 5
    threshold: float
    alpha: Alpha = 0.3
    ridge: float = 0.2
    sigma: float = 0.1
    delta: float = 0.1

    def __post_init__(self) -> None:
        threshold = check.real("threshold", self.threshold, 0, np.inf, "a number from 0 to inf")
        object.__setattr__(self, "threshold", threshold)
        check.normalise_confidence(self)

    def start(self, problem: Stream, seed: int) -> "SyncLinUCBRun":
        """Prepare a run over a stream."""
        return SyncLinUCBRun(self, problem, seed)


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
    counters: NDArray[np.int64]
    """[0]: synchronisations so far; [1]: known clients."""
    transfers: NDArray[np.int64]


class SyncLinUCBRun(CompiledRun):
    """One run of Sync-LinUCB."""

    def __init__(self, algorithm: SyncLinUCB, problem: Stream, seed: int) -> None:
        super().__init__(problem)
        clients = len(problem.client_ids)
        d = problem.items.shape[1]
        self._confidence = check.confidence_of(algorithm)
        self._threshold = algorithm.threshold
        self._seed = seed
        self._system = new_system(d, problem.pools.shape[1])
        self.state = Synchronisation(
            pending=new_pending(problem.items, 0, d, clients, self.steps),
            all_V=np.zeros((d, d)),
            all_b=np.zeros(d),
            server_V=np.zeros((d, d)),
            server_b=np.zeros(d),
            empty_V=np.zeros((d, d)),
            empty_b=np.zeros(d),
            joined_at=np.full(clients, -1, dtype=np.int64),
            seen=np.zeros(clients, dtype=np.int64),
            log_ratio=np.zeros(clients),
            counters=np.zeros(2, dtype=np.int64),
            transfers=np.zeros(self.steps, dtype=np.int64),
        )

    def _advance(self, start: int, stop: int) -> int:
        return _run(
            start,
            stop,
            self.refer(self.events),
            self._confidence,
            self._threshold,
            self._seed,
            self.refer(self.state),
            self.refer(self._system),
            self.choices,
        )

    def trace(self) -> Trace:
        """Return the trace of the run: a synchronisation is one upload and one download of every known client."""
        transfers, joined = self.state.transfers, self.state.joined_at
        per_client = np.where(joined >= 0, self.state.counters[0] - joined, 0)
        return trace_of(self.problem, self.choices, transfers, transfers.copy(), per_client, per_client.copy())


@entry_point
def _run(
    start: int,
    stop: int,
    events: Events,
    confidence: Confidence,
    threshold: float,
    seed: int,
    state: Synchronisation,
    system: System,
    choices: NDArray[np.int32],
) -> int:
    """Algorithm 4, lines 3 to 19; return the step it stopped at, earlier where scores are not finite."""
    dimension = events.items.shape[1]
    for t in range(start, stop):
        client = events.clients[t]
        pool = events.pools[t]
        join(state, client)
        place_arms(system, events.items, pool, 0, dimension)
        if state.joined_at[client] < state.counters[0]:
            base_V, base_b = state.server_V, state.server_b
        else:
            base_V, base_b = state.empty_V, state.empty_b
        write_model(state.pending, client, base_V, base_b, system.rows, dimension + pool.size)
        score(system, dimension, confidence)
        choice = pick_compiled(system.scores, pool.size, seed, t)
        if choice < 0:
            return t
        choices[t] = choice
        reward = events.rewards[t, choice] + events.noise[t]
        item = pool[choice]
        record(state.pending, client, t, item, reward)
        if state.pending.slot[client] < 0 and state.pending.own[client] > state.pending.row_limit:
            condense(state.pending, client)
        add_rank_one(state.all_V, state.all_b, events.items[item], reward)
        state.log_ratio[client] += np.log1p(system.squared_widths[choice])
        waited = state.pending.own[client]
        if waited * state.log_ratio[client] > threshold + TRIGGER * (1.0 + threshold):
            synchronise(state, t)
    return stop


@compiled
def join(state: Synchronisation, client: int) -> None:
    """Make a client known, or let it notice a synchronisation since it last acted."""
    if state.joined_at[client] < 0:
        state.joined_at[client] = state.counters[0]
        state.seen[client] = state.counters[0]
        state.counters[1] += 1
    elif state.seen[client] < state.counters[0]:
        state.seen[client] = state.counters[0]
        state.log_ratio[client] = 0.0
        forget(state.pending, client)


@compiled
def synchronise(state: Synchronisation, step: int) -> None:
    """Lines 11 to 18: all known clients upload, the server adds up, all known clients download."""
    state.counters[0] += 1
    state.transfers[step] = state.counters[1]
    copy(state.server_V, state.server_b, state.all_V, state.all_b)
