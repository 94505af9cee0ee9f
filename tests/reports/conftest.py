"""Fixtures of the tests of the reports: a store and a data set made by hand."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from filelock import FileLock

from reports.read.results import Results, read_results
from tests.benchmark.tiny_sweeps import empty_database
from tests.reports.hand_made import HandMade, write_data, write_fig_a, write_user_groups


@pytest.fixture(autouse=True)
def _no_settings_of_the_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("MLFLOW_TRACKING_URI", "FEDBANDIT_DEBUG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("FEDBANDIT_DATA", str(tmp_path / "data"))


@pytest.fixture(autouse=True, scope="session")
def _five_users_are_enough() -> Iterator[None]:
    """The data set made by hand has five users, whose numbers are easy to check; a report needs more to show groups."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("reports.analysis.users.MIN_USERS", 5)
        yield


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The database of an empty store, made once for all test processes."""
    return once(tmp_path_factory, "empty", lambda folder: shutil.copy(empty_database(), folder)) / "mlflow.db"


@pytest.fixture(scope="session")
def hand_made(tmp_path_factory: pytest.TempPathFactory, empty_store: Path) -> HandMade:
    """Figure a with two seeds, and user groups on reconstructed data; tests must not write to it."""

    def write(folder: Path) -> None:
        store = HandMade(folder, empty_store)
        write_fig_a(store)
        write_user_groups(store, write_data(folder / "data"))

    return HandMade(once(tmp_path_factory, "hand_made", write))


def once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """Let the first test process make a folder, and the others wait for it."""
    root = factory.getbasetemp()
    root = root.parent if "PYTEST_XDIST_WORKER" in os.environ else root
    folder, ready = root / f"shared_{name}", root / f"shared_{name}.ready"
    with FileLock(root / f"shared_{name}.lock"):
        if not ready.exists():
            folder.mkdir()
            make(folder)
            ready.touch()
    return folder


@pytest.fixture
def results(hand_made: HandMade) -> Results:
    return read_results(hand_made.uri, hand_made.folder / "data")


@pytest.fixture
def fresh(tmp_path: Path, empty_store: Path) -> HandMade:
    """An empty store."""
    return HandMade(tmp_path, empty_store)
