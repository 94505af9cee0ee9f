"""The live display of a sweep: a bar on a terminal, plain lines elsewhere."""

import sys
import time

SECONDS_BETWEEN_LINES = 5.0


class SweepDisplay:
    """Shows runs done, failed and skipped, the rate and the time left."""

    def __init__(self, total: int, skipped: int) -> None:
        self.total, self.skipped, self.done, self.failed = total, skipped, 0, 0
        self._started = self._last_line = time.monotonic()
        self._bar = None
        if sys.stderr.isatty() and total:
            from tqdm import tqdm

            self._bar = tqdm(total=total, unit="run", file=sys.stderr, dynamic_ncols=True)
            self._bar.set_postfix_str(self._counts())

    def count(self, failed: bool) -> None:
        """Count one more run."""
        self.done += not failed
        self.failed += failed
        if self._bar is not None:
            self._bar.set_postfix_str(self._counts(), refresh=False)
            self._bar.update()
        elif (now := time.monotonic()) - self._last_line >= SECONDS_BETWEEN_LINES:
            self._last_line = now
            self._print_line()

    def close(self) -> None:
        """End the display with the last state."""
        if self._bar is not None:
            self._bar.close()
        elif self.total:
            self._print_line()

    def _counts(self) -> str:
        return f"{self.failed} failed, {self.skipped} skipped"

    def _print_line(self) -> None:
        over = self.done + self.failed
        rate = over / max(time.monotonic() - self._started, 1e-9)
        left = f", {(self.total - over) / rate:,.0f} s left" if rate and over < self.total else ""
        print(
            f"{over} of {self.total} runs: {self.done} done, {self._counts()}, {rate:.1f} runs/s{left}",
            file=sys.stderr,
            flush=True,
        )
