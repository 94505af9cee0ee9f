"""Progress with rate and time left: a bar on a terminal, plain lines elsewhere."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

SECONDS_BETWEEN_LINES = 5.0


class Progress(Protocol):
    """Something that can be told how much more is done."""

    def update(self, amount: int, /) -> object:
        """Count `amount` more units as done."""


class PlainLines:
    """For logs: one line every few seconds, none at all for what is over before."""

    def __init__(self, label: str, total: int | None, done: int = 0) -> None:
        self._label, self._total, self._done = label, total, done
        self._at_start, self._started = done, time.monotonic()
        self._last_line = self._started

    def update(self, amount: int, /) -> None:
        """Count `amount` more units, and say so if the last line is some seconds old."""
        self._done += amount
        now = time.monotonic()
        if now - self._last_line >= SECONDS_BETWEEN_LINES:
            self._last_line = now
            print(self._line(now - self._started), file=sys.stderr, flush=True)

    def _line(self, seconds: float) -> str:
        rate = (self._done - self._at_start) / seconds
        line = f"{self._label}: {self._done / 1e6:,.1f} MB, {rate / 1e6:,.2f} MB/s"
        if self._total and rate > 0:
            share, left = self._done / self._total, (self._total - self._done) / rate
            line += f", {share:.0%} of {self._total / 1e6:,.1f} MB, {max(left, 0):,.0f} s left"
        return line


@contextmanager
def progress(label: str, total: int | None, done: int = 0) -> Iterator[Progress]:
    """Show how many bytes of `total` are done while the block runs."""
    if not sys.stderr.isatty():
        yield PlainLines(label, total, done)
        return
    from tqdm import tqdm

    with tqdm(desc=label, total=total, initial=done, unit="B", unit_scale=True, leave=False, delay=0.5) as bar:
        yield bar
