"""The short version of `make chaos`, and tests of the suite itself."""

from pathlib import Path
from random import Random

import pytest

from tests.benchmark.test_killed_stores import leave
from tests.chaos import __main__ as chaos
from tests.chaos import killed_stores, sweeps
from tests.chaos.sweeps import Faults, Workspace

pytestmark = pytest.mark.slow

KINDS = chaos.KINDS.values()


def test_sweeps_survive_the_faults_of_the_short_version(capsys: pytest.CaptureFixture[str]):
    code = chaos.main(["--short"])
    output = capsys.readouterr().out
    assert code == 0, output
    *rows, total, _ = output.strip().splitlines()[1:]
    assert len(rows) == sum(kind.short > 0 for kind in KINDS)
    assert all(row.endswith("nothing") for row in rows)
    assert total.split()[:3] == ["all", *[str(sum(kind.short for kind in KINDS))] * 2]


def test_at_least_three_hundred_faults_are_planned_fifty_of_which_hit_the_writing_of_a_database():
    assert sum(kind.full for kind in KINDS) >= 300
    assert all(kind.full >= 1 for kind in KINDS)
    assert sum(kind.full for kind in KINDS if kind.inject.__module__ == killed_stores.__name__) >= 50


@pytest.mark.parametrize(
    ("injected", "problems", "code", "expected"),
    [
        (3, [], 0, "nothing"),
        (3, ["run 1234 is different"], 1, "run 1234 is different"),
        (2, [], 1, "a fault: not injected as often as planned"),
    ],
)
def test_a_fault_with_problems_or_too_few_injections_fails_the_suite(
    injected: int,
    problems: list[str],
    code: int,
    expected: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    def inject(times: int, random: Random, folder: Path) -> Faults:
        yield injected, problems

    monkeypatch.setattr(chaos, "KINDS", {"a-fault": chaos.Kind("a fault", inject, 3, 3)})
    for name in ("undisturbed", "prepared"):
        monkeypatch.setattr(chaos, name, lambda folder: None)
    assert chaos.main([]) == code
    output = capsys.readouterr().out
    assert expected in output
    assert output.splitlines()[1].split()[2:4] == [str(injected), str(0 if problems else injected)]


@pytest.mark.parametrize(
    ("actual", "running", "expected"),
    [
        ({"a": 1, "b": 2}, 0, []),
        ({"a": 1, "b": 3}, 0, ["run b is different"]),
        ({"a": 1}, 0, ["1 of 2 runs are finished"]),
        ({"a": 1, "b": 2}, 4, ["4 runs are still RUNNING"]),
        ({"a": 1, "c": 2}, 0, ["run c is different"]),
    ],
)
def test_lost_or_different_runs_are_reported(
    actual: dict[str, int], running: int, expected: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setattr(Workspace, "unreadable", lambda self: [])
    monkeypatch.setattr(sweeps, "results", lambda folder: actual)
    monkeypatch.setattr(sweeps, "rows", lambda folder, query: [(running,)])
    assert Workspace(tmp_path, 1, {"a": 1, "b": 2}).differences(runs=2) == expected


def test_a_store_that_the_program_cannot_read_is_reported(tmp_path: Path):
    workspace = Workspace(tmp_path, 1, {})
    database = workspace.folder / "mlflow.db"
    database.write_text("not a database")
    error = f"fedbandit: error: {database} cannot be read (file is not a database)"
    assert workspace.differences() == [f"runs list: exit code 2: {error}"]


def test_a_kill_counts_if_it_leaves_a_log(tmp_path: Path):
    workspace = Workspace(tmp_path, 1, {})
    assert not killed_stores.has_log(workspace)
    leave(workspace.folder / "mlflow.db", "wal")
    assert killed_stores.has_log(workspace)
    assert killed_stores.has_log(workspace), "looking must not move it"
