"""A few dozen small runs of all methods with various parameters, and their results in the golden file."""

import hashlib
import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from algorithms.method import Method
from algorithms.registry import built_in_methods
from benchmark import EventStream
from benchmark.execution.replay import replay
from benchmark.plan.algorithm_names import hyper_parameters
from benchmark.plan.run_key import ENGINE_VERSION, run_key
from data_pipelines import simulate

FILE = Path(__file__).parent / "runs.json"
INSTRUCTIONS = (
    "If this is intended, raise ENGINE_VERSION in benchmark/plan/run_key.py, then run: python -m tests.golden"
)


def examples() -> list[Method]:
    """Return the examples of all built-in methods."""
    return [example for declaration in built_in_methods().values() for example in declaration.method.examples()]


def streams() -> dict[str, tuple[EventStream, int]]:
    """Return small streams of every kind, each with the seed of its ties; `ties` offers some items twice."""
    sizes: dict[str, int] = {"steps": 500, "clients": 12, "arms": 5, "dimension": 5}
    return {
        "uniform": (simulate(seed=0, **sizes), 0),
        "ties": (simulate(seed=1, client_distribution="non-uniform", table=6, **sizes), 5),
        "heterogeneous": (simulate(seed=2, global_dim=2, **sizes), 0),
    }


def replay_all() -> dict[str, dict[str, Any]]:
    """Return the key, the hash of the choices, the reward to the last bit and the transfers of each run."""
    runs = {}
    for name, (stream, seed) in streams().items():
        for algorithm in examples():
            trace = replay(algorithm, stream, seed)
            parameters = hyper_parameters(algorithm)
            description = ", ".join(f"{key}={value}" for key, value in parameters.items())
            runs[f"{name}: {algorithm.name} {description}".strip()] = {
                "key": run_key(
                    stream.fingerprint,
                    algorithm.name,
                    parameters,
                    seed,
                    version=algorithm.version,
                    added=algorithm.added,
                ),
                "choices": hashlib.sha256(np.asarray(trace.choices, dtype="<i4").tobytes()).hexdigest(),
                "reward": math.fsum(trace.rewards.tolist()).hex(),
                "uploads": int(trace.uploads.sum()),
                "downloads": int(trace.downloads.sum()),
            }
    return runs


def golden() -> dict[str, Any]:
    """Return the content of the golden file."""
    content: dict[str, Any] = json.loads(FILE.read_text())
    return content


def changes(before: dict[str, Any], runs: dict[str, dict[str, Any]]) -> list[str]:
    """Describe the runs whose results or keys have changed."""
    differences = []
    for name, old in before["runs"].items():
        new = runs.get(name, {})
        differences += [
            f"{name}: {field} was {value}, is {new.get(field)}"
            for field, value in old.items()
            if new.get(field) != value
        ]
    return differences


def verdict(before: dict[str, Any], runs: dict[str, dict[str, Any]], engine_version: int = ENGINE_VERSION) -> str:
    """Return an empty text if nothing has changed, otherwise the changes and what to do."""
    if before["engine_version"] != engine_version:
        return (
            f"The engine version is {engine_version}, but the golden runs are from version "
            f"{before['engine_version']}. {INSTRUCTIONS}"
        )
    differences = changes(before, runs)
    differences += [f"{name}: is not in the golden file" for name in runs if name not in before["runs"]]
    return "\n".join([*differences, f"Results have changed. {INSTRUCTIONS}"]) if differences else ""
