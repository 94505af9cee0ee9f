"""The short version of `make chaos`, and tests of the suite itself."""

from pathlib import Path
from random import Random

import pytest

from tests.benchmark.test_killed_stores import leave_hot_journal
from tests.benchmark.tiny_sweeps import write_tiny
from tests.chaos import __main__ as chaos
from tests.chaos import killed_stores, sweeps
from tests.chaos.tally import Tally


def test_sweeps_survive_the_faults_of_the_short_version(capsys: pytest.CaptureFixture[str]):
    code = chaos.main(["--short"])
    output = capsys.readouterr().out
    assert code == 0, output
    *rows, total, _ = output.strip().splitlines()[1:]
    assert len(rows) == sum(short > 0 for _, _, short in chaos.KINDS.values())
    assert all(row.endswith("nothing") for row in rows)
    assert total.split()[:3] == ["all", *[str(sum(short for _, _, short in chaos.KINDS.values()))] * 2]


def test_at_least_two_hundred_faults_of_all_kinds_are_planned():
    assert sum(full for _, full, _ in chaos.KINDS.values()) >= 200
    assert all(full >= 1 for _, full, _ in chaos.KINDS.values())


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
    def kind(times: int, random: Random, folder: Path) -> Tally:
        tally = Tally("a fault")
        tally.count(injected, problems)
        return tally

    monkeypatch.setattr(chaos, "KINDS", {"a-fault": (kind, 3, 3)})
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
    actual: dict[str, int], running: int, expected: list[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sweeps, "unreadable", lambda folder: [])
    monkeypatch.setattr(sweeps, "results", lambda folder: actual)
    monkeypatch.setattr(sweeps, "rows", lambda folder, query: [(running,)])
    assert sweeps.differences(Path(), {"a": 1, "b": 2}, runs=2) == expected


def test_a_store_that_the_program_cannot_read_is_reported(tmp_path: Path):
    (tmp_path / "mlflow.db").write_text("not a database")
    assert sweeps.differences(tmp_path, {}) == [
        f"runs list: exit code 2: fedbandit: error: {tmp_path / 'mlflow.db'} cannot be read (file is not a database)"
    ]


def test_a_journal_counts_as_hot_only_if_it_must_be_rolled_back(tmp_path: Path):
    write_tiny(tmp_path)
    assert not killed_stores.has_hot_journal(tmp_path)
    leave_hot_journal(tmp_path / "mlflow.db")
    assert killed_stores.has_hot_journal(tmp_path)
    assert killed_stores.has_hot_journal(tmp_path), "looking must not roll it back"


def test_at_least_fifty_kills_hit_a_transaction_or_the_creation_of_a_database():
    kinds = (killed_stores.kill_in_transactions, killed_stores.kill_writers, killed_stores.stop_creations)
    assert sum(full for kind, full, _ in chaos.KINDS.values() if kind in kinds) >= 50


def test_an_unknown_fault_name_is_rejected(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit, match="2"):
        chaos.main(["--only", "earthquake"])
    assert "--only must be a word in one of new-environment" in capsys.readouterr().err
