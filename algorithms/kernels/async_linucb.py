"""Async-LinUCB, Algorithm 2, compiled: LinUCB on the event-triggered protocol of Algorithm 1; and as published."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from algorithms.compiled_run import Events
from algorithms.exchange.event_triggered_run import EventTriggeredRun
from algorithms.exchange.protocol import Protocol, arrive, new_protocol, observe, write_model
from algorithms.exchange.read_ahead import read_arms_ahead, read_own_data_ahead
from algorithms.hyperparameters import Confidence, confidence_of
from algorithms.methods.async_linucb import AsyncLinUCB, AsyncLinUCBAsPublished
from algorithms.numerics.elimination import System, new_system, place_arms, score
from algorithms.numerics.jit import compiled, entry_point
from algorithms.numerics.ties import pick_compiled
from algorithms.numerics.tolerances import TIE
from algorithms.stream import Stream


class State(NamedTuple):
    """Everything that a step reads and changes."""

    events: Events
    confidence: Confidence
    seed: int
    protocol: Protocol
    system: System
    choices: NDArray[np.int32]


class AsyncLinUCBRun(EventTriggeredRun):
    """One run of Async-LinUCB, to be advanced step by step or all at once."""

    state: State

    def __init__(self, algorithm: AsyncLinUCB, problem: Stream, seed: int) -> None:
        super().__init__(problem)
        dimension = problem.items.shape[1]
        protocol = new_protocol(algorithm, problem, slice(0, dimension))
        system = new_system(dimension, problem.pools.shape[1])
        self.state = State(self.events, confidence_of(algorithm), seed, protocol, system, self.choices)

    def _run(self, start: int, stop: int) -> int:
        return _run(start, stop, self.refer(self.state))


@entry_point
def _run(start: int, stop: int, state: State) -> int:
    """Algorithm 2, lines 3 to 10; return the step it stopped at, earlier where scores are not finite."""
    events, protocol, system = state.events, state.protocol, state.system
    dimension = events.items.shape[1]
    for t in range(start, stop):
        client = events.clients[t]
        pool = events.pools[t]
        arrive(protocol, client, t)
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
        observe(protocol, client, t, pool[choice], reward, log_det)
    return stop


class StateAsPublished(NamedTuple):
    """Everything that a step reads and changes; `models` is empty unless models are stale."""

    events: Events
    confidence: Confidence
    seed: int
    protocol: Protocol
    system: System
    models: NDArray[np.float64]
    first_maximum: bool
    choices: NDArray[np.int32]


class AsyncLinUCBAsPublishedRun(AsyncLinUCBRun):
    """One run; it stores the model of every client after its last observation."""

    def __init__(self, algorithm: AsyncLinUCBAsPublished, problem: Stream, seed: int) -> None:
        super().__init__(algorithm, problem, seed)
        clients = len(problem.client_ids) if algorithm.stale_models else 0
        dimension = problem.items.shape[1]
        self._models = np.zeros((clients, dimension, dimension + 1))
        self._first_maximum = algorithm.first_maximum

    def _run(self, start: int, stop: int) -> int:
        state = StateAsPublished(**self.state._asdict(), models=self._models, first_maximum=self._first_maximum)
        return _run_as_published(start, stop, self.refer(state))


@entry_point
def _run_as_published(start: int, stop: int, state: StateAsPublished) -> int:
    """Algorithm 2 with the peculiarities; return the step it stopped at, earlier where scores are not finite."""
    events, protocol, system, models = state.events, state.protocol, state.system, state.models
    dimension = events.items.shape[1]
    is_stale = models.shape[0] > 0
    for t in range(start, stop):
        client = events.clients[t]
        pool = events.pools[t]
        b_column = dimension + pool.size
        arrive(protocol, client, t)
        choice = -1
        if is_stale:
            place_arms(system, events.items, pool, 0, dimension)
            _copy(models[client], dimension, system.rows, b_column, dimension)
            score(system, dimension, state.confidence)
            choice = _choose(system.scores, pool.size, state.seed, t, state.first_maximum)
        place_arms(system, events.items, pool, 0, dimension)
        write_model(protocol, client, system.rows, b_column)
        if is_stale:
            _copy(system.rows, b_column, models[client], dimension, dimension)
        log_det = score(system, dimension, state.confidence)
        if not is_stale:
            choice = _choose(system.scores, pool.size, state.seed, t, state.first_maximum)
        if choice < 0:
            return t
        state.choices[t] = choice
        reward = events.rewards[t, choice] + events.noise[t]
        log_det += np.log1p(system.squared_widths[choice])
        observe(protocol, client, t, pool[choice], reward, log_det)
        if is_stale:
            _add(models[client], events.items[pool[choice]], reward)
    return stop


@compiled
def _choose(scores: NDArray[np.float64], arms: int, seed: int, step: int, first_maximum: bool) -> int:
    if not first_maximum:
        return pick_compiled(scores, arms, seed, step)
    best = -np.inf
    for arm in range(arms):
        best = max(best, scores[arm])
    if np.isfinite(best):
        for arm in range(arms):
            if scores[arm] >= best - TIE * (1 + abs(best)):
                return arm
    return -1


@compiled
def _copy(
    source: NDArray[np.float64], source_b: int, target: NDArray[np.float64], target_b: int, dimension: int
) -> None:
    """Copy V and b; b is a column, whose position may differ."""
    for i in range(dimension):
        for j in range(dimension):
            target[i, j] = source[i, j]
        target[i, target_b] = source[i, source_b]


@compiled
def _add(model: NDArray[np.float64], x: NDArray[np.float64], reward: float) -> None:
    dimension = model.shape[0]
    for i in range(dimension):
        for j in range(dimension):
            model[i, j] += x[i] * x[j]
        model[i, dimension] += x[i] * reward
