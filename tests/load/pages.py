"""The time until the pages of a store and its report show something in a real Chromium."""

import re
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from selenium.webdriver import Chrome
from selenium.webdriver.support.ui import WebDriverWait

from benchmark.records.sqlite import refresh_statistics
from benchmark.ui.server import find_experiment, free_port, landing_link, prepare_pages, running_server
from tests.benchmark.browser import chromium
from tests.load.full_store import NAME

PATIENCE = 120
MAX_CHART_SECONDS, MAX_TABLE_SECONDS, MAX_PLOT_SECONDS = 10.0, 30.0, 2.0
TEXT = "return document.body.innerText"


def _profile() -> "tempfile.TemporaryDirectory[str]":
    """A folder for Chromium, which may still write to it while it ends."""
    return tempfile.TemporaryDirectory(ignore_cleanup_errors=True)


def rows_show(page: Chrome) -> bool:
    """Return whether the page shows the number of runs, and some runs or groups of runs."""
    text: str = page.execute_script(TEXT)
    return re.search(r"[1-9][0-9,]* matching runs", text) is not None and "LinUCB" in text.replace("linucb", "LinUCB")


def chart_shows(page: Chrome) -> bool:
    """Return whether the page shows a chart with points."""
    return bool(page.execute_script("return document.querySelectorAll('.js-plotly-plot .points path').length > 1"))


def plot_shows(page: Chrome) -> bool:
    """Scroll to the first plot of a report, and return whether it is drawn."""
    page.execute_script("document.querySelector('[data-plot]').scrollIntoView()")
    return bool(page.execute_script("return window.firstPlot > 0"))


def seconds_on_pages(folder: Path) -> dict[str, tuple[float, float]] | None:
    """Return seconds and their limits until the pages can be used; None without Chromium."""
    if shutil.which("chromium") is None or shutil.which("chromedriver") is None:
        return None
    store = f"sqlite:///{folder / 'mlflow.db'}"
    start = time.perf_counter()
    prepare_pages(store)  # as `fedbandit ui` does
    experiment = find_experiment(store, NAME)
    refresh_statistics(folder / "mlflow.db")
    with running_server(store, free_port(), folder / "server.log") as server, _profile() as profile:
        until_response = time.perf_counter() - start
        link = landing_link(experiment, server.address)
        runs = f"{server.address}/#/experiments/{experiment.experiment_id}/runs"
        table = f"{runs}?compareRunsMode=TABLE&orderByKey=metrics.%60communication%60"
        with chromium(Path(profile)) as chrome:
            until_chart = _seconds(chrome, link, chart_shows)
            until_rows = _seconds(chrome, table, rows_show)
            until_plot = _seconds(chrome, (folder / "reports/output/report.html").as_uri(), plot_shows)
    return {
        "`fedbandit ui` until the chart shows in Chromium": (until_response + until_chart, MAX_CHART_SECONDS),
        "the table of all runs in Chromium": (until_rows, MAX_TABLE_SECONDS),
        "report.html in Chromium until the first plot": (until_plot, MAX_PLOT_SECONDS),
    }


def _seconds(chrome: Chrome, address: str, is_ready: Callable[[Chrome], bool]) -> float:
    chrome.get("about:blank")
    start = time.perf_counter()
    chrome.get(address)
    WebDriverWait(chrome, PATIENCE, poll_frequency=0.05).until(is_ready)
    return time.perf_counter() - start
