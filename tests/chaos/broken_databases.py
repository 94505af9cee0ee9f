"""A SQLite store that is locked by another process, truncated or of another schema version; two sweeps on one store."""

import sqlite3
import time
from pathlib import Path
from random import Random

from tests.benchmark.tiny_sweeps import fedbandit
from tests.chaos.sweeps import (
    RUNS_PER_SEED,
    differences,
    error_output,
    last_line,
    new_folder,
    records,
    run_again,
    start,
    traceback_in,
    undisturbed,
    wait_until,
)
from tests.chaos.tally import Tally

SEEDS = 3
LONGER_THAN_MLFLOW_TIMEOUT = 21.0


def lock_database(times: int, random: Random, folder: Path) -> Tally:
    """Lock the database while a sweep writes to it; once for longer than MLflow itself waits."""
    tally, workspace, expected = Tally("database locked"), new_folder(folder, SEEDS), undisturbed(folder)
    process, locked = start(workspace, "run", "tiny.toml", "--jobs", "1"), 0
    while locked < times:
        count = records(workspace)
        if not wait_until(process, lambda count=count: records(workspace) > count):  # type: ignore[misc]
            break
        connection = sqlite3.connect(workspace / "mlflow.db", timeout=60, isolation_level=None)
        connection.execute("begin exclusive")
        time.sleep(LONGER_THAN_MLFLOW_TIMEOUT if locked == 5 else random.uniform(0.05, 1.0))
        locked += process.poll() is None
        connection.execute("rollback")
        connection.close()
    code = process.wait(240)
    problems = [] if code == 0 else [f"exit code {code}: {last_line(error_output(workspace))}"]
    problems += traceback_in(error_output(workspace)) + run_again(workspace, expected, SEEDS * RUNS_PER_SEED)
    tally.count(locked, problems)
    return tally


def truncate_database(times: int, random: Random, folder: Path) -> Tally:
    """A truncated database must be refused in one line and not modified; restored from a copy, it is complete."""
    tally, workspace, expected = Tally("database truncated"), _finished_sweep(folder), undisturbed(folder)
    database = workspace / "mlflow.db"
    content = database.read_bytes()
    for _ in range(times):
        truncated = content[: random.randint(1, len(content) - 1)]
        database.write_bytes(truncated)
        done = fedbandit(workspace, "run", "tiny.toml", "--seeds", str(SEEDS + 1))
        problems = _problems_of_refusal(done.returncode, done.stderr)
        problems += [] if database.read_bytes() == truncated else ["the damaged file was written to"]
        database.write_bytes(content)
        tally.count(1, problems + differences(workspace, expected, runs=SEEDS * RUNS_PER_SEED))
    tally.count(0, run_again(workspace, expected, SEEDS * RUNS_PER_SEED))
    return tally


def change_schema(times: int, random: Random, folder: Path) -> Tally:
    """Use a database of an older or newer version of MLflow."""
    tally, workspace, expected = Tally("database of another schema"), _finished_sweep(folder), undisturbed(folder)
    database = workspace / "mlflow.db"
    content = database.read_bytes()
    for _ in range(times):
        with sqlite3.connect(database) as connection:
            version = f"{random.getrandbits(48):012x}"
            connection.execute("update alembic_version set version_num = ?", (version,))
        connection.close()
        done = fedbandit(workspace, "run", "tiny.toml", "--seeds", str(SEEDS + 1))
        problems = _problems_of_refusal(done.returncode, done.stderr)
        problems += differences(workspace, expected, runs=SEEDS * RUNS_PER_SEED)
        database.write_bytes(content)
        tally.count(1, problems)
    tally.count(0, run_again(workspace, expected, SEEDS * RUNS_PER_SEED))
    return tally


def sweep_at_once(times: int, random: Random, folder: Path) -> Tally:
    """Start two sweeps in one folder: one executes all runs, the other is refused or finds them finished."""
    tally, expected = Tally("two sweeps at once"), undisturbed(folder)
    for number in range(times):
        workspace = new_folder(folder, SEEDS)
        if number % 4 == 0:
            (workspace / "mlflow.db").unlink()  # for neither sweep, a database exists
        first = start(workspace, "run", "tiny.toml", "--jobs", "1")
        time.sleep(random.uniform(0, 1.5))
        second = fedbandit(workspace, "run", "tiny.toml", "--jobs", "1")
        was_alive = first.poll() is None
        codes = {first.wait(240), second.returncode}
        problems = [] if 0 in codes and codes <= {0, 2} else [f"exit codes {codes}: {last_line(second.stderr)}"]
        problems += traceback_in(second.stderr) + traceback_in(error_output(workspace))
        problems += run_again(workspace, expected, SEEDS * RUNS_PER_SEED)
        tally.count(was_alive or 2 in codes, problems)
    return tally


def _finished_sweep(folder: Path) -> Path:
    workspace = new_folder(folder, SEEDS)
    done = fedbandit(workspace, "run", "tiny.toml")
    assert done.returncode == 0, done.stderr
    return workspace


def _problems_of_refusal(code: int, stderr: str) -> list[str]:
    problems = [] if code == 2 else [f"exit code {code}: {last_line(stderr)}"]
    return problems + ([] if stderr.count("\n") == 1 else [f"not one line: {stderr[:300]!r}"])
