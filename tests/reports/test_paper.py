"""Our record of the paper: its Table 2 as it was meant, and its errors."""

import numpy as np
import pytest

from reports.paper import paper

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
