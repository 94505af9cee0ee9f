"""Writing a run's first records in one transaction gives the same rows as MLflow's own `log_batch`."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest
from mlflow import MlflowClient
from mlflow.entities import Metric, Param

from benchmark.records.sqlite import write_first_batch

METRICS = [
    Metric("reward", 12.5, 1_000, 0),
    Metric("regret", -0.0, 1_000, 0),
    *(Metric("reward_curve", t / 3, 1_000, t) for t in (1, 4, 9)),
    *(Metric("communication_curve", 1e300 * t, 1_000, t) for t in (9, 1, 4)),
]
PARAMS = [Param("algorithm", "async-linucb"), Param("gamma", "inf"), Param("note", "γ" * 6000)]


def content(folder: Path, run_id: str) -> dict[str, list[Any]]:
    connection = sqlite3.connect(folder / "mlflow.db")
    columns = {
        "metrics": "key, value, timestamp, step, is_nan",
        "latest_metrics": "key, value, timestamp, step, is_nan",
        "params": "key, value",
    }
    try:
        return {
            table: sorted(connection.execute(f"select {names} from {table} where run_uuid = ?", (run_id,)))
            for table, names in columns.items()
        }
    finally:
        connection.close()


@pytest.mark.parametrize("params", [PARAMS, []])
@pytest.mark.parametrize("metrics", [METRICS, METRICS[:1], []])
def test_the_fast_path_writes_the_same_records_as_mlflow(tmp_path: Path, metrics: list[Metric], params: list[Param]):
    client = MlflowClient(f"sqlite:///{tmp_path / 'mlflow.db'}")
    run_ids = [client.create_run("0").info.run_id for _ in range(2)]
    write_first_batch(tmp_path / "mlflow.db", run_ids[0], metrics, params)
    client.log_batch(run_ids[1], metrics=metrics, params=params)
    assert content(tmp_path, run_ids[0]) == content(tmp_path, run_ids[1])
    ours, theirs = (client.get_run(run_id).data for run_id in run_ids)
    assert (ours.metrics, ours.params) == (theirs.metrics, theirs.params)
    if metrics:
        assert ours.metrics["reward"] == 12.5
