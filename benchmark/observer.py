"""Observers receive the progress of a sweep. The terminal is one observer; a notebook or a server may have another."""

import os
import sys
import time
from typing import TYPE_CHECKING, Any

from data_pipelines.support.text import wrapped

if TYPE_CHECKING:
    from benchmark.execution.run_result import RunResult
    from benchmark.plan.runs import Run

SECONDS_BETWEEN_LINES = 5.0
SECONDS_OF_SILENCE = 30.0
SECONDS_TO_MEASURE = 3.0
"""Seconds from the first result until the remaining time is estimated."""


class Observer:
    """Receives the progress of a sweep, in the thread that runs it, and ignores it; a subclass must not raise."""

    def started(self, runs: int, skipped: int, seconds: float) -> None:
        """A sweep starts: `runs` runs, estimated to take `seconds` on one core; `skipped` runs were finished before."""

    def note(self, text: str) -> None:
        """Receive a line for the user, such as `Compiling …`; some come before the sweep starts."""

    def run_done(self, run: "Run", result: "RunResult", seconds: float, *, is_reused: bool) -> None:
        """A run is recorded.

        Args:
            run: the run of one experiment.
            result: its metrics and files, or its error.
            seconds: how long it was expected to take; 0 if it was already counted for another experiment.
            is_reused: whether it was copied from another experiment instead of run.
        """

    def tick(self) -> None:
        """Called several times per second while the sweep runs."""

    def ended(self) -> None:
        """The sweep has ended, for any reason."""


silent = Observer()


class SweepDisplay(Observer):
    """Shows runs done, failed and skipped, and the time left: a bar on a terminal, plain lines elsewhere.

    Runs differ in length by a factor of twenty, so progress is weighted by expected run time. The time before the first
    result, in which kernels are compiled and data are read, does not count, nor do runs that are copied. One display
    can show several sweeps, one after the other.
    """

    _bar: Any = None

    def started(self, runs: int, skipped: int, seconds: float) -> None:
        """Show that nothing is done yet."""
        self.total, self.skipped, self._seconds_expected = runs, skipped, seconds
        self.done = self.failed = 0
        self._seconds_measured = 0.0
        self._first: float | None = None
        self._last_line, self._last_count = time.monotonic(), -1
        # In some containers a terminal has no size, and a bar would not be visible.
        if sys.stderr.isatty() and os.get_terminal_size(sys.stderr.fileno()).columns > 0:
            from tqdm import tqdm

            shape = "{percentage:3.0f}%|{bar}| {n_fmt} of {total_fmt} runs, {elapsed}{postfix}"
            self._bar = tqdm(total=runs, file=sys.stderr, dynamic_ncols=True, bar_format=shape)
            self._bar.set_postfix_str(self._counts())

    def note(self, text: str) -> None:
        """Print a text that stays."""
        if self._bar is not None:
            self._bar.write(wrapped(text, ""), file=sys.stderr)
        else:
            print(wrapped(text, ""), file=sys.stderr, flush=True)

    def run_done(self, run: "Run", result: "RunResult", seconds: float, *, is_reused: bool) -> None:
        """Count one more run."""
        self.done += not result.error
        self.failed += bool(result.error)
        now = time.monotonic()
        self._seconds_expected = max(self._seconds_expected - seconds, 0.0)
        if self._first is not None:
            self._seconds_measured += seconds
        elif not is_reused:
            self._first = now
        if self._bar is not None:
            self._bar.set_postfix_str(self._counts(), refresh=False)
            self._bar.update()
        elif now - self._last_line >= SECONDS_BETWEEN_LINES:
            self._print_line()

    def tick(self) -> None:
        """Refresh the elapsed time while no run ends."""
        silence = time.monotonic() - self._last_line
        if self._bar is not None and silence >= 1.0:
            self._last_line = time.monotonic()
            self._bar.refresh()
        elif self._bar is None and silence >= SECONDS_OF_SILENCE:
            self._print_line()

    def ended(self) -> None:
        """Show the last state."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None
        elif self.done + self.failed != self._last_count:
            self._print_line()

    def seconds_left(self) -> float | None:
        """Return the time left at the speed measured so far; None before it is known."""
        if self._first is None or not self._seconds_measured:
            return None
        passed = time.monotonic() - self._first
        return self._seconds_expected * passed / self._seconds_measured if passed > SECONDS_TO_MEASURE else None

    def _counts(self) -> str:
        from benchmark.plan.runs import duration

        counts = f"{self.failed} failed, {self.skipped} skipped"
        left = self.seconds_left() if self.done + self.failed < self.total else None
        return counts if left is None else f"{counts}, {duration(left)} left"

    def _print_line(self) -> None:
        self._last_line = time.monotonic()
        count = self._last_count = self.done + self.failed
        print(f"{count} of {self.total} runs done, {self._counts()}", file=sys.stderr, flush=True)
