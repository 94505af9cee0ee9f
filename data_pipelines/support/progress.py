"""Progress with rate and remaining time: a bar on a terminal, plain lines elsewhere."""

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol, TypeVar

SECONDS_BETWEEN_LINES = 5.0
BYTES = "B"

Item = TypeVar("Item")


class Progress(Protocol):
    """A progress reporter."""

    def update(self, amount: int, /) -> object:
        """Count `amount` more units as done."""


class PlainLines:
    """For logs: one line every few seconds; short tasks print nothing."""

    def __init__(self, label: str, total: int | None, done: int = 0, unit: str = BYTES) -> None:
        self._label, self._total, self._done, self._unit = label, total, done, unit
        self._at_start, self._started = done, time.monotonic()
        self._last_line = self._started

    def update(self, amount: int, /) -> None:
        """Count `amount` more units, and print a line if the last one is a few seconds old."""
        self._done += amount
        now = time.monotonic()
        if now - self._last_line >= SECONDS_BETWEEN_LINES:
            self._last_line = now
            rate = (self._done - self._at_start) / (now - self._started)
            line = f"{self._label}: {self._amount(self._done)}"
            if self._unit == BYTES:
                line += f", {rate / 1e6:,.2f} MB/s"
            if self._total and rate > 0:
                share, remaining = self._done / self._total, (self._total - self._done) / rate
                line += f", {share:.0%} of {self._amount(self._total)}, {max(remaining, 0):,.0f} s left"
            print(line, file=sys.stderr, flush=True)

    def _amount(self, units: int) -> str:
        return f"{units / 1e6:,.1f} MB" if self._unit == BYTES else f"{units:,} {self._unit}"


@contextmanager
def progress(label: str, total: int | None, done: int = 0, unit: str = BYTES) -> Iterator[Progress]:
    """Show how many bytes, or other units, of `total` are done while the block runs."""
    if not sys.stderr.isatty():
        yield PlainLines(label, total, done, unit)
        return
    from tqdm import tqdm

    scale = unit == BYTES  # only bytes are shown as kB and MB
    with tqdm(desc=label, total=total, initial=done, unit=unit, unit_scale=scale, leave=False, delay=0.5) as bar:
        yield bar


def counted(items: Sequence[Item], label: str, unit: str) -> Iterator[Item]:
    """Yield the items, and show how many of them are done; `unit` is their plural, such as `figures`."""
    with progress(label, len(items), unit=unit) as reporter:
        for item in items:
            yield item
            reporter.update(1)
