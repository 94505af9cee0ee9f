"""Speed of the engine: relative to the floor and to the literal methods, by number of clients, and in FLOP/s."""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from statistics import median
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from algorithms import AsyncLinUCB
from algorithms.literal import literal
from algorithms.method import Method, MethodInfo
from algorithms.numerics.elimination import System, eliminate, new_system
from algorithms.numerics.jit import compiled, entry_point
from algorithms.numerics.references import reference
from algorithms.registry import built_in_methods
from benchmark.execution.replay import replay
from data_pipelines import EventStream, simulate
from data_pipelines.support.progress import counted
from tests.performance.floor import floor

SIMULATION = {"alpha": "theory", "ridge": 0.1, "sigma": 0.1, "delta": 0.1}
REPEATS = 5
"""How often each measurement is repeated, unless the user asks for another number."""
PREFIX = 600
MAX_LITERAL_SECONDS = 60.0


def lastfm_shaped() -> EventStream:
    """Simulate a stream with the paper's numbers of clients, steps and items for LastFM."""
    return simulate(seed=0, steps=96_733, clients=1_892, table=17_632)


def methods() -> Iterator[Method]:
    """Yield every method in each of its forms, with seven values from one end of its grid to the other."""
    for info in built_in_methods().values():
        if info.front is not None:
            grid, choices = info.front.grid, form_values(info.method)
            for values in product(*choices.values()):
                for value in (*grid[:-1:2], grid[-1]):
                    form = dict(zip(choices, values, strict=True))
                    yield info.method(**{info.front.parameter: value}, **form, **in_simulations(info))


def in_simulations(info: MethodInfo) -> dict[str, Any]:
    """Return the paper's parameters in simulations, as far as a method has them; without σ, α has no formula."""
    values = {name: value for name, value in SIMULATION.items() if name in info.parameters}
    return values if "sigma" in values else {name: value for name, value in values.items() if name != "alpha"}


def form_values(method: type[Method]) -> dict[str, tuple[Any, ...]]:
    """Return the values of the parameters that select a kernel or may change its speed."""
    return {**dict.fromkeys(method.kernel_settings, (False, True)), **method.measured}


def representatives() -> Iterator[Method]:
    """Yield every method with default kernels at both ends of its grid and in between."""
    for info in built_in_methods().values():
        if info.front is not None:
            grid = info.front.grid
            for value in (grid[0], grid[-2], grid[-1]):
                yield info.method(**{info.front.parameter: value}, **in_simulations(info))


def label(method: Method) -> str:
    """Return the name of a method with its form and its value on the front."""
    front = method.front
    value = [f"{front.symbol}={getattr(method, front.parameter):g}"] if front else []
    return " ".join([form_label(method), *value])


def form_label(method: Method) -> str:
    """Return the name of a method with its form."""
    settings = [setting.replace("_", " ") for setting in method.kernel_settings if getattr(method, setting)]
    return " ".join([method.name, *settings, *(str(getattr(method, name)) for name in method.measured)])


def use_one_core() -> None:
    """Pin this process to one core, if the system supports it."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def best_of(repeats: int, *tasks: Callable[[], object]) -> list[float]:
    """Return the shortest CPU time of each task in seconds: the one least disturbed by other processes.

    The tasks alternate, so that all are subject to the same disturbances.
    """
    times: list[list[float]] = [[] for _ in tasks]
    for _ in range(repeats):
        for task, task_times in zip(tasks, times, strict=True):
            start = time.process_time()
            task()
            task_times.append(time.process_time() - start)
    return [min(task_times) for task_times in times]


@dataclass(frozen=True)
class SpeedRow:
    """A row of the main table; `form` is the name of the method without its value on the front."""

    label: str
    form: str
    microseconds: float
    floor: float
    max_multiple: float
    max_median: float | None
    phases: float | None
    """The time in phases per step, which is not part of `microseconds`; None for a method without phases."""
    speed_up: float | None
    """How many times faster than the literal method; None if that was measured at another threshold."""

    @property
    def multiple(self) -> float:
        """The time per step as a multiple of the floor."""
        return self.microseconds / self.floor


def measure_methods(stream: EventStream, repeats: int = REPEATS) -> Iterator[SpeedRow]:
    """Measure each method, alternating with the floor; once per kernel, both implementations on a short prefix.

    All methods take turns, so that the repeats of each are minutes apart: other work on the machine that lasts some
    seconds then disturbs one of them, not all.
    """
    run_floor = partial(floor, stream.items, stream.pools, stream.rewards, stream.noise, 0.1, 0.3)
    run_floor()  # compile
    by_step = {name: getattr(stream, name)[:PREFIX] for name in ("clients", "pools", "rewards", "noise")}
    prefix = replace(stream, **by_step)
    measured = [algorithm for algorithm in methods() if algorithm.limits().floor_multiple is not None]
    speed_ups = _speed_ups(measured, prefix, repeats)  # also compiles
    measurements: dict[Method, list[tuple[float, float, float]]] = {algorithm: [] for algorithm in measured}
    for algorithm in counted(measured * repeats, "measuring methods", "replays"):
        measurements[algorithm].append((*seconds_of(algorithm, stream), *best_of(1, run_floor)))
    for algorithm, times in measurements.items():
        seconds, phases, floor_seconds = (min(each) * 1e6 / stream.steps for each in zip(*times, strict=True))
        limits = algorithm.limits()
        yield SpeedRow(
            label(algorithm),
            form_label(algorithm),
            seconds,
            floor_seconds,
            limits.floor_multiple or 0.0,
            limits.median_multiple,
            phases or None,
            speed_ups.get(algorithm),
        )


def seconds_of(method: Method, stream: EventStream) -> tuple[float, float]:
    """Run a compiled method; return the CPU seconds of its steps and those of its phases."""
    start, in_phases = time.process_time(), 0.0
    run: Any = method.start(stream, 0)
    hold_phase = getattr(run, "hold_phase", None)

    def timed(number: int) -> None:
        nonlocal in_phases
        before = time.process_time()
        hold_phase(number)
        in_phases += time.process_time() - before

    if hold_phase is not None:
        run.hold_phase = timed
    run.advance()
    run.trace()
    return time.process_time() - start - in_phases, in_phases


def measure_literal(stream: EventStream) -> tuple[str, float]:
    """Return the name of a literal method and its CPU seconds; larger thresholds cause fewer messages."""
    method = AsyncLinUCB(gamma=2.0)
    return label(method), best_of(1, partial(replay, literal(method), stream, 0))[0]


def medians(rows: Iterable[SpeedRow]) -> Iterator[tuple[str, float, float]]:
    """Yield the median multiple of each form of a method that has a limit for it, and the limit."""
    limited = [row for row in rows if row.max_median is not None]
    for form in dict.fromkeys(row.form for row in limited):
        of_form = [row for row in limited if row.form == form]
        yield form, median(row.multiple for row in of_form), of_form[0].max_median or 0.0


def _speed_ups(measured: Sequence[Method], prefix: EventStream, repeats: int) -> dict[Method, float]:
    """Return how many times faster than the literal method the first of each kernel is: those take minutes."""
    first: dict[tuple[Any, ...], Method] = {}
    for algorithm in measured:
        kernel = (algorithm.name, *(getattr(algorithm, name) for name in algorithm.kernel_settings))
        first.setdefault(kernel, algorithm)
        replay(algorithm, prefix)  # compile
    return {algorithm: _speed_up(algorithm, prefix, repeats) for algorithm in first.values()}


def _speed_up(algorithm: Method, prefix: EventStream, repeats: int) -> float:
    [compiled_seconds] = best_of(repeats, partial(replay, algorithm, prefix))
    [literal_seconds] = best_of(1, partial(replay, literal(algorithm), prefix, 0))
    return literal_seconds / compiled_seconds


@dataclass(frozen=True)
class GrowthRow:
    """The time per step with few and with many clients."""

    label: str
    few: float
    many: float
    max_ratio: float

    @property
    def ratio(self) -> float:
        """The time with many clients divided by the time with few."""
        return self.many / self.few


def measure_growth(repeats: int = REPEATS) -> Iterator[GrowthRow]:
    """Compare N=1,000 with N=100,000 at T=200,000, at both ends of the grid and in between."""
    streams = [simulate(seed=0, steps=200_000, clients=clients, table=17_632) for clients in (1_000, 100_000)]
    for stream in streams:
        _ = stream.client_numbers  # cached before the time is measured
    for algorithm in representatives():
        max_ratio = algorithm.limits().growth
        if max_ratio is None:
            continue
        few, many = best_of(repeats, *(partial(replay, algorithm, stream) for stream in streams))
        scale = 1e6 / streams[0].steps
        yield GrowthRow(label(algorithm), few * scale, many * scale, max_ratio)


def scoring_rate(d: int = 25, arms: int = 25, repeats: int = 20_000) -> float:
    """Return the GFLOP/s of the elimination that scores one decision, counting only necessary operations.

    These are d³/3 for the factor, d² for each of the K + 1 right-hand sides, and 4d for each arm's width and mean.
    """
    rng = np.random.default_rng(0)
    data = rng.standard_normal((4 * d, d))
    system = new_system(d, arms)
    fresh = rng.standard_normal(system.rows.shape)
    fresh[:, :d] = data.T @ data
    _score_often(reference(system), fresh, d, arms, 10)
    copying, both = best_of(
        REPEATS,
        partial(_copy_often, reference(system), fresh, repeats),
        partial(_score_often, reference(system), fresh, d, arms, repeats),
    )
    return (d**3 / 3 + (arms + 1) * d**2 + 4 * d * arms) * repeats / (both - copying) / 1e9


@entry_point
def _score_often(system: System, fresh: np.ndarray, d: int, arms: int, repeats: int) -> None:
    for _ in range(repeats):
        _copy(system, fresh)
        eliminate(system, d, arms, 0.1)


@entry_point
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
    """Return the GFLOP/s of this machine's matrix product on one thread."""
    matrix = np.random.default_rng(0).random((size, size))
    with threadpool_limits(1):
        matrix @ matrix
        return 2 * size**3 / best_of(REPEATS, lambda: matrix @ matrix)[0] / 1e9
