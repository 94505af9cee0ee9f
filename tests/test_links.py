"""Every link between the pages of the repository leads to a file that exists, and to a heading if it names one."""

from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.anchors import anchors_plugin

from tests.readme import PAGES, ROOT

OUTSIDE = ("http://", "https://", "mailto:")


def tokens(text: str) -> list[Token]:
    """Return the parts of a page, those inside of paragraphs and headings too."""
    parts = MarkdownIt("gfm-like", {"linkify": False}).use(anchors_plugin, max_level=6).parse(text)
    return parts + [child for part in parts for child in part.children or ()]


def links(text: str) -> list[str]:
    """Return the targets of links and pictures that are in the repository."""
    targets = [str(token.attrs.get("href") or token.attrs.get("src") or "") for token in tokens(text)]
    return [target for target in targets if target and not target.startswith(OUTSIDE)]


def anchors(text: str) -> set[str]:
    """Return the names under which GitHub links to the headings of a page."""
    return {str(token.attrs["id"]) for token in tokens(text) if "id" in token.attrs}


def is_broken(page: Path, link: str) -> bool:
    """Whether a link on a page has no target."""
    name, _, anchor = link.partition("#")
    target = (page.parent / name).resolve() if name else page
    if not target.exists() or not target.is_relative_to(ROOT):
        return True
    return bool(anchor) and (target.suffix != ".md" or anchor not in anchors(target.read_text()))


def test_every_link_has_a_target():
    assert [(page.name, link) for page in PAGES for link in links(page.read_text()) if is_broken(page, link)] == []


def test_the_readme_links_to_every_page_of_the_documentation():
    readme = ROOT / "README.md"
    linked = {(ROOT / link.partition("#")[0]).resolve() for link in links(readme.read_text())}
    pages = {page for page in PAGES if page.parent.name not in ("reference", "tables")}  # only on the site; long tables
    assert pages - linked == {readme}


def test_every_page_of_tables_is_linked_to():
    tables = {page for page in PAGES if page.parent.name == "tables"}
    linked = {(page.parent / link.partition("#")[0]).resolve() for page in PAGES for link in links(page.read_text())}
    assert tables - linked == set()


def test_broken_links_are_found():
    good = ["docs/data.md", "docs/data.md#what-the-labels-mean", "#citing"]
    broken = ["docs/missing.md", "docs/data.md#no-such-heading", "#no-such-heading", "../elsewhere.md"]
    text = " ".join(f"[text]({link}) and `[code](nowhere.md)`" for link in [*good, *broken])
    assert [link for link in links(text) if is_broken(ROOT / "README.md", link)] == broken
