"""A real Dask scheduler, with workers that have our code, other code or none, and that die."""

import importlib
import re
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from algorithms import RandomChoice
from algorithms.method import MethodInfo
from benchmark.execution.dask_cluster import DaskExecutor
from benchmark.execution.own_metrics import find_metrics
from benchmark.execution.run_result import RunResult, run_method
from benchmark.plan.own_modules import own_source
from benchmark.plan.runs import Run
from benchmark.records.provenance import provenance
from data_pipelines.stream_spec import SimulatedSpec
from tests.benchmark.test_cluster import scheduler, stale_code, worker
from tests.benchmark.test_dying_workers import outcomes_of

pytestmark = pytest.mark.slow

SMALL = {"steps": 50, "clients": 3, "arms": 3, "dimension": 2}
OWN = """
import os
from dataclasses import dataclass
from algorithms import Transfers
from parts.shapes import middle

@dataclass
class Own:
    how: str = "fine"

    def choose(self, client, contexts, rng):
        import lazy
        if self.how == "dies":
            os._exit(3)
        if self.how in lazy.RAISED:
            raise lazy.RAISED[self.how]
        return middle(contexts)

    def learn(self, client, context, reward):
        return Transfers()
"""
LAZY = """
RAISED = {"exit": SystemExit(0), "interrupt": KeyboardInterrupt("not Ctrl-C"), "close": GeneratorExit()}
"""
METRIC = """
from benchmark.metrics import Metric
from parts.shapes import middle

MIDDLE = Metric("middle", "middle of the steps", "neither", lambda trace, stream: middle(trace.choices))
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    """A class with helpers, in a folder that is on the path of this process only."""
    folder = tmp_path / "user"
    (folder / "parts").mkdir(parents=True)
    (folder / "own_with_helpers.py").write_text(OWN)
    (folder / "lazy.py").write_text(LAZY)
    (folder / "own_metric_of_dask.py").write_text(METRIC)
    (folder / "parts" / "__init__.py").write_text("import parts.shapes\n")
    (folder / "parts" / "shapes.py").write_text(
        "import parts.numbers\ndef middle(of):\n    return len(of) // parts.numbers.TWO\n"
    )
    (folder / "parts" / "numbers.py").write_text("TWO = 2\n")
    monkeypatch.syspath_prepend(str(folder))
    made: Callable[[str], Any] = importlib.import_module("own_with_helpers").Own
    return made


def sweep(executor: DaskExecutor, methods: dict[str, Any], *metrics: str) -> dict[str, RunResult]:
    stream, found = SimulatedSpec(**SMALL), find_metrics(metrics)
    runs = [
        Run(
            *("e", stream, MethodInfo(name, name, 0), method, {}, 0, name),
            files=own_source(type(method)).files,
            metrics=found,
        )
        for name, method in methods.items()
    ]
    return outcomes_of(executor, runs)


def errors_of(outcomes: dict[str, RunResult]) -> dict[str, str]:
    return {name: outcome.error for name, outcome in outcomes.items() if outcome.error}


def test_only_workers_with_the_same_code_get_runs_and_without_any_the_sweep_stops(
    tmp_path: Path, own: Callable[[str], Any]
):
    lines: list[str] = []
    (tmp_path / "none").mkdir()
    (tmp_path / "none" / "benchmark.py").write_text("raise ModuleNotFoundError(\"No module named 'benchmark'\")\n")
    with scheduler() as address, ExitStack() as stack:
        good = stack.enter_context(worker(tmp_path / "good", address))
        executor = DaskExecutor(address, lines.append, patience=200)
        stack.callback(executor.close)
        assert lines == []
        # Two join in mid-sweep.
        stack.enter_context(worker(tmp_path / "bare", address, PYTHONPATH=str(tmp_path / "none")))
        stack.enter_context(worker(tmp_path / "old", address, PYTHONPATH=stale_code(tmp_path / "stale")))
        deadline = time.monotonic() + 200
        while len(lines) < 2 and time.monotonic() < deadline:
            outcomes = sweep(executor, {str(number): RandomChoice() for number in range(4)})
            assert all(each.provenance == provenance() and not each.error for each in outcomes.values())
        assert len(lines) == 2
        assert executor.threads == 1
        bare, old = sorted(lines, key=lambda line: "engine version" in line)
        assert bare.startswith("Dask worker tcp://")
        assert "is not used: ModuleNotFoundError: No module named 'benchmark'" in bare
        assert "is not used: its engine version is 999, expected" in old

        quitting = {how: own(how) for how in ("exit", "interrupt", "close")}
        methods = {**quitting, "own": own("fine"), "random": RandomChoice()}
        outcomes = sweep(executor, methods, "own_metric_of_dask:MIDDLE")
        assert {outcomes[name].metrics["middle"] for name in ("own", "random")} == {25.0}
        assert errors_of(outcomes) == {
            "exit": "SystemExit: 0 (own_with_helpers.py, line 16)",
            "interrupt": "KeyboardInterrupt: not Ctrl-C (own_with_helpers.py, line 16)",
            "close": "GeneratorExit:  (own_with_helpers.py, line 16)",
        }
        here = run_method(SimulatedSpec(**SMALL).build(0), own("fine"), 0)
        assert outcomes["own"].metrics["reward"] == here.metrics["reward"]

        good.kill()
        executor.patience = 0.0
        with pytest.raises(OSError, match=r"no usable Dask worker at tcp://.* for 0 seconds") as raised:
            sweep(executor, {"random": RandomChoice()})
        text = str(raised.value)
        assert "No module named 'benchmark'" in text
        assert "its engine version is 999" in text
        assert "finished runs are saved; run the same command again to continue" in text
    with scheduler() as address, pytest.raises(OSError, match=r"for 0\.1 seconds \(there are no workers\)"):
        DaskExecutor(address, patience=0.1)


def test_other_runs_finish_on_a_replacement_worker_if_one_run_kills_its_dask_worker(
    tmp_path: Path, own: Callable[[str], Any]
):
    with scheduler() as address, worker(tmp_path / "restarted", address, "--nworkers", "1"):
        executor = DaskExecutor(address, patience=200)
        try:
            innocent = {f"random {number}": RandomChoice() for number in range(4)}
            outcomes = sweep(executor, {"fine": own("fine"), "dies": own("dies"), **innocent})
        finally:
            executor.close()
    assert errors_of(outcomes).keys() == {"dies"}
    assert re.match(r"the worker process died \d times, possibly", outcomes["dies"].error)
