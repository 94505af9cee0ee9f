"""Limits of one run: `--run-timeout` and `--memory-limit`.

A compiled kernel cannot be interrupted, so a thread beside the run ends the whole process of the worker. It first
passes on the reason, with which the run is recorded as FAILED; other runs of the process are repeated.
"""

import math
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass

import psutil

SECONDS_BETWEEN_LOOKS = 0.1
GIB = 1 << 30

Guard = Callable[[], AbstractContextManager[None]]
"""Makes the context in which a run is executed."""

unlimited: Guard = nullcontext


@dataclass(frozen=True)
class Limits:
    """What one run may use.

    Args:
        seconds: its time, without compilation and the building of its stream.
        gib: the memory of its worker process, in GiB.
    """

    seconds: float = math.inf
    gib: float = math.inf

    def __bool__(self) -> bool:
        """Return whether there is any limit."""
        return self != NO_LIMITS

    def guard(self, report: Callable[[str], None]) -> Guard:
        """Return a context that ends this process if its block is over a limit, after a call of `report`."""
        return lambda: self._watched(report)

    @contextmanager
    def _watched(self, report: Callable[[str], None]) -> Iterator[None]:
        is_done = threading.Event()
        threading.Thread(target=self._watch, args=(is_done, report), daemon=True).start()
        try:
            yield
        finally:
            is_done.set()

    def _watch(self, is_done: threading.Event, report: Callable[[str], None]) -> None:
        process, start = psutil.Process(), time.monotonic()
        while not is_done.wait(SECONDS_BETWEEN_LOOKS):
            if time.monotonic() - start > self.seconds:
                reason = f"it took longer than --run-timeout {self.seconds:g}, in seconds"
            elif (used := process.memory_info().rss / GIB) > self.gib:
                reason = f"its worker process used {used:.2f} GiB, more than --memory-limit {self.gib:g}"
            else:
                continue
            report(reason)
            os._exit(1)


NO_LIMITS = Limits()
