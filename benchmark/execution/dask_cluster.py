"""A Dask cluster. Dask itself does the scheduling, retries when workers die, and moves the data.

A stream is a task of the cluster: workers simulate it, or build it from the prepared data set, which is sent
once. If a worker dies, Dask builds its streams again.
"""

import logging
import math
import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from functools import partial
from importlib import import_module
from operator import methodcaller
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from benchmark.execution.limits import NO_LIMITS, Guard, Limits, unlimited
from benchmark.execution.own_metrics import PlannedMetric
from benchmark.execution.run_result import RunResult, execute, failed_result, packed
from benchmark.execution.sweep import Executor, WorkerDiedError
from benchmark.extras import require
from benchmark.plan.own_modules import SourceFiles
from benchmark.plan.runs import Run
from benchmark.records.provenance import difference, provenance, with_same_code
from data_pipelines import EventStream
from data_pipelines.prepare.prepared import Prepared
from data_pipelines.stream_spec import DatasetSpec
from data_pipelines.support.messages import error_text, one_line
from data_pipelines.support.secrets import without_user

if TYPE_CHECKING:
    from distributed import Client

SECONDS_TO_CONNECT = 10.0
SECONDS_WITHOUT_WORKERS = 60.0
"""How long a sweep waits for a usable worker, at its start and after it lost all workers, before it ends."""

SECONDS_BETWEEN_LOOKS = 1.0
SECONDS_FOR_AN_ANSWER = 5.0
SECONDS_TO_SEND = 1.0
MAX_REASON = 300
CERTIFICATE = "distributed.comm.tls.ca-file"
LOGGERS = ("distributed", "distributed.client", "tornado", "tornado.application", "asyncio")
"""Loggers that show tracebacks when a scheduler dies; Dask gives some of them their own levels."""

USABLE, DONE = ("pending", "finished"), ("finished", "error")
"""States of a task of the cluster."""

SAVED = "finished runs are saved; run the same command again to continue"


def _print(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


class DaskExecutor(Executor):
    """The workers of a Dask scheduler that have the same code as this process.

    Each worker reports its code before it gets any run, even if it joins later.

    Args:
        address: the address of the scheduler.
        say: receives lines for the user, such as one about a worker with different code.
        patience: seconds to wait for a usable worker.
        limits: what one run may use; with a limit of memory, workers with several threads are not used.
    """

    shares_kernels = False

    def __init__(
        self,
        address: str,
        say: Callable[[str], None] = _print,
        *,
        patience: float = SECONDS_WITHOUT_WORKERS,
        limits: Limits = NO_LIMITS,
    ) -> None:
        self._address, self._say, self.patience, self._limits = address, say, patience, limits
        self._client = _connect(address)
        self._topic = f"fedbandit-{uuid4().hex}"
        """The topic under which workers report runs that are over a limit."""
        self._by_name: dict[str, tuple[Future[RunResult], Any]] = {}
        """The runs in flight and their tasks, if there are limits."""
        if limits:
            self._client.subscribe_topic(self._topic, self._end_over_limit)
        self._answers: dict[str, Any] = {}
        self._refusals: dict[str, str] = {}
        """Why a worker is not used; empty if it is. One that has not answered is missing."""
        self._usable: Mapping[str, int] = {}
        """The threads of the workers that may execute runs, by address; replaced when it changes."""
        self._streams: dict[str, Any] = {}
        self._data: dict[tuple[str, str], Any] = {}
        self._running: dict[Future[RunResult], tuple[Any, str, Mapping[str, int]]] = {}
        """The task, the stream and the possible workers of each run in flight."""
        self._is_gone = False
        self._last_look, self._last_usable = 0.0, time.monotonic()
        try:
            while not self._usable:
                self._look()
                time.sleep(0.05)
        except BaseException:
            self.close()
            raise

    def start(self, runs: int) -> None:
        """Do nothing: the workers of a cluster are running."""

    def capacity(self) -> int:
        """Update the workers, give up runs that no worker can finish, and return two runs per thread.

        Raises OSError if the connection to the scheduler is lost, or after too long a time without workers.
        """
        if self._is_gone:
            raise self._gone()
        if time.monotonic() - self._last_look > SECONDS_BETWEEN_LOOKS:
            self._look()
        return 2 * self.threads + 2 if self._usable else 0

    @property
    def threads(self) -> int:
        """The threads of all usable workers."""
        return sum(self._usable.values())

    def submit(self, run: Run) -> "Future[RunResult]":
        """Run a method on a worker, over a stream that the cluster builds when it is first needed."""
        self._running = {future: its for future, its in self._running.items() if not future.done()}
        needed = {run.fingerprint, *(stream for _, stream, _ in self._running.values())}
        self._streams = {name: task for name, task in self._streams.items() if name in needed}
        method, future = packed(run.method), Future[RunResult]()
        limits = (self._limits, self._topic, name := uuid4().hex) if self._limits else None
        task = self._task(_execute, self._stream(run), run.files, method, run.seed, run.metrics, limits)
        if limits:
            self._by_name = {key: its for key, its in self._by_name.items() if not its[0].done()}
            self._by_name[name] = future, task
        self._running[future] = task, run.fingerprint, self._usable
        task.add_done_callback(partial(self._settle, future))
        return future

    def close(self) -> None:
        """Leave the cluster; runs in flight are given up."""
        self._client.close(timeout=2)

    async def _end_over_limit(self, event: tuple[float, tuple[str, str]]) -> None:
        """Fail a run that a worker ends, so that Dask does not repeat it; Dask calls this in its own thread."""
        name, reason = event[1]
        if name in self._by_name:
            future, task = self._by_name[name]
            with suppress(InvalidStateError):
                future.set_result(failed_result(reason))
            await task.cancel()

    def _stream(self, run: Run) -> Any:
        """Return the task that builds a stream; a new one if it failed."""
        task = self._streams.get(run.fingerprint)
        if task is None or task.status not in USABLE:
            data = self._prepared(run.stream) if isinstance(run.stream, DatasetSpec) else None
            task = self._streams[run.fingerprint] = self._task(_build, data, run.stream, run.seed)
        return task

    def _prepared(self, spec: DatasetSpec) -> Any:
        """Return the task that holds a prepared data set; it can be sent again, where scattered data would be lost."""
        key = (spec.name, spec.prepared())
        if key not in self._data or self._data[key].status not in USABLE:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message="Sending large graph")
                self._data[key] = self._task(_hold, spec.open())
        return self._data[key]

    def _task(self, function: Callable[..., Any], *arguments: Any) -> Any:
        submit = partial(self._client.submit, workers=[*self._usable], allow_other_workers=False, pure=False)
        return submit(with_same_code, provenance(), function, *arguments)

    def _settle(self, future: "Future[RunResult]", task: Any) -> None:
        """Pass on the result of a run; Dask calls this in a thread."""
        from distributed import KilledWorker

        result: RunResult | None = None
        error: BaseException
        try:
            result = task.result()
        except KilledWorker as killed:
            # Dask blames all runs that waited behind the one that killed the workers; the sweep tries each alone.
            error = WorkerDiedError(killed.allowed_failures + 1, is_in_stream=killed.task != task.key)
        except BaseException as raised:
            error = raised
            if task.status not in DONE:  # unless we cancel a task, Dask only does so when it loses the scheduler
                self._is_gone, error = self._is_gone or not future.done(), WorkerDiedError()
        with suppress(InvalidStateError):  # it was given up
            if result is not None:
                future.set_result(result)
            else:
                future.set_exception(error)

    def _look(self) -> None:
        """Ask new workers for the version of their code, read the answers, and give up what workers left behind."""
        had_some = bool(self._usable)
        try:
            threads: dict[str, int] = self._client.nthreads()
            self._ask(threads)
        except (OSError, RuntimeError, TimeoutError):  # Dask's errors for a closed connection
            raise self._gone() from None
        self._last_look = time.monotonic()
        usable = {address: count for address, count in threads.items() if self._refusals.get(address) == ""}
        if usable != self._usable:  # a task keeps its workers, so that one for others must be new
            self._usable, self._streams, self._data = usable, {}, {}
        for future, (task, _, workers) in self._running.items():
            if workers.keys().isdisjoint(usable):
                with suppress(InvalidStateError):  # it is done
                    future.set_exception(WorkerDiedError())
                task.cancel()
        if usable:
            self._last_usable = time.monotonic()
        elif time.monotonic() - self._last_usable > self.patience:
            reasons = [f"worker {each}: {self._refusals.get(each, 'it does not respond')}" for each in threads]
            raise OSError(
                f"no usable Dask worker at {without_user(self._address)} for {self.patience:g} seconds "
                f"({'; '.join(reasons) or 'there are no workers'}); {SAVED}"
            )
        elif had_some:
            self._say(f"No usable Dask worker is left; waiting {self.patience:g} seconds for one.")

    def _ask(self, threads: Mapping[str, int]) -> None:
        """Let new workers call `provenance`, and read the answers; forget the workers that left."""
        for known in (self._answers, self._refusals):
            for address in known.keys() - threads.keys():
                del known[address]
        ask = partial(self._client.submit, allow_other_workers=False, pure=False, priority=100)
        for address in threads:
            answer = self._answers.get(address)
            if answer is None or answer.status not in (*USABLE, *DONE):
                # Only functions of the standard library are pickled: an unpickling error would kill the worker.
                module = ask(import_module, provenance.__module__, workers=[address])
                self._answers[address] = ask(methodcaller(provenance.__name__), module, workers=[address])
            elif address not in self._refusals and answer.done():
                self._take_answer(address, threads[address], answer)

    def _take_answer(self, address: str, threads: int, answer: Any) -> None:
        try:
            why = difference(answer.result(timeout=SECONDS_FOR_AN_ANSWER))
        except TimeoutError:  # it died before it answered
            return
        except Exception as error:  # such as a missing package
            why = error_text(error)
        advice = "install the same fedbandit-bench there and restart the worker"
        if not why and threads > 1 and math.isfinite(self._limits.gib):
            why, advice = f"it has {threads} threads, whose runs share its memory", "start it with --nthreads 1"
        self._refusals[address] = reason = one_line(" ".join(why.split())[:MAX_REASON])
        if reason:
            self._say(f"Dask worker {address} is not used: {reason}; {advice}")

    def _gone(self) -> OSError:
        return OSError(f"lost the connection to the Dask scheduler {without_user(self._address)}; {SAVED}")


def _connect(address: str) -> "Client":
    require("distributed", extra="dask", purpose="--executor dask")
    import dask
    from distributed import Client

    if address.startswith("tls:") and not dask.config.get(CERTIFICATE, None):
        raise ValueError(
            f"--scheduler {without_user(address)} needs the certificates of the cluster; set Dask's {CERTIFICATE}"
        )
    for noisy in LOGGERS:
        logging.getLogger(noisy).setLevel(logging.CRITICAL)  # we report a broken connection, in one line
    try:
        return Client(address, timeout=SECONDS_TO_CONNECT, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        text = " ".join(str(error).split())[:200]
        raise OSError(f"--scheduler {without_user(address)}: no Dask scheduler responds there ({text})") from None


def _hold(data: Prepared) -> Prepared:
    return data


def _build(data: Prepared | None, spec: Any, seed: int) -> EventStream | RunResult:
    """Build a stream; if that fails, return the result of all its runs."""
    try:
        stream: EventStream = spec.build(seed) if data is None else spec.build_from(data, seed)
        return stream
    except BaseException as error:
        return failed_result(f"the stream could not be built: {error_text(error)}")


def _execute(
    stream: EventStream | RunResult,
    files: SourceFiles,
    method: bytes,
    seed: int,
    metrics: Sequence[PlannedMetric],
    limits: tuple[Limits, str, str] | None,
) -> RunResult:
    if isinstance(stream, RunResult):
        return stream
    for array in (*stream.arrays().values(), stream.client_ids, stream.client_numbers):
        array.flags.writeable = False  # lost between workers, and part of the types that kernels are compiled for
    return execute(lambda: stream, files, method, seed, metrics, _guard(*limits) if limits else unlimited)


def _guard(limits: Limits, topic: str, name: str) -> Guard:
    """Return a guard that tells the client why it ends this worker."""
    from distributed import get_worker

    worker = get_worker()

    def report(reason: str) -> None:
        worker.log_event(topic, (name, reason))
        time.sleep(SECONDS_TO_SEND)

    return limits.guard(report)
