"""Async-LinUCB-AM, Algorithm 3, and its warm start, Algorithm 5."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from algorithms import hyperparameters as check
from algorithms.alternating import alternate
from algorithms.elimination import Confidence, System, new_system, score
from algorithms.hyperparameters import Alpha, Threshold
from algorithms.jit import compiled
from algorithms.partial_models import PartialModels, global_line, local_line, new_models, write_models
from algorithms.problem import Problem, trace_of
from algorithms.protocol import (
    Protocol,
    catch_up,
    client_downloads,
    communicate,
    join,
    new_protocol,
    observe,
    prepared_for,
)
from algorithms.run import CompiledRun, Events
from algorithms.statistics import add_scaled
from algorithms.ties import pick_compiled
from algorithms.tolerances import AM_SETTLED
from algorithms.trace import Trace
from algorithms.warm_start import Beginners, choose_alone, learn_alone, new_beginners


@dataclass(frozen=True, kw_only=True)
class AsyncLinUCBAM:
    """Hyper-parameters of Async-LinUCB-AM, beside those of Async-LinUCB.

    `global_dim` is d_g: the first d_g features are global, the others local; `None` makes all features both.
    `warm_start` selects Algorithm 5. `am_iterations` bounds the alternating minimisation of one step.
    """

    name: ClassVar[str] = "async-linucb-am"
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
            raise ValueError(f"warm_start is {self.warm_start!r}; allowed are True and False")
        object.__setattr__(self, "am_iterations", check.integer("am_iterations", self.am_iterations, 1))

    def feature_slices(self, dimension: int) -> tuple[slice, slice]:
        """Return where the global and where the local features lie in x."""
        if self.global_dim is None:
            return slice(0, dimension), slice(0, dimension)
        check.integer("global_dim", self.global_dim, 1, dimension)
        return slice(0, self.global_dim), slice(self.global_dim, dimension)

    def start(self, problem: Problem, seed: int) -> "AsyncLinUCBAMRun":
        """Prepare a run over a stream."""
        return AsyncLinUCBAMRun(self, problem, seed)


class Parameters(NamedTuple):
    """What the kernel needs besides the stream and its state; `alone` is the confidence of a beginner."""

    warm_start: bool
    am_iterations: int
    together: Confidence
    alone: Confidence
    seed: int


class AsyncLinUCBAMRun(CompiledRun):
    """One run of Async-LinUCB-AM."""

    def __init__(self, algorithm: AsyncLinUCBAM, problem: Problem, seed: int) -> None:
        super().__init__(problem)
        clients = len(problem.client_ids)
        dimension, arms = problem.items.shape[1], problem.pools.shape[1]
        global_part, local_part = algorithm.feature_slices(dimension)
        self._parameters = Parameters(
            warm_start=algorithm.warm_start,
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
        self.models = new_models(clients, arms, global_part, local_part)
        self.beginners = new_beginners(clients if algorithm.warm_start else 1, self.steps, dimension)
        self._system = new_system(dimension, arms)
        self.unsettled = np.zeros(self.steps, dtype=np.bool_)

    def _advance(self, start: int, stop: int) -> int:
        self.protocol = prepared_for(self.protocol, stop - start)
        return _run(
            start,
            stop,
            self.events,
            self._parameters,
            self.protocol,
            self.models,
            self.beginners,
            self._system,
            self.choices,
            self.unsettled,
        )

    def trace(self) -> Trace:
        """Return the outcome."""
        p = self.protocol
        return trace_of(
            self.problem,
            self.choices,
            p.uploads,
            p.downloads,
            p.uploads_of,
            client_downloads(p),
            unsettled=self.unsettled,
            transfer_dim=self.models.global_dim,
        )


@compiled
def _run(
    start: int,
    stop: int,
    events: Events,
    parameters: Parameters,
    protocol: Protocol,
    models: PartialModels,
    beginners: Beginners,
    system: System,
    choices: NDArray[np.int32],
    unsettled: NDArray[np.bool_],
) -> int:
    """Algorithm 3 or 5; return the step it stopped at, earlier where scores are not finite."""
    p = parameters
    items = events.items
    for t in range(start, stop):
        client = events.clients[t]
        pool = events.pools[t]
        join(protocol, client)
        downloaded = catch_up(protocol, client)
        is_beginner = p.warm_start and not beginners.is_warm[client]
        if is_beginner:
            choose_alone(beginners, client, system, items, pool, p.alone)
            scores = system.scores
        else:
            write_models(models, protocol, client, items, pool)
            log_det = add_up_scores(models, p.together)
            scores = models.global_system.scores
        choice = pick_compiled(scores, pool.size, p.seed, t)
        if choice < 0:
            return t
        choices[t] = choice
        item = pool[choice]
        reward = events.rewards[t, choice] + events.noise[t]
        if is_beginner:
            log_det, movement = learn_alone(
                beginners, models, protocol, client, t, item, reward, p.am_iterations, p.alone.ridge
            )
            communicate(protocol, client, t, log_det)
        else:
            for_global, for_local, movement = alternate(
                reward,
                global_line(models, protocol, client, items[item], downloaded),
                local_line(models, client, items[item]),
                reward - models.local_system.means[choice],
                reward - models.global_system.means[choice],
                p.am_iterations,
            )
            add_scaled(models.local_b[client], items[item, models.local_first :], for_local)
            log_det += np.log1p(models.global_system.squared_widths[choice])
            observe(protocol, client, t, item, for_global, log_det)
        unsettled[t] = movement > AM_SETTLED
    return stop


@compiled
def add_up_scores(models: PartialModels, confidence: Confidence) -> float:
    """Eq. 8: add the bounds of the local part to those of the global part; return log det of the global V(λ)."""
    log_det = score(models.global_system, models.global_dim, confidence)
    score(models.local_system, models.local_dim, confidence)
    for k in range(models.global_system.scores.size):
        models.global_system.scores[k] += models.local_system.scores[k]
    return log_det
