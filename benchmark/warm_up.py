"""Compile the kernels before the first run needs them: side by side, once, and no run is taken for slow."""

import threading
from collections.abc import Iterable
from concurrent.futures import BrokenExecutor, Future, wait
from typing import Any

from algorithms.jit import kernels_are_compiled
from benchmark.executors import Executor
from benchmark.plan import Run
from benchmark.stream_source import simulated_source
from benchmark.sweep_display import SweepDisplay

OURS = "algorithms."
LONGEST_FIRST = ("async-linucb-am", "async-linucb")
LITTLE = {"steps": 30, "clients": 3}


def compile_kernels(executor: Executor, runs: Iterable[Run], display: SweepDisplay, stop: threading.Event) -> None:
    """Let workers run each compiled method over a few steps, if no kernels are on disk yet; `stop` ends the wait."""
    if kernels_are_compiled():
        return
    wanted = one_of_each(runs)
    if not wanted:
        return
    display.say("Compiling the kernels, once: the first results come in a minute.")
    try:
        opening = executor.open_stream(simulated_source(LITTLE, seed=0))
        _wait([opening], display, stop)
        if not stop.is_set():
            stream = opening.result()
            _wait([executor.submit(stream, algorithm, 0) for algorithm in wanted], display, stop)
            executor.close_stream(stream)
    except BrokenExecutor:
        executor.recover()  # what killed the worker will kill its run too, which is told in its place


def one_of_each(runs: Iterable[Run]) -> list[Any]:
    """Return one algorithm for each kernel, those first that take long to compile."""
    found = {
        (run.algorithm_name, getattr(run.algorithm, "warm_start", False)): run.algorithm
        for run in runs
        if type(run.algorithm).__module__.startswith(OURS) and hasattr(run.algorithm, "start")
    }
    order = {name: place for place, name in enumerate(LONGEST_FIRST)}
    return [found[each] for each in sorted(found, key=lambda each: (order.get(each[0], len(order)), each))]


def _wait(futures: "list[Future[Any]]", display: SweepDisplay, stop: threading.Event) -> None:
    while wait(futures, timeout=0.2).not_done and not stop.is_set():
        display.refresh()
