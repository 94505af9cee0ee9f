"""Async-LinUCB-AM, Algorithm 3, and its warm start, Algorithm 5."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from algorithms import hyperparameters as check
from algorithms.compiled_run import CompiledRun, Events
from algorithms.exchange.protocol import (
    Protocol,
    catch_up,
    client_downloads,
    communicate,
    join,
    new_protocol,
    observe,
    prepared_for,
)
from algorithms.hyperparameters import Alpha, Threshold
from algorithms.kernels.alternating import alternate
from algorithms.kernels.partial_models import (
    PartialModels,
    global_line,
    learn_global,
    learn_local,
    local_line,
    new_models,
    prepared_models,
    write_models,
)
from algorithms.kernels.warm_start import Beginners, choose_alone, learn_alone, new_beginners, prepared_beginners
from algorithms.numerics.elimination import Confidence, System, new_system, score
from algorithms.numerics.jit import compiled, entry_point
from algorithms.numerics.ties import pick_compiled
from algorithms.numerics.tolerances import AM_SETTLED
from algorithms.stream import Stream, trace_of
from algorithms.trace import Trace


@dataclass(frozen=True, kw_only=True)
class AsyncLinUCBAM:
    """Hyper-parameters of Async-LinUCB-AM, in addition to those of Async-LinUCB.

    `global_dim` is d_g: the first d_g features are global, the others local; with `None` all features are both.
    `warm_start` selects Algorithm 5. `am_iterations` bounds the alternating minimisation of one step.
    """

    name: ClassVar[str] = "async-linucb-am"
    compile_seconds: ClassVar[int] = 45
    kernel_settings: ClassVar[tuple[str, ...]] = ("warm_start",)
    gamma: Threshold | None = None
    gamma_upload: Threshold | None = None
    gamma_download: Threshold | None = None
    global_dim: int | None = None
    warm_start: bool = False
    am_iterations: int = 100
    alpha: Alpha = 0.3
    ridge: float = 0.2
    sigma: float = 0.1
    delta: float = 0.1

    def __post_init__(self) -> None:
        check.normalise_thresholds(self)
        check.normalise_confidence(self)
        if self.global_dim is not None:
            object.__setattr__(self, "global_dim", check.integer("global_dim", self.global_dim, 1))
        if not isinstance(self.warm_start, bool):
            raise ValueError(f"warm_start must be True or False, got {self.warm_start!r}")
        object.__setattr__(self, "am_iterations", check.integer("am_iterations", self.am_iterations, 1))

    def feature_slices(self, dimension: int) -> tuple[slice, slice]:
        """Return the positions of the global and of the local features in x."""
        if self.global_dim is None:
            return slice(0, dimension), slice(0, dimension)
        check.integer("global_dim", self.global_dim, 1, dimension)
        return slice(0, self.global_dim), slice(self.global_dim, dimension)

    def start(self, problem: Stream, seed: int) -> "AsyncLinUCBAMRun":
        """Prepare a run over a stream."""
        return AsyncLinUCBAMRun(self, problem, seed)


class Parameters(NamedTuple):
    """Parameters of the kernel besides the stream and the state; `alone` is the confidence of a beginner."""

    am_iterations: int
    together: Confidence
    alone: Confidence
    seed: int


class AsyncLinUCBAMRun(CompiledRun):
    """One run of Async-LinUCB-AM."""

    def __init__(self, algorithm: AsyncLinUCBAM, problem: Stream, seed: int) -> None:
        super().__init__(problem)
        clients = len(problem.client_ids)
        dimension, arms = problem.items.shape[1], problem.pools.shape[1]
        global_part, local_part = algorithm.feature_slices(dimension)
        self._parameters = Parameters(
            am_iterations=algorithm.am_iterations,
            together=check.confidence_of(algorithm, extra_sigma=2.0),  # the lemma of section 3.4 has σ + 2
            alone=check.confidence_of(algorithm),
            seed=seed,
        )
        self.protocol = new_protocol(
            problem.items,
            global_part.start,
            global_part.stop - global_part.start,
            self.steps,
            algorithm.ridge,
            check.per_client("gamma_upload", algorithm.gamma_upload, clients),
            check.per_client("gamma_download", algorithm.gamma_download, clients),
        )
        self.models = new_models(problem.items, clients, self.steps, arms, global_part, local_part)
        self.beginners = new_beginners(problem.items, clients, self.steps) if algorithm.warm_start else None
        self._system = new_system(dimension, arms)
        self.unsettled = np.zeros(self.steps, dtype=np.bool_)
        self.outcome = Outcome(self.choices, self.unsettled)

    def _advance(self, start: int, stop: int) -> int:
        self.protocol = prepared_for(self.protocol, stop - start)
        self.models = prepared_models(self.models, stop - start)
        if self.beginners is None:
            return _run(
                start,
                stop,
                self.refer(self.events),
                self._parameters,
                self.refer(self.protocol),
                self.refer(self.models),
                self.refer(self.outcome),
            )
        self.beginners = prepared_beginners(self.beginners, stop - start)
        return _run_with_warm_start(
            start,
            stop,
            self.refer(self.events),
            self._parameters,
            self.refer(self.protocol),
            self.refer(self.models),
            self.refer(self.beginners),
            self.refer(self._system),
            self.refer(self.outcome),
        )

    def trace(self) -> Trace:
        """Return the trace of the run."""
        p = self.protocol
        return trace_of(
            self.problem,
            self.choices,
            p.uploads,
            p.downloads,
            p.uploads_of,
            client_downloads(p),
            unsettled=self.unsettled,
            transfer_dim=self.models.global_part.dimension,
        )


class Outcome(NamedTuple):
    """The record of each step."""

    choices: NDArray[np.int32]
    unsettled: NDArray[np.bool_]


@entry_point
def _run(
    start: int,
    stop: int,
    events: Events,
    parameters: Parameters,
    protocol: Protocol,
    models: PartialModels,
    outcome: Outcome,
) -> int:
    """Algorithm 3; return the step it stopped at, earlier where scores are not finite."""
    for t in range(start, stop):
        client = events.clients[t]
        join(protocol, client)
        if not act_together(t, events, parameters, protocol, models, catch_up(protocol, client), outcome):
            return t
    return stop


@entry_point
def _run_with_warm_start(
    start: int,
    stop: int,
    events: Events,
    parameters: Parameters,
    protocol: Protocol,
    models: PartialModels,
    beginners: Beginners,
    system: System,
    outcome: Outcome,
) -> int:
    """Algorithm 5, returning the same; a separate kernel, because it takes as long to compile as the other."""
    p = parameters
    for t in range(start, stop):
        client = events.clients[t]
        pool = events.pools[t]
        join(protocol, client)
        downloaded = catch_up(protocol, client)
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
    for_global, for_local, movement = alternate(
        reward,
        global_line(models, protocol, client, item, downloaded),
        local_line(models, client, item),
        reward - local_system.means[choice],
        reward - global_system.means[choice],
        parameters.am_iterations,
    )
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
