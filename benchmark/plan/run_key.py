"""The key of a run: the hash of everything its result depends on, and of nothing else."""

import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any

ENGINE_VERSION = 1
"""Increment it when a change alters results; all runs are then repeated."""


def run_key(fingerprint: str, algorithm: str, parameters: Mapping[str, Any], seed: int) -> str:
    """Hash the stream's fingerprint, the algorithm with its hyper-parameters, the seed and the engine's version.

    The order of parameters, the machine, paths and the time are not part of it; 5 and 5.0 are the same number.
    """
    content = {
        "stream": fingerprint,
        "algorithm": algorithm,
        "parameters": {name: canonical(value) for name, value in parameters.items()},
        "seed": int(seed),
        "engine": ENGINE_VERSION,
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True, allow_nan=False).encode()).hexdigest()


def canonical(value: Any) -> Any:
    """Return a value that has only one representation in JSON."""
    if isinstance(value, list | tuple):
        return [canonical(element) for element in value]
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int | float):
        number = float(value)
        return number if math.isfinite(number) else str(number)
    return repr(value)
