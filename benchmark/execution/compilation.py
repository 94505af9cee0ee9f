"""Compilation by Numba: announced before a long wait, once and in parallel, not part of the recorded time of a run.

Numba itself reports every compilation (`numba.core.event`), so we need not guess from files on disk.
"""

import sys
import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import BrokenExecutor, Future, wait
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeGuard, runtime_checkable
from urllib.parse import quote

from filelock import FileLock
from numba.core import event

from algorithms.compiled_run import CompiledRun
from algorithms.kernel_cache import CACHE_FOLDER
from algorithms.method import MethodInfo
from algorithms.numerics.jit import OPTIONS
from algorithms.stream import Stream
from data_pipelines.stream_spec import SimulatedSpec

if TYPE_CHECKING:
    from benchmark.execution.executors import Compiler
    from benchmark.observer import Observer
    from benchmark.plan.runs import Run

SHORT = SimulatedSpec(steps=30, clients=3)
"""The stream over which kernels are compiled."""

BUSY = "numba:compiler_lock"
"""Numba compiles a kernel, or loads it from disk."""

COMPILES = "numba:compile"
"""Numba compiles a kernel because it is not on disk."""


@runtime_checkable
class CompiledMethod(Protocol):
    """A method that declares how long its kernels take to compile."""

    name: ClassVar[str]
    compile_seconds: ClassVar[int]

    def start(self, stream: Stream, seed: int) -> CompiledRun:
        """Prepare a run over a stream."""


class _NotCompiledError(Exception):
    """A kernel would have to be compiled."""


class _Listener(event.Listener):
    """For each thread, adds up the time that Numba takes, and announces or prevents compilation."""

    def __init__(self) -> None:
        self.thread = threading.local()

    def on_start(self, report: Any) -> None:
        if report.kind == COMPILES:
            self._before_compilation()
            return
        self.thread.depth = getattr(self.thread, "depth", 0) + 1
        if self.thread.depth == 1:
            self.thread.since = time.perf_counter(), time.thread_time()

    def on_end(self, report: Any) -> None:
        if report.kind == COMPILES:
            return
        self.thread.depth -= 1
        if self.thread.depth == 0:
            seconds, cpu_seconds = self.spent()
            since, cpu_since = self.thread.since
            self.thread.spent = seconds + time.perf_counter() - since, cpu_seconds + time.thread_time() - cpu_since

    def spent(self) -> tuple[float, float]:
        spent: tuple[float, float] = getattr(self.thread, "spent", (0.0, 0.0))
        return spent

    def _before_compilation(self) -> None:
        if getattr(self.thread, "refuses", False):
            raise _NotCompiledError
        if announcement := getattr(self.thread, "announcement", ""):
            print(announcement, file=sys.stderr, flush=True)
            self.thread.announcement = ""  # a method has many kernels; one line is enough


_listener = _Listener()
for _kind in (BUSY, COMPILES):
    event.register(_kind, _listener)  # type: ignore[no-untyped-call]


def running_time() -> tuple[float, float]:
    """Return the wall time and the processor time of this thread, excluding the time that Numba took."""
    seconds, cpu_seconds = _listener.spent()
    return time.perf_counter() - seconds, time.thread_time() - cpu_seconds


def announcement(method: CompiledMethod) -> str:
    """Return the line to show when the kernels of a method are compiled."""
    name = " with ".join([method.name, *(setting for setting, value in kernel_settings(method).items() if value)])
    if OPTIONS["cache"]:
        return f"Compiling {name} (first run only, about {method.compile_seconds} s)"
    return (
        f"Compiling {name} (about {method.compile_seconds} s in every process, because the compiler cache "
        "cannot be written; see `fedbandit doctor`)"
    )


@contextmanager
def announced(method: object) -> Iterator[None]:
    """Print a line on stderr if the kernels of a method are compiled inside the block."""
    _listener.thread.announcement = announcement(method) if is_announced(method) else ""
    try:
        yield
    finally:
        _listener.thread.announcement = ""


def is_announced(method: object) -> TypeGuard[CompiledMethod]:
    """Return whether a method itself, not another method that it inherits from, declares its compile time."""
    if not isinstance(method, CompiledMethod) or method.compile_seconds is None:
        return False
    owner = next((base for base in type(method).__mro__ if "compile_seconds" in vars(base)), type(method))
    return owner is type(method) or "name" not in vars(owner)


def kernel_name(method: CompiledMethod) -> str:
    """Return the name of the kernel of a method; methods with the same name of their kernel share it."""
    return getattr(method, "kernel", "") or method.name


def kernel_settings(method: CompiledMethod) -> dict[str, Any]:
    """Return the settings that select the kernels of a method, as its class lists them in `kernel_settings`."""
    return {name: getattr(method, name) for name in getattr(method, "kernel_settings", ())}


def with_defaults(method: type[CompiledMethod], **settings: Any) -> CompiledMethod:
    """Make a method with some threshold, the given settings and defaults; other values use the same kernels."""
    front = MethodInfo.of(method).front
    threshold = {front.parameter: front.grid[-1]} if front else {}
    return method(**threshold | settings)


def is_compiled(method: CompiledMethod, short: Stream) -> bool:
    """Return whether all kernels of a method are on disk, by a run over a short stream that refuses to compile."""
    _listener.thread.refuses = True
    try:
        compile_method(method, short)
    except _NotCompiledError:
        return False
    finally:
        _listener.thread.refuses = False
    return True


def compile_once(method: CompiledMethod, short: Stream) -> None:
    """Compile the kernels of a method, unless another process does: then wait for it, and load them.

    The system releases the lock of a process that is killed, and Numba stores a kernel only as a whole.
    """
    if not OPTIONS["cache"]:
        compile_method(method, short)
        return
    name = "-".join([kernel_name(method), *(setting for setting, value in kernel_settings(method).items() if value)])
    lock = FileLock(CACHE_FOLDER / f"{quote(name, safe='')}.lock")
    with suppress(OSError, NotImplementedError):  # on a file system without locks, both compile
        lock.acquire()
    try:
        compile_method(method, short)
    finally:
        lock.release()


def compile_method(method: CompiledMethod, short: Stream) -> None:
    """Compile the kernels of a method, or load them, by a run over a short stream."""
    run = method.start(short, 0)
    run.advance()
    run.trace()


def compile_kernels(compiler: "Compiler", runs: "Iterable[Run]", observer: "Observer", stop: threading.Event) -> None:
    """Let workers compile each method whose kernels are not on disk, and announce it; `stop` ends the wait."""
    methods = methods_of(runs)
    if not methods:
        return
    try:
        (stream,) = _results([compiler.open_stream(SHORT, 0)], observer, stop)
        checks = _results([compiler.is_compiled(stream, method) for method in methods], observer, stop)
        missing = [method for method, is_compiled in zip(methods, checks, strict=True) if not is_compiled]
        for method in missing:
            observer.note(announcement(method))
        _results([compiler.compile(stream, method) for method in missing], observer, stop)
        compiler.close_stream(stream)
    except BrokenExecutor:
        pass  # the run that needs the kernel will kill its worker too, and is reported then
    except _StoppedError:
        pass  # the sweep checks the same event


def methods_of(runs: "Iterable[Run]") -> list[CompiledMethod]:
    """Return the methods that declare how long they take to compile, one per set of kernels, the longest first."""
    return one_per_kernel(run.method for run in runs)


def one_per_kernel(candidates: Iterable[object]) -> list[CompiledMethod]:
    """Return the methods among these that declare how long they take to compile, as `methods_of` does."""
    algorithms = [candidate for candidate in candidates if is_announced(candidate)]
    settings = [(algorithm, kernel_settings(algorithm)) for algorithm in sorted(algorithms, key=announcement)]
    kernels = {(kernel_name(each), *values.items()): with_defaults(type(each), **values) for each, values in settings}
    return sorted(kernels.values(), key=lambda method: (-method.compile_seconds, announcement(method)))


class _StoppedError(Exception):
    """The sweep was asked to stop."""


def _results(futures: "list[Future[Any]]", observer: "Observer", stop: threading.Event) -> list[Any]:
    while wait(futures, timeout=0.2).not_done:
        if stop.is_set():
            raise _StoppedError
        observer.tick()
    return [future.result() for future in futures]
