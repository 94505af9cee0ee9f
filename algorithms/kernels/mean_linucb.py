"""Mean-LinUCB, compiled: θ = h + (Vo + ρI)⁻¹(bo - Vo·h) is (Vo + ρI)⁻¹(bo + ρh), so each decision is one elimination.

The server's sum of all clients' estimates is the root of a binary tree, whose leaves they are: a new estimate changes
one path to the root, so the cost depends on log N, and no rounding errors accumulate.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from algorithms.compiled_run import CompiledRun, Events
from algorithms.exchange.acting_client import Exchanges, new_exchanges, transfer_counts, use_download
from algorithms.exchange.pending import Pending, condense, new_pending, record, write_model
from algorithms.exchange.read_ahead import prefetch, read_arms_ahead, read_own_data_ahead
from algorithms.hyperparameters import Confidence, confidence_of
from algorithms.methods.mean_linucb import MeanLinUCB
from algorithms.numerics.elimination import System, eliminate, new_system, place_arms, score, substitute_back
from algorithms.numerics.jit import compiled, entry_point
from algorithms.numerics.ties import pick_compiled
from algorithms.numerics.tolerances import TRIGGER
from algorithms.stream import Stream, trace_of
from algorithms.trace import Trace

IN_CACHE = 2048
"""So many nodes of the tree, those near its root, are read so often that they need not be read ahead."""


class State(NamedTuple):
    """Everything that a step reads and changes.

    `pulls` is ρh of each client, and `uploaded_log_det` is log det(Vo + ρI) at its last upload. Node n of `sums` is the
    sum of the nodes 2n and 2n + 1; node 1 is the root, and the last N are the estimates of the clients.
    """

    events: Events
    confidence: Confidence
    log_gamma: float
    seed: int
    own: Pending
    pulls: NDArray[np.float64]
    uploaded_log_det: NDArray[np.float64]
    sums: NDArray[np.float64]
    has_uploaded: NDArray[np.bool_]
    uploaders: NDArray[np.int64]
    """The number of clients that have uploaded, in an array of length 1."""
    empty_V: NDArray[np.float64]
    empty_b: NDArray[np.float64]
    system: System
    scratch: System
    unused: NDArray[np.float64]
    exchanges: Exchanges
    choices: NDArray[np.int32]


class MeanLinUCBRun(CompiledRun):
    """One run of Mean-LinUCB."""

    def __init__(self, method: MeanLinUCB, problem: Stream, seed: int) -> None:
        super().__init__(problem)
        dimension, clients = problem.items.shape[1], len(problem.client_ids)
        self.state = State(
            events=self.events,
            confidence=confidence_of(method),
            log_gamma=float(np.log(method.gamma)),
            seed=seed,
            own=new_pending(problem.items, 0, dimension, clients, self.steps),
            pulls=np.zeros((clients, dimension)),
            uploaded_log_det=np.full(clients, dimension * np.log(method.pull)),
            sums=np.zeros((2 * clients, dimension)),
            has_uploaded=np.zeros(clients, dtype=np.bool_),
            uploaders=np.zeros(1, dtype=np.int64),
            empty_V=np.zeros((dimension, dimension)),
            empty_b=np.zeros(dimension),
            system=new_system(dimension, problem.pools.shape[1]),
            scratch=new_system(dimension, 1),
            unused=np.zeros(dimension),
            exchanges=new_exchanges(self.steps),
            choices=self.choices,
        )

    def _advance(self, start: int, stop: int) -> int:
        return _run(start, stop, self.refer(self.state))

    def trace(self) -> Trace:
        """Return the trace of the run."""
        size = self.problem.items.shape[1]
        return trace_of(self.problem, self.choices, *transfer_counts(self.state.exchanges, self.problem, size))


@entry_point
def _run(start: int, stop: int, state: State) -> int:
    """Choose and learn; return the step it stopped at, earlier where scores are not finite."""
    events, own, system = state.events, state.own, state.system
    dimension = events.items.shape[1]
    for t in range(start, stop):
        client = events.clients[t]
        pool = events.pools[t]
        use_download(state.exchanges, t, own.latest[client])
        place_arms(system, events.items, pool, 0, dimension)
        write_model(own, client, state.empty_V, state.pulls[client], system.rows, dimension + pool.size)
        if t + 1 < stop:
            read_arms_ahead(events.items, events.pools[t + 1])
            read_own_data_ahead(own, events.clients[t + 1])
            _read_sums_ahead(state, events.clients[t + 1])
        log_det = score(system, dimension, state.confidence)
        choice = pick_compiled(system.scores, pool.size, state.seed, t)
        if choice < 0:
            return t
        state.choices[t] = choice
        record(own, client, t, pool[choice], events.rewards[t, choice] + events.noise[t])
        if own.slot[client] < 0 and own.own[client] > own.row_limit:
            condense(own, client)
        log_det += np.log1p(system.squared_widths[choice])
        if log_det - state.uploaded_log_det[client] > state.log_gamma + TRIGGER:
            state.uploaded_log_det[client] = log_det
            state.exchanges.uploads[t] = True
            _upload(state, client)
            _download(state, client)
    return stop


@compiled
def _read_sums_ahead(state: State, client: int) -> None:
    """Start to read the sums above a client's estimate; those near the root are in the processor's cache."""
    prefetch(state.pulls, client)
    node = client + state.sums.shape[0] // 2
    while node >= IN_CACHE:
        prefetch(state.sums, node)
        prefetch(state.sums, node ^ 1)
        node //= 2


@compiled
def _upload(state: State, client: int) -> None:
    """Replace the client's leaf by (Vo + ρI)⁻¹bo, and the sums above it."""
    scratch, sums = state.scratch, state.sums
    dimension = sums.shape[1]
    write_model(state.own, client, state.empty_V, state.empty_b, scratch.rows, dimension + 1)
    eliminate(scratch, dimension, 1, state.confidence.ridge)
    node = client + sums.shape[0] // 2
    substitute_back(scratch, dimension, sums[node], state.unused)
    while node > 1:
        node //= 2
        total, left, right = sums[node], sums[2 * node], sums[2 * node + 1]
        for i in range(dimension):
            total[i] = left[i] + right[i]
    if not state.has_uploaded[client]:
        state.has_uploaded[client] = True
        state.uploaders[0] += 1


@compiled
def _download(state: State, client: int) -> None:
    """Set the client's ρh, where h is the mean of all estimates."""
    pull, total = state.pulls[client], state.sums[1]
    scale = state.confidence.ridge / state.uploaders[0]
    for i in range(pull.size):
        pull[i] = scale * total[i]
