"""The runs table of MLflow's pages in a real Chromium: how long until its rows show?"""

import re
import shutil
import tempfile
import time
from pathlib import Path

from selenium.webdriver import Chrome
from selenium.webdriver.support.ui import WebDriverWait

from benchmark.query_plans import refresh_statistics
from benchmark.ui import find_experiment, free_port, landing_link, running_server
from tests.benchmark.browser import chromium
from tests.load.full_store import NAME

PATIENCE = 120
TEXT = "return document.body.innerText"


def _profile() -> "tempfile.TemporaryDirectory[str]":
    """A folder for Chromium, which may still be writing to it when it was told to end."""
    return tempfile.TemporaryDirectory(ignore_cleanup_errors=True)


def rows_show(page: Chrome) -> bool:
    """Tell whether the page counts its runs and shows some of them, or groups of them."""
    text: str = page.execute_script(TEXT)
    return re.search(r"[1-9][0-9,]* matching runs", text) is not None and "-linucb" in text


def seconds_until_rows_show(folder: Path) -> dict[str, float] | None:
    """Return seconds until the server answers, the chart view has points, the table has rows; None without Chromium."""
    if shutil.which("chromium") is None or shutil.which("chromedriver") is None:
        return None
    store = f"sqlite:///{folder / 'mlflow.db'}"
    began = time.perf_counter()
    experiment = find_experiment(store, NAME)
    refresh_statistics(store)  # as `fedbandit ui` does
    with running_server(store, free_port(), folder / "server.log") as server, _profile() as profile:
        found = {"`fedbandit ui` until the server answers": time.perf_counter() - began}
        link = landing_link(store, experiment, server.address)
        runs = f"{server.address}/#/experiments/{experiment.experiment_id}/runs"
        table = f"{runs}?compareRunsMode=TABLE&orderByKey=metrics.%60communication%60"
        with chromium(Path(profile)) as chrome:
            for what, address in (
                ("the chart view in Chromium, first time", link),
                ("the runs table in Chromium", table),
            ):
                chrome.get("about:blank")
                began = time.perf_counter()
                chrome.get(address)
                WebDriverWait(chrome, PATIENCE, poll_frequency=0.1).until(rows_show)
                found[what] = time.perf_counter() - began
    return found
