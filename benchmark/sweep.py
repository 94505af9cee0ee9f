"""A sweep: hand runs to an executor, record what comes back, lose nothing."""

import signal
import threading
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, Protocol

from benchmark.executors import Executor
from benchmark.outcome import Outcome
from benchmark.plan import Run
from benchmark.stream_source import StreamSource

MOST_ATTEMPTS = 3
"""How often a run, or the opening of a stream, is tried alone if its worker dies each time."""

STREAMS_AHEAD = 2


class Recorder(Protocol):
    """Takes what comes back."""

    def done(self, runs: Sequence[Run], outcome: Outcome) -> None:
        """Take the outcome of a run, which may belong to several experiments."""

    def tick(self) -> None:
        """Take a sign of life, several times a second."""


class Interrupted(Exception):  # noqa: N818 - an event, not an error
    """Somebody pressed Ctrl-C, or the process was asked to end."""


@dataclass
class Group:
    """A stream, and the runs over it that are not done yet."""

    source: StreamSource
    waiting: "deque[list[Run]]"
    handle: Any = None
    left: int = 0

    def __post_init__(self) -> None:
        self.left = len(self.waiting)


@dataclass
class Sweep:
    """The state of a sweep in progress. Runs of the same key are carried out once, for all experiments."""

    executor: Executor
    recorder: Recorder
    groups: "deque[Group]"
    ready: list[Group] = field(default_factory=list)
    opening: "dict[Future[Any], Group]" = field(default_factory=dict)
    running: "dict[Future[Outcome], tuple[Group, list[Run]]]" = field(default_factory=dict)
    suspects: "deque[tuple[Group, list[Run]]]" = field(default_factory=deque)
    """What was in flight when workers died: done again one by one, to see whose fault it was. No runs: an opening."""
    attempts: "Counter[str]" = field(default_factory=Counter)

    def go(self, stop: threading.Event) -> None:
        """Work until all is done; `stop` ends it between two records."""
        while self.groups or self.ready or self.opening or self.running or self.suspects:
            try:
                self._hand_over()
            except BrokenExecutor:
                self._recover()
                continue
            futures: list[Future[Any]] = [*self.opening, *self.running]
            done, _ = wait(futures, timeout=0.2, return_when=FIRST_COMPLETED)
            self.executor.check_workers()
            self.recorder.tick()
            is_broken = False
            for future in done:
                if stop.is_set():
                    break
                is_broken |= not self._take(future)
            if stop.is_set():
                raise Interrupted
            if is_broken:
                self._recover()

    def _hand_over(self) -> None:
        if self.suspects:
            self._hand_over_alone()
            return
        while len(self.running) < self.executor.in_flight and self.ready:
            group = self.ready[0]
            runs = group.waiting[0]
            self.running[self.executor.submit(group.handle, runs[0].algorithm, runs[0].seed)] = (group, runs)
            group.waiting.popleft()  # only now: an executor whose workers died refuses
            if not group.waiting:
                self.ready.pop(0)
        wanted = self.executor.in_flight - len(self.running) - sum(len(group.waiting) for group in self.ready)
        while self.groups and wanted > 0 and len(self.opening) < STREAMS_AHEAD:
            self.opening[self.executor.open_stream(self.groups[0].source)] = self.groups[0]
            self.groups.popleft()

    def _hand_over_alone(self) -> None:
        if self.running or self.opening:
            return
        group, runs = self.suspects[0]
        if runs:
            self.running[self.executor.submit(group.handle, runs[0].algorithm, runs[0].seed)] = (group, runs)
        else:
            self.opening[self.executor.open_stream(group.source)] = group
        self.suspects.popleft()

    def _take(self, future: "Future[Any]") -> bool:
        """Take what a future brings; False if its worker died."""
        if future in self.opening:
            return self._take_stream(future)
        group, runs = self.running[future]
        try:
            outcome = future.result()
        except (BrokenExecutor, CancelledError):
            return False
        except Exception as error:  # what the executor could not do, such as sending an algorithm to a worker
            outcome = _failed(f"{type(error).__name__}: {error}")
        del self.running[future]
        self._finish(group, runs, outcome)
        return True

    def _take_stream(self, future: "Future[Any]") -> bool:
        group = self.opening[future]
        try:
            group.handle = future.result()
        except (BrokenExecutor, CancelledError):
            return False
        except Exception as error:
            del self.opening[future]
            while group.waiting:
                self._finish(group, group.waiting.popleft(), _failed(f"no stream: {type(error).__name__}: {error}"))
            return True
        del self.opening[future]
        self.ready.append(group)
        return True

    def _finish(self, group: Group, runs: list[Run], outcome: Outcome) -> None:
        self.recorder.done(runs, outcome)
        group.left -= 1
        if not group.left and group.handle is not None:
            self.executor.close_stream(group.handle)

    def _recover(self) -> None:
        """Start again what was in flight when workers died. Who was alone then, and too often, has failed."""
        in_flight = [*((group, []) for group in self.opening.values()), *self.running.values()]
        self.running, self.opening = {}, {}
        self.executor.recover()
        if len(in_flight) == 1 and self._has_failed(*in_flight[0]):
            return
        self.suspects.extendleft(reversed(in_flight))

    def _has_failed(self, group: Group, runs: list[Run]) -> bool:
        """Count a death that only this run, or the opening of this stream, can have caused."""
        what = runs[0].key if runs else group.source.fingerprint
        self.attempts[what] += 1
        if self.attempts[what] < MOST_ATTEMPTS:
            return False
        for each in [runs] if runs else [group.waiting.popleft() for _ in range(len(group.waiting))]:
            self._finish(group, each, _failed("the worker process died, again and again; was there enough memory?"))
        return True


def group_runs(runs: Sequence[Run]) -> "deque[Group]":
    """Bring runs together by stream, and those of several experiments by key."""
    by_stream: dict[str, dict[str, list[Run]]] = {}
    for run in runs:
        by_stream.setdefault(run.source.fingerprint, {}).setdefault(run.key, []).append(run)
    return deque(Group(next(iter(by_key.values()))[0].source, deque(by_key.values())) for by_key in by_stream.values())


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


def _failed(error: str) -> Outcome:
    import platform
    import time

    return Outcome(time.time(), time.time(), platform.node(), error=error, details=error)
