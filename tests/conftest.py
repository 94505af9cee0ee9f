"""Tests see nothing of the user's files, and share workers, a browser and a server; and profiles of Hypothesis.

HYPOTHESIS_PROFILE names the profile to use: `ci` repeats the same examples; `search` looks for new ones; `interpreted`
is short.
"""

import os
import shutil
import signal
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from subprocess import CompletedProcess
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from tests.isolation import NOTES, isolate, left_here, opened

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

    from benchmark.ui.server import Server
    from tests.benchmark.tiny_sweeps import Command
    from tests.workers import SharedWorkers

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


@pytest.fixture(scope="session")
def workers() -> "Iterator[SharedWorkers]":
    """Two worker processes, which start once."""
    from tests.workers import SharedWorkers

    with SharedWorkers(2) as executor:
        yield executor


@pytest.fixture(scope="module")
def same_workers(workers: "SharedWorkers") -> Iterator[None]:
    """Whatever would start worker processes uses those that are there."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("benchmark.execution.local.LocalExecutor", lambda *options: nullcontext(workers))
        yield


@pytest.fixture
def fedbandit_here(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], same_workers: None
) -> "Command":
    """The command as `tiny_sweeps.fedbandit`, but in this process and its workers: no process is started."""
    from benchmark.__main__ import main
    from tests.benchmark.tiny_sweeps import unloaded

    def run(folder: Path, *arguments: str, **variables: str) -> "CompletedProcess[str]":
        monkeypatch.chdir(folder)
        for name in ("MLFLOW_TRACKING_URI", "FEDBANDIT_DEBUG"):
            monkeypatch.delenv(name, raising=False)
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        capsys.readouterr()
        with unloaded(folder):
            code = main(arguments)
        texts = capsys.readouterr()
        return CompletedProcess(arguments, code, texts.out, texts.err)

    return run


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[Chrome]":
    """A Chromium, which starts once."""
    from tests.benchmark.browser import chromium

    with chromium(tmp_path_factory.mktemp("profile"), watch_network=True) as chrome:
        yield chrome


@pytest.fixture(scope="module")
def chrome(browser: "Chrome") -> "Iterator[Chrome]":
    """The Chromium with one window of the usual size."""
    yield browser
    first, *others = browser.window_handles
    for other in others:
        browser.switch_to.window(other)
        browser.close()
    browser.switch_to.window(first)
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@pytest.fixture(scope="session")
def shown_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a sweep, its pages and its report, which `server` serves."""
    from benchmark.records.store import Store
    from benchmark.ui.server import prepare_pages
    from reports.write.record import Analysis, update_analysis
    from tests.benchmark.sweeps import EXPERIMENT, make_store

    folder = tmp_path_factory.mktemp("shown")
    uri = make_store(folder)
    prepare_pages(uri)
    update_analysis(Store(uri), EXPERIMENT, Analysis(["Sharing pays."], (), {}))
    return folder


@pytest.fixture(scope="session")
def server(shown_store: Path) -> "Iterator[Server]":
    """The server of `fedbandit ui`, started with settings for another server, which must not weaken its protection."""
    from benchmark.ui.server import running_server
    from tests.benchmark.test_cluster import free_port

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLFLOW_SERVER_DISABLE_SECURITY_MIDDLEWARE", "true")
        patch.setenv("MLFLOW_SERVER_ALLOWED_HOSTS", "*")
        patch.setenv("MLFLOW_SERVER_CORS_ALLOWED_ORIGINS", "*")
        store, log = f"sqlite:///{shown_store / 'mlflow.db'}", shown_store / "server.log"
        with running_server(store, free_port(), log) as server:
            yield server
