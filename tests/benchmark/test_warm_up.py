"""Methods are compiled before the first run, each once, and only those whose kernels are not on disk."""

import threading
from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from algorithms import AsyncLinUCB, AsyncLinUCBAM, RandomChoice, SyncLinUCB
from algorithms.method import MethodInfo
from benchmark import observer as sweep_display
from benchmark.execution.compilation import compile_kernels, methods_of
from benchmark.execution.local import LocalExecutor
from benchmark.observer import Observer, SweepDisplay, silent
from benchmark.plan.method_names import parse_filter
from benchmark.plan.runs import Run
from data_pipelines.stream_spec import SimulatedSpec
from tests.benchmark.test_session import Notes
from tests.benchmark.test_sweep_display import Clock
from tests.benchmark.tiny_sweeps import statuses, sweep, write_tiny

STREAM = SimulatedSpec(steps=40, clients=3)


def run(name: str, algorithm: object) -> Run:
    return Run("tiny", STREAM, MethodInfo(name, name, 0), algorithm, {}, 0, f"{name} {algorithm}")


RUNS = [
    run("sync-linucb", SyncLinUCB(threshold=1)),
    run("async-linucb", AsyncLinUCB(gamma=2)),
    run("async-linucb", AsyncLinUCB(gamma=[1, 2, 3, 4, 5, 6, 7])),
    run("async-linucb-am", AsyncLinUCBAM(gamma=2)),
    run("async-linucb-am", AsyncLinUCBAM(gamma=2, warm_start=True, global_dim=1000)),
    run("random", RandomChoice()),
]


class Workers:
    """A compiler with some methods compiled already; it keeps the names of the others that it is asked to compile."""

    def __init__(self, compiled: Sequence[str]) -> None:
        self.was_compiled, self.compiled = compiled, []

    def open_stream(self, spec: object, seed: int) -> "Future[Any]":
        return self._done("stream")

    def is_compiled(self, stream: str, method: Any) -> "Future[Any]":
        return self._done(method.name in self.was_compiled)

    def compile(self, stream: str, method: Any) -> "Future[Any]":
        self.compiled.append(method.name)
        return self._done(None)

    def close_stream(self, stream: str) -> None:
        pass

    def _done(self, result: Any) -> "Future[Any]":
        future: Future[Any] = Future()
        future.set_result(result)
        return future


def warm_up(workers: Any, observer: Observer | None = None, stop: threading.Event | None = None) -> None:
    compile_kernels(workers, RUNS, observer or SweepDisplay(), stop or threading.Event())


def test_each_method_is_compiled_once_and_the_longest_first():
    class Own(AsyncLinUCB):
        """A user's own; whether a worker can import it shows in its run."""

        name, label, reference = "own", "Own", "this test"
        start, literal, examples = AsyncLinUCB.start, AsyncLinUCB.literal, AsyncLinUCB.examples

    own = [run("own:Own", Own(gamma=2)), run("own:Class", object())]
    assert methods_of([*own, *RUNS]) == [
        AsyncLinUCBAM(gamma=1),
        AsyncLinUCBAM(gamma=1, warm_start=True),
        AsyncLinUCB(gamma=1),
        SyncLinUCB(threshold=0),
        RandomChoice(),
    ]


def test_the_warm_start_is_not_compiled_unless_a_run_has_it():
    assert methods_of(RUNS[3:4]) == [AsyncLinUCBAM(gamma=1)]


def test_with_all_kernels_on_disk_nothing_is_compiled_or_printed(capsys: pytest.CaptureFixture[str]):
    workers = Workers(compiled=["sync-linucb", "async-linucb", "async-linucb-am", "random"])
    warm_up(workers)
    assert workers.compiled == []
    assert capsys.readouterr().err == ""


def test_every_uncached_method_is_announced_even_if_others_are_cached(capsys: pytest.CaptureFixture[str]):
    workers = Workers(compiled=["sync-linucb", "random"])
    warm_up(workers)
    assert workers.compiled == ["async-linucb-am", "async-linucb-am", "async-linucb"]
    lines = capsys.readouterr().err.splitlines()
    assert [line.partition(" (first run only, about ")[0] for line in lines] == [
        "Compiling async-linucb-am",
        "Compiling async-linucb-am with warm_start",
        "Compiling async-linucb",
    ]


def test_ctrl_c_ends_the_wait_for_the_compiler():
    class Stuck(Workers):
        def open_stream(self, spec: object, seed: int) -> "Future[Any]":
            return Future()

    stop = threading.Event()
    stop.set()
    workers = Stuck(compiled=[])
    warm_up(workers, stop=stop)
    assert workers.compiled == []


def test_compilation_after_copied_runs_is_not_part_of_the_time_estimate(
    monkeypatch: pytest.MonkeyPatch,
):
    clock = Clock()
    monkeypatch.setattr(sweep_display, "time", clock)

    class Slow(Workers):
        def compile(self, stream: str, method: Any) -> "Future[Any]":
            clock.now += 60.0
            return super().compile(stream, method)

    display = SweepDisplay()
    display.started(runs=14, skipped=0, seconds=14.0)
    for _ in range(3):
        display.count(failed=False, seconds=1.0, is_reused=True)
    warm_up(Slow(compiled=[]), display)
    assert display.seconds_left() is None
    for _ in range(6):
        clock.now += 1.0
        display.count(failed=False, seconds=1.0)
    assert display.seconds_left() == pytest.approx(5.0)


def test_workers_can_compile_methods_with_any_settings():
    for_seven_clients = run("async-linucb", AsyncLinUCB(gamma=[1, 2, 3, 4, 5, 6, 7]))
    with LocalExecutor(1) as executor:
        compile_kernels(executor, [for_seven_clients], silent, threading.Event())
        stream = executor.open_stream(STREAM, 0).result(timeout=120)
        assert executor.is_compiled(stream, AsyncLinUCB(gamma=1)).result(timeout=120)


def test_every_compiled_method_is_announced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))  # of the workers, which start below
    tiny = write_tiny(tmp_path, seeds=1)
    with (tmp_path / tiny).open("a") as file:
        file.write('[[algorithms]]\nname = "random"\n')

    def notes_of(algorithm: str, **options: Any) -> list[str]:
        notes = Notes()
        with LocalExecutor(1) as executor:
            sweep(tmp_path, executor, tiny, observer=notes, methods=(parse_filter(algorithm),), **options)
        return [line.partition(", about ")[0] for line in notes.lines]

    assert notes_of("random") == ["Compiling random (first run only"]
    assert notes_of("sync-linucb") == ["Compiling sync-linucb (first run only"]
    assert notes_of("sync-linucb", seeds=(0, 1)) == []
    assert statuses(tmp_path) == {"FINISHED": 1 + 3 + 3}
