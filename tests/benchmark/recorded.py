"""Runs with made-up results, recorded as a sweep records them: the pages of a store in seconds, without kernels."""

import shutil
import time
from collections.abc import Mapping
from pathlib import Path

from benchmark.execution.run_result import RunResult
from benchmark.plan.experiment import Experiment, load_experiment
from benchmark.plan.plan import RunOptions, make_plan
from benchmark.plan.runs import Run
from benchmark.records.provenance import provenance
from benchmark.records.store import Store
from tests.benchmark.tiny_sweeps import TINY, empty_database

SETTINGS = 8
"""Of the tiny experiment: five values of γ and three of D."""


def store_in(folder: Path) -> Store:
    shutil.copy(empty_database(), folder / "mlflow.db")
    return Store(f"sqlite:///{folder / 'mlflow.db'}")


def tiny(folder: Path, name: str = "tiny", **changes: str) -> Experiment:
    text = TINY.replace("STEPS", "40").replace("SEEDS", "3")
    for old, new in changes.items():
        text = text.replace(old, new)
    (folder / f"{name}.toml").write_text(text)
    return load_experiment(str(folder / f"{name}.toml"))


def planned(experiment: Experiment, seeds: tuple[int, ...]) -> tuple[Run, ...]:
    return make_plan([experiment], RunOptions(seeds=seeds)).runs


def result_of(run: Run, metrics: Mapping[str, float] | None = None) -> RunResult:
    """A result whose regret is 100 + seed, with 10 transfers per client."""
    values = {"reward": 50.0 + run.seed, "regret": 100.0 + run.seed, "communication": 200.0, "kernel_seconds": 0.5}
    values |= {"numbers_per_client": 140.0, **(metrics or {})}
    curves = {
        "reward_curve": [(t, t * (1.0 + run.seed)) for t in (1, 20, 40)],
        "regret_curve": [(t, t * (2.0 + run.seed)) for t in (1, 20, 40)],
        "communication_curve": [(t, 5.0 * t) for t in (1, 20, 40)],
    }
    files = {"curve.parquet": b"steps", "clients.parquet": b"totals"}
    facts = {"steps": "40", "clients": "20", "arms": "5", "dimension": "4"}
    now = time.time()
    return RunResult(now, now, "host", values, curves, files, facts, provenance=provenance())


def record_all(store: Store, experiment: Experiment, seeds: tuple[int, ...], **metrics: float) -> list[str]:
    """Record the runs of some seeds, and return their ids."""
    runs = planned(experiment, seeds)
    sweep = store.begin_sweep(experiment.info, "quick", len(runs))
    ids = [store.record(sweep, experiment.info, run, result_of(run, metrics)).run_id for run in runs]
    store.end_sweep(sweep, "FINISHED", {"runs_finished": len(runs)})
    return ids
