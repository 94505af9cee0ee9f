"""Kernels are compiled once for all processes, announced in one line, and not part of the time of a run."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from numba.core import event

from algorithms import AsyncLinUCB, AsyncLinUCBAM, AsyncLinUCBAsPublished, RandomChoice, SyncLinUCB, Transfers
from algorithms.numerics.jit import OPTIONS
from benchmark.__main__ import main
from benchmark.commands import data
from benchmark.execution import compilation
from benchmark.execution.compilation import (
    BUSY,
    announcement,
    built_in_kernels,
    is_compiled,
    kernel_of,
    running_time,
)
from benchmark.execution.local import LocalExecutor
from benchmark.execution.replay import replay, replay_method
from benchmark.execution.run_result import run_method
from benchmark.plan.experiment import QUICK, experiment_names, load_experiment, shipped_methods
from benchmark.plan.method_names import parse_filter
from data_pipelines import EventStream, simulate
from tests.benchmark.test_session import Notes
from tests.benchmark.tiny_sweeps import statuses, sweep, write_tiny

pytestmark = pytest.mark.slow

LINE = "Compiling kernels (first run only, about a minute)."
CHILD = """
import sys
from numba.core import event
from algorithms import RandomChoice
from benchmark.execution.compilation import compile_once

class Counter(event.Listener):
    count = 0
    def on_start(self, report):
        self.count += 1
        if self.count == 1 and "stop" in sys.argv:
            print("compiling", flush=True)
            sys.stdin.read()  # until the test kills this process
    def on_end(self, report):
        pass

counter = Counter()
event.register("numba:compile", counter)
compile_once(RandomChoice())
print(counter.count)
"""


def child(cache: Path, *arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", CHILD, *arguments],
        env=os.environ | {"NUMBA_CACHE_DIR": str(cache)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def compilations(process: "subprocess.Popen[str]") -> int:
    output, _ = process.communicate(timeout=300)
    assert process.returncode == 0
    return int(output.split()[-1])


def test_two_processes_do_not_compile_the_same_kernel_and_one_that_is_killed_leaves_no_lock(tmp_path: Path):
    killed = child(tmp_path, "stop")
    assert killed.stdout is not None
    assert killed.stdout.readline() == "compiling\n"
    waiting = [child(tmp_path), child(tmp_path)]
    killed.kill()
    killed.communicate()
    counts = sorted(map(compilations, waiting))
    assert counts[0] == 0
    assert counts[1] > 0


def test_only_kernels_of_methods_that_quick_experiments_run_are_compiled_in_advance():
    experiments = [load_experiment(name) for name in experiment_names()]
    quick = {entry.name for each in experiments if QUICK in each.profiles for entry in each.algorithms}
    assert shipped_methods(QUICK) == quick
    in_advance = [method.name for method in built_in_kernels(quick)]
    assert {*in_advance} <= quick
    assert {"async-linucb", "async-linucb-am", "sync-linucb"} <= {*in_advance}
    assert [method.name for method in built_in_kernels({"sync-linucb"})] == ["sync-linucb"]


class Toy(RandomChoice):
    """A method that is not compiled yet."""

    name: ClassVar[str] = "toy"
    label: ClassVar[str] = "Toy"
    reference: ClassVar[str] = "this test"
    compile_seconds: ClassVar[int | None] = 7
    kernel: ClassVar[str] = ""
    literal = RandomChoice.literal
    examples = RandomChoice.examples
    steps: ClassVar[list[int]] = []

    def start(self, stream: Any, seed: int) -> Any:
        self.steps.append(stream.steps)
        return super().start(stream, seed)


@pytest.fixture(scope="module")
def short() -> EventStream:
    return simulate(seed=0, steps=40, clients=3)


@pytest.fixture
def cold(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing is marked as compiled."""
    monkeypatch.setattr(compilation, "CACHE_FOLDER", tmp_path)
    monkeypatch.setattr(compilation, "_compiled_here", set())
    monkeypatch.setattr(Toy, "steps", [])


@pytest.mark.usefixtures("cold")
@pytest.mark.parametrize("has_cache", [True, False])
def test_replay_announces_a_compilation_in_one_line_and_only_the_first_time(
    has_cache: bool, short: EventStream, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setitem(OPTIONS, "cache", has_cache)
    first, second = replay(Toy(), short), replay(Toy(), short)
    assert Toy.steps == [30, 40, 40]
    np.testing.assert_array_equal(first.choices, second.choices)
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("", f"{announcement()}\n")
    assert (announcement() == LINE) == has_cache
    assert ("in every process, because the compiler cache cannot be written" in announcement()) != has_cache
    compilation._compiled_here.clear()  # as in another process
    assert is_compiled(Toy()) == has_cache


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[list[str]]:
    """The commands that would be started in the background; nothing is compiled yet."""
    commands: list[list[str]] = []
    monkeypatch.setattr(data.subprocess, "Popen", lambda command, **_: commands.append(command))
    monkeypatch.setattr(data, "_background", [])
    monkeypatch.setattr("algorithms.kernel_cache.CACHE_FOLDER", tmp_path)
    monkeypatch.setenv("FEDBANDIT_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("FEDBANDIT_OFFLINE", "1")
    monkeypatch.delenv("FEDBANDIT_MIRROR", raising=False)
    return commands


def test_preparing_all_data_sets_starts_the_compilation_in_a_process_that_marks_the_end(
    started: list[list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    main(["data", "lastfm"])
    assert started == []
    main(["data"])
    done = tmp_path / "built-in-methods.compiled"
    assert started == [[sys.executable, "-m", "benchmark.execution.compilation", str(done)]]
    monkeypatch.setattr(compilation, "built_in_kernels", lambda names: [RandomChoice()])
    monkeypatch.setattr(compilation.signal, "signal", lambda *_: None)
    compilation.main(done)
    main(["data"])
    assert len(started) == 1


def test_a_sweep_announces_once_that_workers_compile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))  # of the workers, which start below
    monkeypatch.setattr(compilation, "CACHE_FOLDER", tmp_path / "cache" / "fedbandit" / compilation.CACHE_FOLDER.name)
    monkeypatch.setattr(compilation, "_compiled_here", set())
    tiny = write_tiny(tmp_path, steps=50, seeds=1)
    (tmp_path / tiny).write_text((tmp_path / tiny).read_text() + '[[algorithms]]\nname = "random"\n')

    def notes_of(**options: Any) -> list[str]:
        notes = Notes()
        with LocalExecutor(1) as executor:
            sweep(tmp_path, executor, tiny, observer=notes, methods=(parse_filter("random"),), **options)
        return notes.lines

    assert notes_of() == [LINE]
    assert notes_of(seeds=(0, 1)) == []
    assert statuses(tmp_path) == {"FINISHED": 2}


class Clock:
    """A substitute for the module `time`."""

    def __init__(self) -> None:
        self.now = 100.0

    def perf_counter(self) -> float:
        return self.now

    def thread_time(self) -> float:
        return self.now / 2


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(compilation, "time", made)
    return made


def test_recorded_times_exclude_compilation(clock: Clock, short: EventStream):
    class Slow:
        def choose(self, client: int, contexts: Any, rng: Any) -> int:
            clock.now += 1
            return 0

        def learn(self, client: int, context: Any, reward: float) -> Transfers:
            with event.trigger_event(BUSY):
                clock.now += 900
                with event.trigger_event(BUSY):  # a kernel that another one calls
                    clock.now += 100
            return Transfers()

    before = running_time()
    metrics = run_method(short, Slow(), 0).metrics
    assert metrics["kernel_seconds"] == running_time()[0] - before[0] == pytest.approx(short.steps)
    assert metrics["cpu_seconds"] == pytest.approx(short.steps / 2)
    assert metrics["microseconds_per_step"] == pytest.approx(1e6)


class Compilations(event.Listener):
    """Counts what Numba compiles."""

    count = 0

    def on_start(self, report: Any) -> None:
        self.count += 1

    def on_end(self, report: Any) -> None:
        pass


@pytest.fixture
def compiled() -> Iterator[Compilations]:
    listener = Compilations()
    with event.install_listener("numba:compile", listener):
        yield listener


@pytest.mark.parametrize(
    ("usual", "others"),
    [
        (
            AsyncLinUCB(gamma=2),
            [AsyncLinUCB(gamma=float("inf"), alpha="theory"), AsyncLinUCB(gamma_upload=[1, 2, 3], gamma_download=2)],
        ),
        (
            AsyncLinUCBAM(gamma=2),
            [AsyncLinUCBAM(gamma=1, alpha="theory"), AsyncLinUCBAM(gamma=2, global_dim=4)],
        ),
        (AsyncLinUCBAM(gamma=2, warm_start=True), [AsyncLinUCBAM(gamma=1, warm_start=True, global_dim=4)]),
        (AsyncLinUCBAsPublished(gamma=2), [AsyncLinUCBAsPublished(gamma=2, stale_models=True, first_maximum=True)]),
        (SyncLinUCB(threshold=1), [SyncLinUCB(threshold=float("inf"), alpha="theory")]),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_one_compilation_serves_all_other_settings_of_a_method(
    usual: Any, others: list[Any], short: EventStream, compiled: Compilations
):
    replay_method(usual, short, 0)
    before = compiled.count
    for other in others:
        replay_method(other, short, 0)
        assert kernel_of(other) == kernel_of(usual)
    assert compiled.count == before
