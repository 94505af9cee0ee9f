"""Read the records of a store: directly from a SQLite file, or through MLflow."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from benchmark.metrics import SIMULATED, curve_names, objective
from benchmark.records import search, sqlite
from benchmark.records.content import StoredAggregate
from benchmark.records.record import RunRecord
from benchmark.records.store import ARTIFACTS, FILES, Store
from benchmark.records.tracking import sqlite_file

SUMMARISED = (
    *(objective([SIMULATED]).name, objective(["real"]).name, "reward"),
    *("communication", "numbers_per_client", "kernel_seconds"),
)
"""The metrics that plans, summaries and boards need; reading all takes longer."""


def read(uri: str, experiments: Collection[str] | None = None) -> Iterator[RunRecord]:
    """Yield the runs of these experiments, by default of all, finished or not, in the order in which they ended.

    An empty or missing store has none.
    """
    file = sqlite_file(uri)
    return search.read(Store(uri), experiments) if file is None else sqlite.read(file, experiments)


def read_sweeps(uri: str) -> list[tuple[str, ...]]:
    """Return experiment, profile, status, id and artifact folder of each sweep, in the order in which they ended."""
    file = sqlite_file(uri)
    return search.read_sweeps(Store(uri)) if file is None else sqlite.read_sweeps(file)


def read_aggregates(store: Store, experiments: Collection[str]) -> list[StoredAggregate]:
    """Return the runs of these experiments that summarise others: they are not results."""
    file = sqlite_file(store.uri)
    if file is None:
        return search.read_aggregates(store, experiments)
    return [aggregate for aggregate in sqlite.read_aggregates(file) if aggregate.experiment in experiments]


def read_curves(store: Store, run_ids: Sequence[str]) -> list[tuple[Any, ...]]:
    """Return (run id, name of the curve, step, value) of some runs."""
    file = sqlite_file(store.uri)
    if file is not None:
        return sqlite.read_curves(file, run_ids, curve_names())
    return [
        (run_id, curve, point.step, point.value)
        for run_id in run_ids
        for curve in curve_names()
        for point in store.client.get_metric_history(run_id, curve)
    ]


def finished_runs(store: Store, experiments: Collection[str]) -> list[RunRecord]:
    """Return the finished runs of these experiments; for a SQLite store, only those whose files still exist.

    From a SQLite store, only the metrics `SUMMARISED` are read. The files on a server are not checked here: that takes
    one request per run, and is done when a run is copied.
    """
    file = sqlite_file(store.uri)
    if file is None:
        return [run for run in search.read(store, experiments) if run.status == "FINISHED"]
    finished = (run for run in sqlite.read(file, experiments, SUMMARISED) if run.status == "FINISHED")
    return [run for run in finished if has_files(run, file.parent / ARTIFACTS)]


def has_files(run: RunRecord, artifacts: Path) -> bool:
    """Return whether the files of a run exist, where they were written or where they are after the store was moved."""
    address = urlsplit(run.artifact_uri)
    if address.scheme not in ("", "file"):
        return True
    recorded_folder = Path(url2pathname(address.path))
    moved_folder = artifacts / run.experiment / run.run_id / "artifacts"
    return any(all(_has_content(folder / name) for name in FILES) for folder in (recorded_folder, moved_folder))


def experiments_with_runs(store: Store) -> dict[str, int]:
    """Return the number of finished runs per experiment of a store, including experiments that are not built in."""
    file = sqlite_file(store.uri)
    if file is not None:
        return sqlite.finished_counts(file)
    return dict(Counter(run.experiment for run in search.read(store) if run.status == "FINISHED"))


def something_is_running(store: Store, experiments: Collection[str]) -> bool:
    """Return whether a store holds sweeps or runs marked RUNNING, whether their process is alive or not."""
    file = sqlite_file(store.uri)
    return search.something_is_running(store, experiments) if file is None else sqlite.something_is_running(file)


def _has_content(file: Path) -> bool:
    try:
        return file.stat().st_size > 0
    except OSError:
        return False
