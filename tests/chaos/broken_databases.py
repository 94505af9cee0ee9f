"""The SQLite store: locked by another process, truncated, of another schema version; two sweeps on one."""

import sqlite3
import time
from pathlib import Path
from random import Random

from tests.benchmark.tiny_sweeps import fedbandit
from tests.chaos.sweeps import (
    RUNS_A_SEED,
    complaints,
    differences,
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
LONGER_THAN_MLFLOW_WAITS = 21.0


def lock_database(times: int, random: Random, folder: Path) -> Tally:
    """This process holds the database while a sweep writes to it; once for longer than MLflow itself waits."""
    tally, place, expected = Tally("database locked"), new_folder(folder, SEEDS), undisturbed(folder)
    process, locked = start(place, "run", "tiny.toml", "--jobs", "1"), 0
    while locked < times:
        seen = records(place)
        if not wait_until(process, lambda seen=seen: records(place) > seen):  # type: ignore[misc]
            break
        connection = sqlite3.connect(place / "mlflow.db", timeout=60, isolation_level=None)
        connection.execute("begin exclusive")
        time.sleep(LONGER_THAN_MLFLOW_WAITS if locked == 5 else random.uniform(0.05, 1.0))
        locked += process.poll() is None
        connection.execute("rollback")
        connection.close()
    code = process.wait(240)
    problems = [] if code == 0 else [f"exit code {code}: {last_line(complaints(place))}"]
    problems += traceback_in(complaints(place)) + run_again(place, expected, SEEDS * RUNS_A_SEED)
    tally.count(locked, problems)
    return tally


def truncate_database(times: int, random: Random, folder: Path) -> Tally:
    """It must be refused in one line and left as it is; put back from a copy, everything is there again."""
    tally, place, expected = Tally("database truncated"), _swept(folder), undisturbed(folder)
    database = place / "mlflow.db"
    whole = database.read_bytes()
    for _ in range(times):
        cut = whole[: random.randint(1, len(whole) - 1)]
        database.write_bytes(cut)
        done = fedbandit(place, "run", "tiny.toml", "--seeds", str(SEEDS + 1))
        problems = _refused(done.returncode, done.stderr)
        problems += [] if database.read_bytes() == cut else ["the damaged file was written to"]
        database.write_bytes(whole)
        tally.count(1, problems + differences(place, expected, runs=SEEDS * RUNS_A_SEED))
    tally.count(0, run_again(place, expected, SEEDS * RUNS_A_SEED))
    return tally


def change_schema(times: int, random: Random, folder: Path) -> Tally:
    """A database of an MLflow that is older or newer than ours."""
    tally, place, expected = Tally("database of another schema"), _swept(folder), undisturbed(folder)
    database = place / "mlflow.db"
    whole = database.read_bytes()
    for _ in range(times):
        with sqlite3.connect(database) as connection:
            version = f"{random.getrandbits(48):012x}"
            connection.execute("update alembic_version set version_num = ?", (version,))
        connection.close()
        done = fedbandit(place, "run", "tiny.toml", "--seeds", str(SEEDS + 1))
        problems = _refused(done.returncode, done.stderr)
        problems += differences(place, expected, runs=SEEDS * RUNS_A_SEED)
        database.write_bytes(whole)
        tally.count(1, problems)
    tally.count(0, run_again(place, expected, SEEDS * RUNS_A_SEED))
    return tally


def sweep_at_once(times: int, random: Random, folder: Path) -> Tally:
    """Two sweeps in one folder: one does everything, the other is told, or finds everything done."""
    tally, expected = Tally("two sweeps at once"), undisturbed(folder)
    for each in range(times):
        place = new_folder(folder, SEEDS)
        if each % 4 == 0:
            (place / "mlflow.db").unlink()  # neither finds a database
        first = start(place, "run", "tiny.toml", "--jobs", "1")
        time.sleep(random.uniform(0, 1.5))
        second = fedbandit(place, "run", "tiny.toml", "--jobs", "1")
        was_alive = first.poll() is None
        codes = {first.wait(240), second.returncode}
        problems = [] if 0 in codes and codes <= {0, 2} else [f"exit codes {codes}: {last_line(second.stderr)}"]
        problems += traceback_in(second.stderr) + traceback_in(complaints(place))
        problems += run_again(place, expected, SEEDS * RUNS_A_SEED)
        tally.count(was_alive or 2 in codes, problems)
    return tally


def _swept(folder: Path) -> Path:
    place = new_folder(folder, SEEDS)
    done = fedbandit(place, "run", "tiny.toml")
    assert done.returncode == 0, done.stderr
    return place


def _refused(code: int, said: str) -> list[str]:
    problems = [] if code == 2 else [f"exit code {code}: {last_line(said)}"]
    return problems + ([] if said.count("\n") == 1 else [f"not one line: {said[:300]!r}"])
