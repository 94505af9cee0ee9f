"""Finished runs and their results, read through MLflow or directly from a SQLite store.

Reading thousands of runs takes seconds through MLflow and milliseconds from SQLite; a test checks that both return the
same runs.
"""

import sqlite3
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

from benchmark.metrics import metric_names
from benchmark.records.store import ARTIFACTS, FILES, Store
from benchmark.records.tags import FINGERPRINT, KEY, PREPARED, SOURCE
from benchmark.records.tracking import StoreError, sqlite_file

PARAMETERS = ("algorithm", "threshold", "dataset", "seed", "steps", "clients", "arms", "dimension")
TAGS = (SOURCE, FINGERPRINT, PREPARED)

RUNS = (
    "select r.run_uuid, e.name, t.value, r.artifact_uri from runs r "
    "join experiments e on e.experiment_id = r.experiment_id "
    f"join tags t on t.run_uuid = r.run_uuid and t.key = '{KEY}' "
    "where r.status = 'FINISHED' and r.lifecycle_stage = 'active'"
)
STILL_RUNNING = (
    "select count(*) from runs r join tags t on t.run_uuid = r.run_uuid and t.key = 'fedbandit.kind' "
    "where r.status = 'RUNNING' and r.lifecycle_stage = 'active' and t.value in ('run', 'sweep')"
)


@dataclass(frozen=True)
class FinishedRun:
    """A finished run, with the parameters, metrics and tags that a summary needs."""

    run_id: str
    experiment: str
    key: str
    parameters: dict[str, str] = field(default_factory=dict)
    metrics: dict[str, float] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    artifact_uri: str = ""


def experiments_with_runs(store: Store) -> dict[str, int]:
    """Return the number of finished runs per experiment of a store, including experiments that are not built in."""
    file = sqlite_file(store.uri)
    if file is None:
        return dict(Counter(run.experiment for run in finished_by_search(store, store.experiment_names())))
    if not file.is_file():
        return {}
    try:
        with _open_read_only(file) as connection:
            return dict(Counter(name for _, name, *_ in connection.execute(RUNS)))
    except sqlite3.Error as error:
        if "no such table" in str(error):
            return {}
        raise StoreError(f"{file} cannot be read ({error})") from None


def finished_runs(store: Store, experiments: Sequence[str]) -> list[FinishedRun]:
    """Return the finished runs of these experiments; for a SQLite store, only those whose files still exist.

    The files on a server are not checked here: that takes one request per run, and is done when a run is copied.
    """
    file = sqlite_file(store.uri)
    if file is None:
        return finished_by_search(store, experiments)
    return [run for run in finished_in_sqlite(file, experiments) if has_files(run, file.parent / ARTIFACTS)]


def has_files(run: FinishedRun, artifacts: Path) -> bool:
    """Return whether the files of a run exist, where they were written or where they are after the store was moved."""
    address = urlsplit(run.artifact_uri)
    if address.scheme not in ("", "file"):
        return True
    recorded_folder = Path(url2pathname(address.path))
    moved_folder = artifacts / run.experiment / run.run_id / "artifacts"
    return any(all(_has_content(folder / name) for name in FILES) for folder in (recorded_folder, moved_folder))


def _has_content(file: Path) -> bool:
    try:
        return file.stat().st_size > 0
    except OSError:
        return False


def finished_by_search(store: Store, experiments: Sequence[str]) -> list[FinishedRun]:
    """Search with MLflow."""
    runs = []
    for name in experiments:
        experiment = store.find(name)
        for run in [] if experiment is None else store.search(experiment.experiment_id, "FINISHED", "run"):
            parameters = {key: value for key, value in run.data.params.items() if key in PARAMETERS}
            metrics = {key: value for key, value in run.data.metrics.items() if key in metric_names()}
            tags = {key: value for key, value in run.data.tags.items() if key in TAGS}
            runs.append(
                FinishedRun(run.info.run_id, name, run.data.tags[KEY], parameters, metrics, tags, run.info.artifact_uri)
            )
    return runs


def finished_in_sqlite(file: Path, experiments: Sequence[str]) -> list[FinishedRun]:
    """Read from a SQLite store; a missing file counts as empty."""
    if not file.is_file():
        return []
    try:
        with _open_read_only(file) as connection:
            runs = {
                run_id: FinishedRun(run_id, name, key, artifact_uri=artifact_uri)
                for run_id, name, key, artifact_uri in connection.execute(RUNS)
                if name in experiments
            }
            tables = (
                ("params", "parameters", PARAMETERS),
                ("latest_metrics", "metrics", metric_names()),
                ("tags", "tags", TAGS),
            )
            for table, attribute, names in tables:
                query = f"select run_uuid, key, value from {table} where key in ({_placeholders(names)})"
                for run_id, key, value in connection.execute(query, names):
                    if run_id in runs:
                        getattr(runs[run_id], attribute)[key] = value
    except sqlite3.Error as error:
        if "no such table" in str(error):
            return []
        raise StoreError(f"{file} cannot be read ({error})") from None
    return list(runs.values())


def something_is_running(store: Store, experiments: Sequence[str]) -> bool:
    """Return whether a store holds sweeps or runs marked RUNNING, whether their process is alive or not."""
    file = sqlite_file(store.uri)
    if file is None:
        records = [store.find(name) for name in experiments]
        ids = [record.experiment_id for record in records if record is not None]
        return any(store.search(experiment_id, "RUNNING", kind) for experiment_id in ids for kind in ("run", "sweep"))
    if not file.is_file():
        return False
    try:
        with _open_read_only(file) as connection:
            return bool(connection.execute(STILL_RUNNING).fetchone()[0])
    except sqlite3.Error:
        return False


def _open_read_only(file: Path) -> "closing[sqlite3.Connection]":
    return closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True, timeout=30))


def _placeholders(names: Iterable[str]) -> str:
    return ", ".join("?" for _ in names)
