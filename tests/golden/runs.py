"""A few dozen small runs of all methods with various parameters, and their results in the golden file."""

import hashlib
import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from algorithms.method import Method
from algorithms.methods.rules import Rule
from algorithms.registry import built_in_methods
from algorithms.stream import StreamOutline
from benchmark import EventStream
from benchmark.execution.replay import replay
from benchmark.plan.method_names import hyper_parameters
from benchmark.plan.run_key import ENGINE_VERSION, run_key
from data_pipelines import simulate
from tests.streams import with_held_out_users

HELD_OUT = "held-out"
"""The stream with users who do not play, for rules only: other methods do not read what it has more."""

FILE = Path(__file__).parent / "runs.json"
INSTRUCTIONS = (
    "If this is intended, raise the version of the method, or ENGINE_VERSION in benchmark/plan/run_key.py if all "
    "methods are concerned, then run: python -m tests.golden"
)

Runs = dict[str, dict[str, Any]]
"""Golden runs by run key."""


def examples() -> list[Method]:
    """Return the examples of all built-in methods."""
    return [example for info in built_in_methods().values() for example in info.method.examples()]


def description(method: Method) -> str:
    """Return name and parameters of a method, without later parameters at the value that leaves keys as they were."""
    values = {name: value for name, value in hyper_parameters(method).items() if method.added.get(name, ...) != value}
    return f"{method.name} {', '.join(f'{name}={value}' for name, value in values.items())}".strip()


def streams() -> dict[str, tuple[EventStream, int]]:
    """Return small streams of every kind, each with the seed of its ties; `ties` offers some items twice."""
    sizes: dict[str, int] = {"steps": 500, "clients": 12, "arms": 5, "dimension": 5}
    return {
        "uniform": (simulate(seed=0, **sizes), 0),
        "ties": (simulate(seed=1, client_distribution="non-uniform", table=6, **sizes), 5),
        "heterogeneous": (simulate(seed=2, global_dim=2, **sizes), 0),
        HELD_OUT: (with_held_out_users(simulate(seed=3, table=60, **sizes)), 0),
    }


def replay_all() -> Runs:
    """Return the hash of the choices, the reward to the last bit and the transfers of each run."""
    runs = {}
    for name, (stream, seed) in streams().items():
        outline = StreamOutline.of(stream)
        for method in examples():
            if method.skip(outline) or (name == HELD_OUT and not isinstance(method, Rule)):
                continue
            trace = replay(method, stream, seed)
            parameters = hyper_parameters(method)
            key = run_key(stream.fingerprint, method.name, parameters, seed, version=method.version, added=method.added)
            runs[key] = {
                "run": f"{name}: {description(method)}",
                "method": method.name,
                "version": method.version,
                "choices": hashlib.sha256(np.asarray(trace.choices, dtype="<i4").tobytes()).hexdigest(),
                "reward": math.fsum(trace.rewards.tolist()).hex(),
                "uploads": int(trace.uploads.sum()),
                "downloads": int(trace.downloads.sum()),
                "needed_up": int(trace.needed_up.sum()),
                "needed_down": int(trace.needed_down.sum()),
            }
    return runs


def golden() -> dict[str, Any]:
    """Return the content of the golden file."""
    content: dict[str, Any] = json.loads(FILE.read_text())
    return content


def changes(before: dict[str, Any], runs: Runs) -> list[str]:
    """Describe the golden runs that are missing or have other results; those of earlier versions are not compared."""
    versions = {run["method"]: run["version"] for run in runs.values()}
    differences = []
    for key, old in before["runs"].items():
        if key in runs:
            differences += [
                f"{old['run']}: {field} was {value}, is {runs[key][field]}"
                for field, value in old.items()
                if runs[key][field] != value
            ]
        elif versions.get(old["method"], 0) <= old["version"]:
            differences.append(f"{old['run']}: its key {key} is missing")
    return differences


def verdict(before: dict[str, Any], runs: Runs, engine_version: int = ENGINE_VERSION) -> str:
    """Return an empty text if nothing has changed, otherwise the changes and what to do."""
    if before["engine_version"] != engine_version:
        return (
            f"The engine version is {engine_version}, but the golden runs are from version "
            f"{before['engine_version']}. {INSTRUCTIONS}"
        )
    differences = changes(before, runs)
    differences += [
        f"{run['run']}: is not in the golden file" for key, run in runs.items() if key not in before["runs"]
    ]
    return "\n".join([*differences, f"Results have changed. {INSTRUCTIONS}"]) if differences else ""
