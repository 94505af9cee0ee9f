"""The time until MLflow's pages show the runs in a real Chromium."""

import re
import shutil
import tempfile
import time
from pathlib import Path

from selenium.webdriver import Chrome
from selenium.webdriver.support.ui import WebDriverWait

from benchmark.records.sqlite import refresh_statistics
from benchmark.ui.server import find_experiment, free_port, landing_link, prepare_pages, running_server
from tests.benchmark.browser import chromium
from tests.load.full_store import NAME

PATIENCE = 120
TEXT = "return document.body.innerText"


def _profile() -> "tempfile.TemporaryDirectory[str]":
    """A folder for Chromium, which may still write to it while it ends."""
    return tempfile.TemporaryDirectory(ignore_cleanup_errors=True)


def rows_show(page: Chrome) -> bool:
    """Return whether the page shows the number of runs, and some runs or groups of runs."""
    text: str = page.execute_script(TEXT)
    return re.search(r"[1-9][0-9,]* matching runs", text) is not None and "LinUCB" in text.replace("linucb", "LinUCB")


def seconds_until_rows_show(folder: Path) -> dict[str, float] | None:
    """Return the seconds until the server responds and each page shows its runs; None without Chromium."""
    if shutil.which("chromium") is None or shutil.which("chromedriver") is None:
        return None
    store = f"sqlite:///{folder / 'mlflow.db'}"
    start = time.perf_counter()
    prepare_pages(store)  # as `fedbandit ui` does
    experiment = find_experiment(store, NAME)
    refresh_statistics(folder / "mlflow.db")
    with running_server(store, free_port(), folder / "server.log") as server, _profile() as profile:
        times = {"`fedbandit ui` until the server responds": time.perf_counter() - start}
        link = landing_link(experiment, server.address)
        runs = f"{server.address}/#/experiments/{experiment.experiment_id}/runs"
        table = f"{runs}?compareRunsMode=TABLE&orderByKey=metrics.%60communication%60"
        with chromium(Path(profile)) as chrome:
            for page, address in (
                ("the chart view in Chromium, first time", link),
                ("the runs table in Chromium", table),
            ):
                chrome.get("about:blank")
                start = time.perf_counter()
                chrome.get(address)
                WebDriverWait(chrome, PATIENCE, poll_frequency=0.1).until(rows_show)
                times[page] = time.perf_counter() - start
    return times
