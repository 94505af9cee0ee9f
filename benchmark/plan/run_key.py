"""The key of a run: the hash of everything its result depends on, and of nothing else."""

import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any

ENGINE_VERSION = 1
"""Increment it when a change alters results; all runs are then repeated."""


def run_key(
    fingerprint: str,
    algorithm: str,
    parameters: Mapping[str, Any],
    seed: int,
    *,
    version: int = 1,
    added: Mapping[str, Any] | None = None,
) -> str:
    """Hash the stream's fingerprint, the algorithm with its hyper-parameters, the seed and the versions.

    The order of parameters, the machine, paths and the time are not part of it; 5 and 5.0 are the same number. The
    `version` of the method is part of it only above 1, and a parameter that was added later only if its value differs
    from that in `added`: keys of earlier runs stay valid.
    """
    values = {name: canonical(value) for name, value in parameters.items()}
    earlier = {name: canonical(value) for name, value in (added or {}).items()}
    content = {
        "stream": fingerprint,
        "algorithm": algorithm,
        "parameters": {name: value for name, value in values.items() if name not in earlier or value != earlier[name]},
        "seed": int(seed),
        "engine": ENGINE_VERSION,
        **({"version": version} if version > 1 else {}),
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
