"""The command `fedbandit`."""

import subprocess
import sys
from pathlib import Path

import pytest

from benchmark.__main__ import main


def test_help_shows_the_commands_and_examples(capsys: pytest.CaptureFixture[str]) -> None:
    for argv, expected in ((["--help"], "doctor"), (["run", "--help"], "Examples:")):
        with pytest.raises(SystemExit) as stop:
            main(argv)
        assert stop.value.code == 0
        assert expected in capsys.readouterr().out


def test_a_misspelt_command_gives_a_suggestion(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["reprot"])
    assert stop.value.code == 2
    assert "invalid choice: 'reprot' (did you mean report?); expected one of: board, " in capsys.readouterr().err


def test_a_reader_that_closes_the_pipe_is_not_an_error(tmp_path: Path):
    script = f"{sys.executable} -m benchmark list | head -1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout == "experiments (fedbandit run NAME)\n"
    assert (done.stderr, done.returncode) in [
        ("", 141),
        ("", 0),
    ]  # 0 if the whole output was written before `head` ended
