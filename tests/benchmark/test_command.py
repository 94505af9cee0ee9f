"""The command `fedbandit`."""

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

from benchmark.__main__ import main
from tests.readme import ROOT


def test_help_shows_the_commands_and_examples(capsys: pytest.CaptureFixture[str]) -> None:
    for argv, expected in ((["--help"], "doctor"), (["run", "--help"], "Examples:")):
        with pytest.raises(SystemExit) as stop:
            main(argv)
        assert stop.value.code == 0
        assert expected in capsys.readouterr().out


def test_help_lists_the_commands_in_the_order_in_which_one_needs_them(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    shown = re.findall(r"^    (\w+)(?:  |\n)", capsys.readouterr().out, re.MULTILINE)
    assert shown[:3] == ["recommend", "compare", "new"]
    assert [shown.index(name) for name in ("data", "run", "report", "ui")] == [4, 5, 6, 7]
    assert shown[-1] == "doctor"
    orders = [importlib.import_module(f"benchmark.commands.{name}").ORDER for name in shown]
    assert orders == sorted(set(orders))


def test_make_help_has_three_groups_that_fit_a_terminal() -> None:
    shown = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    lines = [line for line in shown.splitlines() if not line.startswith("make")]  # of a make that calls it
    assert [line.partition(":")[0] for line in lines if line[0] != " "][:3] == ["Use", "Reproduce", "Develop"]
    assert max(map(len, lines)) <= 80
    targets = {*re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text(), re.MULTILINE)}
    assert {*re.findall(r"^  make ([a-z-]+) ", shown, re.MULTILINE)} == targets


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
