"""The live display of a sweep: a bar on a terminal, plain lines elsewhere."""

import os
import sys
import time

from benchmark.estimate import duration

SECONDS_BETWEEN_LINES = 5.0
SECONDS_OF_SILENCE = 30.0
SECONDS_TO_MEASURE = 3.0
"""For so long after the first run came back no time left is told: it would be a guess."""


class SweepDisplay:
    """Shows runs done, failed and skipped, and the time left.

    Runs differ in length by a factor of twenty, so time is told by work: the seconds that each was expected to take.
    What passes before the first run comes back, while kernels are compiled and data are read, is no measure of speed.

    Args:
        total: how many runs there are.
        skipped: how many more were done already.
        work: the seconds that all of them together are expected to take.
    """

    def __init__(self, total: int, skipped: int, work: float) -> None:
        self.total, self.skipped, self.done, self.failed = total, skipped, 0, 0
        self._work_left, self._work_measured = work, 0.0
        self._first: float | None = None
        self._last_line = time.monotonic()
        self._bar = None
        if total and _has_room_for_a_bar():
            from tqdm import tqdm

            shape = "{percentage:3.0f}%|{bar}| {n_fmt} of {total_fmt} runs, {elapsed}{postfix}"
            self._bar = tqdm(total=total, file=sys.stderr, dynamic_ncols=True, bar_format=shape)
            self._bar.set_postfix_str(self._counts())

    def say(self, text: str) -> None:
        """Print a line that stays."""
        if self._bar is not None:
            self._bar.write(text, file=sys.stderr)
        else:
            print(text, file=sys.stderr, flush=True)

    def count(self, failed: bool, work: float = 0.0) -> None:
        """Count one more run, which was expected to take `work` seconds."""
        self.done += not failed
        self.failed += failed
        now = time.monotonic()
        self._work_left = max(self._work_left - work, 0.0)
        if self._first is None:
            self._first = now
        else:
            self._work_measured += work
        if self._bar is not None:
            self._bar.set_postfix_str(self._counts(), refresh=False)
            self._bar.update()
        elif now - self._last_line >= SECONDS_BETWEEN_LINES:
            self._print_line()

    def refresh(self) -> None:
        """Show that time passes, though no run came back."""
        silent = time.monotonic() - self._last_line
        if self._bar is not None and silent >= 1.0:
            self._last_line = time.monotonic()
            self._bar.refresh()
        elif self._bar is None and silent >= SECONDS_OF_SILENCE:
            self._print_line()

    def close(self) -> None:
        """End the display with the last state."""
        if self._bar is not None:
            self._bar.close()
        elif self.total:
            self._print_line()

    def seconds_left(self) -> float | None:
        """Return the time left at the speed measured so far; None before there is one."""
        if self._first is None or not self._work_measured:
            return None
        passed = time.monotonic() - self._first
        return self._work_left * passed / self._work_measured if passed > SECONDS_TO_MEASURE else None

    def _counts(self) -> str:
        counts = f"{self.failed} failed, {self.skipped} skipped"
        left = self.seconds_left() if self.done + self.failed < self.total else None
        return counts if left is None else f"{counts}, {duration(left)} left"

    def _print_line(self) -> None:
        self._last_line = time.monotonic()
        over = self.done + self.failed
        print(f"{over} of {self.total} runs: {self.done} done, {self._counts()}", file=sys.stderr, flush=True)


def _has_room_for_a_bar() -> bool:
    """Tell whether this is a terminal; those of some containers have no size, and a bar would not be seen."""
    return sys.stderr.isatty() and os.get_terminal_size(sys.stderr.fileno()).columns > 0
