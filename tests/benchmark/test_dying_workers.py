"""When workers die: a run fails only if workers died repeatedly while no other run was in flight."""

import os
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import BrokenExecutor, Future
from dataclasses import dataclass, field
from multiprocessing import connection
from multiprocessing.connection import Connection
from typing import Any

import pytest

from algorithms.method import MethodInfo
from benchmark.execution.local import LocalExecutor
from benchmark.execution.run_result import RunResult
from benchmark.execution.sweep import MAX_DEATHS, Executor, WorkerDiedError, sweep
from benchmark.plan.runs import Run
from data_pipelines.stream_spec import SimulatedSpec
from tests.readme import ROOT

pytestmark = pytest.mark.slow


class Named(SimulatedSpec):
    """A stream with a name of the test's choice."""

    label: str = ""


@dataclass
class Fragile(Executor):
    """An executor whose workers die during certain runs or streams, and with them everything in flight, as in a pool.

    Runs are in flight together until the deadly one comes; afterwards each is done immediately.
    """

    deadly: set[str]
    deaths: int = 0
    starts: Counter[str] = field(default_factory=Counter)
    waiting: list[Future[Any]] = field(default_factory=list)
    shares_kernels: bool = True

    def start(self, runs: int) -> None:
        pass

    def capacity(self) -> int:
        return 6

    def submit(self, run: Any) -> "Future[RunResult]":
        future: Future[Any] = Future()
        self.starts[run.method] += 1
        if {run.method, run.stream.label} & self.deadly:
            self.deaths += 1
            for each in (*self.waiting, future):
                each.set_exception(WorkerDiedError(is_in_stream=run.stream.label in self.deadly))
            self.waiting = []
        elif not self.deaths:
            self.waiting.append(future)
        else:
            future.set_result(RunResult(0, 1, "here"))
        return future

    def close(self) -> None:
        pass


def make_runs(*names: str) -> list[Run]:
    """Runs named `stream/run`."""
    streams = {name.partition("/")[0] for name in names}
    specs = {name: Named(label=name) for name in streams}
    return [Run("e", specs[name.partition("/")[0]], MethodInfo(name, name, 0), name, {}, 0, name) for name in names]


def outcomes_of(executor: Executor, runs: Sequence[Run]) -> dict[str, RunResult]:
    """The results of a sweep by key."""
    outcomes: dict[str, RunResult] = {}

    def keep(same: Sequence[Run], result: RunResult) -> None:
        assert same[0].key not in outcomes, "a run is doubled"
        outcomes[same[0].key] = result

    sweep(runs, executor, keep, threading.Event())
    assert set(outcomes) == {run.key for run in runs}
    return outcomes


def failures(executor: Executor, *names: str) -> dict[str, str]:
    outcomes = outcomes_of(executor, make_runs(*names))
    return {name: outcome.error for name, outcome in outcomes.items() if outcome.error}


def test_other_runs_finish_if_one_run_kills_its_worker():
    executor = Fragile({"s/deadly"})
    failed = failures(executor, "s/a", "s/b", "s/c", "s/deadly")
    assert failed == {"s/deadly": "the worker process died 3 times, possibly because it ran out of memory"}
    assert executor.starts["s/deadly"] == 1 + MAX_DEATHS
    assert executor.starts["s/a"] == 2


@pytest.mark.parametrize("others", [(), ("t/a", "t/b")])
def test_all_runs_of_a_stream_that_repeatedly_kills_its_worker_fail(others: tuple[str, ...]):
    executor = Fragile({"s"})
    assert failures(executor, "s/a", "s/b", *others).keys() == {"s/a", "s/b"}
    assert executor.deaths <= 2 + MAX_DEATHS


def test_no_result_is_lost_if_a_worker_dies_once():
    class Once(Fragile):
        def submit(self, run: Run) -> "Future[RunResult]":
            future = super().submit(run)
            if self.deaths:
                self.deadly = set()
            return future

    executor = Once({"s/b"})
    assert failures(executor, "s/a", "s/b", "s/c") == {}
    assert executor.deaths == 1


def test_a_run_is_not_blamed_for_worker_deaths_that_are_detected_late():
    """The last one noticed is the only one in flight by then, though it was not when the workers died."""

    class Slow(Fragile):
        def capacity(self) -> int:
            if self.deaths and self.waiting:
                self.waiting.pop(0).set_exception(WorkerDiedError(deaths=MAX_DEATHS))
            return 6

        def submit(self, run: Any) -> "Future[RunResult]":
            future: Future[Any] = Future()
            self.starts[run.method] += 1
            if self.starts[run.method] == 1:
                self.waiting.append(future)
                self.deaths = int(len(self.waiting) == 3)
            else:
                future.set_result(RunResult(0, 1, "here"))
            return future

    assert failures(Slow(set()), "s/a", "s/b", "s/c") == {}


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
    with LocalExecutor(1) as executor:
        assert executor.workers() == []
        for runs in (3, 2):
            executor.start(runs)
        workers = executor.workers()
        assert [worker.pid for worker in workers] == [executor._pool.submit(os.getpid).result(timeout=120)]
        assert isinstance(executor._pool._result_queue._writer, Connection)
    for worker in workers:
        # Not `worker.is_alive()`: for a moment it is wrong if the pool's own thread collects the exit code first.
        assert connection.wait([worker.sentinel], timeout=60)
    assert executor.workers() == []


def test_a_pool_that_broke_is_replaced_and_closing_it_leaves_that_of_another_executor_alone():
    with LocalExecutor(1) as first, LocalExecutor(1) as second:
        pids = [executor._submit(os.getpid).result(timeout=120) for executor in (first, second)]
        assert isinstance(first._submit(os._exit, 3).exception(timeout=120), BrokenExecutor)
        assert first._submit(os.getpid).result(timeout=120) not in pids
        first.close()
        assert second._submit(os.getpid).result(timeout=120) == pids[1]
