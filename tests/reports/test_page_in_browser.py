"""The page in a real Chromium, at the width of a desktop and of a phone, without a network."""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from selenium.webdriver import Chrome

from benchmark.records.record import RunRecord
from reports.figures import by_global_dim, embedding, fronts, over_time, user_groups
from reports.page.page import write_page
from reports.read.context import make_context
from reports.read.results import read_results
from reports.tables import bounds, missing, paper_against_ours, settings
from tests.benchmark.browser import chromium, looking_at
from tests.reports.hand_made import HandMade
from tests.reports.made_up import crowded, made_up, many_settings, run

SIZES = {"desktop": (1280, 900, False), "phone": (390, 844, True)}
FIGURES = (fronts, by_global_dim, over_time, user_groups, embedding)
TABLES = (paper_against_ours, bounds, settings, missing)


@pytest.fixture(scope="module")
def real_page(hand_made: HandMade, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page over the store made by hand, a crowded figure of stand-in data, and one with a long legend."""
    results = read_results(hand_made.uri)
    context = make_context(results, hand_made.folder / "data")
    crowd = fronts.figures(*made_up(crowded("fig_f", source="stand-in", dataset="movielens")))
    crowd += fronts.figures(*made_up(many_variants()))
    figures = [figure for module in FIGURES for figure in module.figures(results, context)]
    tables = [table for module in TABLES for table in module.tables(results, context)]
    path = tmp_path_factory.mktemp("page") / "report.html"
    write_page(path, results, context, tables, [*figures, *crowd])
    return path


def many_variants() -> list[RunRecord]:
    """An experiment whose legend is long."""
    return [
        run("async-linucb", gamma, settings=settings, experiment="mine")
        for settings in many_settings(8)
        for gamma in (2.0, 3.0)
    ]


@pytest.fixture(scope="module")
def chrome(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    with chromium(tmp_path_factory.mktemp("profile"), watch_network=True) as browser:
        yield browser


@pytest.fixture(scope="module", params=list(SIZES))
def opened(request: pytest.FixtureRequest, chrome: Chrome, real_page: Path) -> Iterator[Chrome]:
    """The page at one width, with all plots drawn."""
    width, height, is_phone = SIZES[request.param]
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": is_phone}
    chrome.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    chrome.get_log("performance")
    chrome.get_log("browser")
    with looking_at(chrome, real_page.as_uri(), f"report-{request.param}"):
        for box in chrome.find_elements("css selector", "[data-plot]"):
            chrome.execute_script("arguments[0].scrollIntoView({behavior: 'instant', block: 'center'})", box)
            wait_until(lambda box=box: box.find_elements("css selector", ".plot .main-svg"))
        yield chrome


def wait_until(condition: Callable[[], object], seconds: float = 30) -> None:
    give_up = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < give_up, "the condition did not become true in time"
        time.sleep(0.05)


def requests(chrome: Chrome) -> set[str]:
    events = (json.loads(entry["message"])["message"] for entry in chrome.get_log("performance"))
    sent = [event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"]
    return {url for url in sent if not url.startswith(("data:", "blob:", "about:"))}


def test_the_page_is_complete_without_errors_and_fits(opened: Chrome, real_page: Path):
    assert opened.get_log("browser") == []
    assert requests(opened) == {real_page.as_uri()}
    across, window = opened.execute_script("return [document.documentElement.scrollWidth, window.innerWidth]")
    assert across <= window
    live = opened.execute_script("return document.querySelectorAll('.picture.live').length")
    assert live == len(opened.find_elements("css selector", "[data-plot]")) == 6
    too_wide = opened.execute_script(
        "return [...document.querySelectorAll('figure, .table, .card, .plot, .picture, pre')]"
        ".filter((box) => box.getBoundingClientRect().right > window.innerWidth + 0.5).map((box) => box.outerHTML)"
    )
    assert too_wide == []


def test_hovering_over_a_mark_shows_its_numbers(opened: Chrome):
    plot = "document.querySelector('[data-plot=fig_a] .plot')"
    opened.execute_script(f"{plot}.scrollIntoView({{behavior: 'instant', block: 'center'}})")
    x, y = opened.execute_script(
        f"const plot = {plot}, box = plot.getBoundingClientRect(), layout = plot._fullLayout, mark = plot.data[0];"
        "const x = layout.xaxis.d2p(mark.x[1]) + layout.xaxis._offset;"
        "const y = layout.yaxis.d2p(mark.y[1]) + layout.yaxis._offset;"
        "return [box.left + x, box.top + y];"
    )
    for shift in (2, 1, 0):
        move = {"type": "mouseMoved", "x": x + shift, "y": y}
        opened.execute_cdp_cmd("Input.dispatchMouseEvent", move)
        time.sleep(0.1)
    wait_until(lambda: opened.find_elements("css selector", "[data-plot=fig_a] .hovertext"))
    hover = opened.execute_script("return document.querySelector('[data-plot=fig_a] .hovertext').textContent")
    for part in ("Async-LinUCB", "γ = 2", "regret 205", "communication 1,000", "2 seeds (0, 1)"):
        assert part in hover


def test_stand_in_data_are_labelled_in_the_title_the_plot_and_the_caption(opened: Chrome):
    parts = opened.execute_script(
        "const figure = document.getElementById('figure-fig_f');"
        "return ['h3', '.gtitle', 'figcaption'].map((part) => figure.querySelector(part).textContent)"
    )
    assert all("STAND-IN DATA" in part for part in parts)


def test_no_legend_covers_the_title_of_an_axis(opened: Chrome):
    gaps = opened.execute_script(
        "const box = (plot, part) => plot.querySelector(part).getBoundingClientRect();"
        "const plots = [...document.querySelectorAll('.plot')];"
        "return plots.filter((plot) => plot.querySelector('.legend') && plot.querySelector('.xtitle')).map((plot) => {"
        "  const legend = box(plot, '.legend'), bottom = plot.getBoundingClientRect().bottom;"
        "  return [legend.top - box(plot, '.xtitle').bottom, bottom - legend.bottom];"
        "})"
    )
    assert len(gaps) >= 3
    assert all(gap >= 0 for pair in gaps for gap in pair), gaps


def test_tables_are_sorted_by_a_click_on_their_heading(opened: Chrome):
    table = "document.querySelector('#table-missing table')"
    column = f"[...{table}.tHead.rows[0].cells].findIndex((cell) => cell.textContent === 'finished')"
    script = f"return [...{table}.tBodies[0].rows].map((row) => row.cells[{column}].textContent)"
    click = f"{table}.tHead.rows[0].cells[{column}].querySelector('button').click()"
    opened.execute_script(click)
    rising = opened.execute_script(script)
    assert [int(count) for count in rising] == sorted(int(count) for count in rising)
    opened.execute_script(click)
    assert opened.execute_script(script)[0] == max(rising, key=int)


def test_it_has_a_dark_mode_and_prints_the_pictures(opened: Chrome):
    def emulate(media: str, scheme: str) -> None:
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        opened.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": features})

    def background() -> str:
        return str(opened.execute_script("return getComputedStyle(document.body).backgroundColor"))

    try:
        emulate("screen", "light")
        light = background()
        emulate("screen", "dark")
        assert light == "rgb(255, 255, 255)" != background()
        emulate("print", "light")
        script = "return [...document.querySelectorAll(arguments[0])].map((box) => getComputedStyle(box).display)"
        assert set(opened.execute_script(script, ".picture img")) == {"block"}
        assert set(opened.execute_script(script, ".plot, nav")) == {"none"}
    finally:
        emulate("", "light")
