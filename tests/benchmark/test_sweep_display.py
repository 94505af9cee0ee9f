"""The display of a sweep: counts, and a time left that is weighted by expected run time."""

import contextlib
import fcntl
import os
import pty
import re
import struct
import sys
import termios

import pytest

from benchmark import observer as sweep_display
from benchmark.execution.run_result import RunResult
from benchmark.observer import SECONDS_OF_SILENCE, SweepDisplay
from benchmark.plan.runs import duration


class Clock:
    """A substitute for the module `time`."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    fake = Clock()
    monkeypatch.setattr(sweep_display, "time", fake)
    return fake


def started(runs: int, skipped: int, seconds: float) -> SweepDisplay:
    display = SweepDisplay()
    display.started(runs, skipped, seconds)
    return display


def finish(display: SweepDisplay, seconds: float, *, error: str = "", is_reused: bool = False) -> None:
    """Count a run that was expected to take `seconds`."""
    display.run_done(None, RunResult(0, 1, "here", error=error), seconds, is_reused=is_reused)  # type: ignore[arg-type]


def test_copied_runs_and_compilation_are_not_part_of_the_time_estimate(clock: Clock):
    display = started(runs=14, skipped=0, seconds=14.0)
    for _ in range(3):
        finish(display, 1.0, is_reused=True)
    clock.now += 90.0
    finish(display, 1.0)
    assert display.seconds_left() is None
    for _ in range(5):
        clock.now += 1.0
        finish(display, 1.0)
    assert display.seconds_left() == pytest.approx(5.0)


def test_progress_lines_show_counts_and_the_last_one_shows_no_remaining_time(
    clock: Clock, capsys: pytest.CaptureFixture[str]
):
    display = started(runs=3, skipped=4, seconds=30.0)
    for error in ("", "failed", ""):
        clock.now += 10.0
        finish(display, 10.0, error=error)
    display.ended()
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "1 of 3 runs done, 0 failed, 4 skipped"
    assert lines[1] == "2 of 3 runs done, 1 failed, 4 skipped, 10 s left"
    assert lines[-1] == "3 of 3 runs done, 1 failed, 4 skipped"


def test_a_line_is_printed_after_a_long_time_without_results(clock: Clock, capsys: pytest.CaptureFixture[str]):
    display = started(runs=3, skipped=0, seconds=30.0)
    clock.now += SECONDS_OF_SILENCE - 1
    display.tick()
    assert capsys.readouterr().err == ""
    clock.now += 2
    display.tick()
    display.tick()
    assert capsys.readouterr().err == "0 of 3 runs done, 0 failed, 0 skipped\n"


@pytest.mark.parametrize(("columns", "is_bar"), [(0, False), (80, True)])
def test_a_terminal_without_a_size_gets_lines(columns: int, is_bar: bool, monkeypatch: pytest.MonkeyPatch):
    main_end, its_end = pty.openpty()
    fcntl.ioctl(its_end, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    with os.fdopen(its_end, "w") as terminal:
        monkeypatch.setattr(sys, "stderr", terminal)
        display = started(runs=1, skipped=0, seconds=1.0)
        finish(display, 1.0)
        display.ended()
        monkeypatch.undo()
    shown = b""
    with contextlib.suppress(OSError):  # the other end is closed
        while chunk := os.read(main_end, 65_536):
            shown += chunk
    os.close(main_end)
    assert (re.search(rb"100%\|.* 1 of 1 runs, 00:\d\d, 0 failed, 0 skipped", shown) is not None) == is_bar
    assert (b"1 of 1 runs done" in shown) != is_bar


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.4, "0 s"), (119, "119 s"), (150, "2 min"), (7_000, "117 min"), (11_100, "3 h 5 min")]
)
def test_durations_are_formatted_for_display(seconds: float, text: str):
    assert duration(seconds) == text
