"""The instructions of docs/cluster.md for a team: `mlflow server` on a real PostgreSQL, with the pinned packages."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from mlflow.entities import Run as MlflowRun
from selenium.webdriver import Chrome
from selenium.webdriver.support.ui import WebDriverWait

from benchmark.records.reader import finished_runs
from benchmark.records.store import Store
from benchmark.results.stored import archive_runs
from benchmark.ui.pages import update_pages
from benchmark.ui.server import find_experiment, landing_link
from tests.benchmark.browser import looking_at
from tests.benchmark.postgresql import postgresql
from tests.benchmark.recorded import SETTINGS, record_all, tiny
from tests.benchmark.test_cluster import background, free_port, wait_for
from tests.benchmark.test_stored_texts import ESCAPED, HOSTILE, record_failure
from tests.benchmark.test_ui import PATIENCE, PLOTS, text_of
from tests.benchmark.tiny_sweeps import RUNS, Command, write_tiny
from tests.readme import DOCS

pytestmark = pytest.mark.slow


def documented_scheme() -> str:
    (scheme,) = set(re.findall(r"--backend-store-uri (postgresql\S*://)", (DOCS / "cluster.md").read_text()))
    return str(scheme)


@pytest.fixture(scope="module")
def database() -> Iterator[str]:
    with postgresql() as address:
        yield f"{documented_scheme()}fedbandit@{address}"


@pytest.fixture(scope="module")
def server_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("server")


@pytest.fixture(scope="module")
def server(database: str, server_folder: Path) -> Iterator[str]:
    address = f"http://127.0.0.1:{(port := free_port())}"
    store = ("--backend-store-uri", database, "--workers", "1", "--port", str(port))
    with background(server_folder, "mlflow", "server", *store, "--artifacts-destination", str(server_folder / "files")):
        wait_for(address)
        yield address


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_a_sweep_on_postgresql_is_read_back_and_reused(
    server: str, server_folder: Path, tmp_path: Path, fedbandit_here: Command
):
    write_tiny(tmp_path, steps=50, seeds=1)
    done = fedbandit_here(tmp_path, "run", "tiny.toml", "--jobs", "1", MLFLOW_TRACKING_URI=server)
    assert done.returncode == 0, done.stderr
    store = Store(server)
    runs = finished_runs(store, ["tiny"])
    assert len(runs) == RUNS // 2
    assert all(run.metrics["communication"] >= 0 for run in runs)
    again = fedbandit_here(tmp_path, "run", "tiny.toml", MLFLOW_TRACKING_URI=server)
    assert "Nothing to do" in again.stdout, again.stderr
    # Another experiment reuses the runs, except one whose files were deleted on the server.
    shutil.rmtree(next(server_folder.joinpath("files").glob(f"**/{runs[0].run_id}")))
    shutil.copy(tmp_path / "tiny.toml", tmp_path / "other.toml")
    assert store.outcome_of(runs[0].run_id) is None
    other = fedbandit_here(tmp_path, "run", "other.toml", "tiny.toml", "--jobs", "1", MLFLOW_TRACKING_URI=server)
    assert other.returncode == 0, other.stderr
    reused = finished_runs(store, ["other"])
    assert {run.key for run in reused} == {run.key for run in runs}
    assert all(store.outcome_of(run.run_id) is not None for run in reused)


def settings_on(store: Store) -> list[MlflowRun]:
    return store.search(store.experiment_ids()["pages"], None, "setting")


@pytest.fixture(scope="module")
def pages(server: str, tmp_path_factory: pytest.TempPathFactory) -> Store:
    """A store on the server with an experiment of three seeds, recorded as a sweep does, and its pages."""
    store, folder = Store(server), tmp_path_factory.mktemp("pages")
    record_all(store, tiny(folder, "pages"), (0, 1, 2))
    assert update_pages(store, ["pages"]) == SETTINGS
    return store


def test_settings_are_written_to_a_server_and_only_rewritten_when_they_change(
    pages: Store, monkeypatch: pytest.MonkeyPatch
):
    before = {run.info.run_id: run for run in settings_on(pages)}
    assert len(before) == SETTINGS
    runs = finished_runs(pages, ["pages"])
    assert len(runs) == 3 * SETTINGS  # settings are not results
    assert {run.parent for run in runs} == before.keys()
    assert {run.data.metrics["regret"] for run in before.values()} == {101.0}
    assert all("curve.png" in {file.path for file in pages.client.list_artifacts(run_id)} for run_id in before)
    assert update_pages(pages, ["pages"]) == 0
    monkeypatch.setenv("MLFLOW_TRACKING_URI", pages.uri)
    archive_runs([run for run in runs if run.seed == 2])
    after = {run.info.run_id: run for run in settings_on(pages)}
    assert after.keys() == before.keys()
    assert {(run.data.metrics["regret"], run.data.metrics["seeds"]) for run in after.values()} == {(100.5, 2.0)}
    assert {run.info.run_name.rpartition(", ")[2] for run in after.values()} == {"2 seeds"}
    assert "Default" in pages.experiment_ids()  # others may use it


def test_the_pages_of_a_server_on_postgresql_show_overview_and_chart(server: str, pages: Store, chrome: Chrome):
    overview, experiment = find_experiment(server, None), find_experiment(server, "pages")
    assert overview.name == "overview"
    with looking_at(chrome, landing_link(overview, server), "postgresql-overview"):
        WebDriverWait(chrome, PATIENCE).until(lambda page: "Tiny (pages)" in text_of(page))
    with looking_at(chrome, landing_link(experiment, server), "postgresql-chart"):
        plots = WebDriverWait(chrome, PATIENCE).until(lambda page: page.execute_script(PLOTS))
        assert [(plot["x"], plot["y"]) for plot in plots] == [("log10 of messages sent", "regret")]
        assert len(plots[0]["points"]) == SETTINGS


def test_an_error_with_nul_is_stored_in_postgresql(server: str, here: Path):
    store = Store(server)
    run_id = record_failure(store, here, HOSTILE)
    stored = store.client.get_run(run_id)
    assert stored.info.status == "FAILED"
    assert stored.data.tags["fedbandit.error"] == ESCAPED
    assert stored.data.params["text"] == "a\\x00\\ud800b"
