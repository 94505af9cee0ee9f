"""A real headless Chromium, and screenshots of failed tests."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service

SCREENSHOTS = Path(__file__).parents[2] / "screenshots"
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--no-proxy-server",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1600,1100",
)


@contextmanager
def chromium(profile: Path, *, watch_network: bool = False) -> Iterator[Chrome]:
    """Start Debian's Chromium with its driver; without them, the tests are skipped (NOT RUN)."""
    browser, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if browser is None or driver is None:
        missing = "chromium" if browser is None else "chromedriver"
        pytest.skip(f"NOT RUN: {missing} is not installed (Debian: apt-get install chromium chromium-driver)")
    options = ChromeOptions()
    options.binary_location = browser
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    if watch_network:
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    chrome = Chrome(options=options, service=Service(driver, env=dict(os.environ)))
    try:
        yield chrome
    finally:
        chrome.quit()


@contextmanager
def looking_at(chrome: Chrome, link: str, name: str) -> Iterator[None]:
    """Load a page; if the block fails, save a screenshot of it."""
    chrome.get("about:blank")  # a change after # alone would not reload the page
    chrome.get(link)
    try:
        yield
    except BaseException:
        keep_picture(chrome, name)
        raise
    if os.environ.get("FEDBANDIT_SCREENSHOTS"):
        keep_picture(chrome, name)


def keep_picture(chrome: Chrome, name: str) -> None:
    SCREENSHOTS.mkdir(exist_ok=True)
    picture = SCREENSHOTS / f"{name}.png"
    chrome.save_screenshot(str(picture))
    print(f"screenshot: {picture}")
