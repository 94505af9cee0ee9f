"""Async-LinUCB, then alone, compiled: Algorithm 2 until a client leaves."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from algorithms.compiled_run import Events
from algorithms.exchange.event_triggered_run import EventTriggeredRun
from algorithms.exchange.pending import recall, record
from algorithms.exchange.protocol import Protocol, arrive, base_of, communicate, leave, new_protocol, write_model
from algorithms.exchange.read_ahead import read_arms_ahead, read_own_data_ahead
from algorithms.exchange.versions import EMPTY
from algorithms.hyperparameters import Confidence, confidence_of
from algorithms.methods.async_linucb_then_alone import AsyncLinUCBThenAlone
from algorithms.numerics.elimination import System, new_system, place_arms, score
from algorithms.numerics.jit import compiled, entry_point
from algorithms.numerics.ties import pick_compiled
from algorithms.stream import Stream


class State(NamedTuple):
    """Everything that a step reads and changes; `observations`: how many each client has made."""

    events: Events
    confidence: Confidence
    share_for: float
    keeps_shared: bool
    seed: int
    protocol: Protocol
    observations: NDArray[np.int32]
    system: System
    choices: NDArray[np.int32]


class AsyncLinUCBThenAloneRun(EventTriggeredRun):
    """One run of Async-LinUCB, then alone."""

    state: State

    def __init__(self, algorithm: AsyncLinUCBThenAlone, problem: Stream, seed: int) -> None:
        super().__init__(problem)
        dimension = problem.items.shape[1]
        self.state = State(
            events=self.events,
            confidence=confidence_of(algorithm),
            share_for=algorithm.share_for,
            keeps_shared=algorithm.keep == "shared",
            seed=seed,
            protocol=new_protocol(algorithm, problem, slice(0, dimension)),
            observations=np.zeros(len(problem.client_ids), dtype=np.int32),
            system=new_system(dimension, problem.pools.shape[1]),
            choices=self.choices,
        )

    def _run(self, start: int, stop: int) -> int:
        return _run(start, stop, self.refer(self.state))


@entry_point
def _run(start: int, stop: int, state: State) -> int:
    """Return the step it stopped at, earlier where scores are not finite."""
    events, protocol, system = state.events, state.protocol, state.system
    dimension = events.items.shape[1]
    for t in range(start, stop):
        client = events.clients[t]
        pool = events.pools[t]
        arrive(protocol, client, t)
        if state.share_for == 0 and state.observations[client] == 0:
            go_on_alone(state, client)
        place_arms(system, events.items, pool, 0, dimension)
        write_model(protocol, client, system.rows, dimension + pool.size)
        if t + 1 < stop:
            read_arms_ahead(events.items, events.pools[t + 1])
            read_own_data_ahead(protocol.pending, events.clients[t + 1])
        log_det = score(system, dimension, state.confidence)
        choice = pick_compiled(system.scores, pool.size, state.seed, t)
        if choice < 0:
            return t
        state.choices[t] = choice
        reward = events.rewards[t, choice] + events.noise[t]
        log_det += np.log1p(system.squared_widths[choice])
        record(protocol.pending, client, t, pool[choice], reward)
        state.observations[client] += 1
        if state.observations[client] == state.share_for:
            go_on_alone(state, client)
        communicate(protocol, client, t, log_det)  # a client that has left uploads nothing, but sums up its rows
    return stop


@compiled
def go_on_alone(state: State, client: int) -> None:
    """Let a client leave, with its current model or with all its own observations only."""
    protocol = state.protocol
    if state.keeps_shared:
        leave(protocol, client, base_of(protocol, client))
    else:
        leave(protocol, client, EMPTY)
        recall(protocol.pending, client, state.observations[client])
