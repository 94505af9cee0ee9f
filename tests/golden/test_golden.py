"""Results never change silently: the same runs give the same numbers, in this and in another process."""

import copy
import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmark.plan import run_key
from benchmark.plan.method_names import method_names
from tests.golden import __main__ as command
from tests.golden.runs import Runs, changes, golden, replay_all, verdict
from tests.readme import ROOT


@pytest.fixture(scope="module")
def runs() -> Runs:
    return replay_all()


def test_no_result_has_changed(runs: Runs):
    assert verdict(golden(), runs) == ""
    assert len(runs) >= 36
    assert {run["method"] for run in runs.values()} == {*method_names()}


@pytest.mark.slow
def test_another_process_gives_the_same_results(runs: Runs):
    check = [sys.executable, "-m", "tests.golden", "--check"]
    other = subprocess.run(check, cwd=ROOT, capture_output=True, text=True)
    assert other.returncode == 0, other.stdout + other.stderr
    assert other.stdout == f"{len(runs)} runs are unchanged\n"


@pytest.mark.parametrize("field", ["choices", "reward", "uploads", "downloads", "needed_up", "needed_down"])
def test_a_change_is_reported_and_a_new_version_requested(runs: Runs, field: str):
    other = copy.deepcopy(runs)
    key = sorted(other)[3]
    other[key][field] = "another"
    message = verdict(golden(), other)
    assert f"{runs[key]['run']}: {field} was {runs[key][field]}, is another" in message
    assert "raise the version of the method, or ENGINE_VERSION in benchmark/plan/run_key.py" in message


def test_a_changed_key_is_reported(runs: Runs):
    key, *_ = sorted(runs)
    other = {("another" if each == key else each): run for each, run in runs.items()}
    message = verdict(golden(), other)
    assert f"{runs[key]['run']}: its key {key} is missing" in message
    assert f"{runs[key]['run']}: is not in the golden file" in message


def test_a_raised_version_of_one_method_replaces_its_runs_only(
    runs: Runs, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    method = "sync-linucb"
    others = {key: run for key, run in runs.items() if run["method"] != method}
    raised = {f"new {key}": run | {"version": run["version"] + 1, "uploads": -1} for key, run in runs.items()}
    raised = {key: run for key, run in raised.items() if run["method"] == method}
    assert raised
    assert changes(golden(), others | raised) == []
    monkeypatch.setattr(command, "FILE", tmp_path / "runs.json")
    monkeypatch.setattr(command, "replay_all", lambda: others | raised)
    assert command.main([]) == 0
    written = json.loads(command.FILE.read_text())["runs"]
    assert written == golden()["runs"] | raised


def test_with_the_local_step_first_the_alternating_method_has_the_results_of_its_version_1(runs: Runs):
    earlier = [run for run in golden()["runs"].values() if run["method"] == "async-linucb-am" and run["version"] == 1]
    local = {run["run"].replace(", order=local, width=lemma", ""): run for run in runs.values()}
    assert len(earlier) == 18
    same = [{**local[run["run"]], "run": run["run"], "version": 1} for run in earlier]
    assert [{field: run[field] for field in earlier[0]} for run in same] == earlier


def test_golden_runs_of_the_same_engine_version_are_not_overwritten(
    runs: Runs, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    other = copy.deepcopy(runs)
    other[sorted(other)[0]]["uploads"] += 1
    monkeypatch.setattr(command, "replay_all", lambda: other)
    before = golden()
    assert command.main([]) == 1
    assert "nothing was written" in capsys.readouterr().out
    assert golden() == before


def test_a_raised_engine_version_changes_every_run_key(runs: Runs, monkeypatch: pytest.MonkeyPatch):
    assert "The engine version is 999" in verdict(golden(), runs, engine_version=999)
    key = run_key.run_key("f", "a", {"gamma": 5}, 0)
    monkeypatch.setattr(run_key, "ENGINE_VERSION", run_key.ENGINE_VERSION + 1)
    assert run_key.run_key("f", "a", {"gamma": 5}, 0) != key
    assert not runs.keys() & replay_all().keys()
