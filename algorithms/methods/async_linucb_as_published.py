"""Async-LinUCB with two peculiarities of the published script, to measure their effect.

Not a method of the paper: each peculiarity departs from Algorithm 2 and has its own study in `benchmark/experiments`.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from algorithms.compiled_run import Events
from algorithms.exchange.protocol import Protocol, catch_up, join, observe, prepared_for, write_model
from algorithms.methods.async_linucb import AsyncLinUCB, AsyncLinUCBRun
from algorithms.numerics.elimination import Confidence, System, place_arms, score
from algorithms.numerics.jit import compiled, entry_point
from algorithms.numerics.ties import pick_compiled
from algorithms.numerics.tolerances import TIE
from algorithms.stream import Stream


@dataclass(frozen=True, kw_only=True)
class AsyncLinUCBAsPublished(AsyncLinUCB):
    """Hyper-parameters of Async-LinUCB, and the two peculiarities.

    `stale_models`: a client chooses with the model it had after its last observation; later downloads take effect
    only after its next observation. `first_maximum`: the first of several equal scores wins, instead of a random one;
    scores are equal if the methods of the paper treat them as a tie, so that rounding does not decide.
    """

    name: ClassVar[str] = "async-linucb-as-published"
    compile_seconds: ClassVar[int] = 20
    stale_models: bool = False
    first_maximum: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("stale_models", "first_maximum"):
            if not isinstance(getattr(self, name), bool):
                raise ValueError(f"{name} must be true or false, got {getattr(self, name)!r}")

    def start(self, problem: Stream, seed: int) -> "AsPublishedRun":
        """Prepare a run over a stream."""
        return AsPublishedRun(self, problem, seed)


class AsPublishedRun(AsyncLinUCBRun):
    """One run; it stores the model of every client after its last observation."""

    def __init__(self, algorithm: AsyncLinUCBAsPublished, problem: Stream, seed: int) -> None:
        super().__init__(algorithm, problem, seed)
        clients = len(problem.client_ids) if algorithm.stale_models else 0
        dimension = problem.items.shape[1]
        self._models = np.zeros((clients, dimension, dimension + 1))
        self._first_maximum = algorithm.first_maximum

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
            self._models,
            self._first_maximum,
            self.choices,
        )


@entry_point
def _run(
    start: int,
    stop: int,
    events: Events,
    confidence: Confidence,
    seed: int,
    protocol: Protocol,
    system: System,
    models: NDArray[np.float64],
    first_maximum: bool,
    choices: NDArray[np.int32],
) -> int:
    """As Algorithm 2, but for the habits; return the step it stopped at, earlier where scores are not finite."""
    dimension = events.items.shape[1]
    is_stale = models.shape[0] > 0
    for t in range(start, stop):
        client = events.clients[t]
        pool = events.pools[t]
        b_column = dimension + pool.size
        join(protocol, client)
        catch_up(protocol, client)
        choice = -1
        if is_stale:
            place_arms(system, events.items, pool, 0, dimension)
            _copy(models[client], dimension, system.rows, b_column, dimension)
            score(system, dimension, confidence)
            choice = _choose(system.scores, pool.size, seed, t, first_maximum)
        place_arms(system, events.items, pool, 0, dimension)
        write_model(protocol, client, system.rows, b_column)
        if is_stale:
            _copy(system.rows, b_column, models[client], dimension, dimension)
        log_det = score(system, dimension, confidence)
        if not is_stale:
            choice = _choose(system.scores, pool.size, seed, t, first_maximum)
        if choice < 0:
            return t
        choices[t] = choice
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
    """Copy V and b; b is a column, which may stand elsewhere."""
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
