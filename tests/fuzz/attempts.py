"""Try inputs one by one, each with a deadline, and count the results."""

import random
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from tests.fuzz.target import Target

SECONDS_PER_INPUT = 10.0
SPARE_MEMORY = 3 << 30
"""Bytes of address space that a target may use in addition to its libraries."""
MAX_FAILURES = 20


class HangError(BaseException):
    """An input that took too long; not an Exception, so that no reader treats it as a damaged file."""


@dataclass(frozen=True)
class Failure:
    """An input that was neither correctly accepted nor clearly refused."""

    number: int
    reason: str
    content: bytes


@dataclass
class Report:
    """The results of the inputs of one target."""

    name: str
    inputs: int = 0
    accepted: int = 0
    refused: int = 0
    failed: int = 0
    failures: list[Failure] = field(default_factory=list)
    slowest: float = 0.0
    peak_mib: float = 0.0


def input_of(target: Target, seed: int, number: int) -> bytes:
    """Make the input with this number; always the same."""
    return target.make(random.Random(f"{seed}/{target.name}/{number}"))


def attempt(report: Report, check: Callable[[bytes], bool], content: bytes) -> None:
    """Try one input and count the result."""
    start_time = time.perf_counter()
    try:
        with _deadline():
            if check(content):
                report.accepted += 1
            else:
                report.refused += 1
    except (Exception, HangError) as error:
        report.failed += 1
        if len(report.failures) < MAX_FAILURES:
            frame = traceback.extract_tb(error.__traceback__)[-1]
            reason = f"{type(error).__name__}: {error}"[:400] + f" ({frame.filename.rpartition('/')[2]}:{frame.lineno})"
            report.failures.append(Failure(report.inputs, reason, content))
    report.inputs += 1
    report.slowest = max(report.slowest, time.perf_counter() - start_time)


def attempt_many(target: Target, seed: int, inputs: int, notify: Callable[[int], None] = lambda done: None) -> Report:
    """Try `inputs` inputs of a target."""
    report = Report(target.name)
    for number in range(inputs):
        attempt(report, target.check, input_of(target, seed, number))
        notify(report.inputs)
    report.peak_mib = peak_mib()
    return report


def peak_mib() -> float:
    """Return the peak memory of this process."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def limit_memory() -> None:
    """Make excessive use of memory a MemoryError instead of exhausting the machine."""
    try:
        used_memory = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    except OSError:
        return
    resource.setrlimit(resource.RLIMIT_AS, (used_memory + SPARE_MEMORY, resource.RLIM_INFINITY))


@contextmanager
def _deadline() -> Iterator[None]:
    def end(number: int, frame: FrameType | None) -> None:
        raise HangError(f"more than {SECONDS_PER_INPUT:.0f} s")

    previous_handler = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, SECONDS_PER_INPUT)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous_handler)
