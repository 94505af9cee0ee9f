"""How far a report is: a bar on a terminal, plain lines every few seconds elsewhere."""

import sys
import time

SECONDS_BETWEEN_LINES = 5.0


class Display:
    """Counts steps of a known number, with the time left."""

    def __init__(self, total: int) -> None:
        self._total, self._done, self._now = total, 0, ""
        self._started = self._last_line = time.monotonic()
        self._bar = None
        if sys.stderr.isatty():
            from tqdm import tqdm

            self._bar = tqdm(total=total, unit="step", file=sys.stderr, dynamic_ncols=True, leave=False, delay=0.5)

    def more(self, steps: int) -> None:
        """Add to the number of steps."""
        self._total += steps
        if self._bar is not None:
            self._bar.total = self._total

    def count(self, what: str) -> None:
        """Count a step as done, and name it."""
        self._done += 1
        if self._bar is not None:
            self._bar.set_description_str(what, refresh=False)
            self._bar.update()
            return
        now = time.monotonic()
        if now - self._last_line >= SECONDS_BETWEEN_LINES:
            self._last_line = now
            left = (self._total - self._done) * (now - self._started) / self._done
            print(
                f"report: {self._done} of {self._total} steps, {what}, {left:,.0f} s left", file=sys.stderr, flush=True
            )

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.close()
