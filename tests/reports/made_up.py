"""Made-up runs as a table, without a store: for pictures, which need many of them."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from benchmark.records.record import RunRecord
from benchmark.results.frames import run_frame
from reports.read.results import Results
from tests.records import run_record

GAMMAS = (1.0, *(1 + np.logspace(-2, 3, 21)), 3.0, 6001.0, 9001.0, np.inf)
"""The thresholds of the profile `paper`."""


def run(algorithm: str, threshold: float, seed: int = 0, dataset: str = "delicious", **more: Any) -> RunRecord:
    """Return one finished run; metrics that are not given have values that no test checks."""
    numbers = {"reward": 8.0, "normalised_reward": 2.0, "regret": 50.0, "communication": 1000.0}
    return run_record(algorithm, threshold, seed, stream=dataset, **(numbers | more))


def made_up(runs: Iterable[RunRecord]) -> Results:
    """Return results without prepared data."""
    frame = run_frame(list(runs))
    return Results(frame, "sqlite:////nowhere/mlflow.db", Path("/nowhere"))


def crowded(experiment: str = "fig_e", **more: Any) -> list[RunRecord]:
    """Return three algorithms with all thresholds of the profile `paper`, five seeds, and curves close together."""
    random = np.random.default_rng(0)
    runs = []
    for number, algorithm in enumerate(("async-linucb", "async-linucb-am", "sync-linucb")):
        for threshold in GAMMAS:
            spent = 0.0 if np.isinf(threshold) else 2e8 / (1 + 3000 * (threshold - 1)) ** 0.8 + 1e4
            reward = 1.2 + 0.15 * number + 0.05 * np.log10(1 + min(threshold, 1e5))
            for seed in range(5):
                value = reward + 0.02 * random.standard_normal()
                numbers = {"communication": spent, "normalised_reward": value, "regret": 400 * value}
                runs.append(run(algorithm, threshold, seed, experiment=experiment, **numbers, **more))
    return runs


def many_settings(count: int) -> list[dict[str, Any]]:
    """Return settings that differ in several values, which make a legend long."""
    return [{"first_maximum": True, "ridge": n, "stream_scaling": f"standard-{n}", "sigma": n} for n in range(count)]
