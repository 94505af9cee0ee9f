"""A few dozen small runs of every method and setting, and what came out of them when the golden file was written."""

import hashlib
import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from algorithms import AsyncLinUCB, AsyncLinUCBAM, AsyncLinUCBAsPublished, RandomChoice, SyncLinUCB
from benchmark import EventStream, replay
from benchmark.algorithm_names import hyper_parameters
from benchmark.run_key import ENGINE_VERSION, run_key
from data_pipelines import simulate

FILE = Path(__file__).parent / "runs.json"
WAY_ON = "If that is meant, raise ENGINE_VERSION in benchmark/run_key.py, then write new ones: python -m tests.golden"

ALGORITHMS: tuple[Any, ...] = (
    *(AsyncLinUCB(gamma=gamma) for gamma in (1, 1.01, 2, 30, math.inf)),
    AsyncLinUCB(gamma_upload=1.2, gamma_download=4, alpha="theory", ridge=0.1),
    AsyncLinUCB(gamma_upload=3, gamma_download=1, alpha=1.0, ridge=1.0),
    *(AsyncLinUCBAM(gamma=gamma) for gamma in (1, 1.5, math.inf)),
    AsyncLinUCBAM(gamma=2, global_dim=2, alpha="theory", ridge=0.1),
    AsyncLinUCBAM(gamma_upload=1.1, gamma_download=3, global_dim=2, warm_start=True),
    AsyncLinUCBAM(gamma=1.5, warm_start=True),
    *(SyncLinUCB(threshold=threshold) for threshold in (0, 0.05, 2, math.inf)),
    SyncLinUCB(threshold=0.5, alpha="theory", ridge=0.1),
    AsyncLinUCBAsPublished(gamma=1.5, stale_models=True),
    AsyncLinUCBAsPublished(gamma=1.5, first_maximum=True),
    RandomChoice(),
)


def streams() -> dict[str, tuple[EventStream, int]]:
    """Return small streams of every kind, each with the seed of its ties; `ties` offers the same items twice."""
    sizes: dict[str, int] = {"steps": 500, "clients": 12, "arms": 5, "dimension": 5}
    return {
        "uniform": (simulate(seed=0, **sizes), 0),
        "ties": (simulate(seed=1, client_distribution="non-uniform", table=6, **sizes), 5),
        "heterogeneous": (simulate(seed=2, global_dim=2, **sizes), 0),
    }


def carry_out_all() -> dict[str, dict[str, Any]]:
    """Return for each run its key, a hash of its choices, its reward to the last bit, and its transfers."""
    found = {}
    for name, (stream, seed) in streams().items():
        for algorithm in ALGORITHMS:
            trace = replay(algorithm, stream, seed)
            parameters = hyper_parameters(algorithm)
            said = ", ".join(f"{key}={value}" for key, value in parameters.items())
            found[f"{name}: {algorithm.name} {said}".strip()] = {
                "key": run_key(stream.fingerprint, algorithm.name, parameters, seed),
                "choices": hashlib.sha256(np.asarray(trace.choices, dtype="<i4").tobytes()).hexdigest(),
                "reward": math.fsum(trace.rewards.tolist()).hex(),
                "uploads": int(trace.uploads.sum()),
                "downloads": int(trace.downloads.sum()),
            }
    return found


def golden() -> dict[str, Any]:
    """Return what stands in the file."""
    content: dict[str, Any] = json.loads(FILE.read_text())
    return content


def changes(before: dict[str, Any], runs: dict[str, dict[str, Any]]) -> list[str]:
    """Say which runs come out differently than before, or under another key."""
    told = []
    for name, was in before["runs"].items():
        now = runs.get(name, {})
        told += [
            f"{name}: {what} was {value}, is {now.get(what)}" for what, value in was.items() if now.get(what) != value
        ]
    return told


def verdict(before: dict[str, Any], runs: dict[str, dict[str, Any]], engine_version: int = ENGINE_VERSION) -> str:
    """Return empty text if all is as before; else what changed and what to do about it."""
    if before["engine_version"] != engine_version:
        return f"The engine version is {engine_version}, the golden runs are of {before['engine_version']}. {WAY_ON}"
    told = changes(before, runs)
    told += [f"{name}: is not in the golden file" for name in runs if name not in before["runs"]]
    return "\n".join([*told, f"The same runs come out differently. {WAY_ON}"]) if told else ""
