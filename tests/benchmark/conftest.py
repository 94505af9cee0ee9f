"""Worker processes for all sweeps of a test process, and the command in this process."""

from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from benchmark.__main__ import main
from benchmark.execution.local import LocalExecutor

Command = Callable[..., "CompletedProcess[str]"]


@pytest.fixture(scope="session")
def workers() -> Iterator[LocalExecutor]:
    """Two worker processes, which start once."""
    with LocalExecutor(2) as executor:
        yield executor


@pytest.fixture
def fedbandit_here(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """The command as `tiny_sweeps.fedbandit`, but in this process, which saves the time to start one."""

    def run(folder: Path, *arguments: str, **variables: str) -> "CompletedProcess[str]":
        monkeypatch.chdir(folder)
        for name in ("MLFLOW_TRACKING_URI", "FEDBANDIT_DEBUG"):
            monkeypatch.delenv(name, raising=False)
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        capsys.readouterr()
        code = main(arguments)
        texts = capsys.readouterr()
        return CompletedProcess(arguments, code, texts.out, texts.err)

    return run
