"""The sweep for fault injection, started as by a user in a workspace, and what is wrong with it after a fault."""

import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from tests.benchmark.tiny_sweeps import environment, fedbandit, results, rows, write_tiny

RUNS_PER_SEED = 8
MAX_SEEDS = 8
STEPS = 1500
PATIENCE = 120.0
RUN, SWEEP = "fedbandit.run_key", "fedbandit.command"
"""Tags that only runs and only sweeps have."""

Process = subprocess.Popen[bytes]
Faults = Iterator[tuple[int, list[str]]]
"""What a kind of fault yields: a number of injections that really happened, and what was wrong after them."""

_STARTED: dict[int, list[Process]] = defaultdict(list)
"""The processes started by each thread of the suite."""


class Workspace:
    """A folder with an empty store and the experiment `tiny.toml`; `expected` are the results of an undisturbed run."""

    def __init__(self, parent: Path, seeds: int, expected: dict[str, Any] | None = None) -> None:
        self.folder = Path(tempfile.mkdtemp(dir=parent))
        self.runs = seeds * RUNS_PER_SEED
        write_tiny(self.folder, steps=STEPS, seeds=seeds)
        self.expected = undisturbed(parent) if expected is None else expected

    def start(self, *arguments: str, **extra: str) -> Process:
        """Start `fedbandit` in its own process group, with stderr in the file `error_output`."""
        return self.start_python("-m", "benchmark", *arguments, **extra)

    def start_python(self, *arguments: str, **extra: str) -> Process:
        """Start Python in the same way."""
        options: dict[str, Any] = {"cwd": self.folder, "env": environment(**extra), "stdout": subprocess.DEVNULL}
        with (self.folder / "error_output").open("wb") as file:
            process = subprocess.Popen([sys.executable, *arguments], stderr=file, start_new_session=True, **options)
        _STARTED[threading.get_ident()].append(process)
        return process

    def sweep(self, jobs: int, *arguments: str, **extra: str) -> Process:
        """Start the sweep."""
        return self.start("run", "tiny.toml", "--jobs", str(jobs), *arguments, **extra)

    @property
    def errors(self) -> str:
        """The stderr of the last command."""
        return (self.folder / "error_output").read_text(errors="replace")

    def wrong_end(self, process: Process, expected: Sequence[int] = (0,), seconds: float = 240) -> list[str]:
        """Wait for a process; describe an unexpected exit code or a traceback."""
        return wrong_end(process.wait(seconds), self.errors, expected)

    def records(self, tag: str = RUN) -> int:
        """Return the number of runs in the store, including unfinished ones, without the right to write to it."""
        try:
            return int(self.read_only(f"select count(*) from tags where key = '{tag}'")[0][0])
        except sqlite3.Error:
            return 0

    def read_only(self, query: str) -> list[Any]:
        """Return the rows of a query, without undoing what a killed process left unfinished."""
        address = f"{(self.folder / 'mlflow.db').as_uri()}?mode=ro"
        with closing(sqlite3.connect(address, uri=True)) as connection:
            return connection.execute(query).fetchall()

    def wait_for_records(self, process: Process, more: int = 1, tag: str = RUN) -> bool:
        """Wait until the store has more runs, or sweeps; return False if the process ends first."""
        count = self.records(tag)
        return wait_until(process, lambda: self.records(tag) >= count + more)

    def wait_for_a_moment(self, process: Process, random: Random) -> None:
        """Wait until the next record is started, and a little longer."""
        self.wait_for_records(process)
        time.sleep(random.uniform(0, 0.1))

    def unreadable(self) -> list[str]:
        """Let the program look at the store, as a user would after a fault; return a problem if it cannot."""
        done = fedbandit(self.folder, "runs", "list")
        is_read = done.returncode == 0 and not done.stderr
        return [] if is_read else [f"runs list: exit code {done.returncode}: {last_line(done.stderr)}"]

    def differences(self, runs: int | None = None) -> list[str]:
        """Describe how the store differs from the undisturbed one; with `runs`, it must have just these, none open.

        The program itself reads it first: this process would undo what a killed one left unfinished.
        """
        if problems := self.unreadable():
            return problems
        try:
            actual = results(self.folder)
        except (AssertionError, OSError, sqlite3.Error) as error:
            return [f"{type(error).__name__}: {error}"]
        problems = [f"run {key[:8]} is different" for key in actual if actual[key] != self.expected.get(key)]
        if runs is None:
            return problems
        if len(actual) != runs:
            problems.append(f"{len(actual)} of {runs} runs are finished")
        if running := rows(self.folder, "select count(*) from runs where status = 'RUNNING'")[0][0]:
            problems.append(f"{running} runs are still RUNNING")
        return problems

    def run_again(self, *arguments: str, **extra: str) -> list[str]:
        """Run the same command again, and describe the remaining problems."""
        done = fedbandit(self.folder, "run", "tiny.toml", *arguments, **extra)
        return self.differences(self.runs) + wrong_end(done.returncode, done.stderr)


@cache
def undisturbed(parent: Path) -> dict[str, Any]:
    """Return the results of an undisturbed sweep with all runs of the disturbed sweeps."""
    workspace = Workspace(parent, MAX_SEEDS, {})
    assert not workspace.wrong_end(workspace.start("run", "tiny.toml")), workspace.errors
    undisturbed_results = results(workspace.folder)
    assert len(undisturbed_results) == MAX_SEEDS * RUNS_PER_SEED
    shutil.rmtree(workspace.folder)
    return undisturbed_results


def end_leftovers() -> None:
    """End processes that this thread started and that are still running."""
    for process in _STARTED.pop(threading.get_ident(), []):
        if process.poll() is None:
            process.kill()
            process.wait()


def wait_until(process: Process, condition: Callable[[], bool]) -> bool:
    """Wait for a condition; return False if the process ends first."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if process.poll() is not None:
            return False
        if time.monotonic() > deadline:
            raise TimeoutError("a sweep makes no progress")
        time.sleep(0.005)
    return process.poll() is None


def wrong_end(code: int, stderr: str, expected: Sequence[int] = (0,)) -> list[str]:
    """Describe an unexpected exit code or a traceback of a command."""
    problems = [] if code in expected else [f"exit code {code}: {last_line(stderr)}"]
    return problems + ([f"a traceback: {last_line(stderr)}"] if "Traceback" in stderr else [])


def no_refusal(done: "subprocess.CompletedProcess[str]") -> list[str]:
    """Describe how a command was not refused with exit code 2 and one line."""
    problems = wrong_end(done.returncode, done.stderr, [2])
    return problems + ([] if done.stderr.count("\n") == 1 else [f"not one line: {done.stderr[:300]!r}"])


def last_line(text: str) -> str:
    """Return the last line of an output."""
    return (text.strip().splitlines() or [""])[-1][:200]
