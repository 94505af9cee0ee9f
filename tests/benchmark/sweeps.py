"""A store with a sweep written by hand, as the harness would write it."""

import math
from pathlib import Path

from matplotlib.figure import Figure
from mlflow import MlflowClient
from mlflow.entities import Metric, Param, RunTag

from algorithms.registry import built_in_methods
from benchmark.records.artifacts import FILES
from benchmark.records.tags import RECORD
from benchmark.styles import style
from tests.records import run_record

EXPERIMENT = "fig_e"
CURVES = ("reward_curve", "communication_curve")
# algorithm, threshold, seed, normalised reward, communication
RUNS = (
    ("async-linucb", "5", 1, 2.23, 29_500),
    ("async-linucb", "5", 0, 2.22, 31_000),
    ("async-linucb", "1000", 0, 1.84, 4_200),
    ("async-linucb-am", "1.01", 0, 2.40, 82_000),
    ("async-linucb-am", "5", 0, 2.35, 26_000),
    ("async-linucb-am", "1000", 0, 2.02, 3_900),
    ("sync-linucb", "1", 1, 2.25, 120_000),
    ("sync-linucb", "100", 0, 1.95, 15_000),
)


def make_store(folder: Path) -> str:
    """Write the sweep into a database in the folder, artifacts beside it, and return its address."""
    uri = f"sqlite:///{folder / 'mlflow.db'}"
    client = MlflowClient(uri)
    experiment_id = client.create_experiment(EXPERIMENT, artifact_location=(folder / "mlartifacts").as_uri())
    sweep = client.create_run(experiment_id, run_name="sweep", tags={"fedbandit.kind": "sweep"})
    for algorithm, threshold, seed, reward, communication in RUNS:
        sizes = {"stream_clients": 1867}
        values = {"normalised_reward": reward, "communication": communication}
        record = run_record(algorithm, float(threshold), seed, experiment=EXPERIMENT, settings=sizes, **values)
        tags = {
            RECORD: record.to_json(),
            "fedbandit.kind": "run",
            "fedbandit.source": "official",
            "mlflow.parentRunId": sweep.info.run_id,
            "mlflow.runColor": style(built_in_methods()[algorithm].style).colour,
        }
        run = client.create_run(experiment_id, run_name=f"{algorithm} {threshold} seed {seed}")
        metrics = {"reward": 1000 * reward, "normalised_reward": reward, "regret": 5000 - 1000 * reward}
        moved = {"communication": communication, "log10_communication": math.log10(1 + communication)}
        texts = {"algorithm": algorithm, "threshold": threshold, "dataset": "delicious", "clients": "1867"}
        curves = [Metric(name, reward * step, 0, step) for name in CURVES for step in (1, 500, 1000)]
        client.log_batch(
            run.info.run_id,
            metrics=[Metric(k, v, 0, 0) for k, v in {**metrics, **moved, **record.metrics}.items()] + curves,
            params=[Param(key, value) for key, value in {**texts, "seed": str(seed)}.items()],
            tags=[RunTag(key, value) for key, value in tags.items()],
        )
        client.set_terminated(run.info.run_id)
        files = folder / "mlartifacts" / run.info.run_id / "artifacts"
        files.mkdir(parents=True)
        for name in FILES:
            (files / name).write_bytes(b"x")
    figure = Figure()
    figure.subplots().plot([0, 1], [0, 1])
    client.log_figure(sweep.info.run_id, figure, "picture.png")
    client.set_terminated(sweep.info.run_id)
    return uri
