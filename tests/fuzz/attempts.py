"""One input after the other, each with a deadline: what came of them."""

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

SECONDS_AN_INPUT = 10.0
SPARE_MEMORY = 3 << 30
"""Bytes of address space that a target may take beside what its libraries took."""
MOST_FAILURES = 20


class HangError(BaseException):
    """An input that took too long; not an Exception, so that no reader takes it for a damaged file."""


@dataclass(frozen=True)
class Failure:
    """An input that was neither rightly accepted nor clearly refused."""

    number: int
    what: str
    content: bytes


@dataclass
class Report:
    """What came of the inputs of one target."""

    name: str
    inputs: int = 0
    accepted: int = 0
    refused: int = 0
    failed: int = 0
    failures: list[Failure] = field(default_factory=list)
    slowest: float = 0.0
    peak_mib: float = 0.0


def input_of(target: Target, seed: int, number: int) -> bytes:
    """Make an input again by its number."""
    return target.make(random.Random(f"{seed}/{target.name}/{number}"))


def attempt(report: Report, check: Callable[[bytes], bool], content: bytes) -> None:
    """Try one input and count what came of it."""
    started = time.perf_counter()
    try:
        with _deadline():
            if check(content):
                report.accepted += 1
            else:
                report.refused += 1
    except (Exception, HangError) as error:
        report.failed += 1
        if len(report.failures) < MOST_FAILURES:
            where = traceback.extract_tb(error.__traceback__)[-1]
            what = f"{type(error).__name__}: {error}"[:400] + f" ({where.filename.rpartition('/')[2]}:{where.lineno})"
            report.failures.append(Failure(report.inputs, what, content))
    report.inputs += 1
    report.slowest = max(report.slowest, time.perf_counter() - started)


def attempt_many(target: Target, seed: int, inputs: int, tell: Callable[[int], None] = lambda done: None) -> Report:
    """Try that many inputs of a target."""
    report = Report(target.name)
    for number in range(inputs):
        attempt(report, target.check, input_of(target, seed, number))
        tell(report.inputs)
    report.peak_mib = peak_mib()
    return report


def peak_mib() -> float:
    """Return the most memory that this process ever took."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def limit_memory() -> None:
    """Let a bomb end in a MemoryError instead of taking the machine with it."""
    try:
        taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    except OSError:
        return
    resource.setrlimit(resource.RLIMIT_AS, (taken + SPARE_MEMORY, resource.RLIM_INFINITY))


@contextmanager
def _deadline() -> Iterator[None]:
    def end(number: int, frame: FrameType | None) -> None:
        raise HangError(f"more than {SECONDS_AN_INPUT:.0f} s")

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, SECONDS_AN_INPUT)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
