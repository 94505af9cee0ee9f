from pathlib import Path

import numpy as np
import pytest

from data_pipelines.activity_groups import group_users
from data_pipelines.overview import describe, draw
from data_pipelines.prepared import open_prepared


def test_the_ten_groups_of_delicious_hold_everybody_once():
    activity = np.array([1, 9, 10, 19, 89, 90, 99, 100])
    groups = group_users(activity, "tens")
    assert [group.label for group in groups] == [
        *[f"[{start}, {start + 10})" for start in range(0, 90, 10)],
        "[90, 100]",
    ]
    assert [group.users for group in groups] == [2, 2, 0, 0, 0, 0, 0, 0, 1, 3]


def test_users_above_a_hundred_get_a_group_of_their_own():
    groups = group_users(np.array([5, 100, 101, 250]), "tens")
    assert len(groups) == 11
    assert (groups[-1].label, groups[-1].users, groups[-2].users) == ("[101, 250]", 2, 1)


def test_quantile_groups_are_about_equal_and_hold_everybody():
    activity = np.arange(1, 1_001)
    groups = group_users(activity, "quantiles")
    assert len(groups) == 10
    assert sum(group.users for group in groups) == 1_000
    assert max(group.users for group in groups) - min(group.users for group in groups) <= 2


def test_equal_quantiles_fall_together():
    assert [group.users for group in group_users(np.array([3, *[50] * 30]), "quantiles")] == [1, 30]
    assert [group.label for group in group_users(np.full(7, 50), "quantiles")] == ["[50, 50]"]


def test_the_description_says_everything(small_data: Path):
    text = describe(open_prepared("delicious", small_data))
    for part in (
        "source         stand-in",
        "(published: 104,799)",
        "without words",
        "[90, 100]",
        "feature norms",
        "standard",
        "licence        Non-commercial",
        "citation       Delicious website",
    ):
        assert part in text


def test_the_description_says_how_many_quantile_groups_remain(small_data: Path):
    assert "by quantiles: of ten groups" in describe(open_prepared("lastfm", small_data))


@pytest.mark.parametrize(("suffix", "start"), [(".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF")])
def test_the_picture_is_drawn(small_data: Path, tmp_path: Path, suffix: str, start: bytes):
    target = tmp_path / "pictures" / f"lastfm{suffix}"
    draw(open_prepared("lastfm", small_data), target)
    assert target.read_bytes().startswith(start)
    assert list(target.parent.iterdir()) == [target]


def test_another_kind_of_picture_is_refused(small_data: Path, tmp_path: Path):
    with pytest.raises(ValueError, match=r"allowed are names that end in \.pdf, \.png, \.svg"):
        draw(open_prepared("lastfm", small_data), tmp_path / "lastfm.bmp")
