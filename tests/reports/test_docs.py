"""The page of results: its tables are made anew from a store, its words are left alone."""

import re

import pytest

from docs.renew import BLOCK, DOCS, PICTURES, renewed
from reports.context import Context
from reports.results import Results


def test_tables_are_made_anew_and_words_stay(results: Results, context: Context):
    names = ("directions", "numbers", "sizes", "fig_a", "user_groups_delicious")
    page = "Before.\n" + "".join(f"<!-- renewed: {name} -->\nold\n<!-- end -->\nAfter {name}.\n" for name in names)
    text = renewed(page, results, context)
    assert text.startswith("Before.\n<!-- renewed: directions -->\n| data |")
    assert "\nold\n" not in text
    for name in names:
        assert re.search(rf"<!-- renewed: {name} -->\n\|.*\n\|[-:|]+\|\n\|", text), name
        assert f"<!-- end -->\nAfter {name}.\n" in text
    assert "| Async-LinUCB | ∞ | 2 | 1,005 [941; 1,069] | 0 [0; 0] |" in text
    assert renewed(text, results, context) == text


def test_an_unknown_table_is_no_silent_gap(results: Results, context: Context):
    with pytest.raises(StopIteration):
        renewed("<!-- renewed: study_nonsense -->\n<!-- end -->", results, context)


def test_the_page_in_the_repository_has_all_its_tables_and_pictures():
    page = (DOCS / "results.md").read_text()
    blocks = {found["name"]: found.group() for found in BLOCK.finditer(page)}
    assert len(blocks) == page.count("<!-- renewed: ") == page.count("<!-- end -->")
    assert [name for name, text in blocks.items() if text.count("\n| ") < 3] == []
    pictures = re.findall(r"\(pictures/([^)]+)\)", page)
    assert {f"fig_{letter}.png" for letter in "abcdef"} <= set(pictures)
    assert all((PICTURES / name).stat().st_size < 100_000 for name in pictures)
