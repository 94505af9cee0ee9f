"""Observers receive the progress of a sweep. The terminal is one observer; a notebook or a server may have another."""

from typing import Protocol

from benchmark.execution.run_result import RunResult
from benchmark.plan.plan import Run


class Observer(Protocol):
    """Receives the progress of a sweep, in the thread that runs it. It must not raise."""

    def started(self, runs: int, skipped: int, seconds: float) -> None:
        """A sweep starts: `runs` runs, estimated to take `seconds` on one core; `skipped` runs were finished before."""

    def note(self, text: str) -> None:
        """Receive a line for the user, such as `Compiling …`; some come before the sweep starts."""

    def run_done(self, run: Run, result: RunResult, seconds: float, *, is_reused: bool) -> None:
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


class Silent:
    """An observer that ignores everything."""

    def started(self, runs: int, skipped: int, seconds: float) -> None:
        """Ignore it."""

    def note(self, text: str) -> None:
        """Ignore it."""

    def run_done(self, run: Run, result: RunResult, seconds: float, *, is_reused: bool) -> None:
        """Ignore it."""

    def tick(self) -> None:
        """Ignore it."""

    def ended(self) -> None:
        """Ignore it."""


silent = Silent()
