"""Async-LinTS, compiled: Thompson sampling on the event-triggered protocol of Algorithm 1."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from algorithms.compiled_run import Events
from algorithms.exchange.event_triggered_run import EventTriggeredRun
from algorithms.exchange.protocol import Protocol, arrive, count_of, new_protocol, observe, write_model
from algorithms.exchange.read_ahead import read_arms_ahead, read_own_data_ahead
from algorithms.methods.async_lints import AsyncLinTS
from algorithms.numerics.elimination import System, eliminate, new_system, place_arms
from algorithms.numerics.jit import compiled, entry_point
from algorithms.numerics.random_numbers import THOMPSON, fill_with_normals
from algorithms.numerics.ties import pick_compiled
from algorithms.stream import Stream


class Sampling(NamedTuple):
    """The scale v of the draw (NaN for the formula), λ, σ and δ; `z` holds the normals of a step."""

    v: float
    ridge: float
    sigma: float
    delta: float
    z: NDArray[np.float64]


class State(NamedTuple):
    """Everything that a step reads and changes."""

    events: Events
    sampling: Sampling
    seed: int
    protocol: Protocol
    system: System
    choices: NDArray[np.int32]


class AsyncLinTSRun(EventTriggeredRun):
    """One run of Async-LinTS."""

    state: State

    def __init__(self, algorithm: AsyncLinTS, problem: Stream, seed: int) -> None:
        super().__init__(problem)
        dimension = problem.items.shape[1]
        v = math.nan if algorithm.v == "theory" else algorithm.v
        sampling = Sampling(v, algorithm.ridge, algorithm.sigma, algorithm.delta, np.zeros(dimension))
        protocol = new_protocol(algorithm, problem, slice(0, dimension))
        system = new_system(dimension, problem.pools.shape[1])
        self.state = State(self.events, sampling, seed, protocol, system, self.choices)

    def _run(self, start: int, stop: int) -> int:
        return _run(start, stop, self.refer(self.state))


@entry_point
def _run(start: int, stop: int, state: State) -> int:
    """Return the step it stopped at, earlier where scores are not finite."""
    events, sampling, protocol, system = state.events, state.sampling, state.protocol, state.system
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
        log_det = eliminate(system, dimension, pool.size, sampling.ridge)
        fill_with_normals(sampling.z, state.seed, t, THOMPSON, 0)
        sample_scores(system, sampling, scale_of(sampling, count_of(protocol, client)))
        choice = pick_compiled(system.scores, pool.size, state.seed, t)
        if choice < 0:
            return t
        state.choices[t] = choice
        reward = events.rewards[t, choice] + events.noise[t]
        log_det += np.log1p(system.squared_widths[choice])
        observe(protocol, client, t, pool[choice], reward, log_det)
    return stop


@compiled
def scale_of(sampling: Sampling, count: int) -> float:
    """v: the number itself, or for NaN σ√(9d·log(max(n, 2)/δ))."""
    if not np.isnan(sampling.v):
        return sampling.v
    return sampling.sigma * math.sqrt(9.0 * sampling.z.size * math.log(max(count, 2) / sampling.delta))


@compiled
def sample_scores(system: System, sampling: Sampling, v: float) -> None:
    """Set the scores to xᵀθ̂ + v·(L⁻¹x)ᵀz for V(λ) = LLᵀ, where L⁻¹x is a reduced column divided by √D."""
    scores, z = system.scores, sampling.z
    for k in range(scores.size):
        scores[k] = system.means[k]
    for i in range(z.size):
        reduced = system.rows[i, z.size :]
        weight = v * z[i] * math.sqrt(system.inverse_pivots[i])
        for k in range(scores.size):
            scores[k] += weight * reduced[k]
