"""Tests see nothing of the user's files; and profiles of Hypothesis.

HYPOTHESIS_PROFILE names the profile to use: `ci` repeats the same examples; `search` looks for new ones; `interpreted`
is short.
"""

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.isolation import NOTES, isolate, left_here, opened

settings.register_profile(
    "ci", max_examples=15, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
settings.register_profile("search", max_examples=1500, deadline=None, suppress_health_check=list(HealthCheck))
settings.register_profile(  # kernels in plain Python (NUMBA_DISABLE_JIT=1) are a thousand times slower
    "interpreted", max_examples=3, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

# A shell that starts the tests in the background lets them ignore Ctrl-C, and all that they start would inherit it.
signal.signal(signal.SIGINT, signal.default_int_handler)

FOLDER = pytest.StashKey[Path]()


def pytest_sessionstart(session: pytest.Session) -> None:
    """Go to an empty folder before tests are collected; the workers of xdist do so themselves."""
    is_controller = session.config.getoption("dist", "no") != "no" and not hasattr(session.config, "workerinput")
    if not is_controller:  # also without the plug-in, which adds the option
        folders = {Path(__file__).resolve().parents[1], session.config.invocation_params.dir.resolve()}
        session.config.stash[FOLDER] = isolate(folders)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Leave the empty folder and remove it."""
    if FOLDER in session.config.stash:
        del os.environ[NOTES]
        os.chdir(session.config.invocation_params.dir)
        shutil.rmtree(session.config.stash[FOLDER])


@pytest.fixture(autouse=True)
def _nothing_of_the_user(pytestconfig: pytest.Config) -> Iterator[None]:
    """Fail a test that opens files of the user, or leaves files to the tests after it."""
    yield
    assert opened() == [], "a test opened files of the user"
    assert left_here(pytestconfig.stash[FOLDER]) == [], "a test left files in the working directory"
