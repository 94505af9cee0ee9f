"""No test sees what a user has in the clone: prepared data, stored runs and reports, as `make benchmark` makes them.

Tests run in an empty folder, so the defaults of the product, which are relative, lead there. A test, or a Python
process that it starts, that opens a file of the user nevertheless is noted, and fails.
"""

import os
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

from tests.isolation import sitecustomize
from tests.isolation.sitecustomize import FORBIDDEN, NOTES

FROM_THE_USER = ("MLFLOW_TRACKING_URI", "FEDBANDIT_DATA", "FEDBANDIT_OFFLINE", "FEDBANDIT_DEBUG")
"""Variables that would lead tests to the user's files, or change what commands print."""

OF_THE_USER = ("data", "mlflow.db", "mlartifacts", "reports/output", "recommendations")
"""What commands read or make in the folder in which a user runs them."""


def isolate(folders: Iterable[Path]) -> Path:
    """Go to an empty folder and forbid what users have in these folders, also for processes started from now on."""
    empty = Path(tempfile.mkdtemp(prefix="fedbandit-tests-"))
    (empty / "here").mkdir()
    os.environ[FORBIDDEN] = os.pathsep.join(str(folder / name) for folder in folders for name in OF_THE_USER)
    os.environ[NOTES] = str(empty / "opened.txt")
    paths = (str(Path(__file__).parent), os.environ.get("PYTHONPATH"))
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
    for name in FROM_THE_USER:
        os.environ.pop(name, None)
    sitecustomize.watch()
    os.chdir(empty / "here")
    return empty


def opened() -> list[str]:
    """Return the forbidden paths that have been opened since the last call."""
    notes = Path(os.environ[NOTES])
    if not notes.exists():
        return []
    paths = notes.read_text().splitlines()
    notes.unlink()
    return paths


def left_here(empty: Path) -> list[str]:
    """Return what is in the folder in which tests run, and remove it."""
    paths = sorted((empty / "here").iterdir())
    for path in paths:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    return [path.name for path in paths]
