import os
import pty
import subprocess
import sys
import termios

from data_pipelines import progress as progress_module
from data_pipelines.progress import progress

SHOW = """
import time
from data_pipelines.progress import progress
with progress("downloading x", 100_000_000) as shown:
    for _ in range(8):
        time.sleep(0.15)
        shown.update(10_000_000)
"""


def test_without_a_terminal_there_are_plain_lines_with_rate_and_time_left(capsys, monkeypatch):
    monkeypatch.setattr(progress_module, "SECONDS_BETWEEN_LINES", 0.0)
    with progress("downloading x", 4_000_000, done=1_000_000) as shown:
        shown.update(1_000_000)
    line = capsys.readouterr().err
    assert line.startswith("downloading x: 2.0 MB, ")
    assert "MB/s, 50% of 4.0 MB, " in line
    assert line.endswith(" s left\n")


def test_what_is_over_soon_says_nothing(capsys):
    with progress("reading x", None) as shown:
        shown.update(10)
    assert capsys.readouterr().err == ""


def test_a_terminal_gets_a_bar_with_rate_and_time_left():
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 100))
    process = subprocess.Popen([sys.executable, "-c", SHOW], stderr=theirs)
    os.close(theirs)
    seen = b""
    while True:
        try:
            block = os.read(ours, 4_096)
        except OSError:  # how Linux says that the other end is closed
            break
        if not block:
            break
        seen += block
    os.close(ours)
    assert process.wait() == 0
    text = seen.decode()
    assert "downloading x:" in text
    assert "B/s" in text
    assert "<00:0" in text  # tqdm's time left
