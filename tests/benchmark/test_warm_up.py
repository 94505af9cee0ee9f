"""Kernels are compiled before the first run, each once, and only where none are on disk."""

import threading
from pathlib import Path

import pytest

from algorithms import AsyncLinUCB, AsyncLinUCBAM, RandomChoice, SyncLinUCB
from benchmark import warm_up
from benchmark.local_executor import LocalExecutor
from benchmark.plan import Run
from benchmark.stream_source import simulated_source
from benchmark.sweep_display import SweepDisplay
from benchmark.warm_up import compile_kernels, one_of_each
from tests.benchmark.tiny_sweeps import fedbandit, statuses, write_tiny

SOURCE = simulated_source({"steps": 40, "clients": 3}, 0)


def run(name: str, algorithm: object) -> Run:
    return Run("tiny", SOURCE, name, algorithm, {}, 0, f"{name} {algorithm}")


RUNS = [
    run("sync-linucb", SyncLinUCB(threshold=1)),
    run("async-linucb", AsyncLinUCB(gamma=2)),
    run("async-linucb", AsyncLinUCB(gamma=3)),
    run("async-linucb-am", AsyncLinUCBAM(gamma=2)),
    run("async-linucb-am", AsyncLinUCBAM(gamma=2, warm_start=True)),
    run("random", RandomChoice()),
]


def test_each_kernel_is_compiled_once_and_the_longest_first():
    found = one_of_each([*RUNS, run("own:Class", object())])
    assert [type(each).__name__ for each in found][:3] == ["AsyncLinUCBAM", "AsyncLinUCBAM", "AsyncLinUCB"]
    assert {type(each) for each in found} >= {SyncLinUCB, AsyncLinUCB, AsyncLinUCBAM}
    assert object not in {type(each) for each in found}


def test_with_kernels_on_disk_nothing_is_done(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(warm_up, "kernels_are_compiled", lambda: True)
    compile_kernels(None, RUNS, None, threading.Event())  # type: ignore[arg-type]  # it would break if it were used


def test_the_workers_run_a_few_steps_and_it_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(warm_up, "kernels_are_compiled", lambda: False)
    executor = LocalExecutor(1)
    try:
        compile_kernels(executor, RUNS[:2], SweepDisplay(2, 0, 1.0), threading.Event())
    finally:
        executor.close()
    assert capsys.readouterr().err.startswith("Compiling the kernels, once: the first results come in a minute.\n")


def test_a_cache_of_ones_own_is_filled_by_a_sweep(tmp_path: Path):
    cache = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    tiny = write_tiny(tmp_path, seeds=1)
    first = fedbandit(tmp_path, "run", tiny, "--algorithm", "sync-linucb", **cache)
    assert first.returncode == 0, first.stderr
    assert "Compiling the kernels, once" in first.stderr
    assert statuses(tmp_path) == {"FINISHED": 3}
    again = fedbandit(tmp_path, "run", tiny, "--algorithm", "sync-linucb", "--seeds", "2", **cache)
    assert "Compiling" not in again.stderr
    assert statuses(tmp_path) == {"FINISHED": 6}
