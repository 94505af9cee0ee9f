"""Async-LinUCB-Shrunk, compiled.

With h the shared estimate, θ_i = h + (V_o + ρI)⁻¹(b_o - V_o·h) = (V_o + ρI)⁻¹(b_o + ρh): LinUCB's decision on the
client's own statistics, with ridge ρ and ρh added to b_o.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from algorithms.compiled_run import Events
from algorithms.exchange.event_triggered_run import EventTriggeredRun
from algorithms.exchange.pending import Pending, new_pending, record_unshared
from algorithms.exchange.pending import write_model as write_own_model
from algorithms.exchange.protocol import Protocol, arrive, new_protocol, observe, write_model
from algorithms.exchange.read_ahead import read_arms_ahead, read_own_data_ahead
from algorithms.hyperparameters import Confidence
from algorithms.methods.async_linucb_shrunk import AsyncLinUCBShrunk
from algorithms.numerics.elimination import System, eliminate, new_system, place_arms, score, solve, squared_width
from algorithms.numerics.jit import compiled, entry_point
from algorithms.numerics.small_loops import Matrix, Vector
from algorithms.numerics.ties import pick_compiled
from algorithms.stream import Stream


class Own(NamedTuple):
    """The clients' own statistics, never sent, and the system of a decision; `confidence` has ρ as its ridge."""

    pending: Pending
    confidence: Confidence
    system: System
    empty_V: Matrix
    empty_b: Vector


class Shared(NamedTuple):
    """The system of the shared model, without arms, and its estimate h; `remainder` is a scratch buffer."""

    system: System
    h: Vector
    remainder: Vector


class State(NamedTuple):
    """Everything that a step reads and changes."""

    events: Events
    seed: int
    protocol: Protocol
    shared: Shared
    own: Own
    choices: NDArray[np.int32]


class AsyncLinUCBShrunkRun(EventTriggeredRun):
    """One run of Async-LinUCB-Shrunk."""

    state: State

    def __init__(self, algorithm: AsyncLinUCBShrunk, problem: Stream, seed: int) -> None:
        super().__init__(problem)
        d = problem.items.shape[1]
        own = Own(
            pending=new_pending(problem.items, 0, d, len(problem.client_ids), self.steps),
            confidence=Confidence(algorithm.alpha, algorithm.pull, sigma=0.0, delta=1.0),
            system=new_system(d, problem.pools.shape[1]),
            empty_V=np.zeros((d, d)),
            empty_b=np.zeros(d),
        )
        shared = Shared(new_system(d, 0), np.zeros(d), np.zeros(d))
        protocol = new_protocol(algorithm, problem, slice(0, d))
        self.state = State(self.events, seed, protocol, shared, own, self.choices)

    def _run(self, start: int, stop: int) -> int:
        return _run(start, stop, self.refer(self.state))


@entry_point
def _run(start: int, stop: int, state: State) -> int:
    """Return the step it stopped at, earlier where scores are not finite."""
    events, protocol, shared, own = state.events, state.protocol, state.shared, state.own
    dimension = events.items.shape[1]
    for t in range(start, stop):
        client = events.clients[t]
        pool = events.pools[t]
        arrive(protocol, client, t)
        write_model(protocol, client, shared.system.rows, dimension)
        if t + 1 < stop:
            read_arms_ahead(events.items, events.pools[t + 1])
            read_own_data_ahead(protocol.pending, events.clients[t + 1])
            read_own_data_ahead(own.pending, events.clients[t + 1])
        log_det = eliminate(shared.system, dimension, 0, protocol.ridge)
        solve(shared.system, shared.h)
        place_arms(own.system, events.items, pool, 0, dimension)
        write_shrunk_model(own, client, shared.h, dimension + pool.size)
        score(own.system, dimension, own.confidence)
        choice = pick_compiled(own.system.scores, pool.size, state.seed, t)
        if choice < 0:
            return t
        state.choices[t] = choice
        item = pool[choice]
        reward = events.rewards[t, choice] + events.noise[t]
        log_det += np.log1p(squared_width(shared.system, events.items[item], shared.remainder))
        record_unshared(own.pending, client, t, item, reward)
        observe(protocol, client, t, item, reward, log_det)
    return stop


@compiled
def write_shrunk_model(own: Own, client: int, h: Vector, b_column: int) -> None:
    """Write {V_o, b_o + ρh} into the rows of the system."""
    rows = own.system.rows
    write_own_model(own.pending, client, own.empty_V, own.empty_b, rows, b_column)
    for i in range(h.size):
        rows[i, b_column] += own.confidence.ridge * h[i]
