"""MLflow's pages as users see them: a real server on loopback and a real Chromium."""

import json
import math
import shutil
import socket
from pathlib import Path

import pytest
from mlflow import MlflowClient
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from algorithms.registry import built_in_methods
from benchmark.__main__ import main
from benchmark.styles import style
from benchmark.ui.chart_views import TAG_PREFIX, VIEW_KEY, save_chart_views
from benchmark.ui.server import (
    LOOPBACK,
    Server,
    find_experiment,
    landing_link,
)
from tests.benchmark.browser import looking_at
from tests.benchmark.sweeps import EXPERIMENT, RUNS
from tests.benchmark.test_cluster import free_port
from tests.benchmark.tiny_sweeps import empty_database

pytestmark = pytest.mark.slow

PATIENCE = 30
PLOTS = """
return [...document.querySelectorAll('.js-plotly-plot')].map(plot => ({
    x: plot.layout.xaxis.title.text, y: plot.layout.yaxis.title.text, type: plot.data[0].type,
    points: plot.data[0].x.map((value, i) => [value, plot.data[0].y[i], plot.data[0].marker.color[i]]),
}))
"""
PICTURES = "return [...document.images].map(image => [image.src, image.naturalWidth])"


@pytest.fixture
def store(shown_store: Path) -> str:
    return f"sqlite:///{shown_store / 'mlflow.db'}"


@pytest.fixture
def here(shown_store: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder with the store as the working directory, without MLFLOW_TRACKING_URI."""
    monkeypatch.chdir(shown_store)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    return shown_store


def text_of(chrome: Chrome) -> str:
    text: str = chrome.execute_script("return document.body.innerText")
    return text


def setting_points() -> set[tuple[float, float, str]]:
    """The points of the chart: the means of each setting over its seeds, and the colour of its method."""
    points = set()
    for algorithm, threshold in {(algorithm, threshold) for algorithm, threshold, *_ in RUNS}:
        values = [(reward, moved) for a, t, _, reward, moved in RUNS if (a, t) == (algorithm, threshold)]
        reward, moved = (sum(column) / len(values) for column in zip(*values, strict=True))
        points.add((math.log10(1 + moved), reward, style(built_in_methods()[algorithm].style).colour))
    return points


def test_the_link_opens_a_scatter_plot_of_reward_against_communication_with_a_point_per_setting(
    store: str, server: Server, chrome: Chrome
) -> None:
    link = landing_link(find_experiment(store, EXPERIMENT), server.address)
    with looking_at(chrome, link, "chart"):
        plots = WebDriverWait(chrome, PATIENCE).until(lambda page: page.execute_script(PLOTS))
        assert [(plot["type"], plot["x"], plot["y"]) for plot in plots] == [
            ("scatter", "log10 of messages sent", "normalised reward")
        ]
        points = {(round(x, 9), round(y, 9), colour) for x, y, colour in plots[0]["points"]}
        assert points == {(round(x, 9), round(y, 9), colour) for x, y, colour in setting_points()}
        text = text_of(chrome)
        assert f"{len(setting_points()) + 1} matching runs" in text  # and the report, but no runs of seeds, no sweep
        assert text.index("Group: report") < text.index("Group: Async-LinUCB")
        for method in ("Async-LinUCB", "Async-LinUCB-AM", "Sync-LinUCB"):
            assert f"Group: {method}" in text
        assert "Delicious: normalised reward against communication" in text
        assert "Models" in text  # appears only in the mode for model training
        assert "Judges" not in text  # appears only in the mode for language models
        assert "PERMISSION_DENIED" not in text  # no request of the page is refused
        assert "Welcome to MLflow Assistant" not in text


def test_the_home_page_does_not_say_that_usage_data_are_collected(server: Server, chrome: Chrome) -> None:
    with looking_at(chrome, server.address, "home"):
        listed = "//*[contains(., 'Recent Experiments')]//a[contains(@href, '/experiments/')]"  # the newest five
        WebDriverWait(chrome, PATIENCE).until(lambda page: page.find_elements(By.XPATH, listed))
        assert "usage data" not in text_of(chrome)


def test_the_overview_leads_to_the_chart_of_each_experiment(store: str, server: Server, chrome: Chrome) -> None:
    overview = find_experiment(store, None)
    assert overview.name == "overview"
    with looking_at(chrome, landing_link(overview, server.address), "overview"):
        name = f"//a[contains(., '{EXPERIMENT}')]"
        WebDriverWait(chrome, PATIENCE).until(lambda page: page.find_elements(By.XPATH, name))
        assert "Default" not in text_of(chrome)
    line = MlflowClient(store).search_runs([overview.experiment_id])[0]
    link = f"{server.address}/#/experiments/{overview.experiment_id}/runs/{line.info.run_id}"
    with looking_at(chrome, link, "line"):
        to_chart = f"//a[contains(., 'Open the chart of {EXPERIMENT}')]"
        WebDriverWait(chrome, PATIENCE).until(lambda page: page.find_elements(By.XPATH, to_chart))[0].click()
        chrome.switch_to.window(chrome.window_handles[-1])  # MLflow opens links of descriptions in a new tab
        plots = WebDriverWait(chrome, PATIENCE).until(lambda page: page.execute_script(PLOTS))
        assert plots[0]["y"] == "normalised reward"


def test_the_page_of_a_setting_names_its_seeds_and_previews_its_curves(
    store: str, server: Server, chrome: Chrome
) -> None:
    client, experiment_id = MlflowClient(store), find_experiment(store, EXPERIMENT).experiment_id
    settings = client.search_runs([experiment_id], "tags.`fedbandit.kind` = 'setting'")
    setting = next(run for run in settings if run.data.metrics["seeds"] == 2 and run.data.tags["Setting"] == "γ=5")
    link = f"{server.address}/#/experiments/{experiment_id}/runs/{setting.info.run_id}"
    with looking_at(chrome, link, "setting"):
        expected = ("Async-LinUCB γ=5 on Delicious, 2 seeds", "mean over 2 seeds", "transfers per client")
        WebDriverWait(chrome, PATIENCE).until(lambda page: all(text in text_of(page) for text in expected))
    with looking_at(chrome, f"{link}/artifacts/curve.png", "curves"):
        WebDriverWait(chrome, PATIENCE).until(
            lambda page: any(source.startswith("blob:") and width for source, width in page.execute_script(PICTURES))
        )


def test_the_server_listens_on_loopback_only(server: Server) -> None:
    port = int(server.address.rpartition(":")[2])
    with socket.socket() as probe:
        probe.settimeout(2)
        # All of 127.0.0.0/8 is this machine: a server that listens on every address would respond here.
        assert probe.connect_ex(("127.0.0.2", port)) != 0


@pytest.fixture
def other_store(tmp_path: Path) -> str:
    shutil.copy(empty_database(), tmp_path / "mlflow.db")
    return f"sqlite:///{tmp_path / 'mlflow.db'}"


def test_without_a_name_the_overview_is_opened_and_an_experiment_without_settings_has_a_table(other_store: str):
    client = MlflowClient(other_store)
    client.create_experiment("fig_a")
    assert find_experiment(other_store, None).name == "fig_a"
    client.create_experiment("overview")
    assert find_experiment(other_store, None).name == "overview"
    save_chart_views(client, find_experiment(other_store, "fig_a"), [])
    assert json.loads(find_experiment(other_store, "fig_a").tags[TAG_PREFIX + VIEW_KEY])["name"] == "All runs"


def test_for_a_team_server_only_its_address_is_printed(
    server: Server, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", server.address)
    assert main(["ui", EXPERIMENT]) == 0
    assert capsys.readouterr().out.startswith(f"{server.address}/#/experiments/")


def test_the_error_for_an_unknown_experiment_suggests_a_similar_one(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["ui", "figE"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("fedbandit: error: unknown experiment 'figE' (did you mean fig_e?); expected one of: fig_")
    assert error.count("\n") == 1


def test_without_a_store_the_error_suggests_fedbandit_run_and_no_store_is_created(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    assert main(["ui"]) == 2
    assert capsys.readouterr().err == (
        f"fedbandit: error: no results yet ({tmp_path / 'mlflow.db'} does not exist); run `fedbandit run` first\n"
    )
    assert list(tmp_path.iterdir()) == []


def test_an_unreachable_server_gives_a_one_line_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"http://{LOOPBACK}:{free_port()}")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "1")
    assert main(["ui"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("fedbandit: error: ")
    assert error.count("\n") == 1
