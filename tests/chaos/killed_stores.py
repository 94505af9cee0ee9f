"""SIGKILL while changes are written to the log of a database; SIGKILL and Ctrl-C while a database is created."""

import signal
import time
from pathlib import Path
from random import Random

from tests.chaos.sweeps import Faults, Process, Workspace, wait_until

SEEDS = 8
ATTEMPTS = 3
"""Attempts per planned fault: a transaction may end before the signal arrives."""

LOG = "mlflow.db-wal"
MAX_TRANSACTIONS = 12
SECONDS_BETWEEN_LOOKS = 0.0001
WRITER = str(Path(__file__).with_name("writer.py"))


def kill_in_transactions(times: int, random: Random, folder: Path) -> Faults:
    """Kill sweeps inside one of their first transactions; only kills that leave a log count."""
    workspace, left, problems = Workspace(folder, SEEDS), 0, list[str]()
    for _ in range(ATTEMPTS * times):
        if left == times:
            break
        process = workspace.sweep(1)
        left += _kill_in_transaction(process, workspace, random.randrange(MAX_TRANSACTIONS))
        problems += workspace.differences()
        if process.wait() == 0:  # it finished before it could be killed: start over
            problems += workspace.run_again()
            workspace = Workspace(folder, SEEDS)
    yield left, problems + workspace.run_again()


def kill_writers(times: int, random: Random, folder: Path) -> Faults:
    """Kill processes that only write: the same runs again and again, so that the store always has the same content."""
    workspace, left = Workspace(folder, 1), 0
    problems = workspace.run_again()
    for _ in range(ATTEMPTS * times):
        if left == times:
            break
        process = workspace.start_python(WRITER, str(workspace.folder / "mlflow.db"))
        left += _kill_in_transaction(process, workspace, random.randrange(MAX_TRANSACTIONS))
        problems += workspace.wrong_end(process, [-signal.SIGKILL]) + workspace.differences(workspace.runs)
    yield left, problems + workspace.run_again()


def has_log(workspace: Workspace) -> bool:
    """Return whether the log of a store has changes that are not in its file; nothing is moved here."""
    return _state(workspace.folder / LOG)[0] > 0


def stop_creations(times: int, random: Random, folder: Path) -> Faults:
    """Kill or interrupt sweeps while they create their database; the next one must create it again."""
    workspace, stopped, problems = _without_database(folder), 0, list[str]()
    for _ in range(ATTEMPTS * times):
        if stopped == times:
            break
        process = workspace.sweep(1)
        wait_until(process, lambda folder=workspace.folder: any(folder.glob("mlflow.db.creating-*")))
        time.sleep(random.uniform(0, 1))
        process.send_signal(random.choice([signal.SIGKILL, signal.SIGINT]))
        problems += workspace.wrong_end(process, (-signal.SIGKILL, 130, 0), 60) + workspace.unreadable()
        if (workspace.folder / "mlflow.db").exists():  # it was created before the signal arrived: start over
            problems += workspace.run_again()
            workspace = _without_database(folder)
        else:
            stopped += 1
    problems += workspace.run_again()
    yield stopped, problems + [f"{file.name} is left" for file in workspace.folder.glob("mlflow.db.creating-*")]


def _without_database(folder: Path) -> Workspace:
    workspace = Workspace(folder, 1)
    (workspace.folder / "mlflow.db").unlink()
    return workspace


def _kill_in_transaction(process: Process, workspace: Workspace, skipped: int) -> bool:
    """Let the log change some times, and kill the process when it changes again; return whether a log is left."""
    state = _state(workspace.folder / LOG)
    while process.poll() is None:
        time.sleep(SECONDS_BETWEEN_LOOKS)
        if (now := _state(workspace.folder / LOG)) == state:
            continue
        state, skipped = now, skipped - 1
        if skipped < 0 and now[0]:
            process.kill()
            process.wait()
    return has_log(workspace)


def _state(log: Path) -> tuple[int, int]:
    """Return size and time of a log: SQLite reuses its file, so it does not always grow."""
    about = log.stat() if log.exists() else None
    return (about.st_size, about.st_mtime_ns) if about else (0, 0)
