"""Nothing changes silently: the same runs give the same numbers, here, in another process, and next year."""

import copy
import subprocess
import sys
from typing import Any

import pytest

from benchmark import run_key
from benchmark.algorithm_names import algorithm_names
from tests.golden import __main__ as command
from tests.golden.runs import carry_out_all, golden, verdict


@pytest.fixture(scope="module")
def runs() -> dict[str, dict[str, Any]]:
    return carry_out_all()


def test_every_run_comes_out_as_it_did(runs: dict[str, dict[str, Any]]):
    assert verdict(golden(), runs) == ""
    assert len(runs) >= 36
    for name in algorithm_names():
        assert any(f": {name}" in each for each in runs), f"{name} is not among the golden runs"


def test_another_process_gives_the_same():
    other = subprocess.run([sys.executable, "-m", "tests.golden", "--check"], capture_output=True, text=True)
    assert other.returncode == 0, other.stdout + other.stderr
    assert other.stdout == f"{len(golden()['runs'])} runs are as they were\n"


@pytest.mark.parametrize("what", ["choices", "reward", "uploads", "downloads", "key"])
def test_a_change_is_named_and_the_engine_version_asked_for(runs: dict[str, dict[str, Any]], what: str):
    other = copy.deepcopy(runs)
    name = sorted(other)[3]
    other[name][what] = "another"
    told = verdict(golden(), other)
    assert f"{name}: {what} was {runs[name][what]}, is another" in told
    assert "raise ENGINE_VERSION in benchmark/run_key.py" in told


def test_new_numbers_are_not_written_over_old_ones_of_the_same_engine_version(
    runs: dict[str, dict[str, Any]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    other = copy.deepcopy(runs)
    other[sorted(other)[0]]["uploads"] += 1
    monkeypatch.setattr(command, "carry_out_all", lambda: other)
    before = golden()
    assert command.main([]) == 1
    assert "nothing is written" in capsys.readouterr().out
    assert golden() == before


def test_a_raised_engine_version_changes_every_run_key(
    runs: dict[str, dict[str, Any]], monkeypatch: pytest.MonkeyPatch
):
    assert "The engine version is 999" in verdict(golden(), runs, engine_version=999)
    key = run_key.run_key("f", "a", {"gamma": 5}, 0)
    monkeypatch.setattr(run_key, "ENGINE_VERSION", run_key.ENGINE_VERSION + 1)
    assert run_key.run_key("f", "a", {"gamma": 5}, 0) != key
    keys = {each["key"] for each in runs.values()}
    assert len(keys) == len(runs)
    assert not keys & {each["key"] for each in carry_out_all().values()}
