"""A store of made-up runs in the shape of a whole profile, written by SQL: to measure what reads it, no more."""

import math
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np

from benchmark.experiment import experiment_names, load_experiment
from benchmark.outcome import CURVE_POINTS, Outcome
from benchmark.plan import Run, Wanted, make_plan
from benchmark.store import ARTIFACTS, Store, run_parameters
from benchmark.tags import KEY, KIND
from data_pipelines.prepared import open_prepared

INSERTS = {
    "runs": "insert into runs (run_uuid, name, status, start_time, end_time, lifecycle_stage, artifact_uri, "
    "experiment_id) values (?, ?, 'FINISHED', ?, ?, 'active', ?, ?)",
    "tags": "insert into tags (run_uuid, key, value) values (?, ?, ?)",
    "params": "insert into params (run_uuid, key, value) values (?, ?, ?)",
    "metrics": "insert into metrics (run_uuid, key, value, timestamp, step, is_nan) values (?, ?, ?, 0, ?, 0)",
    "latest_metrics": "insert into latest_metrics (run_uuid, key, value, timestamp, step, is_nan) "
    "values (?, ?, ?, 0, ?, 0)",
}


def fill_store(folder: Path, profile: str) -> int:
    """Fill a store in a folder with the runs of a profile, on the data prepared in the data folder; return how many."""
    store = Store(f"sqlite:///{folder / 'mlflow.db'}")
    experiments = [load_experiment(name) for name in experiment_names()]
    ids = {}
    for experiment in experiments:
        ids[experiment.name] = store.experiment_id(experiment)
        store.end_sweep(store.begin_sweep(experiment, profile, 0), "FINISHED", {})
    runs = make_plan(experiments, Wanted(profile=profile)).runs
    clients = {name: _users(name, runs) for name in {run.source.name for run in runs}}
    connection = sqlite3.connect(folder / "mlflow.db")
    rows: dict[str, list[Any]] = {table: [] for table in INSERTS}
    for number, run in enumerate(runs):
        for table, row in _rows(run, number, ids[run.experiment], folder / ARTIFACTS, clients[run.source.name]):
            rows[table].append(row)
        if number % 200 == 0 or number == len(runs) - 1:
            for table, made in rows.items():
                connection.executemany(INSERTS[table], made)
                made.clear()
    connection.commit()
    connection.close()
    return len(runs)


def _rows(run: Run, number: int, experiment_id: str, artifacts: Path, clients: Any) -> Iterator[tuple[str, Any]]:
    run_id, ended = uuid4().hex, 1_700_000_000_000 + number
    place = artifacts / run.experiment / run_id / "artifacts"
    place.mkdir(parents=True)
    (place / "clients.parquet").write_bytes(_client_totals(clients, run.seed))
    yield "runs", (run_id, run.name, ended, ended, place.as_uri(), experiment_id)
    tags = {KEY: run.key, KIND: "run", "fedbandit.source": run.source.source}
    tags |= {"fedbandit.fingerprint": run.source.fingerprint, "mlflow.runName": run.name}
    for key, value in tags.items():
        yield "tags", (run_id, key, value)
    steps = 30_000 if run.source.folder is None else 100_000
    sizes = {"steps": str(steps), "clients": str(len(clients)), "arms": "25", "dimension": "25"}
    for key, value in run_parameters(run, Outcome(0, 0, "", facts=sizes)).items():
        yield "params", (run_id, key, value)
    metrics = _metrics(run, steps, len(clients))
    for key, number_made_up in metrics.items():
        yield "metrics", (run_id, key, number_made_up, 0)
        yield "latest_metrics", (run_id, key, number_made_up, 0)
    for curve, final in (("reward_curve", metrics["reward"]), ("communication_curve", metrics["communication"])):
        for point in range(1, CURVE_POINTS + 1):
            yield "metrics", (run_id, curve, final * point / CURVE_POINTS, steps * point // CURVE_POINTS)
        yield "latest_metrics", (run_id, curve, final, steps)


def _metrics(run: Run, steps: int, users: int) -> dict[str, float]:
    """Numbers of the right size: more communication, less regret, a little noise."""
    noise = np.random.default_rng([run.seed, int(run.key[:8], 16)]).normal(1, 0.03)
    threshold = float(run.threshold or "inf")
    strictness = math.log(threshold) if run.algorithm_name != "sync-linucb" else threshold
    spent = 0.0 if math.isinf(strictness) else min(users * 25 * 10 / max(strictness, 1e-9), 1.0 * users * steps)
    regret = steps * 0.01 * (1 + 20 / (1 + math.log10(1 + spent))) * noise
    reward = (steps - regret) / 12
    return {
        "reward": reward,
        "normalised_reward": reward / (steps / 25),
        "regret": regret,
        "uploads": spent // 2,
        "downloads": spent - spent // 2,
        "communication": float(int(spent * noise)),
        "scalars_moved": spent * 650,
        "am_unsettled": 0.0,
        "microseconds_per_step": 5.0,
        "kernel_seconds": steps * 5e-6,
    }


def _users(name: str, runs: Sequence[Run]) -> Any:
    source = next(run.source for run in runs if run.source.name == name)
    return np.arange(1_000) if source.folder is None else np.unique(open_prepared(name, source.folder).users)


def _client_totals(clients: Any, seed: int) -> bytes:
    import io

    import pyarrow as pa
    import pyarrow.parquet as pq

    random, buffer = np.random.default_rng(seed), io.BytesIO()
    columns = {"client": clients, "reward": random.integers(0, 20, len(clients)).astype(float)}
    columns |= {name: random.integers(0, 9, len(clients)) for name in ("uploads", "downloads")}
    pq.write_table(pa.table(columns), buffer, compression="zstd")
    return buffer.getvalue()
