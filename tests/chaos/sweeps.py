"""The sweep for fault injection, started as by a user, and its expected results."""

import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

from tests.benchmark.tiny_sweeps import environment, fedbandit, results, rows, write_tiny

RUNS_PER_SEED = 8
MAX_SEEDS = 8
STEPS = 1500
PATIENCE = 120.0
_STARTED: "dict[int, list[subprocess.Popen[bytes]]]" = defaultdict(list)
"""The processes started by each thread of the suite."""


def new_folder(parent: Path, seeds: int) -> Path:
    """Create a folder with an empty store and an experiment with this number of seeds."""
    folder = Path(tempfile.mkdtemp(dir=parent))
    write_tiny(folder, steps=STEPS, seeds=seeds)
    return folder


@cache
def undisturbed(parent: Path) -> dict[str, Any]:
    """Return the results of an undisturbed sweep with all runs of the disturbed sweeps."""
    folder = new_folder(parent, MAX_SEEDS)
    done = fedbandit(folder, "run", "tiny.toml")
    assert done.returncode == 0, done.stderr
    undisturbed_results = results(folder)
    assert len(undisturbed_results) == MAX_SEEDS * RUNS_PER_SEED
    shutil.rmtree(folder)
    return undisturbed_results


def start(folder: Path, *arguments: str, **extra: str) -> "subprocess.Popen[bytes]":
    """Start `fedbandit` in its own process group, with stderr in the file `error_output`."""
    return start_python(folder, "-m", "benchmark", *arguments, **extra)


def start_python(folder: Path, *arguments: str, **extra: str) -> "subprocess.Popen[bytes]":
    """Start Python in the same way."""
    with (folder / "error_output").open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, *arguments],
            cwd=folder,
            env=environment(**extra),
            stdout=subprocess.DEVNULL,
            stderr=file,
            start_new_session=True,
        )
    _STARTED[threading.get_ident()].append(process)
    return process


def end_leftovers() -> None:
    """End processes that this thread started and that are still running."""
    for process in _STARTED.pop(threading.get_ident(), []):
        if process.poll() is None:
            process.kill()
            process.wait()


def error_output(folder: Path) -> str:
    """Return the stderr of the last command."""
    return (folder / "error_output").read_text(errors="replace")


def records(folder: Path) -> int:
    """Return the number of runs in the store, including unfinished ones, without the right to write to it."""
    try:
        return int(read_only(folder, "select count(*) from tags where key = 'fedbandit.run_key'")[0][0])
    except sqlite3.Error:
        return 0


def read_only(folder: Path, query: str) -> list[Any]:
    """Return the rows of a query, without undoing what a killed process left unfinished."""
    with closing(sqlite3.connect(f"{(folder / 'mlflow.db').as_uri()}?mode=ro", uri=True)) as connection:
        return connection.execute(query).fetchall()


def unreadable(folder: Path) -> list[str]:
    """Let the program look at the store, as a user would after a fault; return a problem if it cannot."""
    done = fedbandit(folder, "runs", "list")
    is_read = done.returncode == 0 and not done.stderr
    return [] if is_read else [f"runs list: exit code {done.returncode}: {last_line(done.stderr)}"]


def wait_until(process: "subprocess.Popen[bytes]", condition: Callable[[], bool]) -> bool:
    """Wait for a condition; return False if the process ends first."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if process.poll() is not None:
            return False
        if time.monotonic() > deadline:
            raise TimeoutError("a sweep makes no progress")
        time.sleep(0.005)
    return process.poll() is None


def differences(folder: Path, expected: dict[str, Any], *, runs: int | None = None) -> list[str]:
    """Describe how a store differs from the undisturbed one; with `runs`, it must be complete and without open runs.

    The program itself reads it first: this process would undo what a killed one left unfinished.
    """
    if problems := unreadable(folder):
        return problems
    try:
        actual = results(folder)
    except (AssertionError, OSError, sqlite3.Error) as error:
        return [f"{type(error).__name__}: {error}"]
    problems = [f"run {key[:8]} is different" for key in actual if actual[key] != expected.get(key)]
    if runs is None:
        return problems
    if len(actual) != runs:
        problems.append(f"{len(actual)} of {runs} runs are finished")
    if running := rows(folder, "select count(*) from runs where status = 'RUNNING'")[0][0]:
        problems.append(f"{running} runs are still RUNNING")
    return problems


def run_again(folder: Path, expected: dict[str, Any], runs: int, *arguments: str, **extra: str) -> list[str]:
    """Run the same command again, and describe the remaining problems."""
    done = fedbandit(folder, "run", "tiny.toml", *arguments, **extra)
    problems = differences(folder, expected, runs=runs)
    if done.returncode != 0:
        problems.append(f"exit code {done.returncode}: {last_line(done.stderr)}")
    return problems


def last_line(text: str) -> str:
    """Return the last line of an output."""
    return (text.strip().splitlines() or [""])[-1][:200]


def traceback_in(text: str) -> list[str]:
    """Return a problem if the output contains a traceback."""
    return [f"a traceback: {last_line(text)}"] if "Traceback" in text else []
