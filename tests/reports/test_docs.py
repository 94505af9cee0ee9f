"""The page of results: its tables are generated from a store, its text stays as it is."""

import math
import re

import pytest

from reports.read.context import Context
from reports.read.results import Results
from tests.reports.made_up import made_up, run
from tests.tools.renew import BLOCK, DOCS, PICTURES, renewed


def test_tables_are_updated_and_the_text_is_kept(results: Results, context: Context):
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


def test_an_unknown_table_is_an_error(results: Results, context: Context):
    with pytest.raises(StopIteration):
        renewed("<!-- renewed: study_nonsense -->\n<!-- end -->", results, context)


def test_the_page_in_the_repository_has_all_its_tables_and_pictures():
    page = (DOCS / "results.md").read_text()
    blocks = {block["name"]: block.group() for block in BLOCK.finditer(page)}
    assert len(blocks) == page.count("<!-- renewed: ") == page.count("<!-- end -->")
    assert [name for name, text in blocks.items() if text.count("\n| ") < 3] == []
    pictures = re.findall(r"\(pictures/([^)]+)\)", page)
    assert {f"fig_{letter}.png" for letter in "abcdef"} <= set(pictures)
    assert all((PICTURES / name).stat().st_size < 100_000 for name in pictures)


def test_the_table_of_leaks_is_generated_from_runs_of_references():
    records = [
        run("async-linucb", 2.0, dataset="lastfm", experiment="references", normalised_reward=7.0),
        run("most-seen", math.nan, dataset="lastfm", experiment="references", normalised_reward=9.5),
        run("most-seen", math.nan, dataset="delicious", experiment="references", normalised_reward=1.25),
    ]
    text = renewed("<!-- renewed: references -->\nold\n<!-- end -->", *made_up(records))
    assert text.splitlines()[1:-1] == [
        "| rule | Delicious | LastFM |",
        "|---|---|---|",
        "| Most seen | 1.25 | 9.50 |",
        "| **best of Async-LinUCB** | – | **7.00** (γ=2) |",
        "",
        "- Means over 1 seed.",
    ]


def test_the_page_on_data_shows_that_references_earn_more_than_any_bandit_on_lastfm():
    (block,) = BLOCK.finditer((DOCS / "data.md").read_text())
    assert block["name"] == "references"
    header, _, *rows = [line.strip("|").split("|") for line in block.group().splitlines() if "|" in line]
    column = [name.strip() for name in header].index("LastFM")
    rewards = {row[0].strip(): float(row[column].strip().strip("*").split("*")[0]) for row in rows}
    best = rewards.pop("**best of Async-LinUCB**")
    assert {rule for rule, reward in rewards.items() if reward > best} >= {
        "Most popular so far",
        "Most seen",
        "Never offered before, then most seen",
    }
