"""Submitted methods: verified by their hash, shown on the board, and without a rank until they are verified."""

import hashlib
import json
import subprocess
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from benchmark.bundles.bundle import ABOUT, BOARDS, CARD, EMPTY_CARD, Bundle, read_bundle
from benchmark.protocol import load_protocol
from benchmark.statistics.comparison import PRIMARY
from reports.analysis.board import NOT_VERIFIED, rank_of
from reports.page.board import board_table
from reports.page.page import board_parts
from reports.read import boards
from reports.read.boards import StoredBoard, submitted_boards, submitted_rows
from reports.read.results import Results
from reports.read.submissions import FOLDER, VERIFIED, read_submissions
from tests.reports.made_up_boards import made_up_stored, results_of
from tests.tools import submissions
from tests.tools.board_page import submitted_table
from tests.tools.submissions import problems

NAME = "club.zip"
TASK = "simulated-spread"


@pytest.fixture(scope="module")
def bundle() -> Bundle:
    return read_bundle(FOLDER / NAME)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the submissions."""
    for name in (NAME, VERIFIED):
        (tmp_path / name).write_bytes((FOLDER / name).read_bytes())
    return tmp_path


@pytest.fixture
def results() -> Results:
    return results_of(made_up_stored(TASK, ("async-linucb", "fclub")))


def change(file: Path, member: str, content: bytes) -> None:
    """Change a member of a bundle, and its hash, so that the file is valid."""
    with zipfile.ZipFile(file) as original:
        members = {name: original.read(name) for name in original.namelist()} | {member: content}
    about = json.loads(members[ABOUT])
    hashes = {name: hashlib.sha256(each).hexdigest() for name, each in members.items() if name != ABOUT}
    members[ABOUT] = json.dumps({**about, "sha256": hashes}).encode()
    with zipfile.ZipFile(file, "w") as changed:
        for name, each in members.items():
            changed.writestr(name, each)


def test_every_submission_of_the_repository_is_complete_and_verified():
    for submission in read_submissions():
        assert [*problems(submission.bundle)] == []
        assert submission.verification is not None, f"{submission.name} changed; run `make board-verified`"
        assert 10 <= submission.verification.runs <= len(submission.bundle.runs)
        for board in submitted_boards(submission):
            assert all(board.result.mean(entry.name)[0] > 0 for entry in submitted_rows(board))


def test_a_verified_submission_is_a_row_with_its_seeds_and_a_changed_card_makes_it_grey(folder: Path, results: Results):
    results.submissions = read_submissions(folder)
    rows = [row for row in board_table(results.boards, results).rows if row.cells["method"].value == "CLUB"]
    assert {row.cells["rank"].value for row in rows} == {"seeds 310–319"}
    assert all(row.is_verified for row in rows)
    assert "unverified" not in board_parts(results, "")["All methods"]
    assert results.submissions[0].checked in submitted_table(results)

    change(folder / NAME, CARD, b'name = "Mine"\n')
    results.submissions = read_submissions(folder)
    rows = [row for row in board_table(results.boards, results).rows if row.cells["method"].value == "CLUB"]
    assert {(row.cells["rank"].value, row.is_verified) for row in rows} == {(NOT_VERIFIED, False)}
    assert board_parts(results, "")["All methods"].count('class="unverified"') == len(rows) > 0
    assert f"**{NOT_VERIFIED}**" in submitted_table(results)


def test_on_report_seeds_the_row_of_a_class_has_a_rank_only_if_its_source_is_verified(monkeypatch: pytest.MonkeyPatch):
    stored = made_up_stored(TASK, ("async-linucb", "fclub"))
    records = {
        key: replace(record, method=replace(record.method, code="0123456789abcdef"))
        if record.method.name == "fclub"
        else record
        for key, record in stored.records.items()
    }

    def rank() -> tuple[str, bool]:
        result = StoredBoard(stored.experiment, stored.document, records).result
        (entry,) = (entry for entry in result.contenders if entry.name == "fclub")
        assert "async-linucb" in result.ranks[PRIMARY]
        return rank_of(result, entry), "fclub" in result.ranks[PRIMARY]

    assert rank()[1]  # a try of a user
    monkeypatch.setattr(boards, "has_shipped_protocol", lambda board: True)
    assert rank() == (NOT_VERIFIED, False)
    monkeypatch.setattr(boards, "verified_codes", lambda: frozenset({"0123456789abcdef"}))
    assert rank()[1]


def test_a_board_that_counts_another_run_is_refused(folder: Path):
    with zipfile.ZipFile(folder / NAME) as file:
        documents = json.loads(file.read(BOARDS))
    (document,) = documents.values()
    first = document["runs"][0]
    other = next(run for run in document["runs"] if run[0] == first[0] and run[1] != first[1])
    first[2] = other[2]
    change(folder / NAME, BOARDS, json.dumps(documents).encode())
    with pytest.raises(ValueError, match=f"is not .* with seed {first[1]} on its task"):
        read_submissions(folder)


def test_a_submission_without_a_card_or_a_board_or_with_report_seeds_is_not_complete(bundle: Bundle):
    assert list(problems(replace(bundle, card=EMPTY_CARD.encode()))) == [
        "the card must have name, authors, reference, licence, deviations"
    ]
    assert "a task of the board" in next(problems(replace(bundle, boards={})))
    seed = load_protocol().seeds.reporting.first
    (problem,) = problems(replace(bundle, runs=[replace(bundle.runs[0], seed=seed)]))
    assert problem.startswith("seeds 200 to 219 are left to the maintainers")


@pytest.mark.slow
def test_the_script_of_the_workflow_verifies_the_bundles_that_a_branch_changes(
    folder: Path, capsys: pytest.CaptureFixture[str]
):
    def git(*words: str) -> None:
        subprocess.run(["git", "-c", "user.name=x", "-c", "user.email=x", *words], cwd=folder, check=True)

    git("init", "-q", "-b", "main")
    git("commit", "-q", "--allow-empty", "-m", "first")
    assert submissions.main(["--since", "main"], folder) == 0
    assert "0 of 0 bundles agree" in capsys.readouterr().out
    git("switch", "-q", "-c", "submission")
    git("add", "-A")
    git("commit", "-q", "-m", "submit")
    assert submissions.main(["--since", "main", "--sample", "1"], folder) == 0
    assert "1 of 1 bundles agree" in capsys.readouterr().out
    (folder / VERIFIED).unlink()
    assert submissions.main(["--sample", "1"], folder) == 0
    (submission,) = read_submissions(folder)
    assert submission.verification is not None
    assert submission.verification.runs == 1
    capsys.readouterr()
    change(folder / NAME, CARD, b"name = 3\n")
    assert submissions.main(["--since", "main"], folder) == 1
    assert capsys.readouterr().out.startswith(f"{NAME}: {NAME} is not a valid bundle: card.toml: name must be")
