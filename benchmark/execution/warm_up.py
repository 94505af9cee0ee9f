"""Compile the kernels before the first run needs them: in parallel, once, and outside the measured time of a run."""

import threading
from collections.abc import Iterable
from concurrent.futures import BrokenExecutor, Future, wait
from typing import Any

from benchmark.execution.compilation import (
    CompiledMethod,
    announcement,
    is_announced,
    kernel_name,
    kernel_settings,
    with_defaults,
)
from benchmark.execution.executors import Compiler
from benchmark.observer import Observer
from benchmark.plan.plan import Run
from data_pipelines.stream_spec import SimulatedSpec

SHORT = SimulatedSpec(steps=30, clients=3)


def compile_kernels(compiler: Compiler, runs: Iterable[Run], observer: Observer, stop: threading.Event) -> None:
    """Let workers compile each method whose kernels are not on disk, and announce it; `stop` ends the wait."""
    methods = methods_of(runs)
    if not methods:
        return
    try:
        (stream,) = _results([compiler.open_stream(SHORT, 0)], observer, stop)
        checks = _results([compiler.is_compiled(stream, method) for method in methods], observer, stop)
        missing = [method for method, is_compiled in zip(methods, checks, strict=True) if not is_compiled]
        for method in missing:
            observer.note(announcement(method))
        _results([compiler.compile(stream, method) for method in missing], observer, stop)
        compiler.close_stream(stream)
    except BrokenExecutor:
        pass  # the run that needs the kernel will kill its worker too, and is reported then
    except _StoppedError:
        pass  # the sweep checks the same event


def methods_of(runs: Iterable[Run]) -> list[CompiledMethod]:
    """Return the methods that declare how long they take to compile, one per set of kernels, the longest first."""
    return one_per_kernel(run.algorithm for run in runs)


def one_per_kernel(candidates: Iterable[object]) -> list[CompiledMethod]:
    """Return the methods among these that declare how long they take to compile, as `methods_of` does."""
    algorithms = [candidate for candidate in candidates if is_announced(candidate)]
    settings = [(algorithm, kernel_settings(algorithm)) for algorithm in sorted(algorithms, key=announcement)]
    kernels = {(kernel_name(each), *values.items()): with_defaults(type(each), **values) for each, values in settings}
    methods = kernels.values()
    return sorted(methods, key=lambda method: (-method.compile_seconds, announcement(method)))


class _StoppedError(Exception):
    """The sweep was asked to stop."""


def _results(futures: "list[Future[Any]]", observer: Observer, stop: threading.Event) -> list[Any]:
    while wait(futures, timeout=0.2).not_done:
        if stop.is_set():
            raise _StoppedError
        observer.tick()
    return [future.result() for future in futures]
