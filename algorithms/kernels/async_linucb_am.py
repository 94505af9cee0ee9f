"""Async-LinUCB-AM, Algorithm 3, and its warm start, Algorithm 5, compiled."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from algorithms.alternating.alternation import alternate
from algorithms.alternating.partial_models import (
    PartialModels,
    global_line,
    learn_global,
    learn_local,
    local_line,
    new_models,
    prepared_models,
    read_form_ahead,
    write_models,
)
from algorithms.alternating.warm_start import Beginners, choose_alone, learn_alone, new_beginners, prepared_beginners
from algorithms.compiled_run import CompiledRun, Events
from algorithms.exchange.protocol import (
    Protocol,
    arrive,
    communicate,
    new_protocol,
    observe,
    prepared_for,
    transfer_counts,
)
from algorithms.exchange.read_ahead import read_arms_ahead, read_own_data_ahead
from algorithms.hyperparameters import Confidence, confidence_of
from algorithms.methods.async_linucb_am import AsyncLinUCBAM
from algorithms.numerics.elimination import System, new_system, score
from algorithms.numerics.jit import compiled, entry_point
from algorithms.numerics.ties import pick_compiled
from algorithms.numerics.tolerances import AM_SETTLED
from algorithms.stream import Stream, trace_of
from algorithms.trace import Trace


class Parameters(NamedTuple):
    """Parameters of the kernel besides the stream and the state; `alone` is the confidence of a beginner."""

    am_iterations: int
    global_first: bool
    together: Confidence
    alone: Confidence
    seed: int


class Outcome(NamedTuple):
    """The record of each step."""

    choices: NDArray[np.int32]
    unsettled: NDArray[np.bool_]


class State(NamedTuple):
    """Everything that a step of Algorithm 3 reads and changes."""

    events: Events
    parameters: Parameters
    protocol: Protocol
    models: PartialModels
    outcome: Outcome


class WarmStartState(NamedTuple):
    """Everything that a step of Algorithm 5 reads and changes, including the clients that still learn alone."""

    events: Events
    parameters: Parameters
    protocol: Protocol
    models: PartialModels
    outcome: Outcome
    beginners: Beginners
    system: System


class AsyncLinUCBAMRun(CompiledRun):
    """One run of Async-LinUCB-AM."""

    def __init__(self, algorithm: AsyncLinUCBAM, problem: Stream, seed: int) -> None:
        super().__init__(problem)
        clients = len(problem.client_ids)
        dimension, arms = problem.items.shape[1], problem.pools.shape[1]
        global_part, local_part = algorithm.feature_slices(dimension)
        parameters = Parameters(
            am_iterations=algorithm.am_iterations,
            global_first=algorithm.order == "global",
            together=confidence_of(algorithm, algorithm.extra_sigma),
            alone=confidence_of(algorithm),
            seed=seed,
        )
        protocol = new_protocol(algorithm, problem, global_part)
        models = new_models(problem.items, clients, self.steps, arms, global_part, local_part)
        outcome = Outcome(self.choices, np.zeros(self.steps, dtype=np.bool_))
        self.state = State(self.events, parameters, protocol, models, outcome)
        self.beginners = new_beginners(problem.items, clients, self.steps) if algorithm.warm_start else None
        self._system = new_system(dimension, arms)

    @property
    def protocol(self) -> Protocol:
        """The state of Algorithm 1."""
        return self.state.protocol

    def _advance(self, start: int, stop: int) -> int:
        self.state = self.state._replace(
            protocol=prepared_for(self.protocol, stop - start),
            models=prepared_models(self.state.models, stop - start),
        )
        if self.beginners is None:
            return _run(start, stop, self.refer(self.state))
        self.beginners = prepared_beginners(self.beginners, stop - start)
        state = WarmStartState(*self.state, beginners=self.beginners, system=self._system)
        return _run_with_warm_start(start, stop, self.refer(state))

    def trace(self) -> Trace:
        """Return the trace of the run."""
        return trace_of(
            self.problem,
            self.choices,
            *transfer_counts(self.protocol, self.problem),
            unsettled=self.state.outcome.unsettled,
        )


@entry_point
def _run(start: int, stop: int, state: State) -> int:
    """Algorithm 3; return the step it stopped at, earlier where scores are not finite."""
    events, protocol = state.events, state.protocol
    for t in range(start, stop):
        client = events.clients[t]
        downloaded = arrive(protocol, client, t)
        if t + 1 < stop:
            read_ahead(t + 1, events, protocol, state.models)
        if not act_together(t, events, state.parameters, protocol, state.models, downloaded, state.outcome):
            return t
    return stop


@entry_point
def _run_with_warm_start(start: int, stop: int, state: WarmStartState) -> int:
    """Algorithm 5, with the same return value; a separate kernel, because it takes as long to compile as the other."""
    events, p, protocol, models = state.events, state.parameters, state.protocol, state.models
    beginners, system, outcome = state.beginners, state.system, state.outcome
    for t in range(start, stop):
        client = events.clients[t]
        pool = events.pools[t]
        downloaded = arrive(protocol, client, t)
        if t + 1 < stop:
            read_ahead(t + 1, events, protocol, models)
        if beginners.is_warm[client]:
            if not act_together(t, events, p, protocol, models, downloaded, outcome):
                return t
            continue
        choose_alone(beginners, client, system, pool, p.alone)
        choice = pick_compiled(system.scores, pool.size, p.seed, t)
        if choice < 0:
            return t
        outcome.choices[t] = choice
        reward = events.rewards[t, choice] + events.noise[t]
        log_det, movement = learn_alone(
            beginners, models, protocol, client, t, pool[choice], reward, p.am_iterations, p.alone.ridge
        )
        communicate(protocol, client, t, log_det)
        outcome.unsettled[t] = movement > AM_SETTLED
    return stop


@compiled
def read_ahead(t: int, events: Events, protocol: Protocol, models: PartialModels) -> None:
    """Start to read the data that step t needs."""
    client = events.clients[t]
    read_arms_ahead(events.items, events.pools[t])
    read_own_data_ahead(protocol.pending, client)
    read_own_data_ahead(models.own, client)
    read_form_ahead(models.global_part, models.own, client)
    read_form_ahead(models.local_part, models.own, client)


@compiled
def act_together(
    t: int,
    events: Events,
    parameters: Parameters,
    protocol: Protocol,
    models: PartialModels,
    downloaded: bool,
    outcome: Outcome,
) -> bool:
    """Choose and learn at step t as in Algorithm 3; false if no score is finite."""
    client = events.clients[t]
    pool = events.pools[t]
    write_models(models, protocol, client, pool)
    log_det = add_up_scores(models, parameters.together)
    global_system, local_system = models.global_part.system, models.local_part.system
    choice = pick_compiled(global_system.scores, pool.size, parameters.seed, t)
    if choice < 0:
        return False
    outcome.choices[t] = choice
    item = pool[choice]
    reward = events.rewards[t, choice] + events.noise[t]
    of_global, of_local = global_line(models, protocol, client, item, downloaded), local_line(models, client, item)
    for_global, for_local = reward - local_system.means[choice], reward - global_system.means[choice]
    iterations = parameters.am_iterations
    if parameters.global_first:
        for_global, for_local, movement = alternate(reward, of_global, of_local, for_global, for_local, iterations)
    else:
        for_local, for_global, movement = alternate(reward, of_local, of_global, for_local, for_global, iterations)
    learn_local(models, client, t, item, for_local)
    log_det += np.log1p(global_system.squared_widths[choice])
    observe(protocol, client, t, item, for_global, log_det)
    learn_global(models, protocol, client, item, for_global)
    outcome.unsettled[t] = movement > AM_SETTLED
    return True


@compiled
def add_up_scores(models: PartialModels, confidence: Confidence) -> float:
    """Eq. 8: add the bounds of the local part to those of the global part; return log det of the global V(λ)."""
    global_part, local_part = models.global_part, models.local_part
    log_det = score(global_part.system, global_part.dimension, confidence)
    score(local_part.system, local_part.dimension, confidence)
    for k in range(global_part.system.scores.size):
        global_part.system.scores[k] += local_part.system.scores[k]
    return log_det
