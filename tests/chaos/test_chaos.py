"""The short version of `make chaos`, and whether the suite itself would notice."""

from pathlib import Path
from random import Random

import pytest

from tests.chaos import __main__ as chaos
from tests.chaos import sweeps
from tests.chaos.tally import Tally


def test_a_handful_of_faults_is_survived(capsys: pytest.CaptureFixture[str]):
    code = chaos.main(["--short"])
    shown = capsys.readouterr().out
    assert code == 0, shown
    *rows, total, _ = shown.strip().splitlines()[1:]
    assert len(rows) == sum(short > 0 for _, _, short in chaos.KINDS.values())
    assert all(row.endswith("nothing") for row in rows)
    assert total.split()[:3] == ["all", *[str(sum(short for _, _, short in chaos.KINDS.values()))] * 2]


def test_at_least_two_hundred_faults_are_planned_of_every_kind():
    assert sum(full for _, full, _ in chaos.KINDS.values()) >= 200
    assert all(full >= 1 for _, full, _ in chaos.KINDS.values())


@pytest.mark.parametrize(
    ("injected", "problems", "code", "told"),
    [
        (3, [], 0, "nothing"),
        (3, ["run 1234 is different"], 1, "run 1234 is different"),
        (2, [], 1, "a fault: not injected as often as planned"),
    ],
)
def test_a_fault_that_costs_something_or_was_not_injected_fails_the_suite(
    injected: int,
    problems: list[str],
    code: int,
    told: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    def kind(times: int, random: Random, folder: Path) -> Tally:
        tally = Tally("a fault")
        tally.count(injected, problems)
        return tally

    monkeypatch.setattr(chaos, "KINDS", {"a-fault": (kind, 3, 3)})
    for needed in ("undisturbed", "prepared"):
        monkeypatch.setattr(chaos, needed, lambda folder: None)
    assert chaos.main([]) == code
    shown = capsys.readouterr().out
    assert told in shown
    assert shown.splitlines()[1].split()[2:4] == [str(injected), str(0 if problems else injected)]


@pytest.mark.parametrize(
    ("found", "running", "told"),
    [
        ({"a": 1, "b": 2}, 0, []),
        ({"a": 1, "b": 3}, 0, ["run b is different"]),
        ({"a": 1}, 0, ["1 of 2 runs are finished"]),
        ({"a": 1, "b": 2}, 4, ["4 runs are left RUNNING"]),
        ({"a": 1, "c": 2}, 0, ["run c is different"]),
    ],
)
def test_what_is_lost_or_different_is_told(
    found: dict[str, int], running: int, told: list[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sweeps, "results", lambda folder: found)
    monkeypatch.setattr(sweeps, "rows", lambda folder, query: [(running,)])
    assert sweeps.differences(Path(), {"a": 1, "b": 2}, runs=2) == told


def test_a_word_that_names_no_kind_of_fault_is_refused(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit, match="2"):
        chaos.main(["--only", "earthquake"])
    assert "--only is 'earthquake'; allowed are words of: new-environment" in capsys.readouterr().err
