"""Measurements of the engine: against a floor, against the literal methods, in the number of clients, in FLOP/s."""

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from threadpoolctl import threadpool_limits

from algorithms import AsyncLinUCB, AsyncLinUCBAM, SyncLinUCB
from algorithms.elimination import System, eliminate, new_system
from algorithms.jit import compiled
from algorithms.literal import literal
from benchmark.floor import floor
from benchmark.replay import replay, replay_learner
from data_pipelines import EventStream, simulate

Algorithm = AsyncLinUCB | AsyncLinUCBAM | SyncLinUCB

GAMMAS = (np.inf, 1000.0, 5.0, 1.5, 1.05, 1.01, 1.0)
THRESHOLDS = (0.01, 1.0, 100.0, 1000.0)
SIMULATION = {"alpha": "theory", "ridge": 0.1, "sigma": 0.1, "delta": 0.1}
REPEATS = 5
PREFIX = 600


def lastfm_shaped() -> EventStream:
    """Simulate a stream of LastFM's shape: N, T and the number of items are those of the paper."""
    return simulate(seed=0, steps=96_733, clients=1_892, table=17_632)


def methods() -> list[tuple[Algorithm, float]]:
    """Return every method and threshold, with the multiple of the floor it must stay under."""
    rows: list[tuple[Algorithm, float]] = []
    for gamma in GAMMAS:
        rows.append((AsyncLinUCB(gamma=gamma, **SIMULATION), 1.5 if gamma in (1, np.inf) else 2.5))  # type: ignore[arg-type]
    for threshold in THRESHOLDS:
        rows.append((SyncLinUCB(threshold=threshold, **SIMULATION), 2.0))  # type: ignore[arg-type]
    for warm_start in (False, True):
        for gamma in GAMMAS:
            rows.append((AsyncLinUCBAM(gamma=gamma, warm_start=warm_start, **SIMULATION), 4.0))  # type: ignore[arg-type]
    return rows


def label(algorithm: Algorithm) -> str:
    """Name an algorithm with its threshold."""
    if isinstance(algorithm, SyncLinUCB):
        return f"{algorithm.name} D={algorithm.threshold:g}"
    start = " warm start" if isinstance(algorithm, AsyncLinUCBAM) and algorithm.warm_start else ""
    return f"{algorithm.name}{start} γ={algorithm.gamma:g}"


def use_one_core() -> None:
    """Keep this process on one core, where the system allows it."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def best_of(repeats: int, *works: Callable[[], object]) -> list[float]:
    """Return the shortest of several times of each work, in seconds of this process: least disturbed by others.

    The works take turns, so that they meet the same disturbances.
    """
    times: list[list[float]] = [[] for _ in works]
    for _ in range(repeats):
        for work, taken in zip(works, times, strict=True):
            start = time.process_time()
            work()
            taken.append(time.process_time() - start)
    return [min(taken) for taken in times]


@dataclass(frozen=True)
class SpeedRow:
    """One line of the main table."""

    label: str
    microseconds: float
    floor: float
    most: float
    speed_up: float

    @property
    def multiple(self) -> float:
        """The time of a step as a multiple of the floor's."""
        return self.microseconds / self.floor


def measure_methods(stream: EventStream) -> Iterator[SpeedRow]:
    """Measure each method in turns with the floor, and both implementations on a prefix of the stream."""
    run_floor = partial(floor, stream.items, stream.pools, stream.rewards, stream.noise, 0.1, 0.3)
    run_floor()  # compile
    prefix = EventStream(
        items=stream.items,
        clients=stream.clients[:PREFIX],
        pools=stream.pools[:PREFIX],
        rewards=stream.rewards[:PREFIX],
        noise=stream.noise[:PREFIX],
    )
    for algorithm, most in methods():
        replay(algorithm, prefix)  # compile
        seconds, floor_seconds = best_of(REPEATS, partial(replay, algorithm, stream), run_floor)
        [ours] = best_of(REPEATS, partial(replay, algorithm, prefix))
        [theirs] = best_of(1, partial(replay_learner, literal(algorithm), prefix, 0))
        step = 1e6 / stream.steps
        yield SpeedRow(label(algorithm), seconds * step, floor_seconds * step, most, theirs / ours)


@dataclass(frozen=True)
class GrowthRow:
    """What a step costs with few and with many clients."""

    gamma: float
    few: float
    many: float
    most: float = 1.5

    @property
    def ratio(self) -> float:
        """Many over few."""
        return self.many / self.few


def measure_growth() -> Iterator[GrowthRow]:
    """Compare N=1,000 with N=100,000 at T=200,000, Async-LinUCB, one item table."""
    streams = [simulate(seed=0, steps=200_000, clients=clients, table=17_632) for clients in (1_000, 100_000)]
    for stream in streams:
        _ = stream.client_numbers
    for gamma in (np.inf, 1.01, 1.0):
        algorithm = AsyncLinUCB(gamma=gamma, **SIMULATION)  # type: ignore[arg-type]
        few, many = best_of(REPEATS, *(partial(replay, algorithm, stream) for stream in streams))
        yield GrowthRow(gamma, few / streams[0].steps * 1e6, many / streams[1].steps * 1e6)


def scoring_rate(d: int = 25, arms: int = 25, repeats: int = 20_000) -> float:
    """Return GFLOP/s of the elimination that scores one decision, counting only the operations it needs.

    d³/3 for the factor, d² for each of the K + 1 right-hand sides, 4d for each arm's width and mean.
    """
    rng = np.random.default_rng(0)
    data = rng.standard_normal((4 * d, d))
    system = new_system(d, arms)
    fresh = rng.standard_normal(system.rows.shape)
    fresh[:, :d] = data.T @ data
    _score_often(system, fresh, d, arms, 10)
    copying, both = best_of(
        REPEATS,
        partial(_copy_often, system, fresh, repeats),
        partial(_score_often, system, fresh, d, arms, repeats),
    )
    return (d**3 / 3 + (arms + 1) * d**2 + 4 * d * arms) * repeats / (both - copying) / 1e9


@compiled
def _score_often(system: System, fresh: np.ndarray, d: int, arms: int, repeats: int) -> None:
    for _ in range(repeats):
        _copy(system, fresh)
        eliminate(system, d, arms, 0.1)


@compiled
def _copy_often(system: System, fresh: np.ndarray, repeats: int) -> None:
    for _ in range(repeats):
        _copy(system, fresh)


@compiled
def _copy(system: System, fresh: np.ndarray) -> None:
    for i in range(fresh.shape[0]):
        row, fresh_row = system.rows[i], fresh[i]
        for j in range(row.size):
            row[j] = fresh_row[j]


def dgemm_rate(size: int = 1000) -> float:
    """Return GFLOP/s of this machine's matrix product on one thread."""
    matrix = np.random.default_rng(0).random((size, size))
    with threadpool_limits(1):
        matrix @ matrix
        return 2 * size**3 / best_of(REPEATS, lambda: matrix @ matrix)[0] / 1e9
