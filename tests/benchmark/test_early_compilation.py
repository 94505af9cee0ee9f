"""Kernels are compiled while data are prepared: once, by one process at a time, and again if that one is killed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmark import early_compilation
from benchmark.__main__ import main
from benchmark.early_compilation import experiment_methods
from benchmark.execution.compilation import methods_of, one_per_kernel
from benchmark.plan.experiment import experiment_names, load_experiment
from benchmark.plan.plan import RunOptions, make_plan

CHILD = """
import sys
from numba.core import event
from algorithms import RandomChoice
from benchmark.execution.compilation import COMPILES, compile_once
from data_pipelines import simulate

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
event.register(COMPILES, counter)
compile_once(RandomChoice(), simulate(seed=0, steps=30, clients=3))
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


def test_two_processes_do_not_compile_the_same_kernel(tmp_path: Path):
    counts = sorted(map(compilations, [child(tmp_path), child(tmp_path)]))
    assert counts[0] == 0
    assert counts[1] > 0


def test_a_killed_compilation_leaves_no_lock_and_no_broken_kernel(tmp_path: Path):
    killed = child(tmp_path, "stop")
    assert killed.stdout is not None
    assert killed.stdout.readline() == "compiling\n"
    waiting = child(tmp_path)
    killed.kill()
    killed.communicate()
    assert compilations(waiting) > 0
    assert compilations(child(tmp_path)) == 0


def test_the_methods_of_all_built_in_experiments_are_compiled(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("FEDBANDIT_DATA", str(tmp_path))
    simulated = [name for name in experiment_names() if name in ("fig_a", "fig_b", "fig_c")]
    needed = methods_of(make_plan([load_experiment(name) for name in simulated], RunOptions()).runs)
    compiled = one_per_kernel(experiment_methods())
    assert needed
    assert all(method in compiled for method in needed)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[list[str]]:
    """The commands that would be started in the background; nothing is compiled yet."""
    commands: list[list[str]] = []
    monkeypatch.setattr(early_compilation.subprocess, "Popen", lambda command, **_: commands.append(command))
    monkeypatch.setattr(early_compilation, "_processes", [])
    monkeypatch.setattr(early_compilation, "DONE", tmp_path / "done")
    monkeypatch.setenv("FEDBANDIT_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("FEDBANDIT_OFFLINE", "1")
    monkeypatch.delenv("FEDBANDIT_MIRROR", raising=False)
    monkeypatch.delenv("NUMBA_DISABLE_JIT", raising=False)
    return commands


def test_preparing_all_data_sets_starts_the_compilation(started: list[list[str]]):
    main(["data"])
    assert started == [[sys.executable, "-m", "benchmark.early_compilation"]]


def test_it_is_not_started_for_one_data_set_or_if_everything_is_compiled(started: list[list[str]], tmp_path: Path):
    main(["data", "lastfm"])
    (tmp_path / "done").touch()
    main(["data"])
    assert started == []


def test_the_background_process_compiles_and_marks_the_end(tmp_path: Path):
    """Two at once: one compiles, the other ends at once or finds everything compiled."""
    script = (
        "from algorithms import RandomChoice; from benchmark import early_compilation; "
        "early_compilation.experiment_methods = lambda: [RandomChoice()]; early_compilation.main()"
    )
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    processes = [subprocess.Popen([sys.executable, "-c", script], env=environment) for _ in range(2)]
    assert [process.wait(timeout=300) for process in processes] == [0, 0]
    assert len(list(tmp_path.rglob(early_compilation.DONE.name))) == 1
    assert compilations(child(tmp_path)) == 0
