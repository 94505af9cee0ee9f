"""The page of the board: its table, its cards, and what is left on the page of the report; in Chromium, too."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.common.keys import Keys

from benchmark.board.task import task_names
from benchmark.statistics.comparison import PRIMARY
from reports.page.board import HEADINGS, KINDS, NUMBERS, BoardTable, board_table, card_sections, detail_sections
from reports.page.page import board_page, page, write_page
from reports.read.results import Results
from tests.benchmark.browser import looking_at
from tests.reports.big_board import PLAYED, big_results, tables_and_figures
from tests.reports.test_page_in_browser import SIZES, barriers, requests, set_size, wait_until
from tests.reports.whole_page import whole_page

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def results() -> Results:
    return big_results()


@pytest.fixture(scope="module")
def table(results: Results) -> BoardTable:
    return board_table(results.boards, results)


@pytest.fixture(scope="module")
def written(results: Results, tmp_path_factory: pytest.TempPathFactory) -> Path:
    report, board = write_page(tmp_path_factory.mktemp("page") / "report.html", results, *tables_and_figures(results))
    assert (report.name, board.name) == ("report.html", "board.html")
    return board


def test_the_table_has_each_method_at_each_budget_and_each_reference_once(results: Results, table: BoardTable):
    result = results.boards[0].result
    columns = len(result.budgets) + 1
    assert len(table.rows) == len(task_names()) * (columns * len(result.contenders) + len(result.references))
    (_, tasks, first_task), (_, budgets, first_budget), (_, kinds, _) = table.filters
    assert (tasks, first_task) == (tuple(task_names()), task_names()[0])
    assert budgets == ("0", "0.03", "0.1", "0.3", "1", "unlimited", "mean of 0.1 to 1")
    assert first_budget == budgets[-1]
    assert kinds == tuple(kind for kind in KINDS if kind != "not declared")
    assert all(tuple(row.cells) == HEADINGS for row in table.rows)


def test_the_cells_of_a_row_are_the_results(results: Results, table: BoardTable):
    result = results.boards[0].result
    entry = next(entry for entry in result.contenders if entry.kind == "clustered")
    rows = {row.budget: row.cells for row in table.rows if row.cells["method"].value == entry.label}
    mean, low, high = result.mean(entry.name, 1.0)
    assert (rows["1"]["score"].value, rows["1"]["score"].setting) == (f"{mean:.3f}", f"± {(high - low) / 2:.3f}")
    difference = result.difference(entry.name, "no communication", 1.0)
    assert difference is not None
    verdict = result.verdict(entry.name, 1.0)
    assert rows["1"]["difference to no communication"].value == f"{difference['difference']:+.3f} {verdict}"
    assert rows["1"]["difference to no communication"].verdict == verdict
    choice = result.choice(entry.name, 1.0)
    assert choice is not None
    assert float(rows["1"]["messages per decision"].value) == pytest.approx(result.needed(choice.configuration), 0.01)
    assert rows["1"]["rank"].value == str(result.ranks[1.0][entry.name])
    assert rows["mean of 0.1 to 1"]["messages per client"].value == "–"
    leaders = {row.budget: row.cells["method"].value for row in table.rows if row.cells["score"].is_best}
    assert leaders["mean of 0.1 to 1"] == next(
        each.label for each in result.contenders if each.name == result.leaders[PRIMARY]
    )


def test_each_task_and_each_method_has_a_card(results: Results):
    tasks, methods = card_sections(results.boards, results)
    assert [card.name for card in tasks.cards] == task_names()
    entries = {card.name: dict(card.entries) for card in tasks.cards}
    assert entries["delicious-matched"]["licence"].startswith("Non-commercial use only")
    assert entries[PLAYED]["licence"] == "not applicable (generated from seeds)"
    assert entries[PLAYED]["decisions per client"] == "median 24; half of the clients have 12 to 51"
    methods_played = {entry.method for entry in results.boards[0].result.contenders}
    assert {card.name for card in methods.cards} == {f"method-{name}" for name in methods_played}
    assert all(
        dict(card.entries).keys() >= {"kind", "what it does", "sends", "front parameter"} for card in methods.cards
    )


def test_without_boards_there_are_the_cards_of_the_protocol(results: Results):
    tasks, methods = card_sections([], results, "../methods.html")
    assert [card.name for card in tasks.cards] == task_names()
    assert len(methods.cards) > 10
    addresses = {card.title: card.address for card in methods.cards}
    assert addresses["Async-LinUCB, then alone (ours)"] == "../methods.html#async-linucb-then-alone-ours"


def test_figures_and_tables_are_on_the_page_of_the_board_by_task(results: Results):
    tables, figures = tables_and_figures(results)
    sections = detail_sections(results, tables, figures)
    assert [section.title.removeprefix("Figures and tables: ") for section in sections] == task_names()
    assert sum(len(section.tables) for section in sections) == len(tables)
    assert sum(len(section.figures) for section in sections) == len(figures)
    report = page(results, tables, figures)
    assert [each.name for each in (*tables, *figures) if f'-{each.name}"' in whole_page(report)] == []


def test_the_report_has_a_short_summary_and_stays_small(results: Results, written: Path):
    report = written.with_name("report.html")
    assert report.stat().st_size < 3_000_000
    text = report.read_text(encoding="utf-8")
    assert text.count('<th scope="row">') < 7 * len(task_names())
    links = set(re.findall(r'href="([^#"][^"]*)"', text))
    assert links == {"board.html", *(f"board.html#card-{name}" for name in task_names())}
    anchors = set(re.findall(r'id="([^"]*)"', whole_page(written.read_text(encoding="utf-8"))))
    assert {link.partition("#")[2] for link in links} - {""} <= anchors


def test_the_page_refers_to_no_other_file_but_the_report(results: Results):
    html = whole_page(board_page(results, *tables_and_figures(results)))
    addresses = set(re.findall(r"""(?:src|href)="([^"]*)""", html))
    assert {each for each in addresses if not each.startswith("#")} == {"report.html"}
    anchors = re.findall(r' id="([^"]*)"', html)
    assert len(set(anchors)) == len(anchors)
    assert {each[1:] for each in addresses if each.startswith("#")} <= set(anchors)


@pytest.fixture(params=list(SIZES))
def opened(request: pytest.FixtureRequest, chrome: Chrome, written: Path) -> Iterator[Chrome]:
    """The page at one width."""
    set_size(chrome, request.param)
    chrome.get_log("performance")
    chrome.get_log("browser")
    with looking_at(chrome, written.as_uri(), f"board-{request.param}"):
        wait_until(lambda: chrome.execute_script("return 'Plotly' in window"))
        yield chrome


def shown_cells(chrome: Chrome, heading: str) -> list[str]:
    """Return the texts of a column in the rows that a reader sees, whether the column itself is shown or not."""
    column = HEADINGS.index(heading)
    rows = "[...document.querySelectorAll('#table-board tbody tr')].filter((row) => row.offsetParent)"
    return list(chrome.execute_script(f"return {rows}.map((row) => row.cells[{column}].textContent.trim())"))


def press(chrome: Chrome, name: str, value: str) -> None:
    """Press a button of a filter."""
    buttons = chrome.find_elements("css selector", f"#table-board .chips[data-name={name}] button")
    (button,) = (each for each in buttons if each.text == value)
    chrome.execute_script("arguments[0].scrollIntoView({behavior: 'instant', block: 'center'})", button)
    button.click()
    assert button.get_attribute("aria-pressed") == "true"


def visible_headings(chrome: Chrome) -> list[str]:
    heads = chrome.find_elements("css selector", "#table-board thead th")
    return [head.text for head in heads if head.is_displayed()]


def test_the_page_needs_no_network_and_fits(opened: Chrome, written: Path):
    assert opened.get_log("browser") == []
    press(opened, "task", "all")
    press(opened, "budget", "1")
    assert requests(opened) == {written.as_uri()}
    across, window = opened.execute_script("return [document.documentElement.scrollWidth, window.innerWidth]")
    assert across <= window
    too_wide = opened.execute_script(
        "const boxes = document.querySelectorAll('.card, #table-board, .chips, .rows:has([data-filters]), .cell');"
        "return [...boxes].filter((box) => box.getBoundingClientRect().right > window.innerWidth + 0.5"
        "  || (box.clientWidth && box.scrollWidth > box.clientWidth + 1)).map((box) => box.outerHTML.slice(0, 200))"
    )
    assert too_wide == []


def test_filters_change_what_is_shown(opened: Chrome, table: BoardTable):
    first = task_names()[0]
    references = sum(row.task == first and row.kind == "reference" for row in table.rows)
    assert set(shown_cells(opened, "task")) == {first}
    assert set(shown_cells(opened, "budget")) == {"mean of 0.1 to 1", "–"}
    assert not {"task", "budget", "messages per decision"} & set(visible_headings(opened))
    everything = len(shown_cells(opened, "method"))
    press(opened, "kind", "personal")
    assert set(shown_cells(opened, "kind")) == {"personal"}
    assert "kind" not in visible_headings(opened)
    press(opened, "kind", "all")
    assert len(shown_cells(opened, "method")) == everything
    press(opened, "task", PLAYED)
    assert set(shown_cells(opened, "task")) == {PLAYED}
    findings = opened.find_elements("css selector", ".finding")
    assert [each.get_attribute("data-task") for each in findings if each.is_displayed()] == [PLAYED]
    press(opened, "budget", "0.3")
    cells = shown_cells(opened, "messages per client")
    assert cells.count("–") == references
    assert all(0 <= float(cell) <= 0.3 for cell in shown_cells(opened, "messages per decision") if cell != "–")
    assert set(NUMBERS) <= set(visible_headings(opened))
    press(opened, "verdict", "better")
    assert {cell.split()[1] for cell in shown_cells(opened, "difference to no communication")} == {"better"}


def test_a_heading_sorts_with_the_keyboard(opened: Chrome):
    def scores() -> list[float]:
        return [float(cell.partition(" ")[0]) for cell in shown_cells(opened, "score")]

    before = scores()
    index = HEADINGS.index("score")
    button = opened.find_elements("css selector", "#table-board thead th")[index].find_element("tag name", "button")
    button.send_keys(Keys.ENTER)
    assert scores() == sorted(before)
    button.send_keys(Keys.SPACE)
    assert scores() == sorted(before, reverse=True)


@pytest.mark.parametrize("size", list(SIZES))
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_barriers(chrome: Chrome, results: Results, size: str, scheme: str, tmp_path: Path):
    two_tasks = replace(results, boards=results.boards[:2])
    path = tmp_path / "board.html"
    path.write_text(board_page(two_tasks, [], []), encoding="utf-8")
    set_size(chrome, size)
    with looking_at(chrome, path.as_uri(), f"board-{size}-{scheme}"):
        chrome.execute_script("document.querySelector('.more').open = true")
        press(chrome, "budget", "1")
        assert barriers(chrome, scheme) == []
