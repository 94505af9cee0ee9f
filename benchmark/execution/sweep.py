"""A sweep: submit runs to an executor and record each result, even if workers die."""

import signal
import threading
import time
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, Protocol

from benchmark.execution.executors import Executor
from benchmark.execution.run_result import RunResult, error_text, failed_result
from benchmark.plan.runs import Run
from data_pipelines.stream_spec import StreamSpec

MAX_ATTEMPTS = 3
"""Maximum number of attempts to execute a run, or to open a stream, alone if the worker dies each time."""

STREAMS_AHEAD = 2
SECONDS_BETWEEN_LOOKS = 0.2


class Recorder(Protocol):
    """Receives results."""

    def done(self, runs: Sequence[Run], result: RunResult) -> None:
        """Record the result of a run, which may belong to several experiments."""

    def tick(self) -> None:
        """Called several times per second while the sweep runs."""


class Interrupted(Exception):  # noqa: N818 - an event, not an error
    """The user pressed Ctrl-C, or the process received SIGTERM."""


@dataclass
class StreamJobs:
    """A stream, and the runs over it that are not done yet: one list per key, for all experiments that share it."""

    spec: StreamSpec
    seed: int
    waiting: "deque[list[Run]]"
    handle: Any = None
    left: int = 0

    def __post_init__(self) -> None:
        self.left = len(self.waiting)


@dataclass
class Sweep:
    """The state of a sweep in progress. Runs of the same key are done once, for all experiments."""

    executor: Executor
    recorder: Recorder
    streams: "deque[StreamJobs]"
    ready: list[StreamJobs] = field(default_factory=list)
    opening: "dict[Future[Any], StreamJobs]" = field(default_factory=dict)
    running: "dict[Future[RunResult], tuple[StreamJobs, list[Run]]]" = field(default_factory=dict)
    suspects: "deque[tuple[StreamJobs, list[Run]]]" = field(default_factory=deque)
    """Runs in flight when workers died, repeated one by one to find the cause; an empty list for opening a stream."""
    alone: "Future[Any] | None" = None
    """The latest of these attempts."""
    attempts: "Counter[str]" = field(default_factory=Counter)

    def go(self, stop: threading.Event) -> None:
        """Work until all runs are done; `stop` ends it between two records."""
        while self.streams or self.ready or self.opening or self.running or self.suspects:
            self._hand_over(self.executor.capacity())
            futures: list[Future[Any]] = [*self.opening, *self.running]
            if not futures:  # there is no worker
                time.sleep(SECONDS_BETWEEN_LOOKS)
            done, _ = wait(futures, timeout=SECONDS_BETWEEN_LOOKS, return_when=FIRST_COMPLETED)
            self.recorder.tick()
            for future in done:
                if stop.is_set():
                    break
                self._take(future)
            if stop.is_set():
                raise Interrupted

    def _hand_over(self, capacity: int) -> None:
        if not capacity:
            return
        if self.suspects:
            self._hand_over_alone()
            return
        while len(self.running) < capacity and self.ready:
            jobs = self.ready[0]
            self._submit(jobs, jobs.waiting.popleft())
            if not jobs.waiting:
                self.ready.pop(0)
        room = capacity - len(self.running) - sum(len(jobs.waiting) for jobs in self.ready)
        while self.streams and room > 0 and len(self.opening) < STREAMS_AHEAD:
            self._open(self.streams.popleft())

    def _hand_over_alone(self) -> None:
        if self.running or self.opening:
            return
        jobs, runs = self.suspects.popleft()
        self.alone = self._submit(jobs, runs) if runs else self._open(jobs)

    def _submit(self, jobs: StreamJobs, runs: list[Run]) -> "Future[Any]":
        future = self.executor.submit(jobs.handle, runs[0].method, runs[0].seed, runs[0].files)
        self.running[future] = (jobs, runs)
        return future

    def _open(self, jobs: StreamJobs) -> "Future[Any]":
        future = self.executor.open_stream(jobs.spec, jobs.seed)
        self.opening[future] = jobs
        return future

    def _take(self, future: "Future[Any]") -> None:
        """Record the result of a future, or repeat its run if its worker died."""
        error = _error_of(future)
        jobs, runs = self.running.pop(future) if future in self.running else (self.opening.pop(future), [])
        if isinstance(error, BrokenExecutor | CancelledError):
            if not (future is self.alone and self._has_failed(jobs, runs)):
                self.suspects.append((jobs, runs))
        elif runs:
            # An error here is one of the executor, such as an algorithm that cannot be sent to a worker.
            self._finish(jobs, runs, future.result() if error is None else failed_result(error_text(error)))
        elif error is None:
            jobs.handle = future.result()
            self.ready.append(jobs)
        else:
            self._fail_all(jobs, f"the stream could not be built: {error_text(error)}")

    def _fail_all(self, jobs: StreamJobs, error: str) -> None:
        while jobs.waiting:
            self._finish(jobs, jobs.waiting.popleft(), failed_result(error))

    def _finish(self, jobs: StreamJobs, runs: list[Run], result: RunResult) -> None:
        self.recorder.done(runs, result)
        jobs.left -= 1
        if not jobs.left and jobs.handle is not None:
            self.executor.close_stream(jobs.handle)

    def _has_failed(self, jobs: StreamJobs, runs: list[Run]) -> bool:
        """Count a worker death that only this run, or the opening of this stream, can have caused."""
        key = runs[0].key if runs else jobs.spec.fingerprint(jobs.seed)
        self.attempts[key] += 1
        if self.attempts[key] < MAX_ATTEMPTS:
            return False
        error = f"the worker process died {MAX_ATTEMPTS} times, possibly because it ran out of memory"
        if runs:
            self._finish(jobs, runs, failed_result(error))
        else:
            self._fail_all(jobs, error)
        return True


def jobs_by_stream(runs: Sequence[Run]) -> "deque[StreamJobs]":
    """Group runs by stream, and those that several experiments share by key."""
    by_stream: dict[str, dict[str, list[Run]]] = {}
    for run in runs:
        by_stream.setdefault(run.fingerprint, {}).setdefault(run.key, []).append(run)
    firsts = (next(iter(by_key.values()))[0] for by_key in by_stream.values())
    return deque(
        StreamJobs(first.stream, first.seed, deque(by_key.values()))
        for first, by_key in zip(firsts, by_stream.values(), strict=True)
    )


@contextmanager
def stopping_at_signals() -> Iterator[threading.Event]:
    """Turn Ctrl-C and SIGTERM into an event while the block runs; a second Ctrl-C interrupts at once."""
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def handle(number: int, frame: FrameType | None) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    before: Mapping[signal.Signals, Any] = {
        each: signal.signal(each, handle) for each in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield stop
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def _error_of(future: "Future[Any]") -> BaseException | None:
    """Return the exception of a finished future: if it were raised, it could be mistaken for Ctrl-C."""
    try:
        return future.exception()
    except CancelledError as error:
        return error
