"""The command `fedbandit`."""

import subprocess
import sys
from pathlib import Path

import pytest

from benchmark.__main__ import main
from benchmark.commands import list as list_command


def test_help_shows_the_commands_and_examples(capsys: pytest.CaptureFixture[str]) -> None:
    for argv, expected in ((["--help"], "doctor"), (["run", "--help"], "Examples:")):
        with pytest.raises(SystemExit) as stop:
            main(argv)
        assert stop.value.code == 0
        assert expected in capsys.readouterr().out


def test_an_unknown_command_gives_one_line_and_exit_code_2() -> None:
    done = subprocess.run([sys.executable, "-m", "benchmark", "nonsense"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "invalid choice: 'nonsense'" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_misspelt_command_gives_a_suggestion(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["reprot"])
    assert stop.value.code == 2
    assert "invalid choice: 'reprot' (did you mean report?); expected one of: board, " in capsys.readouterr().err


def test_bad_input_gives_one_line_and_exit_code_2(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: object) -> int:
        raise ValueError("gamma must be a number from 1 to inf, got 0")

    monkeypatch.setattr(list_command, "run", refuse)
    monkeypatch.delenv("FEDBANDIT_DEBUG", raising=False)
    assert main(["list"]) == 2
    assert capsys.readouterr().err == "fedbandit: error: gamma must be a number from 1 to inf, got 0\n"


def test_a_reader_that_closes_the_pipe_is_not_an_error(tmp_path: Path):
    script = f"{sys.executable} -m benchmark list | head -1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout == "experiments (fedbandit run NAME)\n"
    assert (done.stderr, done.returncode) in [
        ("", 141),
        ("", 0),
    ]  # 0 if the whole output was written before `head` ended
