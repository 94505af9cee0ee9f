"""Processes on this machine. A stream is written to disk once, and every process maps it into memory."""

import multiprocessing
import os
import pickle
import runpy
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from functools import lru_cache
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, Self

import cloudpickle

from benchmark.execution.compilation import CompiledMethod, compile_once, is_compiled
from benchmark.execution.executors import one_thread_each, usable_cores
from benchmark.execution.run_result import RunResult, run_method
from benchmark.execution.sent_modules import importable
from benchmark.import_order import folder_searched_last, search_last
from benchmark.plan.own_modules import SourceFiles
from benchmark.records.provenance import process_is_alive, provenance, with_same_code
from data_pipelines import EventStream
from data_pipelines.stream_spec import StreamSpec

PREFIX = "fedbandit-streams-"
START = Path(__file__).with_name("worker_start.py")
START_UP_ERROR = "start-up-error"
SECONDS_TO_NOTICE = 3.0
"""The standard pool notices the death of a worker within milliseconds, unless it is reading from that worker."""

SECONDS_TO_END = 0.5


class Pool:
    """A process pool that notices the death of every worker. It can be used once: after a death, make a new one.

    The standard pool waits forever for the rest of a result if its sender is killed in the middle of it, and has no
    public way to end its workers at once. So `_processes` and `_result_queue` are used here, and only here;
    tests/benchmark/test_dying_workers.py fails if they change. loky 3.6, which offers `shutdown(kill_workers=True)`,
    waits forever in the same place, even in that call, and needs 0.8 s instead of 0.2 s to start.

    Args:
        jobs: the number of processes.
        initializer: the function that each process calls first.
        arguments: its arguments.
    """

    def __init__(self, jobs: int, initializer: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        spawn = multiprocessing.get_context("spawn")
        self._pool: Any = ProcessPoolExecutor(jobs, mp_context=spawn, initializer=initializer, initargs=arguments)
        self._last_time_all_lived = time.monotonic()

    def submit(self, function: Callable[..., Any], *arguments: Any) -> "Future[Any]":
        """Call a function in a worker; BrokenExecutor if a worker died."""
        future: Future[Any] = self._pool.submit(function, *arguments)
        return future

    def workers(self) -> list[BaseProcess]:
        """Return the processes, dead or alive."""
        return list((self._pool._processes or {}).values())

    def check(self) -> None:
        """Make futures fail if a worker died and the standard pool did not notice."""
        workers = self.workers()
        if all(worker.is_alive() for worker in workers):
            self._last_time_all_lived = time.monotonic()
        elif time.monotonic() - self._last_time_all_lived > SECONDS_TO_NOTICE:
            for worker in workers:
                worker.kill()
            self._pool._result_queue._writer.close()  # the last end that could still send: the pool stops reading
            self._last_time_all_lived = time.monotonic()

    def end(self) -> None:
        """End all workers immediately."""
        workers = self.workers()
        queue = self._pool._result_queue
        self._pool.shutdown(wait=False, cancel_futures=True)
        for worker in workers:
            worker.terminate()
        for worker in workers:
            worker.join(SECONDS_TO_END)
            if worker.is_alive():
                worker.kill()
        if queue is not None:
            queue._writer.close()  # otherwise a worker that ends while it sends a result keeps this process waiting


class LocalExecutor:
    """Worker processes on this machine, one BLAS thread each. They start when they are first needed.

    Args:
        jobs: the number of processes; all cores by default.
    """

    def __init__(self, jobs: int | None = None) -> None:
        _remove_folders_of_dead_processes()
        self._jobs = jobs or usable_cores()
        self._folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-"))
        self._pool = self._new_pool()

    def __enter__(self) -> Self:
        """Enter the context."""
        return self

    def __exit__(self, *error: object) -> None:
        """End all workers."""
        self.close()

    @property
    def compiler(self) -> Self:
        """The executor itself: its processes share a disk."""
        return self

    def capacity(self) -> int:
        """Return two runs per process, one running and one waiting, and some more while the parent writes records."""
        self._pool.check()
        return 2 * self._jobs + 2

    def open_stream(self, spec: StreamSpec, seed: int) -> "Future[Path]":
        """Let a worker build the stream and write its arrays."""
        return self._submit(_write_stream, spec, seed, self._folder / spec.fingerprint(seed))

    def submit(self, stream: Path, method: Any, seed: int, files: SourceFiles) -> "Future[RunResult]":
        """Run a method in a worker."""
        return self._submit(_run_method, stream, files, _Packed(method), seed)

    def is_compiled(self, stream: Path, method: CompiledMethod) -> "Future[bool]":
        """Let a worker tell whether the kernels of a method are on disk."""
        return self._submit(_is_compiled, stream, method)

    def compile(self, stream: Path, method: CompiledMethod) -> "Future[None]":
        """Compile the kernels of a method in a worker."""
        return self._submit(_compile, stream, method)

    def close_stream(self, stream: Path) -> None:
        """Remove the stream's files."""
        shutil.rmtree(stream, ignore_errors=True)

    def close(self) -> None:
        """End all workers at once and remove the streams they shared."""
        self._pool.end()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _submit(self, function: Callable[..., Any], *arguments: Any) -> "Future[Any]":
        with one_thread_each(), _ctrl_c_deferred():  # the pool starts its processes when they are first needed
            try:
                return self._pool.submit(with_same_code, provenance(), function, *arguments)
            except BrokenExecutor:
                self._replace_pool()
                return self._pool.submit(with_same_code, provenance(), function, *arguments)

    def _replace_pool(self) -> None:
        """Make a new pool after the death of a worker; an OSError gives the reason if workers cannot start at all."""
        self._pool.end()
        if (error := self._folder / START_UP_ERROR).is_file():
            raise OSError(f"worker processes cannot start: {error.read_text()}")
        self._pool = self._new_pool()

    def _new_pool(self) -> Pool:
        values = {"error_file": self._folder / START_UP_ERROR, "folder_of_the_user": folder_searched_last()}
        # `run_path` needs none of our packages: if one of them cannot be imported, that is the first error.
        return Pool(self._jobs, runpy.run_path, (str(START), values))


@contextmanager
def _ctrl_c_deferred() -> Iterator[None]:
    """Defer Ctrl-C inside the block; processes that start there have it blocked until they can ignore it."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
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


def _write_stream(spec: StreamSpec, seed: int, folder: Path) -> Path:
    stream = spec.build(seed)
    shutil.rmtree(folder, ignore_errors=True)  # a worker that died may have left a part
    stream.save(folder)
    return folder


@lru_cache(maxsize=2)
def _read_stream(folder: Path) -> EventStream:
    return EventStream.open(folder)


class _Packed:
    """A method that reaches a worker as bytes: an error in unpacking fails the run, not the worker.

    A class that is defined in a notebook or a script is sent with its code.
    """

    def __init__(self, method: Any) -> None:
        self._method = method

    def __reduce__(self) -> tuple[Any, ...]:
        in_a_session = type(self._method).__module__ == "__main__"
        return bytes, ((cloudpickle if in_a_session else pickle).dumps(self._method),)


def _run_method(folder: Path, files: SourceFiles, packed: bytes, seed: int) -> RunResult:
    with importable(files):
        return run_method(_read_stream(folder), _unpacked(packed), seed)


def _unpacked(packed: bytes) -> Any:
    try:
        return pickle.loads(packed)
    except BaseException as error:  # a user's module may end with SystemExit, too
        raise ImportError(f"a worker cannot import the method: {type(error).__name__}: {error}") from None


def _is_compiled(folder: Path, method: CompiledMethod) -> bool:
    return is_compiled(method, _read_stream(folder))


def _compile(folder: Path, method: CompiledMethod) -> None:
    compile_once(method, _read_stream(folder))


def _remove_folders_of_dead_processes() -> None:
    """Remove the streams of processes that were killed."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        pid = folder.name.removeprefix(PREFIX).partition("-")[0]
        if pid.isdigit() and not process_is_alive(int(pid)):
            shutil.rmtree(folder, ignore_errors=True)
