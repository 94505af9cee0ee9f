"""Our record of the paper: its Table 2 as it was meant, and its errors."""

import re

import numpy as np
import pytest

from reports.paper import paper
from tests.tools.renew import BLOCK, DOCS

ARMS = 25


def columns(what: str) -> list[list[int]]:
    """Return the groups' numbers, one list for each of γ = ∞, 6001 and 3."""
    return [list(column) for column in zip(*(row[what] for row in paper()["groups"]["rows"]), strict=True)]


def test_table_2_has_three_upload_columns_followed_by_three_reward_columns():
    table = paper()["groups"]
    assert table["thresholds"] == [np.inf, 6001, 3]
    assert [sum(column) for column in columns("uploads")] == table["sum"]["uploads"] == [0, 11, 1423]
    assert [sum(column) for column in columns("reward")] == [6678, 7260, 5091]
    assert table["sum"]["reward"] == [6678, 7251, 5091]  # as printed: the only real error


def test_table_2_agrees_with_the_text_of_the_paper():
    groups = paper()["groups"]
    stated = {(each["threshold"], each["metric"]): each["value"] for each in paper()["numbers"]}
    normalised = [reward / (groups["sum"]["data"] / ARMS) for reward in map(sum, columns("reward"))]
    assert normalised[0] == pytest.approx(stated[1e20, "normalised_reward"], rel=0.01)  # no transfer: γ=∞
    assert normalised[1] == pytest.approx(stated[9001, "normalised_reward"], rel=0.01)
    by_active_users = sum(columns("uploads")[1][-2:])
    assert by_active_users / sum(columns("uploads")[1]) > 0.5  # "most upload came from the active users"
    alone, rarely, often = map(np.array, columns("reward"))
    assert (rarely > alone).sum() >= 8  # "almost all the groups have improved performance"
    lost = 1 - often / rarely
    assert lost[1:8].min() > lost[8:].max()  # the less active groups (10-80) lost more than the most active (80-100)


def test_only_real_errors_of_the_paper_are_listed():
    remarks = " ".join(paper()["groups"]["remarks"])
    assert "rewards at γ=6001 add up to 7,260, not to the 7,251" in remarks
    assert "C_T = 14,230 for both γ=6001 and γ=1e4" in remarks
    texts = remarks + " ".join(number.get("note", "") for number in paper()["numbers"])
    assert not re.search(r"uploads at γ=3 add up|\b11 rewards|column of Table 2 has 11|contradict", texts)


def test_the_page_of_results_shows_the_right_cells_of_table_2():
    page = (DOCS / "results.md").read_text()
    table = next(block.group() for block in BLOCK.finditer(page) if block["name"] == "user_groups_delicious-tagged")
    sums = [line.strip("| ").split(" | ") for line in table.splitlines() if "| sum |" in line]
    assert [(row[0], row[-3], row[-2]) for row in sums] == [
        ("∞", "0", "6,678"),
        ("6,001", "11", "7,251"),
        ("3", "1,423", "5,091"),
    ]
