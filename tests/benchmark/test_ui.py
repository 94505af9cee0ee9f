"""MLflow's pages as users see them: a real server on loopback and a real Chromium."""

import json
import math
import os
import shutil
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

from algorithms.registry import built_in_methods
from benchmark.__main__ import main
from benchmark.commands.run import print_summary
from benchmark.metrics import metric
from benchmark.plan.experiment import experiment_names, load_experiment
from benchmark.plan.plan import Plan
from benchmark.records.store import Store
from benchmark.styles import style
from benchmark.ui.chart_views import TAG_PREFIX, VIEW_KEY, chart_link, runs_view, save_chart_views
from benchmark.ui.server import (
    LOOPBACK,
    Server,
    find_experiment,
    free_port,
    landing_link,
    prepare_pages,
    running_server,
)
from tests.benchmark.browser import chromium, looking_at
from tests.benchmark.sweeps import EXPERIMENT, RUNS, make_store
from tests.benchmark.tiny_sweeps import empty_database

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
    """A store without pages, which `fedbandit ui` writes."""
    store = make_store(folder)
    prepare_pages(store)
    return store


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
    """The folder with the store as the working directory, without MLFLOW_TRACKING_URI."""
    monkeypatch.chdir(folder)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    return folder


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
            ("scatter", "log10 of communication", "normalised reward")
        ]
        points = {(round(x, 9), round(y, 9), colour) for x, y, colour in plots[0]["points"]}
        assert points == {(round(x, 9), round(y, 9), colour) for x, y, colour in setting_points()}
        text = text_of(chrome)
        assert f"{len(setting_points())} matching runs" in text  # neither the runs of seeds nor the sweep
        for method in ("Async-LinUCB", "Async-LinUCB-AM", "Sync-LinUCB"):
            assert f"Group: {method}" in text
        assert "Delicious: normalised reward against communication" in text
        assert "Models" in text  # appears only in the mode for model training
        assert "Judges" not in text  # appears only in the mode for language models
        assert "PERMISSION_DENIED" not in text  # no request of the page is refused
        assert "Welcome to MLflow Assistant" not in text


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


def test_clicking_an_experiment_on_the_home_page_shows_its_runs(server: Server, chrome: Chrome) -> None:
    """Not on the (empty) traces page: MLflow's own default is its mode for language models."""
    with looking_at(chrome, server.address, "home"):
        link = f"//a[contains(., '{EXPERIMENT}')]"
        WebDriverWait(chrome, PATIENCE).until(lambda page: page.find_elements(By.XPATH, link))[0].click()
        WebDriverWait(chrome, PATIENCE).until(
            lambda page: "Async-LinUCB γ=5" in text_of(page) and "/runs" in page.current_url
        )
        assert "workflowType=machine_learning" in chrome.current_url
        assert "Judges" not in text_of(chrome)


def test_the_runs_table_of_a_figure_shows_its_runs(store: str, server: Server, chrome: Chrome) -> None:
    link = f"{server.address}/#/experiments/{find_experiment(store, EXPERIMENT).experiment_id}/runs"
    names = {f"{algorithm} {threshold} seed {seed}" for algorithm, threshold, seed, *_ in RUNS}
    with looking_at(chrome, f"{link}?compareRunsMode=TABLE&orderByKey=metrics.%60communication%60", "table"):
        WebDriverWait(chrome, PATIENCE).until(lambda page: all(name in text_of(page) for name in names))


def test_the_compare_page_of_selected_runs_has_a_scatter_plot(store: str, server: Server, chrome: Chrome) -> None:
    experiment_id = find_experiment(store, EXPERIMENT).experiment_id
    runs = MlflowClient(store).search_runs([experiment_id], "tags.`fedbandit.kind` = 'run'")
    run_ids = json.dumps([run.info.run_id for run in runs])
    query = urlencode({"runs": run_ids, "experiments": json.dumps([experiment_id])})
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
def test_requests_for_other_hosts_are_refused(server: Server, path: str) -> None:
    own = server.address.removeprefix("http://")
    codes = {}
    for host in (own, own.replace(LOOPBACK, "localhost"), "evil.example", f"evil.example:{own.partition(':')[2]}"):
        codes[host] = requests.get(server.address + path, headers={"Host": host}, timeout=10).status_code
    assert list(codes.values()) == [200, 200, 403, 403]


def test_the_server_listens_on_loopback_only(server: Server) -> None:
    port = int(server.address.rpartition(":")[2])
    with socket.socket() as probe:
        probe.settimeout(2)
        # All of 127.0.0.0/8 is this machine: a server that listens on every address would respond here.
        assert probe.connect_ex(("127.0.0.2", port)) != 0


def add_runs(store: str, name: str, *sources: str, kind: str = "run", **process: str) -> str:
    """Add a run per source to an experiment, which is created if needed."""
    client = MlflowClient(store)
    existing = client.get_experiment_by_name(name)
    experiment_id = client.create_experiment(name) if existing is None else existing.experiment_id
    for source in sources:
        tags = {"fedbandit.kind": kind, "fedbandit.source": source}
        tags |= {f"fedbandit.{key}": value for key, value in process.items()}
        client.set_terminated(client.create_run(experiment_id, tags=tags).info.run_id)
    return experiment_id


@pytest.fixture
def other_store(tmp_path: Path) -> str:
    shutil.copy(empty_database(), tmp_path / "mlflow.db")
    return f"sqlite:///{tmp_path / 'mlflow.db'}"


def saved_view(store: str, name: str) -> str:
    return find_experiment(store, name).tags[TAG_PREFIX + VIEW_KEY]


@pytest.mark.parametrize(
    ("name", "sources", "metric"),
    [
        ("patience", ("simulated",), "regret"),
        ("fig_a", ("simulated", "simulated"), "regret"),
        ("simulated-shop", ("official",), "normalised_reward"),
        ("mine", ("stand-in", "simulated"), "normalised_reward"),
    ],
)
def test_a_view_shows_a_metric_that_the_runs_record(other_store: str, name: str, sources: tuple[str, ...], metric: str):
    """Whether `run` or `ui` saves it, and whatever the name of the experiment."""
    add_runs(other_store, name, *sources)
    client = MlflowClient(other_store)
    save_chart_views(client, find_experiment(other_store, name), [])
    assert f'\\"key\\": \\"{metric}\\"' in saved_view(other_store, name)


def test_a_previously_saved_empty_chart_is_replaced(other_store: str):
    experiment_id = add_runs(other_store, "patience", "simulated")
    empty = json.dumps({"name": "Normalised reward against communication", "state": "{}"})
    client = MlflowClient(other_store)
    client.set_experiment_tag(experiment_id, TAG_PREFIX + VIEW_KEY, empty)
    save_chart_views(client, find_experiment(other_store, "patience"), [])
    assert json.loads(saved_view(other_store, "patience"))["name"] == "Regret against communication"


def test_without_a_name_the_overview_is_opened_or_the_latest_experiment_of_an_older_store(other_store: str):
    for name in ("fig_a", "fig_e", "study_ties"):
        add_runs(other_store, name, "", kind="sweep", pid="1")
    assert find_experiment(other_store, None).name == "study_ties"
    add_runs(other_store, "overview", "", kind="overview")
    assert find_experiment(other_store, None).name == "overview"
    assert find_experiment(other_store, "fig_a").name == "fig_a"


def test_the_last_lines_of_run_lead_to_the_overview(capsys: pytest.CaptureFixture[str], other_store: str):
    experiments = [load_experiment(name) for name in experiment_names()]
    print_summary(Store(other_store), Plan(tuple(each.info for each in experiments)), [], [])
    assert "view     fedbandit ui\n" in capsys.readouterr().out
    print_summary(Store(other_store), Plan((experiments[-1].info,)), [], [])
    assert f"view     fedbandit ui    (its chart: fedbandit ui {experiments[-1].name})\n" in capsys.readouterr().out


def test_the_first_page_of_many_runs_has_complete_seeds(store: str) -> None:
    experiment_id = find_experiment(store, EXPERIMENT).experiment_id
    state = runs_view(metric("normalised_reward"))
    order = [f"{state['orderByKey']} {'ASC' if state['orderByAsc'] else 'DESC'}"]
    runs = MlflowClient(store).search_runs([experiment_id], state["searchFilter"], order_by=order)
    seeds = [run.data.params["seed"] for run in runs]
    assert len(seeds) == len(RUNS)
    assert seeds == sorted(seeds)


def test_the_link_contains_experiment_view_and_mode() -> None:
    query = f"viewStateShareKey={VIEW_KEY}&compareRunsMode=CHART&workflowType=machine_learning"
    assert chart_link("http://host:1/", "7") == f"http://host:1/#/experiments/7/runs?{query}"


def test_a_port_in_use_is_skipped() -> None:
    with socket.socket() as listener:
        listener.bind((LOOPBACK, 0))
        listener.listen()
        port = listener.getsockname()[1]
        assert free_port(port) > port


def test_the_command_prints_the_link_and_ctrl_c_leaves_no_process(here: Path) -> None:
    command = [sys.executable, "-m", "benchmark", "ui", "--port", str(any_free_port())]
    root = str(Path(__file__).parents[2])
    with subprocess.Popen(
        command, cwd=here, env=os.environ | {"PYTHONPATH": root}, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            link = process.stdout.readline().strip()
            address = link.partition("/#/")[0]
            assert "/runs?viewStateShareKey=fedbandit-communication&compareRunsMode=TABLE&workflowType=machine" in link
            assert requests.get(f"{address}/health", timeout=60).ok
            process.send_signal(signal.SIGINT)
            assert process.wait(120) == 0
        finally:
            process.kill()
    with pytest.raises(requests.ConnectionError):
        requests.get(f"{address}/health", timeout=60)


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
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"http://{LOOPBACK}:{any_free_port()}")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "1")
    assert main(["ui"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("fedbandit: error: ")
    assert error.count("\n") == 1


def test_a_port_out_of_range_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ui", "--port", "70000"]) == 2
    assert capsys.readouterr().err == "fedbandit: error: --port must be an integer from 1 to 65535, got 70000\n"
