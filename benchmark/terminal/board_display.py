"""The progress of boards on a terminal: the display of each sweep, and the time left for all boards."""

import sys
import time
from collections.abc import Sequence

from benchmark.execution.run_result import RunResult
from benchmark.plan.estimate import duration
from benchmark.plan.plan import Run
from benchmark.terminal.sweep_display import SweepDisplay

MIN_SECONDS = 10.0
"""Seconds of run time after which the time left is estimated."""


class BoardDisplay:
    """Shows one sweep after the other; `seconds` are those that each board is expected to take at most."""

    def __init__(self, seconds: Sequence[float]) -> None:
        self._sweep = SweepDisplay()
        self._boards = list(seconds)
        self._done = self._wall = 0.0
        self._started: float | None = None

    def started(self, runs: int, skipped: int, seconds: float) -> None:
        """Start the display of a sweep, and print the time left for all boards if it is known."""
        if (left := self.seconds_left()) is not None:
            print(f"at most {duration(left)} left", file=sys.stderr, flush=True)
        self._started = time.monotonic()
        self._sweep = SweepDisplay()
        self._sweep.started(runs, skipped, seconds)

    def note(self, text: str) -> None:
        """Print a line that stays."""
        self._sweep.note(text)

    def run_done(self, run: Run, result: RunResult, seconds: float, *, is_reused: bool) -> None:
        """Count one more run."""
        self._done += 0.0 if is_reused else seconds
        if self._boards:
            self._boards[0] = max(0.0, self._boards[0] - seconds)
        self._sweep.run_done(run, result, seconds, is_reused=is_reused)

    def tick(self) -> None:
        """Refresh the display."""
        self._sweep.tick()

    def ended(self) -> None:
        """Show the last state of a sweep."""
        self._wall += time.monotonic() - (self._started or time.monotonic())
        self._sweep.ended()
        self._sweep = SweepDisplay()

    def board_done(self) -> None:
        """Drop the remaining expected time of a board that is done."""
        self._boards = self._boards[1:]

    def seconds_left(self) -> float | None:
        """Return the time left for all boards, at the speed so far; None before it is known."""
        return sum(self._boards) * self._wall / self._done if self._done and self._wall > MIN_SECONDS else None
