"""Results never change silently: the same runs give the same numbers, in this and in another process."""

import copy
import subprocess
import sys
from typing import Any

import pytest

from benchmark.plan import run_key
from benchmark.plan.algorithm_names import algorithm_names
from tests.golden import __main__ as command
from tests.golden.runs import golden, replay_all, verdict
from tests.readme import ROOT


@pytest.fixture(scope="module")
def runs() -> dict[str, dict[str, Any]]:
    return replay_all()


def test_no_result_has_changed(runs: dict[str, dict[str, Any]]):
    assert verdict(golden(), runs) == ""
    assert len(runs) >= 36
    for name in algorithm_names():
        assert any(f": {name}" in run for run in runs), f"{name} is not among the golden runs"


def test_another_process_gives_the_same_results():
    check = [sys.executable, "-m", "tests.golden", "--check"]
    other = subprocess.run(check, cwd=ROOT, capture_output=True, text=True)
    assert other.returncode == 0, other.stdout + other.stderr
    assert other.stdout == f"{len(golden()['runs'])} runs are unchanged\n"


@pytest.mark.parametrize("field", ["choices", "reward", "uploads", "downloads", "key"])
def test_a_change_is_reported_and_a_new_engine_version_requested(runs: dict[str, dict[str, Any]], field: str):
    other = copy.deepcopy(runs)
    name = sorted(other)[3]
    other[name][field] = "another"
    message = verdict(golden(), other)
    assert f"{name}: {field} was {runs[name][field]}, is another" in message
    assert "raise ENGINE_VERSION in benchmark/plan/run_key.py" in message


def test_golden_runs_of_the_same_engine_version_are_not_overwritten(
    runs: dict[str, dict[str, Any]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    other = copy.deepcopy(runs)
    other[sorted(other)[0]]["uploads"] += 1
    monkeypatch.setattr(command, "replay_all", lambda: other)
    before = golden()
    assert command.main([]) == 1
    assert "nothing was written" in capsys.readouterr().out
    assert golden() == before


def test_a_raised_engine_version_changes_every_run_key(
    runs: dict[str, dict[str, Any]], monkeypatch: pytest.MonkeyPatch
):
    assert "The engine version is 999" in verdict(golden(), runs, engine_version=999)
    key = run_key.run_key("f", "a", {"gamma": 5}, 0)
    monkeypatch.setattr(run_key, "ENGINE_VERSION", run_key.ENGINE_VERSION + 1)
    assert run_key.run_key("f", "a", {"gamma": 5}, 0) != key
    keys = {run["key"] for run in runs.values()}
    assert len(keys) == len(runs)
    assert not keys & {run["key"] for run in replay_all().values()}
