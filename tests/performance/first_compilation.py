"""CPU time of the first compilation: the kernels of all methods, in a new process with an empty cache."""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

MAX_SECONDS = 25.0
"""For the kernels of the paper's methods together."""

MAX_SECONDS_EACH = 10.0

PAPER = "the paper, Algorithm"
"""The reference of each of the paper's methods starts with this."""


def measure_compilation() -> dict[str, float]:
    """Return the CPU time that each kernel takes to compile, in seconds; those of the paper's methods come first.

    One process compiles them one after another, as with one job; what two kernels share counts for the first.
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


def compile_all() -> dict[str, float]:
    """Compile the kernels of all methods in this process, unless they are in the cache."""
    from benchmark.execution.compilation import built_in_kernels, compile_once, kernel_of

    kernels = sorted(built_in_kernels(), key=lambda method: (not is_of_paper(kernel_of(method)), kernel_of(method)))
    seconds = {}
    for method in kernels:
        start = time.process_time()
        compile_once(method)
        seconds[kernel_of(method)] = time.process_time() - start
    return seconds


def is_of_paper(kernel: str) -> bool:
    """Return whether a kernel is that of a method of the paper, in one of its forms."""
    from algorithms.registry import built_in_methods
    from benchmark.execution.compilation import kernel_of

    of_paper = [info.method for info in built_in_methods().values() if info.reference.startswith(PAPER)]
    return kernel in {kernel_of(example) for method in of_paper for example in method.examples()}


if __name__ == "__main__":
    print(json.dumps(compile_all()))
