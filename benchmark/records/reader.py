"""Read the records of a store: directly from the tables of a SQLite file, or through MLflow."""

import sys
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from benchmark.metrics import CURVE_SUFFIX, GOALS, PARTS, SIMULATED, goal_metric, objective
from benchmark.records import sqlite
from benchmark.records.artifacts import files_of, local_folders
from benchmark.records.record import RunRecord, StoredRun
from benchmark.records.store import Store
from benchmark.records.tags import AGGREGATE, CONTENT, ERROR, OWN_METRICS, PARENT, PROFILE, RECORD, SHOWN
from benchmark.records.tracking import sqlite_file
from data_pipelines.support.secrets import without_user

if TYPE_CHECKING:
    from mlflow.entities import Run as MlflowRun

AGGREGATES = ("setting", "overview")
SUMMARISED = (
    *(objective([SIMULATED]).name, "reward", "value"),
    *(goal_metric(goal, part) for goal in GOALS for part in (None, *PARTS)),
    *("communication", "numbers_per_client", "needed", "needed_per_decision", "kernel_seconds"),
)
"""The metrics that plans, summaries and boards need; reading all takes longer."""

_reported: set[tuple[str, str]] = set()
"""The stores that were reported to have runs without a readable record, each with the reason."""


def stored_runs(
    store: Store,
    kinds: Collection[str],
    experiments: Collection[str] | None = None,
    status: str | None = None,
    **wanted: Any,
) -> list[StoredRun]:
    """Return runs of some kinds in the order in which they ended; see `sqlite.stored_runs`.

    Servers, databases other than SQLite and files of another MLflow are read with MLflow's search: all that it finds.
    """
    file = sqlite_file(store.uri)
    if file is not None and sqlite.is_known(file):
        return sqlite.stored_runs(file, kinds, experiments, status, **wanted)
    runs = [
        _stored(run, name)
        for name, experiment_id in store.experiment_ids().items()
        if experiments is None or name in experiments
        for kind in kinds
        for run in store.search(experiment_id, status, kind)
    ]
    return sorted(runs, key=lambda run: (run.ended, run.run_id))


def _stored(run: "MlflowRun", experiment: str) -> StoredRun:
    """Return a run with its final values: those that are not NaN and not the last point of a curve."""
    info, values = run.info, run.data.metrics.items()
    metrics = {name: value for name, value in values if value == value and not name.endswith(CURVE_SUFFIX)}
    ended = int(info.end_time or info.start_time or 0)
    return StoredRun(
        info.run_id, experiment, info.status, ended, info.artifact_uri, info.run_name, run.data.tags, metrics
    )


def read(
    uri: str, experiments: Collection[str] | None = None, *, metrics: Sequence[str] | None = None
) -> Iterator[RunRecord]:
    """Yield the runs of these experiments, by default of all, finished or not, in the order in which they ended.

    An empty or missing store has none. `metrics` limits the metrics that are read from a file; those of the user are
    always read.
    """
    runs = stored_runs(Store(uri), ("run",), experiments, tags=(RECORD, ERROR, PARENT, OWN_METRICS), metrics=metrics)
    store, with_record = str(sqlite_file(uri) or without_user(uri)), [run for run in runs if RECORD in run.tags]
    _note_left_out(store, len(runs) - len(with_record), "of an earlier development version")
    damaged = 0
    for run in with_record:
        if (record := _record_of(run)) is None:
            damaged += 1
        else:
            yield record
    _note_left_out(store, damaged, "with a damaged record")


def _record_of(run: StoredRun) -> RunRecord | None:
    """Return the record of a run; None if its tag, which whoever can write to the store can change, is not one."""
    fields = {**vars(run)}
    try:
        record = RunRecord.from_mlflow(fields.pop("tags"), fields.pop("metrics"), **fields)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    is_record = isinstance(record.key, str) and isinstance(record.seed, int) and isinstance(record.provenance, dict)
    return record if is_record else None


def read_sweeps(uri: str) -> list[tuple[str, ...]]:
    """Return experiment, profile, status, id and artifact folder of each sweep, in the order in which they ended."""
    return [
        (sweep.experiment, sweep.tags.get(PROFILE, ""), sweep.status, sweep.run_id, sweep.artifact_uri)
        for sweep in stored_runs(Store(uri), ("sweep",), tags=(PROFILE,))
    ]


def read_aggregates(store: Store, experiments: Collection[str]) -> list[StoredRun]:
    """Return the runs of these experiments that summarise others: they are not results."""
    runs = stored_runs(store, AGGREGATES, experiments, tags=(AGGREGATE, CONTENT, SHOWN))
    return [run for run in runs if AGGREGATE in run.tags]


def finished_runs(store: Store, experiments: Collection[str]) -> list[RunRecord]:
    """Return the finished runs of these experiments; for a SQLite store, only those whose files still exist.

    From a SQLite store, only the metrics `SUMMARISED` are read. The files on a server are not checked here: that takes
    one request per run, and is done when a run is copied.
    """
    finished = (run for run in read(store.uri, experiments, metrics=SUMMARISED) if run.status == "FINISHED")
    return [run for run in finished if has_files(store, run)]


def has_files(store: Store, run: RunRecord) -> bool:
    """Return whether the files of a run exist, where they were written or where they are after the store was moved."""
    folders = local_folders(store.uri, run.experiment, run.run_id, run.artifact_uri)
    places = [[folder / name for name in files_of(run.seed)] for folder in folders]
    return not places or any(all(file.is_file() and file.stat().st_size for file in files) for files in places)


def experiments_with_runs(store: Store) -> dict[str, int]:
    """Return the number of finished runs per experiment of a store, including experiments that are not built in."""
    return dict(Counter(run.experiment for run in stored_runs(store, ("run",), None, "FINISHED")))


def something_is_running(store: Store, experiments: Collection[str] | None = None) -> bool:
    """Return whether sweeps or runs of these experiments are marked RUNNING, whether their process is alive or not."""
    return bool(stored_runs(store, ("run", "sweep"), experiments, "RUNNING"))


def _note_left_out(store: str, count: int, reason: str) -> None:
    """Print once per store how many runs have no record that can be read, and what to do."""
    if count and (store, reason) not in _reported:
        _reported.add((store, reason))
        runs, are = ("1 run", "is") if count == 1 else (f"{count:,} runs", "are")
        text = f"{runs} {reason} {are} left out"
        print(f"{store}: {text}; to have such results, run the experiments again", file=sys.stderr)
