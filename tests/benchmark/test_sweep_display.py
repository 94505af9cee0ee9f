"""What a sweep shows of itself: counts, and a time left that is told by work and not by runs."""

import contextlib
import fcntl
import os
import pty
import struct
import sys
import termios

import pytest

from benchmark import sweep_display
from benchmark.estimate import duration
from benchmark.sweep_display import SECONDS_OF_SILENCE, SweepDisplay


class Clock:
    """Stands in for the module `time`."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(sweep_display, "time", made)
    return made


def test_short_runs_first_do_not_make_the_rest_look_short(clock: Clock):
    display = SweepDisplay(total=12, skipped=0, work=10 * 1.0 + 2 * 100.0)
    for _ in range(10):
        clock.now += 2.0
        display.count(failed=False, work=1.0)
    assert display.seconds_left() == pytest.approx(200 * 2.0)


def test_the_compilation_before_the_first_run_is_not_taken_for_slowness(clock: Clock):
    display = SweepDisplay(total=11, skipped=0, work=11.0)
    clock.now += 90.0
    display.count(failed=False, work=1.0)
    assert display.seconds_left() is None
    for _ in range(5):
        clock.now += 1.0
        display.count(failed=False, work=1.0)
    assert display.seconds_left() == pytest.approx(5.0)


def test_lines_say_what_is_done_and_the_end_tells_no_time_left(clock: Clock, capsys: pytest.CaptureFixture[str]):
    display = SweepDisplay(total=3, skipped=4, work=30.0)
    for failed in (False, True, False):
        clock.now += 10.0
        display.count(failed, work=10.0)
    display.close()
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "1 of 3 runs: 1 done, 0 failed, 4 skipped"
    assert lines[1] == "2 of 3 runs: 1 done, 1 failed, 4 skipped, 10 s left"
    assert lines[-1] == "3 of 3 runs: 2 done, 1 failed, 4 skipped"


def test_a_long_silence_is_broken(clock: Clock, capsys: pytest.CaptureFixture[str]):
    display = SweepDisplay(total=3, skipped=0, work=30.0)
    clock.now += SECONDS_OF_SILENCE - 1
    display.refresh()
    assert capsys.readouterr().err == ""
    clock.now += 2
    display.refresh()
    display.refresh()
    assert capsys.readouterr().err == "0 of 3 runs: 0 done, 0 failed, 0 skipped\n"


@pytest.mark.parametrize(("columns", "is_bar"), [(0, False), (80, True)])
def test_a_terminal_without_a_size_gets_lines(columns: int, is_bar: bool, monkeypatch: pytest.MonkeyPatch):
    main_end, its_end = pty.openpty()
    fcntl.ioctl(its_end, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    with os.fdopen(its_end, "w") as terminal:
        monkeypatch.setattr(sys, "stderr", terminal)
        display = SweepDisplay(total=1, skipped=0, work=1.0)
        display.count(failed=False, work=1.0)
        display.close()
        monkeypatch.undo()
    shown = b""
    with contextlib.suppress(OSError):  # the other end is closed
        while chunk := os.read(main_end, 65_536):
            shown += chunk
    os.close(main_end)
    assert (b"100%|" in shown) == is_bar
    assert (b"1 of 1 runs: 1 done" in shown) != is_bar


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.4, "0 s"), (119, "119 s"), (150, "2 min"), (7_000, "117 min"), (11_100, "3 h 5 min")]
)
def test_times_are_written_as_people_say_them(seconds: float, text: str):
    assert duration(seconds) == text
