"""A Dask cluster. Scheduling, retries when workers die, and moving data are Dask's own.

A stream is a task of the cluster: workers simulate it, or build it from the prepared data set, which is sent
once. A worker that dies takes streams with it; Dask then makes them again.
"""

import inspect
import logging
import pickle
import sys
import time
import warnings
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from benchmark.outcome import Outcome, carry_out
from benchmark.stream_source import StreamSource
from data_pipelines import EventStream
from data_pipelines.prepared import Prepared, open_prepared
from data_pipelines.secrets import without_user
from data_pipelines.streams import build_stream

if TYPE_CHECKING:
    from distributed import Client

SECONDS_TO_CONNECT = 10.0
SECONDS_FOR_A_WORKER = 60.0
SECONDS_BETWEEN_COUNTS = 5.0
LOGGERS = ("distributed", "distributed.client", "tornado", "tornado.application", "asyncio")
"""Those that show tracebacks when a scheduler dies; Dask gives some of them levels of their own."""

INSTALLED = ("algorithms", "benchmark", "data_pipelines")
"""Packages that every worker has."""


class DaskExecutor:
    """The workers of a Dask scheduler, behind `concurrent.futures`."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._client = _connect(address)
        self._pool = self._client.get_executor(pure=False)
        self._sent: dict[tuple[str, str], Any] = {}
        self._threads, self._counted = 1, 0.0

    @property
    def in_flight(self) -> int:
        """Two for each thread of the cluster."""
        return 2 * self.threads + 2

    @property
    def threads(self) -> int:
        """The threads of the cluster, as large as it is now."""
        if time.monotonic() - self._counted > SECONDS_BETWEEN_COUNTS:
            try:
                threads = self._client.nthreads().values()
            except (OSError, RuntimeError, TimeoutError):  # what Dask says of a connection that is closed
                raise self._gone() from None
            self._threads, self._counted = max(sum(threads), 1), time.monotonic()
        return self._threads

    def open_stream(self, source: StreamSource) -> "Future[Any]":
        """Let the cluster make the stream when it is needed."""
        opened: Future[Any] = Future()
        if source.folder is None:
            opened.set_result(self._client.submit(_simulate, source, pure=False))
        else:
            opened.set_result(self._client.submit(_build, self._prepared(source), source, pure=False))
        return opened

    def submit(self, stream: Any, algorithm: Any, seed: int) -> "Future[Outcome]":
        """Carry out a run on a worker."""
        future: Future[Outcome] = self._pool.submit(_carry_out, stream, _packed(algorithm), seed)
        return future

    def close_stream(self, stream: Any) -> None:
        """Let the workers forget the stream."""
        stream.release()

    def check_workers(self) -> None:
        """Dask does."""

    def recover(self) -> bool:
        """Dask looks after workers itself; if it gives up runs, the scheduler is gone."""
        raise self._gone()

    def close(self) -> None:
        """Leave the cluster; what it still works on for us is given up."""
        self._client.close(timeout=2)

    def _gone(self) -> OSError:
        return OSError(f"the Dask scheduler {self._address} is gone; nothing finished is lost: run the command again")

    def _prepared(self, source: StreamSource) -> Any:
        place = (source.name, str(source.folder))
        if place not in self._sent:
            with warnings.catch_warnings():
                # As part of the task it can be sent again when a worker dies; scattered data would be lost.
                warnings.filterwarnings("ignore", message="Sending large graph")
                data = open_prepared(source.name, source.folder)
                self._sent[place] = self._client.submit(_hold, data, pure=False)
        return self._sent[place]


def _connect(address: str) -> "Client":
    from distributed import Client

    for noisy in LOGGERS:
        logging.getLogger(noisy).setLevel(logging.CRITICAL)  # a connection that breaks is told in one line, by us
    try:
        client = Client(address, timeout=SECONDS_TO_CONNECT, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        text = " ".join(str(error).split())[:200]
        raise OSError(f"--scheduler is {without_user(address)!r}, where no Dask scheduler answers ({text})") from None
    try:
        client.wait_for_workers(1, timeout=SECONDS_FOR_A_WORKER)
    except TimeoutError:
        client.close(timeout=2)
        raise OSError(f"the Dask scheduler {address} has no workers; start some: dask worker {address}") from None
    return client


def _packed(algorithm: Any) -> bytes:
    """Pack an algorithm, a user's own class with its code: neither workers nor the scheduler have its file."""
    import cloudpickle

    module = inspect.getmodule(type(algorithm))
    if module is not None and module.__name__.partition(".")[0] not in (*INSTALLED, *sys.stdlib_module_names):
        cloudpickle.register_pickle_by_value(module)
    packed: bytes = cloudpickle.dumps(algorithm)
    return packed


def _hold(data: Prepared) -> Prepared:
    return data


def _simulate(source: StreamSource) -> EventStream:
    return source.build()


def _build(data: Prepared, source: StreamSource) -> EventStream:
    return source.checked(build_stream(data, seed=source.seed, **dict(source.settings)))


def _carry_out(stream: EventStream, packed: bytes, seed: int) -> Outcome:
    arrays = (stream.items, stream.clients, stream.pools, stream.rewards, stream.noise)
    for array in (*arrays, stream.client_ids, stream.client_numbers):
        array.flags.writeable = False  # which the way between workers forgets, and kernels are compiled for
    return carry_out(stream, pickle.loads(packed), seed)
