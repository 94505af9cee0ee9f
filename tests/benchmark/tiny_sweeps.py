"""Tiny experiments, the command as a user types it, and the content of a store afterwards."""

import atexit
import hashlib
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from benchmark import session
from benchmark.execution.sweep import Executor
from benchmark.observer import Observer, silent
from benchmark.plan.experiment import load_experiment
from benchmark.plan.plan import RunOptions, make_plan
from benchmark.records.store import Store
from benchmark.records.tracking import make_client

TINY = """
title = "Tiny"
streams = [{ simulated = "uniform", steps = STEPS, clients = 20, arms = 5, dimension = 4 }]
[[algorithms]]
name = "async-linucb"
gamma = "grid"
[[algorithms]]
name = "sync-linucb"
threshold = "grid"
[profiles.quick]
seeds = SEEDS
grid = [0.01, 1, 100]
gammas = [1, inf]
"""
RUNS = 16
"""With two seeds."""
Command = Callable[..., "subprocess.CompletedProcess[str]"]
TIMES = ("microseconds_per_step", "kernel_seconds", "cpu_seconds")


@cache
def empty_database() -> Path:
    """An empty store as MLflow makes it, which takes it seconds."""
    folder = Path(tempfile.mkdtemp(prefix="fedbandit-test-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    make_client(f"sqlite:///{folder / 'mlflow.db'}")
    return folder / "mlflow.db"


def write_tiny(folder: Path, name: str = "tiny", *, steps: int = 400, seeds: int = 2) -> str:
    if not (folder / "mlflow.db").exists():
        shutil.copy(empty_database(), folder / "mlflow.db")
    (folder / f"{name}.toml").write_text(TINY.replace("STEPS", str(steps)).replace("SEEDS", str(seeds)))
    return f"{name}.toml"


def environment(**extra: str) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if key not in ("MLFLOW_TRACKING_URI", "FEDBANDIT_DEBUG")}
    return {**kept, **extra}


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "benchmark", *arguments]


def fedbandit(folder: Path, *arguments: str, **extra: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        command(*arguments), cwd=folder, env=environment(**extra), capture_output=True, text=True, timeout=300
    )


@contextmanager
def unloaded(folder: Path) -> Iterator[None]:
    """Unload what the block imports from a folder, so that later imports find it as it is then, or not at all."""
    before = set(sys.modules)
    try:
        yield
    finally:
        for name in set(sys.modules) - before:
            module = sys.modules[name]
            places = (getattr(module, "__file__", None), *getattr(module, "__path__", ()))
            if any(str(place).startswith(str(folder)) for place in places):
                del sys.modules[name]


def sweep(
    folder: Path, executor: Executor, *names: str, observer: Observer = silent, **options: Any
) -> session.SweepResult:
    """Run experiments of a folder in this process, with the folder's store."""
    plan = make_plan([load_experiment(str(folder / name)) for name in names], RunOptions(**options))
    return session.run(plan, Store(f"sqlite:///{folder / 'mlflow.db'}"), executor, observer)


def rows(folder: Path, query: str) -> list[Any]:
    connection = sqlite3.connect(folder / "mlflow.db")
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


def results(folder: Path) -> dict[str, Any]:
    """For each finished key of a SQLite store: metrics but for times, curves, and hashes of artifacts."""
    found: dict[str, Any] = {}
    keys = rows(
        folder,
        "select r.run_uuid, t.value, r.artifact_uri from runs r join tags t on t.run_uuid = r.run_uuid "
        "where t.key = 'fedbandit.run_key' and r.status = 'FINISHED'",
    )
    for run_id, key, artifacts in keys:
        assert key not in found, "a run is doubled"
        metrics = rows(folder, f"select key, step, value from metrics where run_uuid = '{run_id}' order by key, step")
        files = sorted(artifact_folder(folder, artifacts).iterdir())
        hashes = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
        found[key] = ([each for each in metrics if each[0] not in TIMES], hashes)
    return found


def artifact_folder(folder: Path, address: str) -> Path:
    """The folder of a run's artifacts; those that a server keeps are in `artifacts` beside its database."""
    parts = urlsplit(address)
    return folder / "artifacts" / parts.path.lstrip("/") if parts.scheme == "mlflow-artifacts" else Path(parts.path)


def statuses(folder: Path) -> dict[str, int]:
    return dict(
        rows(
            folder,
            "select r.status, count(*) from runs r join tags t on t.run_uuid = r.run_uuid "
            "where t.key = 'fedbandit.kind' and t.value = 'run' group by r.status",
        )
    )
