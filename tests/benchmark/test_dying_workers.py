"""When workers die: a run fails only if workers died repeatedly while no other run was in flight."""

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import BrokenExecutor, Future
from dataclasses import dataclass, field
from multiprocessing import connection
from multiprocessing.connection import Connection
from typing import Any

import pytest

from algorithms.method import MethodInfo
from benchmark.execution.local import LocalExecutor, Pool
from benchmark.execution.run_result import RunResult
from benchmark.execution.sweep import MAX_ATTEMPTS, Sweep, jobs_by_stream
from benchmark.plan.runs import Run
from data_pipelines.stream_spec import SimulatedSpec
from tests.readme import ROOT


class Named(SimulatedSpec):
    """A stream with a name of the test's choice."""

    label: str = ""


@dataclass
class Fragile:
    """An executor whose workers die during certain runs or streams, and with them everything in flight, as in a pool.

    Runs are in flight together until the deadly one comes; afterwards each is done immediately.
    """

    deadly: set[str]
    deaths: int = 0
    starts: Counter[str] = field(default_factory=Counter)
    waiting: list[Future[Any]] = field(default_factory=list)
    compiler: None = None

    def capacity(self) -> int:
        return 6

    def open_stream(self, spec: Named, seed: int) -> "Future[Any]":
        return self._start(spec.label)

    def submit(self, stream: Any, algorithm: Any, seed: int, files: Any) -> "Future[RunResult]":
        return self._start(algorithm)

    def _start(self, what: str) -> "Future[Any]":
        future: Future[Any] = Future()
        self.starts[what] += 1
        if what in self.deadly:
            self.deaths += 1
            for each in (*self.waiting, future):
                each.set_exception(BrokenExecutor())
            self.waiting = []
        elif "/" in what and not self.deaths:
            self.waiting.append(future)
        else:
            future.set_result(RunResult(0, 1, "here"))
        return future

    def close_stream(self, stream: Any) -> None:
        pass

    def close(self) -> None:
        pass


@dataclass
class Notes:
    """A recorder that keeps outcomes."""

    outcomes: dict[str, RunResult] = field(default_factory=dict)

    def done(self, runs: Sequence[Run], outcome: RunResult) -> None:
        assert runs[0].key not in self.outcomes, "a run is doubled"
        self.outcomes[runs[0].key] = outcome

    def tick(self) -> None:
        pass


class Never:
    """An event that is never set, but ends a sweep that does not end."""

    def __init__(self) -> None:
        self.asked = 0

    def is_set(self) -> bool:
        self.asked += 1
        assert self.asked < 10_000, "the sweep goes on forever"
        return False


def make_runs(*names: str) -> list[Run]:
    """Runs named `stream/run`."""
    streams = {name.partition("/")[0] for name in names}
    specs = {name: Named(label=name) for name in streams}
    return [Run("e", specs[name.partition("/")[0]], MethodInfo(name, name, 0), name, {}, 0, name) for name in names]


def sweep(executor: Any, *names: str) -> dict[str, RunResult]:
    notes = Notes()
    Sweep(executor, notes, jobs_by_stream(make_runs(*names))).go(Never())  # type: ignore[arg-type]
    assert set(notes.outcomes) == set(names)
    return notes.outcomes


def test_other_runs_finish_if_one_run_kills_its_worker():
    executor = Fragile({"s/deadly"})
    outcomes = sweep(executor, "s/a", "s/b", "s/c", "s/deadly")
    assert {name for name, outcome in outcomes.items() if outcome.error} == {"s/deadly"}
    assert "the worker process died 3 times, possibly because it ran out of memory" in outcomes["s/deadly"].error
    assert executor.starts["s/deadly"] == 1 + MAX_ATTEMPTS
    assert executor.starts["s/a"] == 2


@pytest.mark.parametrize("others", [(), ("t/a", "t/b")])
def test_the_runs_of_a_stream_that_repeatedly_kills_its_worker_fail(others: tuple[str, ...]):
    executor = Fragile({"s"})
    outcomes = sweep(executor, "s/a", "s/b", *others)
    assert {name for name, outcome in outcomes.items() if outcome.error} == {"s/a", "s/b"}
    assert executor.starts["s"] <= 1 + MAX_ATTEMPTS


def test_a_run_is_not_blamed_for_worker_deaths_that_are_detected_late():
    """The last one noticed is the only one in flight by then, though it was not when the worker died."""

    class Slow(Fragile):
        def capacity(self) -> int:
            if self.deaths and self.waiting:
                self.waiting.pop(0).set_exception(BrokenExecutor())
            return 6

        def _start(self, what: str) -> "Future[Any]":
            future: Future[Any] = Future()
            self.starts[what] += 1
            if "/" in what and self.starts[what] == 1:
                self.waiting.append(future)
                self.deaths = int(len(self.waiting) == 3)
            else:
                future.set_result(RunResult(0, 1, "here"))
            return future

    runs = Sweep(Slow(set()), Notes(), jobs_by_stream(make_runs("s/a", "s/b", "s/c")))  # type: ignore[arg-type]
    runs.go(Never())  # type: ignore[arg-type]
    assert not runs.attempts


@pytest.mark.parametrize("is_closed", [False, True])
def test_a_worker_that_dies_in_the_middle_of_its_result_is_noticed(is_closed: bool):
    """The standard pool reads on forever; in a process of its own, so that it can be seen to end."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.benchmark.dies_in_mid_result", str(int(is_closed))],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stdout) == (0, "closed\n" if is_closed else "broken, then well again\n"), done.stderr


def test_the_standard_pool_has_the_private_parts_that_we_use():
    pool = Pool(1, int, ())
    try:
        pid = pool.submit(os.getpid).result(timeout=120)
        assert [worker.pid for worker in pool.workers()] == [pid]
        assert isinstance(pool._pool._result_queue._writer, Connection)
        workers = pool.workers()
    finally:
        pool.end()
    for worker in workers:
        # Not `worker.is_alive()`: for a moment it is wrong if the pool's own thread collects the exit code first.
        assert connection.wait([worker.sentinel], timeout=60)
    assert pool.workers() == []


def test_a_pool_that_broke_is_replaced():
    with LocalExecutor(1) as executor:
        dead = executor._submit(os._exit, 3)
        assert isinstance(dead.exception(timeout=120), BrokenExecutor)
        assert executor._submit(len, "abc").result(timeout=120) == 3


def test_closing_an_executor_leaves_the_workers_of_another_alone():
    with LocalExecutor(1) as first, LocalExecutor(1) as second:
        pids = [executor._submit(os.getpid).result(timeout=120) for executor in (first, second)]
        first.close()
        assert second._submit(os.getpid).result(timeout=120) == pids[1]


def test_no_result_is_lost_if_a_worker_dies_once():
    class Once(Fragile):
        def _start(self, what: str) -> "Future[Any]":
            future = super()._start(what)
            if self.deaths:
                self.deadly = set()
            return future

    executor = Once({"s/b"})
    outcomes = sweep(executor, "s/a", "s/b", "s/c")
    assert executor.deaths == 1
    assert not any(outcome.error for outcome in outcomes.values())
