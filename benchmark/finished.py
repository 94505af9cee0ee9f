"""Which runs are finished, and what came out: asked through MLflow, or read straight from a SQLite store.

Reading thousands of runs through MLflow takes seconds, from SQLite milliseconds; a test holds both to the
same answer.
"""

import sqlite3
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from benchmark.tags import KEY
from benchmark.tracking import StoreError, sqlite_file

if TYPE_CHECKING:
    from pathlib import Path

    from benchmark.store import Store

PARAMETERS = ("algorithm", "threshold", "dataset", "seed")
METRICS = ("reward", "normalised_reward", "regret", "communication", "kernel_seconds")

RUNS = (
    "select r.run_uuid, e.name, t.value from runs r join experiments e on e.experiment_id = r.experiment_id "
    f"join tags t on t.run_uuid = r.run_uuid and t.key = '{KEY}' "
    "where r.status = 'FINISHED' and r.lifecycle_stage = 'active'"
)
LEFT_RUNNING = (
    "select count(*) from runs r join tags t on t.run_uuid = r.run_uuid and t.key = 'fedbandit.kind' "
    "where r.status = 'RUNNING' and r.lifecycle_stage = 'active' and t.value in ('run', 'sweep')"
)


@dataclass(frozen=True)
class FinishedRun:
    """A finished run, with the parameters and metrics that a summary needs."""

    run_id: str
    experiment: str
    key: str
    parameters: dict[str, str] = field(default_factory=dict)
    metrics: dict[str, float] = field(default_factory=dict)


def experiments_with_runs(store: "Store") -> dict[str, int]:
    """Return how many finished runs each experiment of a store has, those of files that are not shipped included."""
    file = sqlite_file(store.uri)
    if file is None:
        return dict(Counter(each.experiment for each in finished_by_search(store, store.experiment_names())))
    if not file.is_file():
        return {}
    try:
        with _reading(file) as connection:
            return dict(Counter(name for _, name, _ in connection.execute(RUNS)))
    except sqlite3.Error as error:
        if "no such table" in str(error):
            return {}
        raise StoreError(f"{file} cannot be read ({error})") from None


def finished_runs(store: "Store", experiments: Sequence[str]) -> list[FinishedRun]:
    """Return the finished runs of these experiments."""
    file = sqlite_file(store.uri)
    return finished_by_search(store, experiments) if file is None else finished_in_sqlite(file, experiments)


def finished_by_search(store: "Store", experiments: Sequence[str]) -> list[FinishedRun]:
    """Ask through MLflow."""
    found = []
    for name in experiments:
        experiment = store.find(name)
        for run in [] if experiment is None else store.search(experiment.experiment_id, "FINISHED", "run"):
            parameters = {key: value for key, value in run.data.params.items() if key in PARAMETERS}
            metrics = {key: value for key, value in run.data.metrics.items() if key in METRICS}
            found.append(FinishedRun(run.info.run_id, name, run.data.tags[KEY], parameters, metrics))
    return found


def finished_in_sqlite(file: "Path", experiments: Sequence[str]) -> list[FinishedRun]:
    """Read from a SQLite store; one that is not there yet holds nothing."""
    if not file.is_file():
        return []
    try:
        with _reading(file) as connection:
            found = {
                run_id: FinishedRun(run_id, name, key)
                for run_id, name, key in connection.execute(RUNS)
                if name in experiments
            }
            for table, names in (("params", PARAMETERS), ("latest_metrics", METRICS)):
                query = f"select run_uuid, key, value from {table} where key in ({_marks(names)})"
                for run_id, key, value in connection.execute(query, names):
                    if run_id in found:
                        target = found[run_id]
                        (target.parameters if table == "params" else target.metrics)[key] = value
    except sqlite3.Error as error:
        if "no such table" in str(error):
            return []
        raise StoreError(f"{file} cannot be read ({error})") from None
    return list(found.values())


def something_is_running(store: "Store", experiments: Sequence[str]) -> bool:
    """Tell whether a store holds sweeps or runs that are marked as RUNNING, dead or alive."""
    file = sqlite_file(store.uri)
    if file is None:
        found = [store.find(name) for name in experiments]
        ids = [each.experiment_id for each in found if each is not None]
        return any(store.search(each, "RUNNING", kind) for each in ids for kind in ("run", "sweep"))
    if not file.is_file():
        return False
    try:
        with _reading(file) as connection:
            return bool(connection.execute(LEFT_RUNNING).fetchone()[0])
    except sqlite3.Error:
        return False


def _reading(file: "Path") -> "closing[sqlite3.Connection]":
    return closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True, timeout=30))


def _marks(names: Iterable[str]) -> str:
    return ", ".join("?" for _ in names)
