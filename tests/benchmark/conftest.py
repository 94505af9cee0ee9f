"""Files of a user."""

from pathlib import Path

import pytest

from tests.benchmark.tiny_sweeps import RUNS, fedbandit, write_tiny


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


@pytest.fixture(scope="session")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the tiny experiment was run with two jobs, by the command in a process of its own."""
    folder = tmp_path_factory.mktemp("swept")
    done = fedbandit(folder, "run", write_tiny(folder), "--jobs", "2")
    assert done.returncode == 0, done.stderr
    assert f"{RUNS} of {RUNS} runs done, 0 failed, 0 skipped" in done.stderr
    assert "Simulation, uniform clients: regret, lower is better (2 seeds)" in done.stdout
    assert max(map(len, done.stdout.splitlines()[:-3])) <= 80  # the last lines have paths
    assert "fedbandit ui" in done.stdout
    assert "Traceback" not in done.stderr
    return folder
