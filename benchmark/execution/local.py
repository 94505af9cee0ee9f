"""Processes on this machine. A stream is written to disk once, and every process maps it into memory."""

import multiprocessing
import os
import runpy
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from contextlib import contextmanager, suppress
from functools import lru_cache, partial
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any
from uuid import uuid4

from filelock import FileLock

from benchmark.execution.limits import NO_LIMITS, Limits, unlimited
from benchmark.execution.own_metrics import PlannedMetric
from benchmark.execution.run_result import RunResult, execute, failed_result, packed
from benchmark.execution.sweep import Executor, WorkerDiedError
from benchmark.import_order import folder_searched_last, search_last
from benchmark.plan.own_modules import SourceFiles
from benchmark.plan.runs import Run
from benchmark.records.provenance import provenance, with_same_code
from data_pipelines import EventStream
from data_pipelines.stream_spec import StreamSpec
from data_pipelines.support.files import write_whole

PREFIX = "fedbandit-streams-"
START = Path(__file__).with_name("worker_start.py")
START_UP_ERROR = "start-up-error"
SECONDS_TO_NOTICE = 3.0
"""The standard pool notices the death of a worker within milliseconds, unless it is reading from that worker."""

SECONDS_TO_END = 0.5
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "ARROW_NUM_THREADS")
"""Environment variables that limit a process to one thread, if they are set before it starts."""


def usable_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class LocalExecutor(Executor):
    """Worker processes on this machine, one BLAS thread each. They start when they are first needed.

    The standard pool waits forever for the rest of a result if its sender is killed in the middle of it, and has no
    public way to end its workers at once. So its `_processes` and `_result_queue` are used here, and only here;
    tests/benchmark/test_dying_workers.py fails if they change. loky 3.6, which offers `shutdown(kill_workers=True)`,
    waits forever in the same place, even in that call, and needs 0.8 s instead of 0.2 s to start.

    Args:
        jobs: the number of processes; all cores by default.
        limits: what one run may use.
    """

    shares_kernels = True

    def __init__(self, jobs: int | None = None, limits: Limits = NO_LIMITS) -> None:
        _remove_folders_of_dead_processes()
        self._jobs, self._limits = jobs or usable_cores(), limits
        self._folder = Path(tempfile.gettempdir()) / f"{PREFIX}{uuid4().hex}"
        self._lock = FileLock(self._folder.with_suffix(".lock"))
        self._lock.acquire()
        self._folder.mkdir(mode=0o700)
        self._running: dict[Future[RunResult], Path] = {}
        self._start_pool()

    def _start_pool(self) -> None:
        values = {"error_file": self._folder / START_UP_ERROR, "folder_of_the_user": folder_searched_last()}
        # `run_path` needs none of our packages: if one of them cannot be imported, that is the first error.
        start: dict[str, Any] = {"initializer": runpy.run_path, "initargs": (str(START), values)}
        self._pool: Any = ProcessPoolExecutor(self._jobs, mp_context=multiprocessing.get_context("spawn"), **start)
        self._last_time_all_lived = time.monotonic()

    def _end_pool(self) -> None:
        """End all workers immediately."""
        workers, queue = self.workers(), self._pool._result_queue
        self._pool.shutdown(wait=False, cancel_futures=True)
        for worker in workers:
            worker.terminate()
        for worker in workers:
            worker.join(SECONDS_TO_END)
            if worker.is_alive():
                worker.kill()
        if queue is not None:
            queue._writer.close()  # otherwise a worker that ends while it sends a result keeps this process waiting

    def workers(self) -> list[BaseProcess]:
        """Return the processes, dead or alive."""
        return list((self._pool._processes or {}).values())

    def start(self, runs: int) -> None:
        """Start the processes, which import their modules while the parent opens the store."""
        for _ in range(min(self._jobs, runs) - len(self.workers())):
            self._submit(os.getpid)  # the standard pool starts a process for each call that none is free for

    def capacity(self) -> int:
        """Return two runs per process, one running and one waiting, and some more while the parent writes records."""
        workers = self.workers()
        if all(worker.is_alive() for worker in workers):
            self._last_time_all_lived = time.monotonic()
        elif time.monotonic() - self._last_time_all_lived > SECONDS_TO_NOTICE:
            for worker in workers:
                worker.kill()
            self._pool._result_queue._writer.close()  # the last end that could still send: the pool stops reading
            self._last_time_all_lived = time.monotonic()
        return 2 * self._jobs + 2

    def submit(self, run: Run) -> "Future[RunResult]":
        """Execute a run in a worker, which writes the stream first if no other worker has done so."""
        stream, future = self._folder / run.fingerprint, Future[RunResult]()
        self._remove_other_streams(stream)
        reason = self._folder / f"{run.key}.reason"
        reason.unlink(missing_ok=True)
        call = run.stream, run.seed, stream, run.files, packed(run.method), run.metrics, self._limits, reason
        inner = self._submit(_execute, *call)
        self._running[future] = stream
        inner.add_done_callback(partial(_settle, future, stream, reason))
        return future

    def _submit(self, *call: Any) -> "Future[Any]":
        """Call a function in a worker, in a new pool if one died; an OSError says why workers cannot start at all."""
        with _as_for_workers():  # the pool starts its processes when they are first needed
            try:
                future: Future[Any] = self._pool.submit(with_same_code, provenance(), *call)
            except BrokenExecutor:
                self._end_pool()
                if (error := self._folder / START_UP_ERROR).is_file():
                    raise OSError(f"worker processes cannot start: {error.read_text()}") from None
                self._start_pool()
                future = self._pool.submit(with_same_code, provenance(), *call)
        return future

    def close(self) -> None:
        """End all workers at once and remove the streams they shared."""
        self._end_pool()
        shutil.rmtree(self._folder, ignore_errors=True)
        self._lock.release()
        Path(self._lock.lock_file).unlink(missing_ok=True)

    def _remove_other_streams(self, stream: Path) -> None:
        """Remove the streams that neither this run nor one in flight needs."""
        self._running = {future: its for future, its in self._running.items() if not future.done()}
        needed = {stream.name, *(its.name for its in self._running.values())}
        for folder in self._folder.iterdir():
            if folder.is_dir() and folder.stem not in needed:
                shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _as_for_workers() -> Iterator[None]:
    """Start processes inside the block with one thread in BLAS and similar libraries, and with Ctrl-C deferred.

    They have it blocked until they can ignore it.
    """
    variables = dict(os.environ)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))
    try:
        yield
    finally:
        for name in ONE_THREAD:
            del os.environ[name]
        os.environ.update({name: variables[name] for name in ONE_THREAD if name in variables})
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def begin_worker(folder_of_the_user: Path | None) -> None:
    """Set up a worker: ignore Ctrl-C, end with the parent, and search the same folder for modules."""
    if folder_of_the_user is not None:
        search_last(folder_of_the_user)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()


def _end_with(sentinel: int) -> None:
    wait([sentinel])
    os._exit(1)


def _settle(future: "Future[RunResult]", stream: Path, reason: Path, inner: "Future[RunResult]") -> None:
    """Pass on the result of a run, why it ended its worker, or whether that died before the stream was there."""
    error = None if inner.cancelled() else inner.exception()
    if inner.cancelled() or isinstance(error, BrokenExecutor):
        if reason.is_file():
            future.set_result(failed_result(reason.read_text()))
            return
        error = WorkerDiedError(is_in_stream=not stream.is_dir())
    if error is None:
        future.set_result(inner.result())
    else:
        future.set_exception(error)


def _execute(
    spec: StreamSpec,
    seed: int,
    folder: Path,
    files: SourceFiles,
    method: bytes,
    metrics: Sequence[PlannedMetric],
    limits: Limits,
    reason: Path,
) -> RunResult:
    guard = limits.guard(lambda text: write_whole(reason, text.encode())) if limits else unlimited
    return execute(partial(_shared_stream, spec, seed, folder), files, method, seed, metrics, guard)


def _shared_stream(spec: StreamSpec, seed: int, folder: Path) -> EventStream:
    """Map a stream into memory; the first process that needs it builds and writes it, and the others wait."""
    if not folder.is_dir():
        with FileLock(folder.with_suffix(".lock")):
            if not folder.is_dir():
                part = folder.with_suffix(".part")
                shutil.rmtree(part, ignore_errors=True)  # left by a worker that died
                spec.build(seed).save(part)
                part.rename(folder)
    return _mapped_stream(folder)


@lru_cache(maxsize=2)
def _mapped_stream(folder: Path) -> EventStream:
    return EventStream.open(folder)


def _remove_folders_of_dead_processes() -> None:
    """Remove the streams of processes that were killed: the system has released their locks.

    Process ids would not do: containers that share the folder have their own.
    """
    for file in Path(tempfile.gettempdir()).glob(f"{PREFIX}*.lock"):
        with suppress(OSError), FileLock(file, timeout=0):  # it is in use, or of another user
            shutil.rmtree(file.with_suffix(""), ignore_errors=True)
            file.unlink()
