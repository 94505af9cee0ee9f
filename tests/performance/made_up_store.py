"""A store with artificial runs of experiments, written with SQL, to measure how fast it is read."""

import io
import math
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmark.execution.run_result import RunResult
from benchmark.plan.experiment import load_experiment
from benchmark.plan.plan import RunOptions, make_plan
from benchmark.plan.runs import Run
from benchmark.records.artifacts import ARTIFACTS, POINTS_IN_MLFLOW
from benchmark.records.provenance import provenance
from benchmark.records.record import record_of
from benchmark.records.store import Store
from benchmark.records.tags import FINGERPRINT, KEY, KIND, SOURCE
from data_pipelines.stream_spec import SimulatedSpec

INSERTS = {
    "runs": "insert into runs (run_uuid, name, status, start_time, end_time, lifecycle_stage, artifact_uri, "
    "experiment_id) values (?, ?, 'FINISHED', ?, ?, 'active', ?, ?)",
    "tags": "insert into tags (run_uuid, key, value) values (?, ?, ?)",
    "params": "insert into params (run_uuid, key, value) values (?, ?, ?)",
    "metrics": "insert into metrics (run_uuid, key, value, timestamp, step, is_nan) values (?, ?, ?, 0, ?, 0)",
    "latest_metrics": "insert into latest_metrics (run_uuid, key, value, timestamp, step, is_nan) "
    "values (?, ?, ?, 0, ?, 0)",
}


def fill_store(folder: Path, names: Sequence[str], profile: str) -> int:
    """Fill a store in a folder with the runs of experiments on the prepared data; return their number."""
    store = Store(f"sqlite:///{folder / 'mlflow.db'}")
    experiments = [load_experiment(name) for name in names]
    ids = {}
    for experiment in experiments:
        ids[experiment.name] = store.experiment_id(experiment.info)
        store.end_sweep(store.begin_sweep(experiment.info, profile, 0), "FINISHED", {})
    runs = make_plan(experiments, RunOptions(profile=profile)).runs
    clients = {name: _users(name, runs) for name in {run.stream.name for run in runs}}
    totals = {name: _client_totals(users, 0) for name, users in clients.items()}
    connection = sqlite3.connect(folder / "mlflow.db")
    rows: dict[str, list[Any]] = {table: [] for table in INSERTS}
    for number, run in enumerate(runs):
        stream = run.stream.name
        for table, row in _rows(run, number, ids[run.experiment], folder / ARTIFACTS, clients[stream], totals[stream]):
            rows[table].append(row)
        if number % 200 == 0 or number == len(runs) - 1:
            for table, new_rows in rows.items():
                connection.executemany(INSERTS[table], new_rows)
                new_rows.clear()
    connection.commit()
    connection.close()
    return len(runs)


def _rows(
    run: Run, number: int, experiment_id: str, artifacts: Path, clients: Any, totals: bytes
) -> Iterator[tuple[str, Any]]:
    run_id, end_time = uuid4().hex, 1_700_000_000_000 + number
    folder = artifacts / run.experiment / run_id / "artifacts"
    folder.mkdir(parents=True)
    (folder / "clients.parquet").write_bytes(totals)
    (folder / "curve.parquet").write_bytes(b"artificial")  # the points in MLflow are read
    yield "runs", (run_id, run.name, end_time, end_time, folder.as_uri(), experiment_id)
    tags = {KEY: run.key, KIND: "run", SOURCE: run.stream.source}
    tags |= {FINGERPRINT: run.fingerprint, "mlflow.runName": run.name}
    steps = 30_000 if isinstance(run.stream, SimulatedSpec) else 100_000
    sizes = {"steps": str(steps), "clients": str(len(clients)), "arms": "25", "dimension": "25"}
    texts, record_tag = record_of(run, RunResult(0, 0, "", facts=sizes), provenance()).to_mlflow()
    for key, value in (tags | record_tag).items():
        yield "tags", (run_id, key, value)
    for key, value in texts.items():
        yield "params", (run_id, key, value)
    metrics = _metrics(run, steps, len(clients))
    for key, metric in metrics.items():
        yield "metrics", (run_id, key, metric, 0)
        yield "latest_metrics", (run_id, key, metric, 0)
    recorded = ["reward", "communication"] + (["regret"] if isinstance(run.stream, SimulatedSpec) else [])
    for curve, final in [(f"{name}_curve", metrics[name]) for name in recorded]:
        for point in range(1, POINTS_IN_MLFLOW + 1):
            yield "metrics", (run_id, curve, final * point / POINTS_IN_MLFLOW, steps * point // POINTS_IN_MLFLOW)
        yield "latest_metrics", (run_id, curve, final, steps)


def _metrics(run: Run, steps: int, users: int) -> dict[str, float]:
    """Return plausible metrics: less regret with more communication, and a little noise."""
    noise = np.random.default_rng([run.seed, int(run.key[:8], 16)]).normal(1, 0.03)
    threshold = float(run.threshold or "inf")
    strictness = math.log(threshold) if run.info.name != "sync-linucb" else threshold
    transfers = 0.0 if math.isinf(strictness) else min(users * 25 * 10 / max(strictness, 1e-9), 1.0 * users * steps)
    regret = steps * 0.01 * (1 + 20 / (1 + math.log10(1 + transfers))) * noise
    reward = (steps - regret) / 12
    return {
        "reward": reward,
        "normalised_reward": reward / (steps / 25),
        "regret": regret,
        "uploads": transfers // 2,
        "downloads": transfers - transfers // 2,
        "communication": float(int(transfers * noise)),
        "numbers_moved": transfers * 350,
        "am_unsettled": 0.0,
        "microseconds_per_step": 5.0,
        "kernel_seconds": steps * 5e-6,
    }


def _users(name: str, runs: Sequence[Run]) -> Any:
    stream = next(run.stream for run in runs if run.stream.name == name)
    return np.arange(1_000) if isinstance(stream, SimulatedSpec) else np.unique(stream.open().users)


def _client_totals(clients: Any, seed: int) -> bytes:
    random, buffer = np.random.default_rng(seed), io.BytesIO()
    columns = {"client": clients, "reward": random.integers(0, 20, len(clients)).astype(float)}
    columns |= {name: random.integers(0, 9, len(clients)) for name in ("uploads", "downloads")}
    pq.write_table(pa.table(columns), buffer, compression="zstd")
    return buffer.getvalue()
