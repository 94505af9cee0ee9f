"""Where runs are carried out, behind `concurrent.futures`: processes on this machine, or a Dask cluster."""

import os
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any, Protocol

from benchmark.outcome import Outcome
from benchmark.stream_source import StreamSource

ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "ARROW_NUM_THREADS")
"""Environment variables that hold a process to one thread, if they are set before it starts."""


class Executor(Protocol):
    """Opens streams and carries out runs over them."""

    @property
    def in_flight(self) -> int:
        """How many runs to hand over at once so that nobody waits."""

    def open_stream(self, source: StreamSource) -> "Future[Any]":
        """Build a stream, once for all its runs; the result is a handle for `submit`."""

    def submit(self, stream: Any, algorithm: Any, seed: int) -> "Future[Outcome]":
        """Carry out a run over an open stream."""

    def close_stream(self, stream: Any) -> None:
        """Give back what an open stream takes."""

    def check_workers(self) -> None:
        """Make sure that runs whose workers died come back as broken, not never."""

    def recover(self) -> bool:
        """Get back to work after workers died; False if that is not possible."""

    def close(self) -> None:
        """End all workers at once."""


@contextmanager
def one_thread_each() -> Iterator[None]:
    """Let processes that are started meanwhile use one thread in BLAS and the like."""
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
