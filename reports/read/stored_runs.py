"""Runs as MLflow stores them: parameters, metrics and tags by name."""

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmark.records.tags import KIND
from benchmark.records.tracking import StoreError

COMMIT = "mlflow.source.git.commit"
KINDS = ("run", "sweep")
RUNS = (
    "select r.run_uuid, e.name, t.value, r.status, coalesce(r.end_time, r.start_time, 0), r.artifact_uri, r.name "
    "from runs r join experiments e on e.experiment_id = r.experiment_id "
    f"join tags t on t.run_uuid = r.run_uuid and t.key = '{KIND}' "
    "where r.lifecycle_stage = 'active' and e.lifecycle_stage = 'active' and t.value in ('run', 'sweep')"
)
PARAMETERS = "select run_uuid, key, value from params"
METRICS = "select run_uuid, key, value from latest_metrics where is_nan = 0"
TAGS = f"select run_uuid, key, value from tags where key like 'fedbandit.%' or key = '{COMMIT}'"
MAX_IDS = 500
"""Run ids per SQL statement: SQLite limits the number of values in one."""


@dataclass(frozen=True)
class StoredRun:
    """One run or sweep; `ended` in milliseconds since the epoch."""

    run_id: str
    experiment: str
    kind: str
    status: str
    ended: int
    artifact_uri: str
    name: str
    parameters: dict[str, str] = field(default_factory=dict)
    metrics: dict[str, float] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)


def in_sqlite(file: Path) -> list[StoredRun]:
    """Read all runs and sweeps from a SQLite store; a store that does not exist yet has none."""
    if not file.is_file():
        return []
    try:
        connection = _open(file)
        try:
            runs = {row[0]: StoredRun(*row) for row in connection.execute(RUNS)}
            for query, attribute in ((PARAMETERS, "parameters"), (METRICS, "metrics"), (TAGS, "tags")):
                for run_id, key, value in connection.execute(query):
                    if run_id in runs:
                        getattr(runs[run_id], attribute)[key] = value
        finally:
            connection.close()
    except sqlite3.Error as error:
        if "no such table" in str(error):
            return []
        raise StoreError(f"{file} cannot be read ({error})") from None
    return sorted(runs.values(), key=lambda run: (run.ended, run.run_id))


def sqlite_curves(file: Path, run_ids: Sequence[str], metrics: Sequence[str]) -> list[tuple[Any, ...]]:
    """Read (run id, metric, step, value) of some runs from a SQLite store."""
    rows: list[tuple[Any, ...]] = []
    connection = _open(file)
    try:
        for start in range(0, len(run_ids), MAX_IDS):
            ids = run_ids[start : start + MAX_IDS]
            query = (
                f"select run_uuid, key, step, value from metrics where key in ({_marks(metrics)}) "
                f"and run_uuid in ({_marks(ids)})"
            )
            rows += connection.execute(query, (*metrics, *ids)).fetchall()
    finally:
        connection.close()
    return rows


def by_search(uri: str) -> list[StoredRun]:
    """Read all runs and sweeps of a server, or any other store, through MLflow."""
    from benchmark.records.store import Store
    from benchmark.records.tracking import once

    client = Store(uri).client
    experiments = _pages(lambda token: once(uri, lambda: client.search_experiments(max_results=1000, page_token=token)))
    names = {experiment.experiment_id: experiment.name for experiment in experiments}
    stored: list[StoredRun] = []
    for kind in KINDS:
        query = f"tags.`{KIND}` = '{kind}'"
        runs = _pages(
            lambda token, query=query: once(  # type: ignore[misc]
                uri, lambda: client.search_runs([*names], query, max_results=1000, page_token=token)
            )
        )
        stored += [_stored(run, names[run.info.experiment_id], kind) for run in runs]
    return sorted(stored, key=lambda run: (run.ended, run.run_id))


def _stored(run: Any, experiment: str, kind: str) -> StoredRun:
    info, tags = run.info, run.data.tags
    return StoredRun(
        run_id=info.run_id,
        experiment=experiment,
        kind=kind,
        status=info.status,
        ended=info.end_time or info.start_time or 0,
        artifact_uri=info.artifact_uri,
        name=info.run_name,
        parameters=dict(run.data.params),
        metrics={key: value for key, value in run.data.metrics.items() if value == value},
        tags={key: value for key, value in tags.items() if key.startswith("fedbandit.") or key == COMMIT},
    )


def _pages(ask: Callable[[str | None], Any]) -> list[Any]:
    """Ask for pages until there are no more, and return their entries."""
    entries: list[Any] = []
    token: str | None = None
    while True:
        page = ask(token)
        entries += page
        token = page.token
        if not token:
            return entries


def _open(file: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True, timeout=30)


def _marks(names: Sequence[str]) -> str:
    return ", ".join("?" for _ in names)
