"""MLflow's pages as a user gets them: a real server on loopback and a real Chromium."""

import json
import math
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest
import requests
from mlflow import MlflowClient
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from benchmark.__main__ import main
from benchmark.chart_views import TAG_PREFIX, chart_link, run_colour, save_chart_view, vertical_metric, view_state
from benchmark.ui import LOOPBACK, Server, find_experiment, free_port, landing_link, running_server
from tests.benchmark.browser import chromium, looking_at
from tests.benchmark.sweeps import EXPERIMENT, RUNS, make_store

PATIENCE = 30
PLOTS = """
return [...document.querySelectorAll('.js-plotly-plot')].map(plot => ({
    x: plot.layout.xaxis.title.text, y: plot.layout.yaxis.title.text, type: plot.data[0].type,
    points: plot.data[0].x.map((value, i) => [value, plot.data[0].y[i], plot.data[0].marker.color[i]]),
}))
"""
PLOTTED = """
return [...document.querySelectorAll('.js-plotly-plot')].map(plot => ({
    type: plot.data[0].type, points: plot.data.reduce((total, trace) => total + (trace.x || []).length, 0),
}))
"""
PICTURES = "return [...document.images].map(image => [image.src, image.naturalWidth])"


def any_free_port() -> int:
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        port: int = probe.getsockname()[1]
    return port


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("store")


@pytest.fixture(scope="module")
def store(folder: Path) -> str:
    return make_store(folder)


@pytest.fixture(scope="module")
def server(store: str, folder: Path) -> Iterator[Server]:
    with running_server(store, any_free_port(), folder / "server.log") as server:
        yield server


@pytest.fixture(scope="module")
def chrome(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    with chromium(tmp_path_factory.mktemp("profile")) as chrome:
        yield chrome


@pytest.fixture
def here(folder: Path, store: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand in the folder with the store, where nothing else says where the runs are."""
    monkeypatch.chdir(folder)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    return folder


def text_of(chrome: Chrome) -> str:
    text: str = chrome.execute_script("return document.body.innerText")
    return text


def test_the_link_lands_on_a_scatter_of_reward_against_communication(
    store: str, server: Server, chrome: Chrome
) -> None:
    link = landing_link(store, find_experiment(store, EXPERIMENT), server.address)
    with looking_at(chrome, link, "chart"):
        plots = WebDriverWait(chrome, PATIENCE).until(lambda page: page.execute_script(PLOTS))
        assert [(plot["type"], plot["x"], plot["y"]) for plot in plots] == [
            ("scatter", "log10_communication", "normalised_reward")
        ]
        expected = {(math.log10(1 + moved), reward, run_colour(algorithm)) for algorithm, _, _, reward, moved in RUNS}
        assert {tuple(point) for point in plots[0]["points"]} == expected
        text = text_of(chrome)
        assert f"{len(RUNS)} matching runs" in text  # the sweep's own run is not among them
        for algorithm in {algorithm for algorithm, *_ in RUNS}:
            assert f"Group: {algorithm}" in text


def test_the_runs_table_of_a_figure_shows_its_runs(store: str, server: Server, chrome: Chrome) -> None:
    link = f"{server.address}/#/experiments/{find_experiment(store, EXPERIMENT).experiment_id}/runs"
    names = {f"{algorithm} {threshold} seed {seed}" for algorithm, threshold, seed, *_ in RUNS}
    with looking_at(chrome, f"{link}?compareRunsMode=TABLE&orderByKey=metrics.%60communication%60", "table"):
        WebDriverWait(chrome, PATIENCE).until(lambda page: all(name in text_of(page) for name in names))


def test_the_compare_page_of_chosen_runs_has_its_scatter(store: str, server: Server, chrome: Chrome) -> None:
    experiment_id = find_experiment(store, EXPERIMENT).experiment_id
    runs = MlflowClient(store).search_runs([experiment_id], "tags.`fedbandit.kind` = 'run'")
    chosen = json.dumps([run.info.run_id for run in runs])
    query = urlencode({"runs": chosen, "experiments": json.dumps([experiment_id])})
    with looking_at(chrome, f"{server.address}/#/compare-runs?{query}", "compare"):
        tab = "//*[@role='tab'][contains(., 'Scatter')]"
        WebDriverWait(chrome, PATIENCE).until(lambda page: page.find_elements(By.XPATH, tab))[0].click()
        plots = WebDriverWait(chrome, PATIENCE).until(
            lambda page: [plot for plot in page.execute_script(PLOTTED) if plot["type"].startswith("scatter")]
        )
        assert plots[0]["points"] == len(RUNS)


def test_an_artifact_picture_is_displayed(store: str, server: Server, chrome: Chrome) -> None:
    experiment_id = find_experiment(store, EXPERIMENT).experiment_id
    sweep = MlflowClient(store).search_runs([experiment_id], "tags.`fedbandit.kind` = 'sweep'")[0].info.run_id
    link = f"{server.address}/#/experiments/{experiment_id}/runs/{sweep}/artifacts/picture.png"
    with looking_at(chrome, link, "artifact"):
        WebDriverWait(chrome, PATIENCE).until(
            lambda page: any(source.startswith("blob:") and width for source, width in page.execute_script(PICTURES))
        )


@pytest.mark.parametrize("path", ["/", "/ajax-api/2.0/mlflow/experiments/search?max_results=1"])
def test_requests_meant_for_other_hosts_are_refused(server: Server, path: str) -> None:
    own = server.address.removeprefix("http://")
    codes = {}
    for host in (own, own.replace(LOOPBACK, "localhost"), "evil.example", f"evil.example:{own.partition(':')[2]}"):
        codes[host] = requests.get(server.address + path, headers={"Host": host}, timeout=10).status_code
    assert list(codes.values()) == [200, 200, 403, 403]


def test_the_server_listens_on_loopback_only(server: Server) -> None:
    port = int(server.address.rpartition(":")[2])
    with socket.socket() as probe:
        probe.settimeout(2)
        # All of 127.0.0.0/8 is this machine: a server on every address would answer here.
        assert probe.connect_ex(("127.0.0.2", port)) != 0


def test_a_view_is_saved_once_and_the_metric_fits_the_experiment(store: str) -> None:
    MlflowClient(store).create_experiment("fig_a")
    key = save_chart_view(store, "fig_a")
    before = find_experiment(store, "fig_a").tags
    assert '\\"key\\": \\"regret\\"' in before[TAG_PREFIX + key]
    assert save_chart_view(store, "fig_a") == key
    assert find_experiment(store, "fig_a").tags == before
    assert [vertical_metric(name) for name in ("fig_c", "fig_d", "user_groups")] == [
        "regret",
        "normalised_reward",
        "normalised_reward",
    ]


def test_the_first_page_of_many_runs_holds_whole_seeds(store: str) -> None:
    experiment_id = find_experiment(store, EXPERIMENT).experiment_id
    state = view_state("normalised_reward")
    order = [f"{state['orderByKey']} {'ASC' if state['orderByAsc'] else 'DESC'}"]
    runs = MlflowClient(store).search_runs([experiment_id], state["searchFilter"], order_by=order)
    seeds = [run.data.params["seed"] for run in runs]
    assert len(seeds) == len(RUNS)
    assert seeds == sorted(seeds)


def test_the_link_names_experiment_view_and_mode() -> None:
    assert chart_link("http://host:1/", "7", "key") == (
        "http://host:1/#/experiments/7/runs?viewStateShareKey=key&compareRunsMode=CHART"
    )


def test_a_port_that_is_taken_is_passed_over() -> None:
    with socket.socket() as taken:
        taken.bind((LOOPBACK, 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert free_port(port) > port


def test_the_command_prints_the_link_and_ctrl_c_leaves_no_process(here: Path) -> None:
    command = [sys.executable, "-m", "benchmark", "ui", "--port", str(any_free_port())]
    root = str(Path(__file__).parents[2])
    with subprocess.Popen(
        command, cwd=here, env=os.environ | {"PYTHONPATH": root}, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        link = process.stdout.readline().strip()
        address = link.partition("/#/")[0]
        assert link.endswith("/runs?viewStateShareKey=fedbandit-communication&compareRunsMode=CHART")
        assert requests.get(f"{address}/health", timeout=10).ok
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 0
    with pytest.raises(requests.ConnectionError):
        requests.get(f"{address}/health", timeout=10)


def test_with_a_team_s_server_only_its_address_is_printed(
    server: Server, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", server.address)
    assert main(["ui", EXPERIMENT]) == 0
    assert capsys.readouterr().out.startswith(f"{server.address}/#/experiments/")


def test_an_unknown_experiment_gets_one_line_with_the_nearest(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ui", "figE"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("fedbandit: error: experiment is 'figE' (did you mean fig_e?); allowed are fig_")
    assert error.count("\n") == 1


def test_without_a_store_it_says_to_run_first_and_makes_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    assert main(["ui"]) == 2
    assert capsys.readouterr().err == (
        f"fedbandit: error: no results yet, {tmp_path / 'mlflow.db'} is not there; run first: fedbandit run\n"
    )
    assert list(tmp_path.iterdir()) == []


def test_a_server_that_is_not_there_gets_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"http://{LOOPBACK}:{any_free_port()}")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "1")
    assert main(["ui"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("fedbandit: error: ")
    assert error.count("\n") == 1


def test_a_port_out_of_range_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ui", "--port", "70000"]) == 2
    assert capsys.readouterr().err == "fedbandit: error: --port is 70000; allowed are integers from 1 to 65535\n"
