"""Worker processes for all sweeps of a test process, and the command in this process."""

from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from benchmark.__main__ import main
from benchmark.execution.local import LocalExecutor
from tests.benchmark.tiny_sweeps import write_tiny

Command = Callable[..., "CompletedProcess[str]"]


@pytest.fixture(scope="session")
def workers() -> Iterator[LocalExecutor]:
    """Two worker processes, which start once."""
    with LocalExecutor(2) as executor:
        yield executor


def write_purchases(folder: Path) -> Path:
    """Twelve users and forty items, 300 rows."""
    lines = [f"u{row % 12},i{(row * row + row // 12) % 40},2024-01-{1 + row % 28:02}" for row in range(300)]
    path = folder / "purchases.csv"
    path.write_text("\n".join(["customer,sku,date", *lines]) + "\n")
    return path


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's folder with an empty store, an experiment and a file of purchases."""
    monkeypatch.setenv("FEDBANDIT_DATA", str(tmp_path / "data"))
    write_tiny(tmp_path)
    write_purchases(tmp_path)
    return tmp_path


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
