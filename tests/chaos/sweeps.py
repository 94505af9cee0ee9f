"""The sweep that is disturbed, started as a user does, and what it must hold in the end."""

import shutil
import sqlite3
import subprocess
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from tests.benchmark.tiny_sweeps import command, environment, fedbandit, results, rows, write_tiny

RUNS_A_SEED = 8
MOST_SEEDS = 8
STEPS = 1500
PATIENCE = 120.0
_STARTED: "dict[int, list[subprocess.Popen[bytes]]]" = defaultdict(list)
"""The processes that each thread of the suite started."""


def new_folder(parent: Path, seeds: int) -> Path:
    """Make a folder with an empty store and the experiment of so many seeds."""
    folder = Path(tempfile.mkdtemp(dir=parent))
    write_tiny(folder, steps=STEPS, seeds=seeds)
    return folder


@cache
def undisturbed(parent: Path) -> dict[str, Any]:
    """Return the results of a sweep that nobody disturbs, for every run that any disturbed one may do."""
    folder = new_folder(parent, MOST_SEEDS)
    done = fedbandit(folder, "run", "tiny.toml")
    assert done.returncode == 0, done.stderr
    found = results(folder)
    assert len(found) == MOST_SEEDS * RUNS_A_SEED
    shutil.rmtree(folder)
    return found


def start(folder: Path, *arguments: str, **extra: str) -> "subprocess.Popen[bytes]":
    """Start `fedbandit` in a process group of its own; what it complains of goes to `complaints`."""
    with (folder / "complaints").open("wb") as complaints:
        process = subprocess.Popen(
            command(*arguments),
            cwd=folder,
            env=environment(**extra),
            stdout=subprocess.DEVNULL,
            stderr=complaints,
            start_new_session=True,
        )
    _STARTED[threading.get_ident()].append(process)
    return process


def end_leftovers() -> None:
    """End what a kind of fault that did not come to its end has left running."""
    for process in _STARTED.pop(threading.get_ident(), []):
        if process.poll() is None:
            process.kill()
            process.wait()


def complaints(folder: Path) -> str:
    """Return what the last command said on stderr."""
    return (folder / "complaints").read_text(errors="replace")


def records(folder: Path) -> int:
    """Return how many runs the store holds, begun ones included."""
    try:
        return int(rows(folder, "select count(*) from tags where key = 'fedbandit.run_key'")[0][0])
    except sqlite3.Error:
        return 0


def wait_until(process: "subprocess.Popen[bytes]", condition: Callable[[], bool]) -> bool:
    """Wait for a condition; False if the process ended first."""
    end = time.monotonic() + PATIENCE
    while not condition():
        if process.poll() is not None:
            return False
        if time.monotonic() > end:
            raise TimeoutError("a sweep makes no progress")
        time.sleep(0.005)
    return process.poll() is None


def differences(folder: Path, expected: dict[str, Any], *, runs: int | None = None) -> list[str]:
    """Say in what a store differs from the undisturbed one; with `runs`, it must be complete and at rest."""
    try:
        found = results(folder)
    except (AssertionError, OSError, sqlite3.Error) as error:
        return [f"{type(error).__name__}: {error}"]
    wrong = [f"run {key[:8]} is different" for key in found if found[key] != expected.get(key)]
    if runs is None:
        return wrong
    if len(found) != runs:
        wrong.append(f"{len(found)} of {runs} runs are finished")
    if left := rows(folder, "select count(*) from runs where status = 'RUNNING'")[0][0]:
        wrong.append(f"{left} runs are left RUNNING")
    return wrong


def run_again(folder: Path, expected: dict[str, Any], runs: int, *arguments: str, **extra: str) -> list[str]:
    """Run the same command again and say what is wrong then."""
    done = fedbandit(folder, "run", "tiny.toml", *arguments, **extra)
    wrong = differences(folder, expected, runs=runs)
    if done.returncode != 0:
        wrong.append(f"exit code {done.returncode}: {last_line(done.stderr)}")
    return wrong


def last_line(text: str) -> str:
    """Return the last line of what was said."""
    return (text.strip().splitlines() or [""])[-1][:200]


def traceback_in(text: str) -> list[str]:
    """Name a traceback, which nobody should ever see."""
    return [f"a traceback: {last_line(text)}"] if "Traceback" in text else []
