"""The parameters and metrics of a run that was just created, written at once.

MLflow's `log_batch` looks first for what the run may hold already, and makes an object of every point of a curve: about
40 ms of CPU time a run. A run that was just created holds nothing, so that in a database of our own (SQLite) its rows
are inserted in one transaction, through MLflow's own tables. A test holds both ways to the same records.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mlflow.entities import Metric, Param
    from mlflow.tracking import MlflowClient


def log_first_batch(
    client: "MlflowClient", run_id: str, metrics: "Sequence[Metric]", params: "Sequence[Param]", *, is_sqlite: bool
) -> None:
    """Write the first, finite metrics and the parameters of a run."""
    if is_sqlite:
        _insert(client, run_id, metrics, params)
    else:
        client.log_batch(run_id, metrics=metrics, params=params)


def _insert(client: "MlflowClient", run_id: str, metrics: "Sequence[Metric]", params: "Sequence[Param]") -> None:
    from mlflow.store.tracking.dbmodels.models import SqlLatestMetric, SqlMetric, SqlParam

    points: list[dict[str, Any]] = [
        {
            "run_uuid": run_id,
            "key": metric.key,
            "value": float(metric.value),
            "timestamp": metric.timestamp,
            "step": metric.step,
            "is_nan": False,
        }
        for metric in metrics
    ]
    latest: dict[str, dict[str, Any]] = {}
    for point in points:
        if point["key"] not in latest or latest[point["key"]]["step"] < point["step"]:
            latest[point["key"]] = point
    texts = [{"run_uuid": run_id, "key": param.key, "value": param.value} for param in params]
    rows: list[tuple[Any, list[dict[str, Any]]]] = [
        (SqlMetric, points),
        (SqlLatestMetric, list(latest.values())),
        (SqlParam, texts),
    ]
    with client._tracking_client.store.ManagedSessionMaker(read_only=False) as session:
        for model, content in rows:
            if content:
                session.connection().execute(model.__table__.insert(), content)
