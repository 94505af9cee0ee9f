"""MLflow's tables in a SQLite store, which are only read: the one module that knows them.

Reading thousands of runs takes half a minute through MLflow, and less than a second from its tables. A store of an
MLflow whose tables are not known here is read with its search; tests check that both ways read the same.
"""

import sqlite3
from collections import defaultdict
from collections.abc import Collection, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from benchmark.metrics import CURVE_SUFFIX, own_metrics_from_json
from benchmark.records.record import StoredRun
from benchmark.records.tags import KIND, OWN_METRICS
from benchmark.records.tracking import StoreError

KNOWN_SCHEMAS = frozenset({"dc11669786a5", "f4a9b2c7d1e6"})
"""Versions of the schema, of MLflow 3.17 and 3.18, whose tables are read here."""

RUNS = (
    "select r.run_uuid, e.name, r.status, coalesce(r.end_time, r.start_time, 0) as ended, r.artifact_uri, r.name "
    "from runs r join experiments e on e.experiment_id = r.experiment_id "
    f"join tags k on k.run_uuid = r.run_uuid and k.key = '{KIND}' "
    "where r.lifecycle_stage = 'active' and e.lifecycle_stage = 'active'"
)
FINAL_METRICS = f"select run_uuid, key, value from latest_metrics where is_nan = 0 and key not like '%{CURVE_SUFFIX}'"

SECONDS_TO_WAIT = 30.0
SAMPLED_ROWS = 1000
SECONDS_TO_WAIT_FOR_STATISTICS = 2.0


def is_known(file: Path) -> bool:
    """Return whether the tables of a file can be read here; a file that does not exist yet, or has none, can."""
    return schema(file) <= KNOWN_SCHEMAS


def schema(file: Path) -> set[str]:
    """Return the version of MLflow's schema in a file: one, or none without tables."""
    return {version for (version,) in _rows(file, "select version_num from alembic_version")}


def stored_runs(
    file: Path,
    kinds: Collection[str],
    experiments: Collection[str] | None = None,
    status: str | None = None,
    tags: Sequence[str] = (),
    metrics: Sequence[str] | None = (),
) -> list[StoredRun]:
    """Return the runs of these kinds, in the order in which they ended.

    Args:
        file: the store.
        kinds: values of the tag `KIND`.
        experiments: their names; by default all.
        status: by default any.
        tags: the tags that are read.
        metrics: the metrics that are read, with those of the user; None means all final values.
    """
    query = f"{RUNS} and k.value in ({_marks(kinds)})" + (" and r.status = ?" if status else "")
    rows: list[Any] = _rows(file, f"{query} order by ended, r.run_uuid", [*kinds, *([status] if status else [])])
    rows = [row for row in rows if experiments is None or row[1] in experiments]
    if not rows:
        return []
    texts = _by_run(file, f"select run_uuid, key, value from tags where key in ({_marks(tags)})", tags)
    if metrics is not None:
        own = {values[OWN_METRICS] for values in texts.values() if OWN_METRICS in values}
        metrics = [*metrics, *sorted({name for text in own for name in own_metrics_from_json(text)})]
    only = "" if metrics is None else f" and key in ({_marks(metrics)})"
    values = _by_run(file, FINAL_METRICS + only, metrics or ())
    return [
        StoredRun(run_id, experiment, run_status, ended, uri, name, texts.get(run_id, {}), values.get(run_id, {}))
        for run_id, experiment, run_status, ended, uri, name in rows
    ]


def points(file: Path, run_id: str, names: Sequence[str]) -> dict[str, list[tuple[int, float]]]:
    """Return (step, value) of each point of some metrics of a run, in the order of steps, by metric."""
    query = f"select key, step, value from metrics where run_uuid = ? and key in ({_marks(names)}) order by step"
    values: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for name, step, value in _rows(file, query, (run_id, *names)):
        values[name].append((step, value))
    return dict(values)


def refresh_statistics(file: Path) -> None:
    """Let SQLite sample some rows of each index, which helps it to choose one; if that fails, the UI is only slower.

    Without these statistics, sorting 10,000 runs takes the UI seconds.
    """
    with suppress(sqlite3.Error), closing(sqlite3.connect(file, timeout=SECONDS_TO_WAIT_FOR_STATISTICS)) as store:
        store.executescript(f"pragma analysis_limit = {SAMPLED_ROWS}; analyze")


def _by_run(file: Path, query: str, names: Sequence[str]) -> dict[str, dict[str, Any]]:
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
    """Read a file, where a process may have been killed in mid-transaction, and whose folder may be read-only."""
    try:
        return _read(file, "mode=ro", query, values)
    except sqlite3.OperationalError as error:
        log = file.with_name(f"{file.name}-{'journal' if error.sqlite_errorname.endswith('ROLLBACK') else 'wal'}")
        if error.sqlite_errorname not in ("SQLITE_READONLY_ROLLBACK", "SQLITE_CANTOPEN"):
            raise
    if not log.exists() or log.stat().st_size == 0:  # a folder in which SQLite cannot create files, and nobody writes
        return _read(file, "immutable=1", query, values)
    try:  # SQLite recovers a file when it is first opened for writing, unless the process of the transaction is alive
        _read(file, "mode=rw", "select count(*) from sqlite_master", ())
    except sqlite3.Error as error:
        raise StoreError(
            f"{file} was left by a killed process, and its changes in {log.name} cannot be applied or undone ({error});"
            f" make the folder writable, or copy {file.name} and {log.name} to another one"
        ) from None
    return _read(file, "mode=ro", query, values)


def _read(file: Path, option: str, query: str, values: Sequence[str]) -> list[Any]:
    with closing(sqlite3.connect(f"{file.as_uri()}?{option}", uri=True, timeout=SECONDS_TO_WAIT)) as store:
        return store.execute(query, values).fetchall()


def _marks(names: Collection[str]) -> str:
    return ", ".join("?" for _ in names)
