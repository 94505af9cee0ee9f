"""Whose fault is it when workers die? Only who was alone then may be blamed; nobody is tried for ever."""

import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import BrokenExecutor, Future
from dataclasses import dataclass, field
from typing import Any

import pytest

from benchmark.outcome import Outcome
from benchmark.plan import Run
from benchmark.stream_source import StreamSource
from benchmark.sweep import MOST_ATTEMPTS, Sweep, group_runs


@dataclass
class Fragile:
    """An executor whose workers die over certain runs or streams, and with them everything in flight, as in a pool.

    Runs are in flight together until the deadly one has come; afterwards each is done at once.
    """

    deadly: set[str]
    in_flight: int = 6
    recoveries: int = 0
    begun: Counter[str] = field(default_factory=Counter)
    waiting: list[Future[Any]] = field(default_factory=list)

    def open_stream(self, source: StreamSource) -> "Future[Any]":
        return self._begin(source.name)

    def submit(self, stream: Any, algorithm: Any, seed: int) -> "Future[Outcome]":
        return self._begin(algorithm)

    def _begin(self, what: str) -> "Future[Any]":
        future: Future[Any] = Future()
        self.begun[what] += 1
        if what in self.deadly:
            for each in (*self.waiting, future):
                each.set_exception(BrokenExecutor())
            self.waiting = []
        elif "/" in what and not self.recoveries:
            self.waiting.append(future)
        else:
            future.set_result(Outcome(0, 1, "here"))
        return future

    def close_stream(self, stream: Any) -> None:
        pass

    def check_workers(self) -> None:
        pass

    def recover(self) -> bool:
        self.recoveries += 1
        return True

    def close(self) -> None:
        pass


@dataclass
class Notes:
    """Takes outcomes down."""

    outcomes: dict[str, Outcome] = field(default_factory=dict)

    def done(self, runs: Sequence[Run], outcome: Outcome) -> None:
        assert runs[0].key not in self.outcomes, "a run is doubled"
        self.outcomes[runs[0].key] = outcome

    def tick(self) -> None:
        pass


class Never:
    """Nobody presses Ctrl-C, but a sweep that does not end is ended."""

    def __init__(self) -> None:
        self.asked = 0

    def is_set(self) -> bool:
        self.asked += 1
        assert self.asked < 10_000, "the sweep goes on for ever"
        return False


def sweep(executor: Any, *names: str) -> dict[str, Outcome]:
    sources = {name.partition("/")[0]: None for name in names}
    streams = {name: StreamSource(name, 0, (), name, "simulated", "") for name in sources}
    runs = [Run("e", streams[name.partition("/")[0]], name, name, {}, 0, name) for name in names]
    notes = Notes()
    Sweep(executor, notes, group_runs(runs)).go(Never())  # type: ignore[arg-type]
    assert set(notes.outcomes) == set(names)
    return notes.outcomes


def test_runs_beside_one_that_kills_its_worker_are_finished():
    executor = Fragile({"s/deadly"})
    outcomes = sweep(executor, "s/a", "s/b", "s/c", "s/deadly")
    assert {name for name, outcome in outcomes.items() if outcome.error} == {"s/deadly"}
    assert "the worker process died, again and again" in outcomes["s/deadly"].error
    assert executor.begun["s/deadly"] == 1 + MOST_ATTEMPTS
    assert executor.begun["s/a"] == 2


@pytest.mark.parametrize("others", [(), ("t/a", "t/b")])
def test_a_stream_that_kills_its_worker_is_given_up(others: tuple[str, ...]):
    executor = Fragile({"s"})
    outcomes = sweep(executor, "s/a", "s/b", *others)
    assert {name for name, outcome in outcomes.items() if outcome.error} == {"s/a", "s/b"}
    assert executor.begun["s"] <= 1 + MOST_ATTEMPTS


@pytest.mark.parametrize("is_closed", [False, True])
def test_a_worker_that_dies_in_the_middle_of_its_result_is_noticed(is_closed: bool):
    """The standard pool reads on for ever; in a process of its own, so that it can be seen to end."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.benchmark.dies_in_mid_result", str(int(is_closed))],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stdout) == (0, "closed\n" if is_closed else "broken, then well again\n"), done.stderr


def test_a_worker_that_dies_once_costs_nothing():
    executor = Fragile({"s/b"})
    before = executor.recover

    def recover() -> bool:
        executor.deadly = set()
        return before()

    executor.recover = recover  # type: ignore[method-assign]
    outcomes = sweep(executor, "s/a", "s/b", "s/c")
    assert not any(outcome.error for outcome in outcomes.values())
