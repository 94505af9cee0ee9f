"""`fedbandit board`: what it prints, and its exit codes."""

import argparse
import re
import shutil
from pathlib import Path

import pytest

from benchmark.board.board import plan_board
from benchmark.board.play import max_runs
from benchmark.board.task import load_task
from benchmark.commands import board as board_command
from benchmark.commands.board import board_lines, find_tasks, seeds_of, summary_lines
from benchmark.execution.local import LocalExecutor
from benchmark.protocol import load_protocol
from tests.benchmark.board.tiny_boards import play, small_protocol, tiny_task
from tests.benchmark.tiny_sweeps import Command, empty_database


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an empty store and without data, in which the only task is a tiny simulation."""
    shutil.copy(empty_database(), tmp_path / "mlflow.db")
    monkeypatch.setenv("FEDBANDIT_DATA", str(tmp_path / "data"))
    monkeypatch.setattr(board_command, "find_tasks", lambda names: find_tasks(names) if names else [tiny_task()])
    return tmp_path


def test_a_quick_board_says_that_it_is_not_the_protocol(folder: Path, fedbandit_here: Command):
    arguments = ("board", "--quick", "--method", "sync-linucb", "--configurations", "4", "--jobs", "2")
    done = fedbandit_here(folder, *arguments)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("NOT THE PROTOCOL: fewer seeds and configurations, no verdicts.\n")
    assert "No verdicts: they need at least 10 seeds, got 5." in done.stdout
    assert "Sync-LinUCB: 4 of 144 configurations" in done.stdout
    assert "Async-LinUCB-AM" in done.stdout  # the usual methods take part in any case
    assert "earns more" not in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    again = fedbandit_here(folder, *arguments, "--dry-run")
    assert "complete" in again.stdout
    assert "at most 0 runs to do" in again.stdout
    assert "(a board)" in fedbandit_here(folder, "list").stdout
    paper = fedbandit_here(folder, *arguments, "--latex")
    assert "runs done" not in paper.stderr
    assert paper.stdout.startswith("% Needs the package booktabs.\n\\begin{table}")
    assert paper.stdout.endswith("\n\\end{table}\n\n")
    assert "No verdicts: they need at least 10 seeds." in paper.stdout


def test_a_dry_run_counts_runs_and_plays_none(folder: Path, fedbandit_here: Command):
    done = fedbandit_here(folder, "board", "--dry-run", "--jobs", "2")
    assert done.returncode == 0
    assert "tiny" in done.stdout
    assert re.search(r"\d+ methods, 0 runs done, at most [\d,]+ to do", done.stdout)
    assert not (folder / "mlartifacts").exists()


def test_a_task_whose_data_are_missing_is_skipped_and_said(folder: Path, fedbandit_here: Command):
    done = fedbandit_here(folder, "board", "lastfm-once")
    assert done.returncode == 1
    assert "MISSING: task lastfm-once is skipped: lastfm is not prepared" in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("--seeds", "210-220"),
            "--seeds must be outside 200 to 219, which --report plays for the full board, got 210",
        ),
        (("--report", "--seeds", "10"), "--report must not be combined with --quick or --seeds"),
        (("--report", "--quick"), "--report must not be combined with --quick or --seeds"),
    ],
)
def test_the_seeds_of_the_report_are_played_by_it_alone(
    arguments: tuple[str, ...], message: str, folder: Path, fedbandit_here: Command
):
    done = fedbandit_here(folder, "board", *arguments)
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())


def test_a_try_uses_the_first_of_its_own_seeds():
    options = {"report": False, "quick": False, "seeds": None}
    cases = [({}, 300, 319), ({"seeds": "10"}, 300, 309), ({"quick": True}, 300, 304), ({"report": True}, 200, 219)]
    for changes, first, last in cases:
        seeds = seeds_of(argparse.Namespace(**{**options, **changes}), load_protocol())
        assert seeds == tuple(range(first, last + 1))
    assert seeds_of(argparse.Namespace(**{**options, "seeds": "3,5"}), load_protocol()) == (3, 5)


def test_a_retired_task_is_played_by_its_whole_name_and_says_why_it_is_not_ranked(workers: LocalExecutor):
    assert [task.name for task in find_tasks(["lastfm-matched"])] == ["lastfm-matched"]
    assert [task.name for task in find_tasks(["lastfm-*"])] == ["lastfm-once"]
    assert not {task.name for task in find_tasks([])} & {*load_protocol().retired}
    protocol = small_protocol(retired={"tiny": "it is too small"})
    result = play(None, workers, "sync-linucb", protocol=protocol)
    assert "retired in version 2, not ranked: it is too small" in board_lines(result)
    assert summary_lines([result])[1:] == ["tiny: retired, not ranked"]
    assert result.ranks == {}


def test_a_full_board_takes_at_most_534_runs_per_method():
    board = plan_board(load_task("simulated-uniform"), [], load_protocol())
    runs = {entry.name: max_runs(board, entry) for entry in board.entries}
    assert runs["sync-linucb"] == 144 + 72 * 2 + 18 * 7 + 6 * 20
    assert runs["random"] == 10 + 20
    assert runs["centralised-linucb"] == 12 + 12 * 2 + 3 * 7 + 1 * 20  # a reference, tuned without a budget
