"""MLflow's tables in a SQLite store: the only module that knows them.

Reading thousands of runs takes half a minute through MLflow, and less than a second from its tables; writing one takes
40 ms of CPU time less. Tests check that both ways read and write the same.
"""

import contextlib
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmark.metrics import CURVE_SUFFIX
from benchmark.records.record import PROVENANCE, RunRecord
from benchmark.records.tags import ERROR, FINGERPRINT, KEY, KIND, PREPARED, PROFILE, RECORD, SOURCE
from benchmark.records.tracking import StoreError

if TYPE_CHECKING:
    from mlflow.entities import Metric, Param

ACTIVE = "r.lifecycle_stage = 'active'"
RUNS = (
    "select r.run_uuid, e.name, r.status, coalesce(r.end_time, r.start_time, 0), r.artifact_uri, r.name "
    "from runs r join experiments e on e.experiment_id = r.experiment_id "
    f"join tags t on t.run_uuid = r.run_uuid and t.key = '{KIND}' and t.value = 'run' "
    f"where {ACTIVE} and e.lifecycle_stage = 'active'"
)
SWEEPS = (
    "select e.name, coalesce(p.value, ''), r.status "
    "from runs r join experiments e on e.experiment_id = r.experiment_id "
    f"join tags t on t.run_uuid = r.run_uuid and t.key = '{KIND}' and t.value = 'sweep' "
    f"left join tags p on p.run_uuid = r.run_uuid and p.key = '{PROFILE}' "
    f"where {ACTIVE} and e.lifecycle_stage = 'active' "
    "order by coalesce(r.end_time, r.start_time, 0), r.run_uuid"
)
FINISHED = (
    "select e.name from runs r join experiments e on e.experiment_id = r.experiment_id "
    f"join tags t on t.run_uuid = r.run_uuid and t.key = '{KEY}' where r.status = 'FINISHED' and {ACTIVE}"
)
STILL_RUNNING = (
    f"select count(*) from runs r join tags t on t.run_uuid = r.run_uuid and t.key = '{KIND}' "
    f"where r.status = 'RUNNING' and {ACTIVE} and t.value in ('run', 'sweep')"
)
METRICS = f"select run_uuid, key, value from latest_metrics where is_nan = 0 and key not like '%{CURVE_SUFFIX}'"
RECORDS = f"select run_uuid, key, value from tags where key in ('{RECORD}', '{ERROR}')"
WITHOUT_RECORD = f"run_uuid not in (select run_uuid from tags where key = '{RECORD}')"
OLD_TAGS = (
    f"select run_uuid, key, value from tags where {WITHOUT_RECORD} "
    f"and (key in ('{KEY}', '{SOURCE}', '{FINGERPRINT}', '{PREPARED}') "
    f"or {' or '.join(f'''key like '{prefix}%' ''' for prefix in PROVENANCE)})"
)
OLD_PARAMETERS = f"select run_uuid, key, value from params where {WITHOUT_RECORD}"
INSERTED = {
    "metrics": ("run_uuid", "key", "value", "timestamp", "step", "is_nan"),
    "latest_metrics": ("run_uuid", "key", "value", "timestamp", "step", "is_nan"),
    "params": ("run_uuid", "key", "value"),
}
MAX_IDS = 500
"""Run ids per SQL statement: SQLite limits the number of values in one."""

SECONDS_TO_WAIT_FOR_A_LOCK = 20.0
"""The same as in MLflow."""

SAMPLED_ROWS = 1000
SECONDS_TO_WAIT_FOR_STATISTICS = 2.0

Texts = dict[str, dict[str, str]]
"""Parameters or tags of each run, by its id."""


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
    params: Texts = {}
    if any(RECORD not in tags.get(row[0], {}) for row in rows):
        params = _by_run(file, OLD_PARAMETERS)
        for run_id, texts in _by_run(file, OLD_TAGS).items():
            tags.setdefault(run_id, {}).update(texts)
    only = "" if metrics_read is None else f" and key in ({_marks(metrics_read)})"
    metrics = _by_run(file, METRICS + only, metrics_read or ())
    for run_id, experiment, status, ended, artifact_uri, name in sorted(rows, key=lambda row: (row[3], row[0])):
        yield RunRecord.from_mlflow(
            params.get(run_id, {}),
            tags.get(run_id, {}),
            metrics.get(run_id, {}),
            run_id=run_id,
            experiment=experiment,
            status=status,
            ended=ended,
            artifact_uri=artifact_uri,
            name=name,
        )


def read_sweeps(file: Path) -> list[tuple[str, str, str]]:
    """Return experiment, profile and status of each sweep, in the order in which they ended."""
    return _rows(file, SWEEPS)


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


def write_first_batch(file: Path, run_id: str, metrics: "Sequence[Metric]", params: "Sequence[Param]") -> None:
    """Write the metrics, all finite, and the parameters of a newly created run in one transaction.

    MLflow's `log_batch` first searches for existing values, and creates an object for every point of a curve.
    """
    points: list[tuple[Any, ...]] = [
        (run_id, metric.key, float(metric.value), metric.timestamp, metric.step, False) for metric in metrics
    ]
    by_step = sorted(zip(metrics, points, strict=True), key=lambda pair: int(pair[0].step))
    latest = {metric.key: point for metric, point in by_step}
    texts = [(run_id, param.key, param.value) for param in params]
    rows = {"metrics": points, "latest_metrics": [*latest.values()], "params": texts}
    with closing(sqlite3.connect(file, timeout=SECONDS_TO_WAIT_FOR_A_LOCK)) as connection, connection:
        for table, columns in INSERTED.items():
            query = f"insert into {table} ({', '.join(columns)}) values ({_marks(columns)})"
            connection.executemany(query, rows[table])


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
        with closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True, timeout=30)) as connection:
            return connection.execute(query, values).fetchall()
    except sqlite3.Error as error:
        if "no such table" in str(error):
            return []
        raise StoreError(f"{file} cannot be read ({error})") from None


def _marks(names: Sequence[str]) -> str:
    return ", ".join("?" for _ in names)
