"""A SQLite store that is locked by another process, truncated or of another schema version; two sweeps on one store."""

import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

from tests.benchmark.tiny_sweeps import fedbandit
from tests.chaos.sweeps import Faults, Workspace, no_refusal, wrong_end

SEEDS = 3
LONGER_THAN_MLFLOW_TIMEOUT = 21.0


def lock_database(times: int, random: Random, folder: Path) -> Faults:
    """Lock the database while a sweep writes to it; once for longer than MLflow itself waits."""
    workspace, locked = Workspace(folder, SEEDS), 0
    process = workspace.sweep(1)
    while locked < times and workspace.wait_for_records(process):
        connection = sqlite3.connect(workspace.folder / "mlflow.db", timeout=60, isolation_level=None)
        connection.execute("begin exclusive")
        time.sleep(LONGER_THAN_MLFLOW_TIMEOUT if locked == 5 else random.uniform(0.05, 1.0))
        locked += process.poll() is None
        connection.execute("rollback")
        connection.close()
    yield locked, workspace.wrong_end(process) + workspace.run_again()


def truncate_database(times: int, random: Random, folder: Path) -> Faults:
    """A truncated database must be refused in one line and not modified; restored from a copy, it is complete."""

    def truncate(database: Path) -> None:
        content = database.read_bytes()
        database.write_bytes(content[: random.randint(1, len(content) - 1)])

    yield from _break_databases(times, folder, truncate)


def change_schema(times: int, random: Random, folder: Path) -> Faults:
    """A database of an older or newer version of MLflow can be read, but not written."""

    def change(database: Path) -> None:
        with sqlite3.connect(database) as connection:
            version = f"{random.getrandbits(48):012x}"
            connection.execute("update alembic_version set version_num = ?", (version,))
        connection.close()

    yield from _break_databases(times, folder, change, is_readable=True)


def _break_databases(times: int, folder: Path, damage: Callable[[Path], None], is_readable: bool = False) -> Faults:
    workspace = Workspace(folder, SEEDS)
    database, problems = workspace.folder / "mlflow.db", workspace.run_again()
    content = database.read_bytes()
    for _ in range(times):
        damage(database)
        damaged = database.read_bytes()
        problems += no_refusal(fedbandit(workspace.folder, "run", "tiny.toml", "--seeds", str(SEEDS + 1)))
        problems += [] if database.read_bytes() == damaged else ["the damaged file was written to"]
        problems += workspace.differences(workspace.runs) if is_readable else []
        database.write_bytes(content)
        yield 1, problems + workspace.differences(workspace.runs)
        problems = []
    yield 0, workspace.run_again()


def sweep_at_once(times: int, random: Random, folder: Path) -> Faults:
    """Start two sweeps in one folder: one executes all runs, the other is refused or finds them finished."""
    for number in range(times):
        workspace = Workspace(folder, SEEDS)
        if number % 4 == 0:
            (workspace.folder / "mlflow.db").unlink()  # for neither sweep, a database exists
        first = workspace.sweep(1)
        time.sleep(random.uniform(0, 1.5))
        second = fedbandit(workspace.folder, "run", "tiny.toml", "--jobs", "1")
        was_alive = first.poll() is None
        problems = workspace.wrong_end(first, (0, 2)) + wrong_end(second.returncode, second.stderr, (0, 2))
        codes = {first.returncode, second.returncode}
        problems += [] if 0 in codes else ["both sweeps were refused"]
        yield was_alive or 2 in codes, problems + workspace.run_again()
