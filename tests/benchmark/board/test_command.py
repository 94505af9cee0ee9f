"""`fedbandit board`: what it prints, and its exit codes."""

import re
import shutil
from pathlib import Path

import pytest

from benchmark.board.board import QUICK_PASSES, plan_board
from benchmark.board.entries import with_fixed
from benchmark.board.play import estimate, max_runs
from benchmark.board.task import load_task
from benchmark.commands import board as board_command
from benchmark.commands.board import board_lines, find_tasks, summary_lines
from benchmark.execution.local import LocalExecutor
from benchmark.protocol import load_protocol
from benchmark.records.reader import finished_runs
from tests.benchmark.board.tiny_boards import play, small_protocol, store_in, tiny_task
from tests.benchmark.conftest import Command
from tests.benchmark.tiny_sweeps import empty_database


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
    assert "No verdicts: they need at least 10 report seeds, got 3." in done.stdout
    assert "Sync-LinUCB: 4 of 144 configurations" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    again = fedbandit_here(folder, *arguments, "--dry-run")
    assert "complete" in again.stdout
    assert "at most 0 runs to do" in again.stdout


def test_a_dry_run_counts_runs_and_plays_none(folder: Path, fedbandit_here: Command):
    done = fedbandit_here(folder, "board", "--dry-run", "--jobs", "2")
    assert done.returncode == 0
    assert "tiny" in done.stdout
    assert re.search(r"3 methods, 0 runs done, at most 1,\d{3} to do", done.stdout)
    assert not (folder / "mlartifacts").exists()


def test_a_task_whose_data_are_missing_is_skipped_and_said(folder: Path, fedbandit_here: Command):
    done = fedbandit_here(folder, "board", "lastfm-matched")
    assert done.returncode == 1
    assert "MISSING: task lastfm-matched is skipped: lastfm is not prepared" in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("lastfm",), "unknown task 'lastfm'"),
        (("--seeds", "9990-10005"), "report seeds must be outside 10000 to 10009, got 10000"),
        (("--configurations", "0"), "--configurations must be an integer from 1, got 0"),
        (("--method", "nonsense"), "unknown method 'nonsense'"),
        (("--jobs", "0"), "--jobs must be an integer from 1, got 0"),
    ],
)
def test_bad_input_is_one_clear_line(folder: Path, fedbandit_here: Command, arguments: tuple[str, ...], message: str):
    done = fedbandit_here(folder, "board", *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_the_table_of_a_board_fits_80_columns_and_has_verdicts(tmp_path: Path, workers: LocalExecutor):
    result = play(tmp_path, workers, "sync-linucb")
    lines = board_lines(result)
    assert max(map(len, lines)) <= 80
    assert any(line.startswith("Sync-LinUCB") and "=" in line for line in lines)
    assert any(line.startswith("rank: Async-LinUCB 1") for line in lines)
    assert summary_lines([result])[1].startswith("tiny: Async-LinUCB 1")


def test_the_estimate_counts_what_is_done(tmp_path: Path, workers: LocalExecutor):
    board = plan_board(tiny_task(), [], small_protocol(), max_configurations=4)
    most = sum(max_runs(board, entry) for entry in board.playing)
    nothing = estimate(board, [])
    assert (nothing.done, nothing.to_do) == (0, most)
    assert nothing.seconds > 0
    result = play(tmp_path, workers)
    experiments = {
        record.experiment for record in finished_runs(store_in(tmp_path), store_in(tmp_path).experiment_names())
    }
    done = estimate(board, finished_runs(store_in(tmp_path), experiments))
    assert (done.done, done.to_do) == (len(result.outcomes), 0)
    assert len(result.outcomes) <= most


def test_a_full_board_takes_at_most_534_runs_per_method():
    board = plan_board(load_task("simulated-uniform"), [], load_protocol())
    runs = {entry.name: max_runs(board, entry) for entry in board.entries}
    assert runs["sync-linucb"] == 144 + 72 * 2 + 18 * 7 + 6 * 20
    assert runs["random"] == 10 + 20


def test_the_fixed_division_has_the_papers_values():
    protocol = load_protocol()
    rows = with_fixed([], protocol, is_simulated=False)
    assert [row.values for row in rows if row.values] == [{"alpha": (0.3,), "ridge": (0.2,)}] * 3
    simulated = with_fixed([], protocol, is_simulated=True)
    assert [row.values for row in simulated if row.values] == [{"alpha": ("theory",), "ridge": (0.1,)}] * 3


def test_the_quick_protocol_is_valid_and_another_one():
    assert load_protocol().smaller(QUICK_PASSES).fingerprint != load_protocol().fingerprint
    assert load_protocol().smaller(QUICK_PASSES).seeds.choosing.seeds == (10000, 10001)
