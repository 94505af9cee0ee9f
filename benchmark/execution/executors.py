"""The interface to workers, behind `concurrent.futures`: processes on this machine, or a Dask cluster."""

import os
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any, Protocol

from benchmark.execution.compilation import CompiledMethod
from benchmark.execution.run_result import RunResult
from benchmark.plan.own_modules import SourceFiles
from data_pipelines.stream_spec import StreamSpec

ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "ARROW_NUM_THREADS")
"""Environment variables that limit a process to one thread, if they are set before it starts."""


class Compiler(Protocol):
    """Compiles kernels once for all workers, which share a disk."""

    def open_stream(self, spec: StreamSpec, seed: int) -> "Future[Any]":
        """Build a stream; the result is a handle."""

    def close_stream(self, stream: Any) -> None:
        """Release an open stream."""

    def is_compiled(self, stream: Any, method: CompiledMethod) -> "Future[bool]":
        """Tell whether the kernels of a method are on disk."""

    def compile(self, stream: Any, method: CompiledMethod) -> "Future[None]":
        """Compile the kernels of a method."""


class Executor(Protocol):
    """Opens streams and replays methods over them."""

    @property
    def compiler(self) -> Compiler | None:
        """The compiler of kernels before the first run; None if the workers do not share a disk."""

    def capacity(self) -> int:
        """Check the workers, and return the number of runs to have in flight; 0 while there is no worker.

        Called several times per second. From then on, futures of dead workers fail instead of hanging forever. An
        OSError ends the sweep.
        """

    def open_stream(self, spec: StreamSpec, seed: int) -> "Future[Any]":
        """Build a stream, once for all its runs; the result is a handle for `submit`."""

    def submit(self, stream: Any, method: Any, seed: int, files: SourceFiles) -> "Future[RunResult]":
        """Run a method over an open stream, with the source of its class from these files, if there are any.

        When workers die, all submitted futures fail with BrokenExecutor or are cancelled; the next call starts new
        workers.
        """

    def close_stream(self, stream: Any) -> None:
        """Release an open stream."""

    def close(self) -> None:
        """End all workers at once."""


def usable_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def one_thread_each() -> Iterator[None]:
    """Limit processes that are started inside the block to one thread in BLAS and similar libraries."""
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
