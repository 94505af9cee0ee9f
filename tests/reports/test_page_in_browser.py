"""The page in a real Chromium, at the width of a desktop and of a phone, without a network."""

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import axe_core_python
import numpy as np
import pandas as pd
import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.common.keys import Keys

from benchmark.charts.label_placement import overlap
from benchmark.records.record import RunRecord
from reports.figures import by_parameter, fronts, over_time, users
from reports.page.page import write_page
from reports.read.results import read_results
from reports.tables import bounds, claims, missing, settings
from tests.benchmark.browser import looking_at
from tests.reports.hand_made import HandMade
from tests.reports.made_up import crowded, made_up, many_settings, run

pytestmark = pytest.mark.slow

AXE = Path(axe_core_python.__file__).with_name("axe.min.js")
SIZES = {"desktop": (1280, 900, False), "phone": (390, 844, True)}
FIGURES = (fronts, by_parameter, over_time, users)
TABLES = (claims, bounds, settings, missing)


@pytest.fixture(scope="module")
def real_page(hand_made: HandMade, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page over the store made by hand, a crowded figure of stand-in data, and one with a long legend."""
    results = read_results(hand_made.uri)
    results = replace(results, folder=hand_made.folder / "data")
    further = [made_up(runs) for runs in (crowded("fig_f", source="stand-in", dataset="movielens"), many_variants())]
    crowd = [figure for pair in further for figure in fronts.figures(pair)]
    figures = [figure for module in FIGURES for figure in module.figures(results)]
    tables = [table for module in TABLES for table in module.tables(results)]
    everything = pd.concat([results.runs, *(pair.runs for pair in further)], ignore_index=True)
    results = replace(results, runs=everything)
    path = tmp_path_factory.mktemp("page") / "report.html"
    write_page(path, results, tables, [*figures, *crowd])
    return path


def many_variants() -> list[RunRecord]:
    """An experiment whose legend is long."""
    return [
        run("async-linucb", gamma, settings=settings, experiment="mine")
        for settings in many_settings(8)
        for gamma in (2.0, 3.0)
    ]


@pytest.fixture(scope="module", params=list(SIZES))
def opened(request: pytest.FixtureRequest, chrome: Chrome, real_page: Path) -> Iterator[Chrome]:
    """The page at one width, with everything unfolded and all plots drawn."""
    set_size(chrome, request.param)
    chrome.get_log("performance")
    chrome.get_log("browser")
    with looking_at(chrome, real_page.as_uri(), f"report-{request.param}"):
        wait_until(lambda: chrome.execute_script("return 'Plotly' in window"))  # plots are drawn when they are near
        chrome.folded_height = chrome.execute_script("return document.documentElement.scrollHeight")
        unfold(chrome)
        yield chrome


def set_size(chrome: Chrome, name: str) -> None:
    width, height, is_phone = SIZES[name]
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": is_phone}
    chrome.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def unfold(chrome: Chrome) -> None:
    """Open all that is folded, and draw the plots of all tabs; the first tab is shown at the end."""
    chrome.execute_script("document.querySelectorAll('details').forEach((part) => { part.open = true })")
    tabs = chrome.find_elements("css selector", "[role=tab]")
    for tab in [*tabs, *tabs[:1]]:
        chrome.execute_script("arguments[0].click()", tab)
        show_plots(chrome)
    show_plots(chrome)


def show_plots(chrome: Chrome) -> None:
    for box in chrome.find_elements("css selector", "[data-plot]"):
        if box.is_displayed():
            chrome.execute_script("arguments[0].scrollIntoView({behavior: 'instant', block: 'center'})", box)
            wait_until(lambda box=box: box.find_elements("css selector", ".plot .main-svg"))


def open_tab(chrome: Chrome, name: str) -> None:
    """Show a figure that may be on a hidden tab."""
    chrome.execute_script(f"document.getElementById('tab-{name}')?.click()")
    assert chrome.find_element("id", f"figure-{name}").is_displayed()


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
    scrolled = opened.execute_script(
        "return [...document.querySelectorAll('.rows')].filter((box) => box.scrollWidth > box.clientWidth + 1)"
        ".map((box) => (box.closest('[id]') || box).id)"
    )
    assert scrolled == []
    if window > 1000:
        assert opened.folded_height < 8 * 800
    assert real_page.stat().st_size < 3_000_000


def barriers(chrome: Chrome, scheme: str, part: str = "body") -> list[object]:
    """Return what axe objects to in a part of the page, in light or dark mode."""
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": features})
    try:
        chrome.execute_script(AXE.read_text(encoding="utf-8"))
        chrome.set_script_timeout(120)
        found = chrome.execute_async_script(
            "const done = arguments[arguments.length - 1];"
            "axe.run(arguments[0], { resultTypes: ['violations'] }).then((result) => done(result.violations.map("
            "  (each) => [each.id, each.help, each.nodes.slice(0, 3).map((node) => node.html.slice(0, 200))])))",
            part,
        )
        return list(found)
    finally:
        chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_barriers(opened: Chrome, scheme: str):
    assert barriers(opened, scheme) == []


def test_labels_of_a_plot_do_not_cover_one_another(opened: Chrome):
    open_tab(opened, "fig_a")
    boxes = opened.execute_script(
        "const plot = document.querySelector('[data-plot=fig_a] .plot');"
        "return [...plot.querySelectorAll('.annotation-text')].map((text) => {"
        "  const { left, top, right, bottom } = text.getBoundingClientRect(); return [left, -bottom, right, -top]; })"
    )
    assert len(boxes) >= 5
    for number, box in enumerate(boxes):
        others = np.array(boxes[:number] + boxes[number + 1 :])
        assert not overlap(np.array(box) + np.array([1, 1, -1, -1]), others).any()


def test_the_slider_shows_the_best_setting_within_the_budget(opened: Chrome):
    open_tab(opened, "fig_a")
    slider = opened.find_element("css selector", "#budget-fig_a")
    rows = "return [...document.querySelectorAll('[data-budget=fig_a] tbody tr')].map((row) => row.innerText)"
    opened.execute_script("arguments[0].scrollIntoView({behavior: 'instant', block: 'center'})", slider)
    slider.send_keys(Keys.HOME)
    first, second = opened.execute_script(rows)
    assert "γ = ∞" in first
    assert "1,005" in first
    assert "none within the budget" in second
    slider.send_keys(Keys.END)
    first, second = opened.execute_script(rows)
    assert "γ = 1" in first
    assert "D = 0.1" in second


def test_tabs_are_used_with_the_arrow_keys(opened: Chrome):
    first, second = opened.find_elements("css selector", "[role=tab]")[:2]
    opened.execute_script("arguments[0].click(); arguments[0].focus()", first)
    first.send_keys(Keys.ARROW_RIGHT)
    assert second.get_attribute("aria-selected") == "true"
    panel = opened.find_element("id", second.get_attribute("aria-controls"))
    assert panel.is_displayed()
    assert not opened.find_element("id", first.get_attribute("aria-controls")).is_displayed()
    opened.execute_script("arguments[0].click()", first)


def test_verdicts_filter_the_rows(opened: Chrome):
    table = "document.querySelector('#table-paper_against_ours')"

    def press(number: int) -> list[str]:
        """Press a button, and return the verdicts of the rows that it leaves; the others must be invisible."""
        opened.execute_script(f"{table}.querySelectorAll('.chips button')[{number}].click()")
        assert not opened.execute_script(
            f"return [...{table}.querySelectorAll('tr.off')].some((row) => row.offsetParent)"
        )
        cells = f"[...{table}.querySelectorAll('tbody tr:not(.off) [data-verdict]')]"
        return list(opened.execute_script(f"return {cells}.map((cell) => cell.dataset.verdict)"))

    chips = opened.execute_script(
        f"return [...{table}.querySelectorAll('.chips button')].map((chip) => chip.textContent)"
    )
    assert chips[0] == "all that was run"
    rows = {verdict: press(number) for number, verdict in enumerate(chips[1:], start=1)}
    assert len(rows) >= 2
    assert [verdict for verdict, left in rows.items() if {*left} != {verdict}] == []
    was_run = press(0)
    assert len(was_run) == sum(map(len, rows.values())) - len(rows["not checkable here"]) > 0
    assert "not checkable here" not in was_run


def test_a_link_opens_what_is_folded(opened: Chrome):
    section = "document.getElementById('words-used-on-this-page')"
    opened.execute_script(f"{section}.open = false; document.querySelector('a.term').click()")
    wait_until(lambda: opened.execute_script(f"return {section}.open"))
    assert opened.find_element("css selector", ".terms dt:target").is_displayed()


def test_hovering_over_a_mark_shows_its_numbers(opened: Chrome):
    open_tab(opened, "fig_a")
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
    table = "document.querySelector('#table-missing .rows table')"
    column = f"[...{table}.tHead.rows[0].cells].findIndex((cell) => cell.textContent === 'finished')"
    script = f"return [...{table}.tBodies[0].rows].map((row) => row.cells[{column}].textContent)"
    click = f"{table}.tHead.rows[0].cells[{column}].querySelector('button').click()"
    opened.execute_script(click)
    rising = opened.execute_script(script)
    assert [int(count) for count in rising] == sorted(int(count) for count in rising)
    opened.execute_script(click)
    assert opened.execute_script(script)[0] == max(rising, key=int)


def test_it_has_a_dark_mode_and_prints_the_plots(opened: Chrome):
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
        assert set(opened.execute_script(script, ".plot")) == {"block"}
        assert set(opened.execute_script(script, "nav, .chips, [role=tablist]")) == {"none"}
    finally:
        emulate("", "light")
