"""The documentation builds as a site without a warning, complete, and needs no other host."""

import os
import re
import runpy
import subprocess
import sys
import warnings
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from docutils.core import publish_doctree
from selenium.webdriver import Chrome
from sphinx.cmd.build import main as build_site

import algorithms
import benchmark
import data_pipelines
from algorithms.registry import built_in_methods
from benchmark.board.task import task_names
from tests.benchmark.browser import looking_at
from tests.readme import PAGES, ROOT
from tests.reports.big_board import big_results
from tests.reports.test_board_page import press, shown_cells
from tests.reports.test_page_in_browser import SIZES, barriers, requests, set_size

pytestmark = pytest.mark.slow


class Page(HTMLParser):
    """The ids on a page, its links, and the addresses of what a browser loads with it."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.file = file
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(file.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what the tag refers to."""
        values = {name: value or "" for name, value in attrs}
        if "id" in values:
            self.ids.add(values["id"])
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if "src" in values or (tag == "link" and "href" in values):
            self.loaded.append(values.get("src") or values["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    options = ("-q", "-W", "--keep-going", "-c", "docs", "-d", str(folder / "doctrees"))
    command = [sys.executable, "-m", "sphinx", *options, ".", str(folder / "pages")]
    environment = {**os.environ, "FEDBANDIT_DATA": str(folder / "data")}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return folder / "pages"


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    return {file: Page(file) for file in site.rglob("*.html")}


def test_every_page_is_on_the_site_and_in_its_contents(site: Path, pages: dict[Path, Page]):
    files = {(site / page.relative_to(ROOT)).with_suffix(".html") for page in PAGES}
    assert files <= set(pages)
    home = site / "index.html"
    linked = {(site / urlsplit(link).path).resolve() for link in pages[home].links if not urlsplit(link).scheme}
    assert files - linked == {site / "README.html"}


def test_no_page_loads_anything_from_another_host(site: Path, pages: dict[Path, Page]):
    loaded = {address for page in pages.values() for address in page.loaded}
    assert [address for address in loaded if urlsplit(address).netloc] == []
    styles = "".join(file.read_text() for file in site.rglob("*.css"))
    assert re.findall(r"(?:url\(|@import)\s*['\"]?(?:https?:)?//[^)'\"]+", styles) == []


def test_every_link_inside_the_site_has_a_target(site: Path, pages: dict[Path, Page]):
    broken = []
    for page in pages.values():
        for link in page.links:
            address = urlsplit(link)
            if address.scheme:
                continue
            target = (page.file.parent / unquote(address.path)).resolve() if address.path else page.file
            anchors = pages[target].ids if target in pages else set()
            if not target.exists() or (address.fragment and unquote(address.fragment) not in anchors):
                broken.append((page.file.relative_to(site).as_posix(), link))
    assert broken == []


def test_the_reference_has_every_public_name(site: Path, pages: dict[Path, Page]):
    ids = pages[site / "docs" / "reference" / "python.html"].ids
    names = {f"{package.__name__}.{name}" for package in (algorithms, data_pipelines) for name in package.__all__}
    others = {id(getattr(package, name)) for package in (algorithms, data_pipelines) for name in package.__all__}
    repeated = {f"benchmark.{name}" for name in benchmark.__all__ if id(getattr(benchmark, name)) in others}
    assert names | {f"benchmark.{name}" for name in benchmark.__all__} - repeated <= ids


def test_the_reference_has_the_help_of_every_command(site: Path):
    from benchmark import commands

    page = (site / "docs" / "reference" / "command_line.html").read_text()
    names = [path.stem for path in Path(commands.__path__[0]).glob("[!_]*.py")]
    assert len(names) >= 7
    assert [name for name in names if f"usage: fedbandit {name}" not in page] == []


def test_search_needs_no_server(site: Path):
    index = (site / "searchindex.js").read_text()
    assert index.startswith("Search.setIndex(")  # a script, which a browser also loads from a file
    assert '"docs/own_method"' in index


def test_the_page_of_the_board_has_a_card_for_each_task_and_method(pages: dict[Path, Page], site: Path):
    board = site / "docs" / "reference" / "board.html"
    contenders = {f"card-method-{name}" for name, info in built_in_methods().items() if info.role == "contender"}
    assert contenders | {f"card-{name}" for name in task_names()} <= pages[board].ids
    assert ("table-board" in pages[board].ids) != ("The board of version 2 is to come" in board.read_text())


@pytest.fixture(scope="module")
def board_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of the board on a site with few pages, made from records with the boards of all tasks."""
    folder = tmp_path_factory.mktemp("board")
    pages = "README.md,docs/methods.md,docs/board.md,docs/reference/board.md"
    options = ["-Q", "-c", "docs", "-d", str(folder / "doctrees"), "-D", f"include_patterns={pages}"]
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings(action="ignore"):  # those of Sphinx
        patch.setattr("tests.tools.committed.read_committed", big_results)
        patch.chdir(ROOT)
        assert build_site([*options, ".", str(folder / "pages")]) == 0
    return folder / "pages" / "docs" / "reference" / "board.html"


@pytest.mark.parametrize("size", list(SIZES))
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_board_on_the_site_filters_offline_without_barriers(
    chrome: Chrome, board_page: Path, size: str, scheme: str
):
    set_size(chrome, size)
    chrome.get_log("performance")
    with looking_at(chrome, board_page.as_uri(), f"site-{size}-{scheme}"):
        press(chrome, "task", task_names()[-1])
        press(chrome, "budget", "1")
        assert set(shown_cells(chrome, "task")) == {task_names()[-1]}
        assert {urlsplit(address).scheme for address in requests(chrome)} == {"file"}
        across, window = chrome.execute_script("return [document.documentElement.scrollWidth, window.innerWidth]")
        assert across <= window
        rows = "document.querySelector('#table-board .rows')"
        assert chrome.execute_script(f"return {rows}.scrollWidth <= {rows}.clientWidth")
        chrome.execute_script("document.querySelectorAll('#table-board tr.off').forEach((row) => row.remove())")
        assert barriers(chrome, scheme, ".board") == []


@pytest.mark.parametrize(
    "docstring", ["All `name`s of *x* and **y**, log|V|, name_ and a \\ b.", "`a` over\n`two` lines, γ_U."]
)
def test_any_punctuation_in_a_docstring_is_shown_as_it_is(docstring: str):
    escape = runpy.run_path(str(ROOT / "docs" / "conf.py"))["escape_docstring"]
    lines = docstring.splitlines()
    escape(None, "function", "name", None, None, lines)
    page = publish_doctree("\n".join(lines), settings_overrides={"report_level": 1, "halt_level": 2})
    assert page.astext() == docstring.replace("`", "")
