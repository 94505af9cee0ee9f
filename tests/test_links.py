"""Every link between the pages of the repository leads to a file that exists, and to a heading if it names one."""

from pathlib import Path

import pytest
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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_has_a_target(page: Path):
    assert [link for link in links(page.read_text()) if is_broken(page, link)] == []


def test_the_readme_links_to_every_page_of_the_documentation():
    readme = ROOT / "README.md"
    linked = {(ROOT / link.partition("#")[0]).resolve() for link in links(readme.read_text())}
    pages = {page for page in PAGES if page.parent.name != "reference"}  # generated: only on the site
    assert pages - linked == {readme}


@pytest.mark.parametrize(
    ("link", "broken"),
    [
        ("docs/data.md", False),
        ("docs/missing.md", True),
        ("docs/data.md#what-the-labels-mean", False),
        ("docs/data.md#no-such-heading", True),
        ("#quick-start", False),
        ("#no-such-heading", True),
        ("../elsewhere.md", True),
    ],
)
def test_broken_links_are_found(link: str, broken: bool):
    (target,) = links(f"Some [text]({link}) and `[code](nowhere.md)`.")
    assert target == link
    assert is_broken(ROOT / "README.md", link) is broken
