"""A sweep: give runs to an executor and pass on each result, even if workers die."""

import signal
import threading
import time
from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, Self

from benchmark.execution.compilation import compile_seconds, is_compiled, kernel_of
from benchmark.execution.run_result import RunResult, failed_result
from benchmark.plan.runs import Run
from data_pipelines.support.messages import error_text

MAX_DEATHS = 3
"""A run, or the building of a stream, that kills its worker this often while nothing else runs is given up."""

RUNS_AHEAD = 3
"""Less than the smallest capacity of an executor, so that a stream stays in use from its first run on."""

SECONDS_BETWEEN_LOOKS = 0.2

OnResult = Callable[[Sequence[Run], RunResult], None]


class WorkerDiedError(Exception):
    """A worker died, and with it the run.

    Attributes:
        deaths: how many workers died one after the other.
        is_in_stream: whether the stream of the run was still being built.
    """

    def __init__(self, deaths: int = 1, *, is_in_stream: bool = False) -> None:
        super().__init__()
        self.deaths, self.is_in_stream = deaths, is_in_stream


class Executor(ABC):
    """Executes runs: processes on this machine, or a Dask cluster. It builds each stream once, for all runs over it."""

    shares_kernels: bool
    """Whether its workers use the compiled kernels of this machine."""

    @abstractmethod
    def start(self, runs: int) -> None:
        """Start the workers for this many runs in the background, if they are not running; `submit` does so too."""

    @abstractmethod
    def capacity(self) -> int:
        """Check the workers, and return the number of runs to have in flight; 0 while there is no worker.

        Called several times per second. From then on, futures of dead workers fail instead of hanging forever. An
        OSError ends the sweep.
        """

    @abstractmethod
    def submit(self, run: Run) -> "Future[RunResult]":
        """Execute a run; a WorkerDiedError of the future means that it must be repeated.

        Runs over the same stream must follow each other: a stream is released when no run in flight needs it. A
        ValueError says that the method cannot be sent.
        """

    @abstractmethod
    def close(self) -> None:
        """End all workers at once."""

    def __enter__(self) -> Self:
        """Enter the context."""
        return self

    def __exit__(self, *error: object) -> None:
        """End all workers."""
        self.close()


def sweep(
    runs: Iterable[Run],
    executor: Executor,
    on_result: OnResult,
    stop: threading.Event,
    tick: Callable[[], None] = lambda: None,
) -> None:
    """Execute runs and pass each result to `on_result`; `stop` ends it between two results with a KeyboardInterrupt.

    Runs of the same key are executed once; `on_result` receives all of them. `tick` is called several times per second.
    """
    state = _Sweep(executor, on_result, in_order(runs))
    while state.waiting or state.running or state.suspects:
        state.hand_over(executor.capacity())
        if not state.running:  # there is no worker
            time.sleep(SECONDS_BETWEEN_LOOKS)
        done, _ = wait(state.running, timeout=SECONDS_BETWEEN_LOOKS, return_when=FIRST_COMPLETED)
        tick()
        for future in done:
            if not stop.is_set():
                state.take(future)
        if stop.is_set():
            raise KeyboardInterrupt


def in_order(runs: Iterable[Run]) -> "deque[list[Run]]":
    """Group runs by key, and order them stream by stream.

    One run per kernel that is not compiled yet comes first, the longest compilation first: workers compile in parallel.
    The first run over a stream comes before the last ones over the stream before it: a worker builds it meanwhile.
    """
    by_stream: dict[str, dict[str, list[Run]]] = {}
    for run in runs:
        by_stream.setdefault(run.fingerprint, {}).setdefault(run.key, []).append(run)
    ordered: list[list[Run]] = []
    begin = 0
    for by_key in by_stream.values():
        first, *others = by_key.values()
        ordered.insert(max(len(ordered) - RUNS_AHEAD, begin), first)
        begin = len(ordered)
        ordered += others
    by_kernel: dict[str, list[Run]] = {}
    for same in ordered:
        by_kernel.setdefault(kernel_of(same[0].method), same)
    to_compile = [same for same in by_kernel.values() if not is_compiled(same[0].method)]
    to_compile.sort(key=lambda same: -compile_seconds(same[0].method))
    keys = {same[0].key for same in to_compile}
    return deque([*to_compile, *(same for same in ordered if same[0].key not in keys)])


@dataclass
class _Sweep:
    """The state of a sweep in progress; a list contains the runs of one key."""

    executor: Executor
    on_result: OnResult
    waiting: "deque[list[Run]]"
    running: "dict[Future[RunResult], list[Run]]" = field(default_factory=dict)
    suspects: "deque[list[Run]]" = field(default_factory=deque)
    """Runs in flight when workers died, repeated one by one to find the cause."""
    alone: "Future[RunResult] | None" = None
    """The latest of these attempts."""
    deaths: "Counter[str]" = field(default_factory=Counter)
    """The deaths that only this run, or the building of this stream, can have caused."""

    def hand_over(self, capacity: int) -> None:
        """Submit as many runs as the executor can have in flight."""
        if self.suspects:
            if capacity and not self.running:
                self.alone = self._submit(self.suspects.popleft())
            return
        while self.waiting and len(self.running) < capacity:
            self._submit(self.waiting.popleft())

    def _submit(self, runs: list[Run]) -> "Future[RunResult]":
        future: Future[RunResult]
        try:
            future = self.executor.submit(runs[0])
        except ValueError as error:
            future = Future()
            future.set_result(failed_result(str(error)))
        self.running[future] = runs
        return future

    def take(self, future: "Future[RunResult]") -> None:
        """Pass on the result of a future, or repeat its run if its worker died."""
        runs = self.running.pop(future)
        error = future.exception()
        if isinstance(error, WorkerDiedError):
            if not (future is self.alone and self._has_failed(runs, error)):
                self.suspects.append(runs)
        else:
            # An error here is one of the executor, such as a worker with other code.
            self.on_result(runs, future.result() if error is None else failed_result(error_text(error)))

    def _has_failed(self, runs: list[Run], error: WorkerDiedError) -> bool:
        """Count the death of a worker that had only this run; if it is one too many, the run or its stream failed."""
        cause = runs[0].fingerprint if error.is_in_stream else runs[0].key
        self.deaths[cause] += error.deaths
        if self.deaths[cause] < MAX_DEATHS:
            return False
        text = f"the worker process died {self.deaths[cause]} times, possibly because it ran out of memory"
        self.on_result(runs, failed_result(text))
        for queue in (self.suspects, self.waiting):  # if its stream is the cause, other runs need it too
            for same in [same for same in queue if same[0].fingerprint == cause]:
                queue.remove(same)
                self.on_result(same, failed_result(text))
        return True


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
