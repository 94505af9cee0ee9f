"""CPU time of the first compilation: the kernels of the paper's methods, in a new process with an empty cache."""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

MAX_SECONDS = 25.0

PAPER = "the paper, Algorithm"
"""The reference of each of the paper's methods starts with this."""


def measure_compilation() -> dict[str, float]:
    """Return the CPU time that each of the paper's three methods takes to compile, in seconds.

    One process compiles them one after another, as with one job; kernels that two methods share count for the first.
    """
    with tempfile.TemporaryDirectory() as folder:
        result = subprocess.run(
            [sys.executable, "-m", "tests.performance.first_compilation"],
            cwd=Path(__file__).parents[2],
            env=os.environ | {"NUMBA_CACHE_DIR": folder},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    seconds: dict[str, float] = json.loads(result.stdout)
    return seconds


def compile_methods() -> dict[str, float]:
    """Compile the paper's algorithms in this process, with the default kernel of each."""
    from algorithms.registry import built_in_methods
    from benchmark.execution.compilation import SHORT
    from benchmark.execution.replay import replay_method

    stream = SHORT.build(0)
    seconds = {}
    for info in built_in_methods().values():
        if info.reference.startswith(PAPER):
            start = time.process_time()
            replay_method(next(iter(info.method.examples())), stream, 0)
            seconds[info.name] = time.process_time() - start
    return seconds


if __name__ == "__main__":
    print(json.dumps(compile_methods()))
