"""Write the parameters and metrics of a newly created run in one batch.

MLflow's `log_batch` first searches for existing values and creates an object for every point of a curve: about 40 ms of
CPU time per run. A new run has no values yet, so in a local database (SQLite) its rows are inserted in one transaction.
A test checks that both ways write the same records.
"""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mlflow.entities import Metric, Param
    from mlflow.tracking import MlflowClient

COLUMNS = {
    "metrics": ("run_uuid", "key", "value", "timestamp", "step", "is_nan"),
    "latest_metrics": ("run_uuid", "key", "value", "timestamp", "step", "is_nan"),
    "params": ("run_uuid", "key", "value"),
}
SECONDS_TO_WAIT_FOR_A_LOCK = 20.0
"""As MLflow waits."""


def log_first_batch(
    client: "MlflowClient",
    run_id: str,
    metrics: "Sequence[Metric]",
    params: "Sequence[Param]",
    *,
    database: Path | None,
) -> None:
    """Write the first metrics, all finite, and the parameters of a run; `database` is the file of a SQLite store."""
    if database is None:
        client.log_batch(run_id, metrics=metrics, params=params)
    else:
        _insert(database, run_id, metrics, params)


def _insert(database: Path, run_id: str, metrics: "Sequence[Metric]", params: "Sequence[Param]") -> None:
    points: list[tuple[Any, ...]] = [
        (run_id, metric.key, float(metric.value), metric.timestamp, metric.step, False) for metric in metrics
    ]
    latest = {metric.key: point for metric, point in sorted(zip(metrics, points, strict=True), key=_step)}
    texts = [(run_id, param.key, param.value) for param in params]
    rows = {"metrics": points, "latest_metrics": [*latest.values()], "params": texts}
    with closing(sqlite3.connect(database, timeout=SECONDS_TO_WAIT_FOR_A_LOCK)) as connection, connection:
        for table, columns in COLUMNS.items():
            marks = ", ".join("?" for _ in columns)
            connection.executemany(f"insert into {table} ({', '.join(columns)}) values ({marks})", rows[table])


def _step(pair: "tuple[Metric, tuple[Any, ...]]") -> int:
    return int(pair[0].step)
