"""A Dask cluster. Dask itself does the scheduling, retries when workers die, and moves the data.

A stream is a task of the cluster: workers simulate it, or build it from the prepared data set, which is sent
once. If a worker dies, Dask builds its streams again.
"""

import logging
import pickle
import sys
import time
import warnings
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Future
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from operator import methodcaller
from typing import TYPE_CHECKING, Any, Self

import cloudpickle

from benchmark.execution.run_result import RunResult, error_text, failed_result, run_method
from benchmark.execution.sent_modules import importable
from benchmark.extras import require
from benchmark.plan.own_modules import SourceFiles
from benchmark.records.provenance import difference, provenance, with_same_code
from data_pipelines import EventStream
from data_pipelines.prepare.prepared import Prepared
from data_pipelines.stream_spec import DatasetSpec, StreamSpec
from data_pipelines.support.messages import one_line
from data_pipelines.support.secrets import without_user

if TYPE_CHECKING:
    from distributed import Client

SECONDS_TO_CONNECT = 10.0
SECONDS_WITHOUT_WORKERS = 60.0
"""How long a sweep waits for a usable worker, at its start and after it lost all workers, before it ends."""

SECONDS_BETWEEN_LOOKS = 1.0
SECONDS_FOR_AN_ANSWER = 5.0
MAX_REASON = 300
LOGGERS = ("distributed", "distributed.client", "tornado", "tornado.application", "asyncio")
"""Loggers that show tracebacks when a scheduler dies; Dask gives some of them their own levels."""

SAVED = "finished runs are saved; run the same command again to continue"

Workers = frozenset[str]


class DaskWorkers:
    """The usable workers of a cluster: those with the same code as this process.

    Each reports its code before it gets any run, even if it joins later.

    Args:
        client: the connection to the scheduler.
        say: receives a line about each worker that is not used.
    """

    def __init__(self, client: "Client", say: Callable[[str], None]) -> None:
        self._client, self._say = client, say
        self._answers: dict[str, Any] = {}
        self._refused: dict[str, str] = {}
        self.usable: dict[str, int] = {}
        """The threads of each worker that may execute runs, by address."""

    def look(self) -> None:
        """Ask new workers for the version of their code, read the answers, and drop workers that left."""
        threads: dict[str, int] = self._client.nthreads()
        for workers in (self._answers, self._refused, self.usable):
            for address in [address for address in workers if address not in threads]:
                del workers[address]
        for address in threads:
            if address not in self._answers:
                self._answers[address] = self._ask(address)
            if address not in self.usable and address not in self._refused and self._answers[address].done():
                self._take_answer(address, threads[address])

    def report(self) -> str:
        """Return the reason for each worker that is not usable."""
        silent = [address for address in self._answers if address not in self.usable and address not in self._refused]
        reasons = [*self._refused.items(), *((address, "it does not respond") for address in silent)]
        return "; ".join(f"worker {address}: {reason}" for address, reason in reasons) or "there are no workers"

    def _ask(self, address: str) -> Any:
        """Let a worker call `provenance`; only the standard library is pickled: an unpickling error kills it."""
        ask = partial(self._client.submit, workers=[address], allow_other_workers=False, pure=False, priority=100)
        return ask(methodcaller(provenance.__name__), ask(import_module, provenance.__module__))

    def _take_answer(self, address: str, threads: int) -> None:
        answer = self._answers[address]
        if answer.status == "cancelled":
            del self._answers[address]
            return
        try:
            why = difference(answer.result(timeout=SECONDS_FOR_AN_ANSWER))
        except TimeoutError:  # it died before it answered
            return
        except Exception as error:  # such as a missing package
            why = error_text(error)
        if why:
            self._refused[address] = one_line(" ".join(why.split())[:MAX_REASON])
            self._say(
                f"Dask worker {address} is not used: {self._refused[address]}; "
                "install the same fedbandit-bench there and restart the worker"
            )
        else:
            self.usable[address] = threads


@dataclass
class Task:
    """A task of the cluster. It can be executed, or repeated, while every set in `needs` contains a live worker.

    The first set contains the workers that may execute the task, the others contain the workers of its inputs.
    """

    future: Any
    needs: tuple[Workers, ...]


@dataclass
class Stream:
    """An open stream, and the task that builds it; None until it is needed, and again if the cluster loses it."""

    spec: StreamSpec
    seed: int
    task: Task | None = None


def _print(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


class DaskExecutor:
    """The workers of a Dask scheduler, behind `concurrent.futures`.

    Args:
        address: the address of the scheduler.
        say: receives lines for the user, such as one about a worker with different code.
        patience: seconds to wait for a usable worker.
    """

    def __init__(
        self, address: str, say: Callable[[str], None] = _print, *, patience: float = SECONDS_WITHOUT_WORKERS
    ) -> None:
        self._address, self._say, self.patience = address, say, patience
        self._client = _connect(address)
        self._workers = DaskWorkers(self._client, say)
        self._streams: list[Stream] = []
        self._sent: dict[tuple[str, str], Task] = {}
        self._running: dict[Future[RunResult], Task] = {}
        self._is_broken = self._is_gone = False
        self._last_look, self._last_usable = 0.0, time.monotonic()
        try:
            while not self._workers.usable:
                self._look()
                time.sleep(0.05)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        """Enter the context."""
        return self

    def __exit__(self, *error: object) -> None:
        """Leave the cluster."""
        self.close()

    @property
    def compiler(self) -> None:
        """None: each worker compiles its own kernels."""

    def capacity(self) -> int:
        """Update the workers, give up runs that no worker can finish, and return two runs per thread.

        Raises OSError if the connection to the scheduler is lost, or after too long a time without workers.
        """
        if self._is_gone:
            raise self._gone()
        if time.monotonic() - self._last_look > SECONDS_BETWEEN_LOOKS:
            self._look()
        return 2 * self.threads + 2 if self._workers.usable else 0

    @property
    def threads(self) -> int:
        """The threads of all usable workers."""
        return sum(self._workers.usable.values())

    def open_stream(self, spec: StreamSpec, seed: int) -> "Future[Any]":
        """Let the cluster build the stream when it is needed."""
        stream = Stream(spec, seed)
        self._streams.append(stream)
        opened: Future[Any] = Future()
        opened.set_result(stream)
        return opened

    def submit(self, stream: Stream, method: Any, seed: int, files: SourceFiles) -> "Future[RunResult]":
        """Run a method on a worker."""
        if self._is_broken:
            self._start_again()
        future: Future[RunResult] = Future()
        try:
            packed = cloudpickle.dumps(method)
        except (Exception, SystemExit, GeneratorExit) as error:  # a user's class may raise anything
            future.set_result(failed_result(f"the method could not be sent to a worker: {error_text(error)}"))
            return future
        task = self._build_task(stream)
        pool = self._client.get_executor(pure=False, workers=[*self._workers.usable], allow_other_workers=False)
        inner = pool.submit(with_same_code, provenance(), _run_method, task.future, files, packed, seed)
        self._running[future] = Task(inner, (Workers(self._workers.usable), *task.needs))
        inner.add_done_callback(partial(self._settle, future))
        return future

    def close_stream(self, stream: Stream) -> None:
        """Release the stream on the workers."""
        self._streams.remove(stream)
        if stream.task is not None:
            stream.task.future.release()

    def close(self) -> None:
        """Leave the cluster; runs in flight are given up."""
        self._client.close(timeout=2)

    def _look(self) -> None:
        had_some = bool(self._workers.usable)
        try:
            self._workers.look()
        except (OSError, RuntimeError, TimeoutError):  # Dask's errors for a closed connection
            raise self._gone() from None
        self._last_look = time.monotonic()
        self._running = {future: task for future, task in self._running.items() if not future.done()}
        if not all(self._can_be_done(task) for task in self._running.values()):
            self._give_up_runs()
        if self._workers.usable:
            self._last_usable = time.monotonic()
        elif time.monotonic() - self._last_usable > self.patience:
            raise OSError(
                f"no usable Dask worker at {without_user(self._address)} for {self.patience:g} seconds "
                f"({self._workers.report()}); {SAVED}"
            )
        elif had_some:
            self._say(f"No usable Dask worker is left; waiting {self.patience:g} seconds for one.")

    def _start_again(self) -> None:
        """Forget all submitted runs and streams; the sweep submits them again."""
        self._give_up_runs()
        self._running, self._sent, self._is_broken = {}, {}, False
        for stream in self._streams:
            stream.task = None

    def _give_up_runs(self) -> None:
        self._is_broken = True
        for task in list(self._running.values()):
            task.future.cancel()

    def _can_be_done(self, task: Task) -> bool:
        return all(not workers.isdisjoint(self._workers.usable) for workers in task.needs)

    def _settle(self, future: "Future[RunResult]", inner: "Future[RunResult]") -> None:
        """Pass on the result of a run."""
        from distributed import KilledWorker

        if inner.cancelled():
            # Dask cancels everything when it loses the scheduler; otherwise only we do, when we give up.
            self._is_gone |= not self._is_broken and future in self._running
            future.cancel()
            future.set_running_or_notify_cancel()
        elif isinstance(error := inner.exception(), KilledWorker):
            # Dask blames all runs that waited behind the one that killed the workers; the sweep tries each alone.
            self._is_broken = True
            future.set_exception(BrokenExecutor(str(error)))
        elif error is not None:
            future.set_exception(error)
        else:
            future.set_result(inner.result())

    def _gone(self) -> OSError:
        return OSError(f"lost the connection to the Dask scheduler {without_user(self._address)}; {SAVED}")

    def _build_task(self, stream: Stream) -> Task:
        """Return the task that builds a stream, a new one if no remaining worker can execute it."""
        if stream.task is None or not self._can_be_done(stream.task):
            if isinstance(stream.spec, DatasetSpec):
                data = self._prepared(stream.spec)
                stream.task = self._task(_build, data.future, stream.spec, stream.seed, needs=data.needs)
            else:
                stream.task = self._task(_simulate, stream.spec, stream.seed)
        return stream.task

    def _prepared(self, spec: DatasetSpec) -> Task:
        key = (spec.name, spec.prepared())
        if key not in self._sent or not self._can_be_done(self._sent[key]):
            with warnings.catch_warnings():
                # As part of the task it can be sent again when a worker dies; scattered data would be lost.
                warnings.filterwarnings("ignore", message="Sending large graph")
                self._sent[key] = self._task(_hold, spec.open())
        return self._sent[key]

    def _task(self, function: Callable[..., Any], *arguments: Any, needs: tuple[Workers, ...] = ()) -> Task:
        usable = [*self._workers.usable]
        submit = partial(self._client.submit, workers=usable, allow_other_workers=False, pure=False)
        future = submit(with_same_code, provenance(), function, *arguments)
        return Task(future, (Workers(usable), *needs))


def _connect(address: str) -> "Client":
    require("distributed", extra="dask", purpose="--executor dask")
    from distributed import Client

    for noisy in LOGGERS:
        logging.getLogger(noisy).setLevel(logging.CRITICAL)  # we report a broken connection, in one line
    try:
        return Client(address, timeout=SECONDS_TO_CONNECT, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        text = " ".join(str(error).split())[:200]
        raise OSError(f"--scheduler {without_user(address)}: no Dask scheduler responds there ({text})") from None


def _hold(data: Prepared) -> Prepared:
    return data


def _simulate(spec: StreamSpec, seed: int) -> EventStream:
    return spec.build(seed)


def _build(data: Prepared, spec: DatasetSpec, seed: int) -> EventStream:
    return spec.build_from(data, seed)


def _run_method(stream: EventStream, files: SourceFiles, packed: bytes, seed: int) -> RunResult:
    for array in (*stream.arrays().values(), stream.client_ids, stream.client_numbers):
        array.flags.writeable = False  # lost between workers, and part of the types that kernels are compiled for
    with importable(files):
        try:
            method = pickle.loads(packed)
        except BaseException as error:
            return failed_result(f"the worker could not load the method: {error_text(error)}")
        return run_method(stream, method, seed)
