"""Async-LinUCB, Algorithm 2, compiled: LinUCB on the event-triggered protocol of Algorithm 1."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from algorithms.compiled_run import CompiledRun, Events
from algorithms.exchange.protocol import (
    Protocol,
    catch_up,
    client_downloads,
    join,
    new_protocol,
    observe,
    prepared_for,
    write_model,
)
from algorithms.exchange.read_ahead import read_arms_ahead, read_own_data_ahead
from algorithms.hyperparameters import per_client
from algorithms.methods.async_linucb import AsyncLinUCB
from algorithms.numerics.confidence import Confidence, confidence_of
from algorithms.numerics.elimination import System, new_system, place_arms, score
from algorithms.numerics.jit import entry_point
from algorithms.numerics.ties import pick_compiled
from algorithms.stream import Stream, trace_of
from algorithms.trace import Trace


class State(NamedTuple):
    """Everything that a step reads and changes."""

    events: Events
    confidence: Confidence
    seed: int
    protocol: Protocol
    system: System
    choices: NDArray[np.int32]


class AsyncLinUCBRun(CompiledRun):
    """One run of Async-LinUCB, to be advanced step by step or all at once."""

    def __init__(self, algorithm: AsyncLinUCB, problem: Stream, seed: int) -> None:
        super().__init__(problem)
        clients = len(problem.client_ids)
        dimension = problem.items.shape[1]
        protocol = new_protocol(
            problem.items,
            0,
            dimension,
            self.steps,
            algorithm.ridge,
            per_client("gamma_upload", algorithm.gamma_upload, clients),
            per_client("gamma_download", algorithm.gamma_download, clients),
        )
        system = new_system(dimension, problem.pools.shape[1])
        self.state = State(self.events, confidence_of(algorithm), seed, protocol, system, self.choices)

    @property
    def protocol(self) -> Protocol:
        """The state of Algorithm 1."""
        return self.state.protocol

    def _advance(self, start: int, stop: int) -> int:
        self.state = self.state._replace(protocol=prepared_for(self.protocol, stop - start))
        return _run(start, stop, self.refer(self.state))

    def trace(self) -> Trace:
        """Return the trace of the run."""
        p = self.protocol
        return trace_of(self.problem, self.choices, p.uploads, p.downloads, p.uploads_of, client_downloads(p))


@entry_point
def _run(start: int, stop: int, state: State) -> int:
    """Algorithm 2, lines 3 to 10; return the step it stopped at, earlier where scores are not finite."""
    events, protocol, system = state.events, state.protocol, state.system
    dimension = events.items.shape[1]
    for t in range(start, stop):
        client = events.clients[t]
        pool = events.pools[t]
        join(protocol, client)
        catch_up(protocol, client)
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
