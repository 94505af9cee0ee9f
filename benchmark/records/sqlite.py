"""MLflow's tables in a SQLite store: the only module that knows them.

Reading thousands of runs takes half a minute through MLflow, and less than a second from its tables; writing one takes
a tenth of the time. Tests check that both ways read and write the same.
"""

import contextlib
import math
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from benchmark.metrics import CURVE_SUFFIX
from benchmark.records.content import StoredAggregate
from benchmark.records.record import RunRecord
from benchmark.records.tags import AGGREGATE, CONTENT, ERROR, KIND, PARENT, PROFILE, RECORD
from benchmark.records.tracking import StoreError, note_earlier_runs

if TYPE_CHECKING:
    from benchmark.records.content import DatasetContent, RunContent

ACTIVE = "r.lifecycle_stage = 'active'"
RUNS = (
    "select r.run_uuid, e.name, r.status, coalesce(r.end_time, r.start_time, 0), r.artifact_uri, r.name "
    "from runs r join experiments e on e.experiment_id = r.experiment_id "
    f"join tags t on t.run_uuid = r.run_uuid and t.key = '{KIND}' and t.value = 'run' "
    f"where {ACTIVE} and e.lifecycle_stage = 'active'"
)
SWEEPS = (
    "select e.name, coalesce(p.value, ''), r.status, r.run_uuid, r.artifact_uri "
    "from runs r join experiments e on e.experiment_id = r.experiment_id "
    f"join tags t on t.run_uuid = r.run_uuid and t.key = '{KIND}' and t.value = 'sweep' "
    f"left join tags p on p.run_uuid = r.run_uuid and p.key = '{PROFILE}' "
    f"where {ACTIVE} and e.lifecycle_stage = 'active' "
    "order by coalesce(r.end_time, r.start_time, 0), r.run_uuid"
)
FINISHED = (
    "select e.name from runs r join experiments e on e.experiment_id = r.experiment_id "
    f"join tags t on t.run_uuid = r.run_uuid and t.key = '{KIND}' and t.value = 'run' "
    f"join tags c on c.run_uuid = r.run_uuid and c.key = '{RECORD}' "
    f"where r.status = 'FINISHED' and {ACTIVE} and e.lifecycle_stage = 'active'"
)
STILL_RUNNING = (
    f"select count(*) from runs r join tags t on t.run_uuid = r.run_uuid and t.key = '{KIND}' "
    f"where r.status = 'RUNNING' and {ACTIVE} and t.value in ('run', 'sweep')"
)
AGGREGATES = (
    "select r.run_uuid, e.name, t.key, t.value, r.status, r.artifact_uri "
    "from runs r join experiments e on e.experiment_id = r.experiment_id "
    f"join tags t on t.run_uuid = r.run_uuid where {ACTIVE} and e.lifecycle_stage = 'active' and r.run_uuid in "
    f"(select run_uuid from tags where key = '{AGGREGATE}') and t.key in ('{AGGREGATE}', '{CONTENT}') "
    "order by r.start_time, r.run_uuid"
)
METRICS = f"select run_uuid, key, value from latest_metrics where is_nan = 0 and key not like '%{CURVE_SUFFIX}'"
RECORDS = f"select run_uuid, key, value from tags where key in ('{RECORD}', '{ERROR}', '{PARENT}')"
INSERTED = {
    "runs": (
        *("run_uuid", "name", "source_type", "source_name", "entry_point_name", "user_id", "status", "start_time"),
        *("end_time", "source_version", "lifecycle_stage", "artifact_uri", "experiment_id"),
    ),
    "tags": ("run_uuid", "key", "value"),
    "params": ("run_uuid", "key", "value"),
    "metrics": ("run_uuid", "key", "value", "timestamp", "step", "is_nan"),
    "latest_metrics": ("run_uuid", "key", "value", "timestamp", "step", "is_nan"),
}
OWNERS = dict.fromkeys(INSERTED, "run_uuid") | {"inputs": "destination_id"}
"""The tables with rows of a run, and the column with its id."""

MAX_IDS = 500
"""Run ids per SQL statement: SQLite limits the number of values in one."""

SECONDS_TO_WAIT_FOR_A_LOCK = 20.0
"""The same as in MLflow."""

SECONDS_TO_WAIT_FOR_A_READ = 30.0

SAMPLED_ROWS = 1000
SECONDS_TO_WAIT_FOR_STATISTICS = 2.0


def read(
    file: Path, experiments: Collection[str] | None = None, metrics_read: Sequence[str] | None = None
) -> Iterator[RunRecord]:
    """Yield the runs of these experiments, by default of all, in the order in which they ended.

    `metrics_read` limits the metrics that are read, by default all.
    """
    rows = [row for row in _rows(file, RUNS) if experiments is None or row[1] in experiments]
    if not rows:
        return
    tags = _by_run(file, RECORDS)
    only = "" if metrics_read is None else f" and key in ({_marks(metrics_read)})"
    metrics = _by_run(file, METRICS + only, metrics_read or ())
    readable = [row for row in rows if RECORD in tags.get(row[0], {})]
    note_earlier_runs(str(file), len(rows) - len(readable))
    for run_id, experiment, status, ended, artifact_uri, name in sorted(readable, key=lambda row: (row[3], row[0])):
        yield RunRecord.from_mlflow(
            tags[run_id],
            metrics.get(run_id, {}),
            run_id=run_id,
            experiment=experiment,
            status=status,
            ended=ended,
            artifact_uri=artifact_uri,
            name=name,
        )


def read_sweeps(file: Path) -> list[tuple[str, ...]]:
    """Return experiment, profile, status, id and artifact folder of each sweep, in the order in which they ended."""
    return _rows(file, SWEEPS)


def read_aggregates(file: Path) -> list[StoredAggregate]:
    """Return the runs of the store that summarise others."""
    tags: dict[str, dict[str, str]] = defaultdict(dict)
    about: dict[str, tuple[str, str, str]] = {}
    for run_id, experiment, key, value, status, artifact_uri in _rows(file, AGGREGATES):
        tags[run_id][key] = value
        about[run_id] = (experiment, status, artifact_uri)
    return [
        StoredAggregate(run_id, experiment, tags[run_id][AGGREGATE], tags[run_id].get(CONTENT, ""), status, uri)
        for run_id, (experiment, status, uri) in about.items()
    ]


def finished_counts(file: Path) -> dict[str, int]:
    """Return the number of finished runs per experiment."""
    return dict(Counter(name for (name,) in _rows(file, FINISHED)))


def something_is_running(file: Path) -> bool:
    """Return whether sweeps or runs are marked RUNNING."""
    try:
        return any(count for (count,) in _rows(file, STILL_RUNNING))
    except StoreError:
        return False


def read_curves(file: Path, run_ids: Sequence[str], curves: Sequence[str]) -> list[tuple[Any, ...]]:
    """Return (run id, name of the curve, step, value) of some runs."""
    rows: list[tuple[Any, ...]] = []
    for start in range(0, len(run_ids), MAX_IDS):
        ids = run_ids[start : start + MAX_IDS]
        query = (
            f"select run_uuid, key, step, value from metrics where key in ({_marks(curves)}) "
            f"and run_uuid in ({_marks(ids)})"
        )
        rows += _rows(file, query, (*curves, *ids))
    return rows


def write_runs(file: Path, runs: "Sequence[RunContent]", replaced: Collection[str] = ()) -> None:
    """Write complete runs in one transaction, with the ids and folders that they state.

    MLflow needs five transactions for a run, searches for existing values in each, and creates an object for every
    point of a curve.

    Args:
        file: the store.
        runs: their metrics are finite or NaN.
        replaced: the ids of those that are already stored.
    """
    rows: dict[str, list[tuple[Any, ...]]] = {table: [] for table in INSERTED}
    for run in runs:
        _add_rows(rows, run)
    with closing(sqlite3.connect(file, timeout=SECONDS_TO_WAIT_FOR_A_LOCK)) as connection, connection:
        for table, column in OWNERS.items():
            connection.executemany(f"delete from {table} where {column} = ?", [(run_id,) for run_id in replaced])
        for table, columns in INSERTED.items():
            query = f"insert into {table} ({', '.join(columns)}) values ({_marks(columns)})"
            connection.executemany(query, rows[table])
        for run in runs:
            if run.dataset is not None:
                _insert_dataset(connection, run, run.dataset)
        query = "insert or replace into tags (run_uuid, key, value) values (?, ?, ?)"
        connection.executemany(query, [(child, PARENT, run.run_id) for run in runs for child in run.children])


def _add_rows(rows: dict[str, list[tuple[Any, ...]]], run: "RunContent") -> None:
    """Add the rows of a run to those of each table."""
    user = run.tags.get("mlflow.user", "unknown")
    about = (run.name, "UNKNOWN", "", "", user, run.status, run.start_time, run.end_time, "", "active")
    rows["runs"].append((run.run_id, *about, run.artifact_uri, int(run.experiment_id)))
    tags = {**run.tags, "mlflow.runName": run.name}
    rows["tags"] += [(run.run_id, key, value) for key, value in tags.items()]
    rows["params"] += [(run.run_id, key, value) for key, value in run.params.items()]
    points = [
        (run.run_id, name, 0.0 if math.isnan(value) else float(value), run.end_time, step, math.isnan(value))
        for name, value, step in run.points
    ]
    rows["metrics"] += points
    rows["latest_metrics"] += {point[1]: point for point in sorted(points, key=lambda point: point[4])}.values()


def _insert_dataset(connection: sqlite3.Connection, run: "RunContent", dataset: "DatasetContent") -> None:
    """Insert the data set that a run used, unless its experiment has it, and the link between both."""
    identity = (int(run.experiment_id), dataset.name, dataset.digest)
    columns = ("dataset_uuid", "experiment_id", "name", "digest")
    further = ("dataset_source_type", "dataset_source", "dataset_profile")
    connection.execute(
        f"insert or ignore into datasets ({', '.join((*columns, *further))}) values ({_marks((*columns, *further))})",
        (uuid4().hex, *identity, dataset.source_type, dataset.source, dataset.profile),
    )
    query = "select dataset_uuid from datasets where experiment_id = ? and name = ? and digest = ?"
    ((dataset_id,),) = connection.execute(query, identity)
    input_id = uuid4().hex
    connection.execute(
        "insert into inputs (input_uuid, source_type, source_id, destination_type, destination_id) "
        "values (?, 'DATASET', ?, 'RUN', ?)",
        (input_id, dataset_id, run.run_id),
    )
    connection.execute(
        "insert into input_tags (input_uuid, name, value) values (?, 'mlflow.data.context', ?)",
        (input_id, dataset.context),
    )


def refresh_statistics(file: Path) -> None:
    """Let SQLite sample some rows of each index, which helps it to choose one; if that fails, the UI is only slower.

    Without these statistics, sorting 10,000 runs takes the UI seconds.
    """
    if not file.is_file():
        return
    connection = sqlite3.connect(file, timeout=SECONDS_TO_WAIT_FOR_STATISTICS)
    with contextlib.suppress(sqlite3.Error), closing(connection) as store:
        store.execute(f"pragma analysis_limit = {SAMPLED_ROWS}")
        store.execute("analyze")
        store.commit()


def _by_run(file: Path, query: str, names: Sequence[str] = ()) -> dict[str, dict[str, Any]]:
    values: dict[str, dict[str, Any]] = defaultdict(dict)
    for run_id, key, value in _rows(file, query, names):
        values[run_id][key] = value
    return dict(values)


def _rows(file: Path, query: str, values: Sequence[str] = ()) -> list[Any]:
    """Return the rows of a query; a store that does not exist yet, or has no tables, has none."""
    if not file.is_file():
        return []
    try:
        return _rows_of_file(file, query, values)
    except sqlite3.Error as error:
        if "no such table" in str(error):
            return []
        raise StoreError(f"{file} cannot be read ({error})") from None


def _rows_of_file(file: Path, query: str, values: Sequence[str]) -> list[Any]:
    """Read a file, after undoing a transaction that a killed process left unfinished."""
    try:
        return _read_only(file, query, values)
    except sqlite3.OperationalError as error:
        if error.sqlite_errorname != "SQLITE_READONLY_ROLLBACK":
            raise
    _roll_back(file)
    return _read_only(file, query, values)


def _read_only(file: Path, query: str, values: Sequence[str]) -> list[Any]:
    with closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True, timeout=SECONDS_TO_WAIT_FOR_A_READ)) as store:
        return store.execute(query, values).fetchall()


def _roll_back(file: Path) -> None:
    """Let SQLite undo an unfinished transaction, which it does when the file is first read with the right to write.

    SQLite's own locks prevent this while the process of the transaction is alive, whichever process asks for it.
    """
    try:
        with closing(sqlite3.connect(file, timeout=SECONDS_TO_WAIT_FOR_A_READ)) as connection:
            connection.execute("select count(*) from sqlite_master").close()
    except sqlite3.Error as error:
        raise StoreError(
            f"{file} contains an unfinished transaction of a killed process, which cannot be undone ({error}); "
            f"make the folder writable, or copy {file.name} and {file.name}-journal to another one"
        ) from None


def _marks(names: Sequence[str]) -> str:
    return ", ".join("?" for _ in names)
