"""Compile the kernels of the built-in experiments in the background, while data are prepared.

`fedbandit data` starts this module as a process. The sweep after it finds the kernels on disk, or waits for the one
that is being compiled: a lock per kernel keeps two processes from compiling the same (`compile_once`). If this process
is killed, the sweep compiles the rest. Ctrl-C ends it together with the command that started it.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from itertools import product

from algorithms.kernel_cache import CACHE_FOLDER

DONE = CACHE_FOLDER / "built-in-experiments-compiled"
"""An empty file that exists once all of them are compiled."""

_processes: list["subprocess.Popen[bytes]"] = []
"""Kept, as Python warns about a process that is forgotten while it runs."""


def start_in_background() -> None:
    """Start the compilation in a process of its own, unless all kernels are on disk already."""
    if DONE.exists() or os.environ.get("NUMBA_DISABLE_JIT", "0") != "0":
        return
    _processes.append(
        subprocess.Popen(
            [sys.executable, "-m", "benchmark.early_compilation"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    )


def main() -> None:
    """Compile every method of the built-in experiments, the longest first, unless another process does so."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from filelock import FileLock, Timeout

    from algorithms.numerics.jit import OPTIONS
    from benchmark.execution.compilation import SHORT, compile_once, one_per_kernel

    if not OPTIONS["cache"]:
        return
    try:
        with FileLock(DONE.with_suffix(".lock"), timeout=0):
            short = SHORT.build(0)
            for method in one_per_kernel(experiment_methods()):
                compile_once(method, short)
            DONE.touch()
    except Timeout:
        pass


def experiment_methods() -> Iterator[object]:
    """Yield the methods of the built-in experiments with all their kernels."""
    from benchmark.execution.compilation import with_defaults
    from benchmark.plan.experiment import experiment_names, load_experiment
    from benchmark.plan.method_names import method_info

    for name in experiment_names():
        for entry in load_experiment(name).algorithms:
            method = method_info(entry.name)
            values = {name: entry.parameters[name] for name in method.kernel_settings if name in entry.parameters}
            choices = [value if isinstance(value, list) else [value] for value in values.values()]
            for settings in product(*choices):
                yield with_defaults(method.method, **dict(zip(values, settings, strict=True)))


if __name__ == "__main__":
    main()
