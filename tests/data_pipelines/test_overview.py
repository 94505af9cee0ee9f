from pathlib import Path

import numpy as np
import pytest

from data_pipelines.prepare.overview import describe, draw, group_users
from data_pipelines.prepare.prepared import open_prepared


def test_the_ten_groups_of_delicious_contain_each_user_once():
    activity = np.array([1, 9, 10, 19, 89, 90, 99, 100])
    groups = group_users(activity, "tens")
    assert [group.label for group in groups] == [
        *[f"[{start}, {start + 10})" for start in range(0, 90, 10)],
        "[90, 100]",
    ]
    assert [group.users for group in groups] == [2, 2, 0, 0, 0, 0, 0, 0, 1, 3]


def test_users_above_a_hundred_interactions_form_a_separate_group():
    groups = group_users(np.array([5, 100, 101, 250]), "tens")
    assert len(groups) == 11
    assert (groups[-1].label, groups[-1].users, groups[-2].users) == ("[101, 250]", 2, 1)


def test_quantile_groups_are_about_equal_and_contain_all_users():
    activity = np.arange(1, 1_001)
    groups = group_users(activity, "quantiles")
    assert len(groups) == 10
    assert sum(group.users for group in groups) == 1_000
    assert max(group.users for group in groups) - min(group.users for group in groups) <= 2


def test_equal_quantiles_are_merged():
    assert [group.users for group in group_users(np.array([3, *[50] * 30]), "quantiles")] == [1, 30]
    assert [group.label for group in group_users(np.full(7, 50), "quantiles")] == ["[50, 50]"]


def test_the_description_is_complete(small_data: Path):
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


@pytest.mark.parametrize(("suffix", "start"), [(".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF")])
def test_the_picture_is_drawn(small_data: Path, tmp_path: Path, suffix: str, start: bytes):
    target = tmp_path / "pictures" / f"lastfm{suffix}"
    draw(open_prepared("lastfm", small_data), target)
    assert target.read_bytes().startswith(start)
    assert list(target.parent.iterdir()) == [target]


def test_an_unsupported_picture_format_is_refused(small_data: Path, tmp_path: Path):
    with pytest.raises(ValueError, match=r"picture must be a file name that ends in \.pdf, \.png, \.svg, got "):
        draw(open_prepared("lastfm", small_data), tmp_path / "lastfm.bmp")
