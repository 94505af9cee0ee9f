"""Async-LinUCB, Algorithm 2: LinUCB on the event-triggered protocol of Algorithm 1."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from algorithms import hyperparameters as check
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
from algorithms.hyperparameters import Alpha, Threshold
from algorithms.numerics.elimination import Confidence, System, new_system, place_arms, score
from algorithms.numerics.jit import entry_point
from algorithms.numerics.ties import pick_compiled
from algorithms.stream import Stream, trace_of
from algorithms.trace import Trace


@dataclass(frozen=True, kw_only=True)
class AsyncLinUCB:
    """Hyper-parameters of Async-LinUCB.

    Give `gamma` (γ), or `gamma_upload` (γ_U) and `gamma_download` (γ_D) where they differ; each is a number
    from 1 to inf, or one per client in increasing order of client id. `ridge` is λ; `alpha` is α, or
    "theory" for the formula after Eq. 5, which uses `sigma` (σ) and `delta` (δ).
    """

    name: ClassVar[str] = "async-linucb"
    compile_seconds: ClassVar[int] = 20
    gamma: Threshold | None = None
    gamma_upload: Threshold | None = None
    gamma_download: Threshold | None = None
    alpha: Alpha = 0.3
    ridge: float = 0.2
    sigma: float = 0.1
    delta: float = 0.1

    def __post_init__(self) -> None:
        check.normalise_thresholds(self)
        check.normalise_confidence(self)

    def start(self, problem: Stream, seed: int) -> "AsyncLinUCBRun":
        """Prepare a run over a stream."""
        return AsyncLinUCBRun(self, problem, seed)


class AsyncLinUCBRun(CompiledRun):
    """One run of Async-LinUCB, to be advanced step by step or all at once."""

    def __init__(self, algorithm: AsyncLinUCB, problem: Stream, seed: int) -> None:
        super().__init__(problem)
        clients = len(problem.client_ids)
        dimension = problem.items.shape[1]
        self._confidence = check.confidence_of(algorithm)
        self._seed = seed
        self._system = new_system(dimension, problem.pools.shape[1])
        self.protocol = new_protocol(
            problem.items,
            0,
            dimension,
            self.steps,
            algorithm.ridge,
            check.per_client("gamma_upload", algorithm.gamma_upload, clients),
            check.per_client("gamma_download", algorithm.gamma_download, clients),
        )

    def _advance(self, start: int, stop: int) -> int:
        self.protocol = prepared_for(self.protocol, stop - start)
        return _run(
            start,
            stop,
            self.refer(self.events),
            self._confidence,
            self._seed,
            self.refer(self.protocol),
            self.refer(self._system),
            self.choices,
        )

    def trace(self) -> Trace:
        """Return the trace of the run."""
        p = self.protocol
        return trace_of(self.problem, self.choices, p.uploads, p.downloads, p.uploads_of, client_downloads(p))


@entry_point
def _run(
    start: int,
    stop: int,
    events: Events,
    confidence: Confidence,
    seed: int,
    protocol: Protocol,
    system: System,
    choices: NDArray[np.int32],
) -> int:
    """Algorithm 2, lines 3 to 10; return the step it stopped at, earlier where scores are not finite."""
    dimension = events.items.shape[1]
    for t in range(start, stop):
        client = events.clients[t]
        pool = events.pools[t]
        join(protocol, client)
        catch_up(protocol, client)
        place_arms(system, events.items, pool, 0, dimension)
        write_model(protocol, client, system.rows, dimension + pool.size)
        log_det = score(system, dimension, confidence)
        choice = pick_compiled(system.scores, pool.size, seed, t)
        if choice < 0:
            return t
        choices[t] = choice
        reward = events.rewards[t, choice] + events.noise[t]
        log_det += np.log1p(system.squared_widths[choice])
        observe(protocol, client, t, pool[choice], reward, log_det)
    return stop
