import os
import pty
import subprocess
import sys
import termios

from data_pipelines.support import progress as progress_module
from data_pipelines.support.progress import counted, progress

SHOW = """
import time
from data_pipelines.support.progress import progress
with progress("downloading x", 100_000_000) as reporter:
    for _ in range(8):
        time.sleep(0.15)
        reporter.update(10_000_000)
"""


def test_without_a_terminal_progress_is_plain_lines_with_rate_and_remaining_time(capsys, monkeypatch):
    monkeypatch.setattr(progress_module, "SECONDS_BETWEEN_LINES", 0.0)
    with progress("downloading x", 4_000_000, done=1_000_000) as reporter:
        reporter.update(1_000_000)
    line = capsys.readouterr().err
    assert line.startswith("downloading x: 2.0 MB, ")
    assert "MB/s, 50% of 4.0 MB, " in line
    assert line.endswith(" s left\n")


def test_counted_items_are_shown_in_their_own_unit(capsys, monkeypatch):
    monkeypatch.setattr(progress_module, "SECONDS_BETWEEN_LINES", 0.0)
    assert list(counted(["a", "b"], "report", "figures")) == ["a", "b"]
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith("report: 1 figures, 50% of 2 figures, ")
    assert second == "report: 2 figures, 100% of 2 figures, 0 s left"


def test_a_short_task_prints_nothing(capsys):
    with progress("reading x", None) as reporter:
        reporter.update(10)
    assert capsys.readouterr().err == ""


def test_a_terminal_shows_a_bar_with_rate_and_remaining_time():
    our_end, their_end = pty.openpty()
    termios.tcsetwinsize(their_end, (24, 100))
    process = subprocess.Popen([sys.executable, "-c", SHOW], stderr=their_end)
    os.close(their_end)
    output = b""
    while True:
        try:
            block = os.read(our_end, 4_096)
        except OSError:  # Linux: the other end is closed
            break
        if not block:
            break
        output += block
    os.close(our_end)
    assert process.wait() == 0
    text = output.decode()
    assert "downloading x:" in text
    assert "B/s" in text
    assert "<00:0" in text  # tqdm's remaining time
