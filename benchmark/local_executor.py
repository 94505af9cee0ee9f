"""Processes on this machine. A stream is written once and mapped into memory by all of them."""

import multiprocessing
import os
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from functools import lru_cache
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import numpy as np

from benchmark.executors import one_thread_each
from benchmark.outcome import Outcome, carry_out
from benchmark.processes import process_is_alive
from benchmark.stream_source import StreamSource
from data_pipelines import EventStream
from data_pipelines.safe_files import save_array

SECONDS_TO_NOTICE = 3.0
"""A pool notices within milliseconds that a worker died, unless it is in the middle of reading what that one sent."""

PREFIX = "fedbandit-streams-"
ARRAYS = ("items", "clients", "pools", "rewards", "noise")


class LocalExecutor:
    """A pool of processes, one BLAS thread each."""

    def __init__(self, jobs: int) -> None:
        _remove_folders_of_the_dead()
        self._jobs = jobs
        self._folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-"))
        self._before = set(multiprocessing.active_children())
        self._pool: Any = self._new_pool()
        self._last_well = time.monotonic()

    @property
    def in_flight(self) -> int:
        """Two for each process: one at work, one waiting; and some more while the parent writes records."""
        return 2 * self._jobs + 2

    def open_stream(self, source: StreamSource) -> "Future[Path]":
        """Let a worker build the stream and write its arrays."""
        return self._submit(_write_stream, source, self._folder / source.fingerprint)

    def submit(self, stream: Path, algorithm: Any, seed: int) -> "Future[Outcome]":
        """Carry out a run in a worker."""
        return self._submit(_carry_out, stream, algorithm, seed)

    def close_stream(self, stream: Path) -> None:
        """Remove the stream's files."""
        shutil.rmtree(stream, ignore_errors=True)

    def check_workers(self) -> None:
        """Break a pool that does not notice the death of a worker: it waits for the rest of a result, for ever."""
        workers = list((self._pool._processes or {}).values())
        if all(worker.is_alive() for worker in workers):
            self._last_well = time.monotonic()
        elif time.monotonic() - self._last_well > SECONDS_TO_NOTICE:
            for worker in workers:
                worker.kill()
            self._pool._result_queue._writer.close()  # the last end that could still send: now the pool reads the end
            self._last_well = time.monotonic()

    def recover(self) -> bool:
        """Start new workers in place of a pool that broke."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._pool = self._new_pool()
        return True

    def close(self) -> None:
        """End all workers at once and remove what they shared."""
        results = self._pool._result_queue
        self._pool.shutdown(wait=False, cancel_futures=True)
        ours = self._own_workers()
        for process in ours:
            process.terminate()
        for process in ours:
            process.join(0.5)
            if process.is_alive():
                process.kill()
        if results is not None:
            results._writer.close()  # else a worker that ends in mid-result keeps us waiting
        shutil.rmtree(self._folder, ignore_errors=True)

    def _own_workers(self) -> list[BaseProcess]:
        return [process for process in multiprocessing.active_children() if process not in self._before]

    def _new_pool(self) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(
            self._jobs, mp_context=multiprocessing.get_context("spawn"), initializer=_begin_worker
        )

    def _submit(self, function: Any, *arguments: Any) -> "Future[Any]":
        with one_thread_each(), _ctrl_c_held_back():  # the pool starts its processes when they are first needed
            future: Future[Any] = self._pool.submit(function, *arguments)
            return future


@contextmanager
def _ctrl_c_held_back() -> Iterator[None]:
    """Keep Ctrl-C from processes that are started meanwhile until they can ignore it; here it comes a moment later."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin_worker() -> None:
    """Leave Ctrl-C to the parent, and end when it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()


def _end_with(sentinel: int) -> None:
    wait([sentinel])
    os._exit(1)


def _write_stream(source: StreamSource, folder: Path) -> Path:
    stream = source.build()
    shutil.rmtree(folder, ignore_errors=True)  # what a worker left that died over it
    folder.mkdir(parents=True)
    for name in ARRAYS:
        save_array(folder / f"{name}.npy", getattr(stream, name))
    (folder / "about").write_text(f"{stream.name}\n{stream.fingerprint}\n{stream.source}")
    return folder


@lru_cache(maxsize=2)
def _read_stream(folder: Path) -> EventStream:
    arrays = {name: np.load(folder / f"{name}.npy", mmap_mode="r") for name in ARRAYS}
    name, fingerprint, source = (folder / "about").read_text().split("\n")
    return EventStream(**arrays, name=name, fingerprint=fingerprint, source=source)


def _carry_out(folder: Path, algorithm: Any, seed: int) -> Outcome:
    return carry_out(_read_stream(folder), algorithm, seed)


def _remove_folders_of_the_dead() -> None:
    """Remove what a process left behind that was killed."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        pid = folder.name.removeprefix(PREFIX).partition("-")[0]
        if pid.isdigit() and not process_is_alive(int(pid)):
            shutil.rmtree(folder, ignore_errors=True)
