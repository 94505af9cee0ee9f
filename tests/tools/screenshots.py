"""Screenshots of the MLflow UI for docs/ui.md: a real server and a real Chromium."""

import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from mlflow import MlflowClient
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from benchmark.records.tracking import tracking_uri
from benchmark.ui.chart_views import ONLY_RUNS
from benchmark.ui.server import find_experiment, free_port, landing_link, running_server
from data_pipelines.support.files import write_whole
from tests.benchmark.browser import chromium
from tests.tools.small_pictures import small

EXPERIMENT = "fig_e"
ALGORITHM, GAMMA = "async-linucb", "6001"
PATIENCE = 60
COLOURS = 255
SETTLED = 3.0
"""Seconds after which MLflow's charts no longer move."""

PLOTTED = "return document.querySelectorAll('.js-plotly-plot').length > 0"
PICTURE_SHOWN = "return [...document.images].some(image => image.src.startsWith('blob:') && image.naturalWidth)"

WITHOUT_PATHS = """
for (const part of document.querySelectorAll('div, span'))
    if (part.children.length === 0 && part.textContent.includes('file:///'))
        part.textContent = part.textContent.replace(/file:\\S*mlartifacts/, '…/mlartifacts')
"""
"""Removes local paths from the screenshots."""


def take_screenshots(folder: Path) -> None:
    """Save screenshots of the chart, table, a run and the report of an experiment; without Chromium, print a note."""
    if not (shutil.which("chromium") and shutil.which("chromedriver")):
        print("NOT UPDATED: the screenshots of the MLflow UI need chromium and chromedriver")
        return
    store = tracking_uri()
    try:
        find_experiment(store, EXPERIMENT)
    except ValueError as error:
        print(f"NOT UPDATED: the screenshots of the MLflow UI need the runs of {EXPERIMENT} in MLflow ({error})")
        return
    with (
        tempfile.TemporaryDirectory() as folder_name,
        running_server(store, free_port(), Path(folder_name) / "log") as server,
        chromium(Path(folder_name) / "profile") as chrome,
    ):
        chrome.set_window_size(1500, 950)
        for name, (link, is_ready) in pages(store, server.address).items():
            chrome.get("about:blank")  # a change after # alone would not reload the page
            chrome.get(link)
            WebDriverWait(chrome, PATIENCE).until(is_ready)
            time.sleep(SETTLED)
            _close_panels(chrome)
            chrome.execute_script(WITHOUT_PATHS)
            picture = Path(folder_name) / f"{name}.png"
            chrome.save_screenshot(str(picture))
            write_whole(folder / f"{name}.png", small(picture, COLOURS))


def pages(store: str, address: str) -> dict[str, tuple[str, Callable[[Chrome], object]]]:
    """Return the URL of each page, and the condition under which it is loaded."""
    client = MlflowClient(store)
    experiment = find_experiment(store, EXPERIMENT)
    root = f"{address}/#/experiments/{experiment.experiment_id}"
    query = f"{ONLY_RUNS} and params.algorithm = '{ALGORITHM}' and params.threshold = '{GAMMA}' and params.seed = '0'"
    run = client.search_runs([experiment.experiment_id], query)[0].info.run_id
    report = client.search_runs([experiment.experiment_id], "tags.`fedbandit.kind` = 'analysis'")[0].info.run_id
    chart = landing_link(experiment, address)
    return {
        "ui_chart": (chart, lambda page: page.execute_script(PLOTTED)),
        "ui_table": (chart.replace("=CHART", "=TABLE"), lambda page: "LinUCB" in _text(page)),
        "ui_run": (f"{root}/runs/{run}", lambda page: "normalised_reward" in _text(page)),
        "ui_report": (
            f"{root}/runs/{report}/artifacts/figures/{EXPERIMENT}.png",
            lambda page: page.execute_script(PICTURE_SHOWN),
        ),
    }


def _text(chrome: Chrome) -> str:
    return str(chrome.execute_script("return document.body.innerText"))


def _close_panels(chrome: Chrome) -> None:
    """Close the assistant that MLflow opens next to the page."""
    for button in chrome.find_elements(By.XPATH, "//button[@aria-label='Close' or @aria-label='Close assistant']"):
        if button.is_displayed():
            button.click()
            time.sleep(1.0)
