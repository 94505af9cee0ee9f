"""Compilation by Numba: once for all processes, said in one line, and not part of the recorded time of a run.

A run compiles the kernels of its method before it starts. An empty file in the folder of compiled kernels says that
they are there, so that nothing is announced or locked the next time. `fedbandit data` starts this module as a process,
which compiles the kernels of the quick experiments while data are prepared.
"""

import signal
import sys
import threading
import time
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numba
import numpy as np
from filelock import FileLock
from llvmlite import binding
from numba.core import event

from algorithms.kernel_cache import CACHE_FOLDER
from algorithms.method import Method, MethodInfo
from algorithms.numerics.jit import OPTIONS
from algorithms.registry import built_in_methods
from data_pipelines import EventStream
from data_pipelines.stream_spec import SimulatedSpec

SHORT = SimulatedSpec(steps=30, clients=3)
"""The size of the stream over which kernels are compiled."""

BUSY = "numba:compiler_lock"
"""Numba compiles a kernel, or loads it from disk."""


class _Listener(event.Listener):
    """For each thread, adds up the time that Numba takes."""

    def __init__(self) -> None:
        self.thread = threading.local()

    def on_start(self, report: Any) -> None:
        self.thread.depth = getattr(self.thread, "depth", 0) + 1
        if self.thread.depth == 1:
            self.thread.since = time.perf_counter(), time.thread_time()

    def on_end(self, report: Any) -> None:
        self.thread.depth -= 1
        if self.thread.depth == 0:
            seconds, cpu_seconds = self.spent()
            since, cpu_since = self.thread.since
            self.thread.spent = seconds + time.perf_counter() - since, cpu_seconds + time.thread_time() - cpu_since

    def spent(self) -> tuple[float, float]:
        spent: tuple[float, float] = getattr(self.thread, "spent", (0.0, 0.0))
        return spent


_listener = _Listener()
event.register(BUSY, _listener)  # type: ignore[no-untyped-call]


def running_time() -> tuple[float, float]:
    """Return the wall time and the processor time of this thread, excluding the time that Numba took."""
    seconds, cpu_seconds = _listener.spent()
    return time.perf_counter() - seconds, time.thread_time() - cpu_seconds


def announcement() -> str:
    """Return the line to show when kernels are compiled."""
    if OPTIONS["cache"]:
        return "Compiling kernels (first run only, about a minute)."
    return (
        "Compiling kernels (about a minute in every process, because the compiler cache cannot be written; "
        "see `fedbandit doctor`)."
    )


def compile_seconds(method: object) -> int:
    """Return the time that a method itself, not another method that it inherits from, declares for its kernels."""
    owner = next((base for base in type(method).__mro__ if "compile_seconds" in vars(base)), Method)
    is_its_own = owner is type(method) or "name" not in vars(owner)
    return (isinstance(method, Method) and is_its_own and method.compile_seconds) or 0


def kernel_of(method: Any) -> str:
    """Return the name of the kernels of a method with its settings, the same for all that share them; empty if none."""
    if not compile_seconds(method):
        return ""
    return "-".join([method.kernel or method.name, *(name for name in method.kernel_settings if getattr(method, name))])


_compiled_here: set[str] = set()


def is_compiled(method: object) -> bool:
    """Return whether all kernels of a method are on disk or in this process."""
    name, config = kernel_of(method), numba.config
    if not name or name in _compiled_here or config.DISABLE_JIT:  # type: ignore[attr-defined]
        return True
    return OPTIONS["cache"] and _mark(name).exists()


def compile_once(method: Any) -> None:
    """Compile the kernels of a method, unless another process does: then wait for it.

    The system releases the lock of a process that is killed, and Numba stores a kernel only as a whole.
    """
    if is_compiled(method):
        return
    mark = _mark(kernel_of(method))
    lock = FileLock(mark.with_suffix(".lock"))
    with suppress(OSError, NotImplementedError):  # on a file system without locks, both compile
        lock.acquire()
    try:
        if not is_compiled(method):
            run = _with_defaults(method).start(_short_stream(), 0)
            run.advance()
            run.trace()
            _compiled_here.add(kernel_of(method))
            with suppress(OSError):
                mark.touch()
    finally:
        lock.release()


def _short_stream() -> EventStream:
    """Return the stream over which kernels are compiled, with users who do not play, which some rules read."""
    stream = SHORT.build(0)
    items = np.arange(len(stream.items), dtype=np.int32)
    users = np.ones(len(items), dtype=np.int64)
    return replace(stream, item_of_row=items, held_out_count=users, held_out_likes=users, fingerprint="")


def _mark(kernel: str) -> Path:
    """Return the file that exists once a kernel is compiled, by this Numba and for this processor."""
    version = f"numba-{numba.__version__}-{binding.get_host_cpu_name()}"
    return CACHE_FOLDER / f"{quote(kernel, safe='')}-{version}.compiled"


def _with_defaults(method: Any) -> Any:
    """Make a method with some threshold and defaults, but the same kernels: its own values may not fit every stream."""
    front = MethodInfo.of(type(method)).front
    threshold = {front.parameter: front.grid[-1]} if front else {}
    return type(method)(**threshold, **{name: getattr(method, name) for name in method.kernel_settings})


def built_in_kernels(names: Collection[str] | None = None) -> Iterator[Any]:
    """Yield a method per kernel of the built-in methods, or of those with some names, the longest compilation first."""
    methods: list[Any] = [info.method for name, info in built_in_methods().items() if names is None or name in names]
    by_kernel = {kernel_of(example): example for method in methods for example in method.examples()}
    yield from sorted(by_kernel.values(), key=compile_seconds, reverse=True)


def main(done: Path) -> None:
    """Compile the kernels of the quick experiments, then create a file.

    Ctrl-C ends it with the command that started it. The sweep after it finds the kernels on disk, or waits for the one
    that is being compiled. If this process is killed, the sweep compiles the rest.
    """
    from benchmark.plan.experiment import QUICK, shipped_methods  # other users of this module need no experiments

    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if OPTIONS["cache"]:
        for method in built_in_kernels(shipped_methods(QUICK)):
            compile_once(method)
        done.touch()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
