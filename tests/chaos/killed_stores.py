"""SIGKILL inside a transaction, which leaves a hot journal; SIGKILL and Ctrl-C while a database is created."""

import os
import signal
import sqlite3
import subprocess
import time
from pathlib import Path
from random import Random

from tests.chaos.sweeps import (
    RUNS_PER_SEED,
    differences,
    error_output,
    new_folder,
    read_only,
    run_again,
    start,
    start_python,
    traceback_in,
    undisturbed,
    unreadable,
    wait_until,
)
from tests.chaos.tally import Tally

SEEDS = 8
ATTEMPTS = 3
"""Attempts per planned fault: a transaction may end before the signal arrives."""

MAX_TRANSACTIONS = 12
SECONDS_BETWEEN_LOOKS = 0.0001
WRITER = str(Path(__file__).with_name("writer.py"))


def kill_in_transactions(times: int, random: Random, folder: Path) -> Tally:
    """Kill sweeps inside one of their first transactions; only kills that leave a hot journal count."""
    tally, workspace, expected = Tally("SIGKILL inside a transaction"), new_folder(folder, SEEDS), undisturbed(folder)
    hot, problems = 0, list[str]()
    for _ in range(ATTEMPTS * times):
        if hot == times:
            break
        process = start(workspace, "run", "tiny.toml", "--jobs", "1")
        _kill_in_transaction(process, workspace / "mlflow.db-journal", random.randrange(MAX_TRANSACTIONS))
        hot += has_hot_journal(workspace)
        problems += differences(workspace, expected)
        if process.wait() == 0:  # it finished before it could be killed: start over
            problems += run_again(workspace, expected, SEEDS * RUNS_PER_SEED)
            workspace = new_folder(folder, SEEDS)
    tally.count(hot, problems + run_again(workspace, expected, SEEDS * RUNS_PER_SEED))
    return tally


def kill_writers(times: int, random: Random, folder: Path) -> Tally:
    """Kill processes that only write: the same runs again and again, so that the store always has the same content."""
    tally, expected = Tally("SIGKILL to a writer inside a transaction"), undisturbed(folder)
    workspace, hot = new_folder(folder, 1), 0
    problems = run_again(workspace, expected, RUNS_PER_SEED)
    for _ in range(ATTEMPTS * times):
        if hot == times:
            break
        process = start_python(workspace, WRITER, str(workspace / "mlflow.db"))
        _kill_in_transaction(process, workspace / "mlflow.db-journal", random.randrange(MAX_TRANSACTIONS))
        hot += has_hot_journal(workspace)
        problems += traceback_in(error_output(workspace)) + differences(workspace, expected, runs=RUNS_PER_SEED)
    tally.count(hot, problems + run_again(workspace, expected, RUNS_PER_SEED))
    return tally


def has_hot_journal(folder: Path) -> bool:
    """Return whether a store can only be read after SQLite undid a transaction; nothing is undone here."""
    try:
        read_only(folder, "select count(*) from runs")
    except sqlite3.OperationalError as error:
        return error.sqlite_errorname == "SQLITE_READONLY_ROLLBACK"
    return False


def stop_creations(times: int, random: Random, folder: Path) -> Tally:
    """Kill or interrupt sweeps while they create their database; the next one must create it again."""
    tally, expected = Tally("stopped while creating a database"), undisturbed(folder)
    workspace, stopped, problems = _without_database(folder), 0, list[str]()
    for _ in range(ATTEMPTS * times):
        if stopped == times:
            break
        process = start(workspace, "run", "tiny.toml", "--jobs", "1")
        wait_until(process, lambda workspace=workspace: any(workspace.glob("mlflow.db.creating-*")))  # type: ignore[misc]
        time.sleep(random.uniform(0, 1))
        process.send_signal(random.choice([signal.SIGKILL, signal.SIGINT]))
        process.wait(60)
        problems += unreadable(workspace) + traceback_in(error_output(workspace))
        if (workspace / "mlflow.db").exists():  # it was created before the signal arrived: start over
            problems += run_again(workspace, expected, RUNS_PER_SEED)
            workspace = _without_database(folder)
        else:
            stopped += 1
    problems += run_again(workspace, expected, RUNS_PER_SEED)
    problems += [f"{file.name} is left" for file in workspace.glob("mlflow.db.creating-*")]
    tally.count(stopped, problems)
    return tally


def _without_database(folder: Path) -> Path:
    workspace = new_folder(folder, 1)
    (workspace / "mlflow.db").unlink()
    return workspace


def _kill_in_transaction(process: "subprocess.Popen[bytes]", journal: Path, skipped: int) -> None:
    """Let some transactions pass, stop the process when it commits the next one, and kill it if it is still there."""
    while process.poll() is None:
        if not _would_be_hot(journal):
            time.sleep(SECONDS_BETWEEN_LOOKS)
        elif skipped:
            skipped -= 1
            while _would_be_hot(journal) and process.poll() is None:
                time.sleep(SECONDS_BETWEEN_LOOKS)
        else:
            os.kill(process.pid, signal.SIGSTOP)
            if _would_be_hot(journal):
                process.kill()
                process.wait()
            else:
                os.kill(process.pid, signal.SIGCONT)


def _would_be_hot(journal: Path) -> bool:
    """Return whether a journal is complete: SQLite writes its first bytes last, before it changes the database."""
    try:
        with journal.open("rb") as file:
            return file.read(1) not in (b"", b"\0")
    except FileNotFoundError:
        return False
