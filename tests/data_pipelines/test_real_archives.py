"""On the real archives, if there is a mirror of them: the counts that everybody can check."""

import zipfile
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import chisquare

from data_pipelines import load
from data_pipelines.activity_groups import group_users
from data_pipelines.prepared import open_prepared
from data_pipelines.readiness import Outcome, make_ready
from data_pipelines.sources import Wishes
from data_pipelines.status_table import status_table


def outcome(name: str, folder: Path) -> Outcome:
    return make_ready(name, Wishes(folder=folder))


def test_lastfm_is_complete_and_said_to_come_from_a_mirror(real_data: Path):
    manifest = outcome("lastfm", real_data).manifest
    assert manifest is not None
    assert manifest["counts"]["observed"] == {"users": 1_892, "items": 17_632, "interactions": 92_834}
    assert manifest["rows"]["observed"] == manifest["rows"]["published"]
    assert manifest["differences"] == []
    assert manifest["source"] == "mirror"
    assert manifest["verified"] == "counts as published; not the official bytes"


def test_delicious_is_used_and_its_counts_are_said_to_differ(real_data: Path):
    result = outcome("delicious", real_data)
    assert result.manifest is not None
    assert result.manifest["counts"] == {
        "observed": {"users": 1_855, "items": 69_226, "interactions": 103_876},
        "published": {"users": 1_867, "items": 69_226, "interactions": 104_799},
    }
    assert result.manifest["source"] == "mirror"
    table = status_table([result])
    assert "1,855 of 1,867" in table
    assert "103,876 of 104,799" in table
    assert "counts DIFFER; not the official bytes" in table
    assert load("delicious", seed=0, folder=real_data).steps == 103_876


def test_the_users_of_delicious_fall_into_the_ten_groups(real_data: Path):
    groups = group_users(open_prepared("delicious", real_data).activity, "tens")
    assert [group.label for group in groups][:2] == ["[0, 10)", "[10, 20)"]
    assert groups[-1].label == "[90, 100]"
    assert [group.users for group in groups] == [163, 95, 75, 107, 154, 213, 363, 382, 257, 46]
    assert sum(group.interactions for group in groups) == 103_876


def test_of_ten_quantile_groups_of_lastfm_two_remain(real_data: Path):
    groups = group_users(open_prepared("lastfm", real_data).activity, "quantiles")
    assert [group.users for group in groups] == [63, 1_829]
    assert groups[1].label == "[50, 50]"


def test_a_third_of_the_artists_have_no_word(real_data: Path):
    assert open_prepared("lastfm", real_data).manifest["items_without_words"] == 5_499


@pytest.mark.parametrize("name", ["lastfm", "delicious"])
def test_real_pools_have_distinct_items_one_positive_and_no_other_item_of_the_user(real_data: Path, name: str):
    prepared = open_prepared(name, real_data)
    stream = load(name, seed=0, folder=real_data)
    assert (np.diff(np.sort(stream.pools, axis=1), axis=1) > 0).all()
    width = len(prepared.item_ids)
    touched = prepared.users * width + prepared.items
    offered = stream.clients[:, None] * width + stream.pools
    assert (np.isin(offered, touched) == (stream.rewards == 1.0)).all()
    assert (stream.rewards.sum(axis=1) == 1.0).all()
    assert (np.sort(offered[stream.rewards == 1.0]) == touched).all()
    assert chisquare(np.bincount(stream.rewards.argmax(axis=1), minlength=25)).pvalue > 1e-4


def test_the_official_line_ends_give_the_same_data(real_mirror: Path, real_data: Path, tmp_path: Path):
    archive = "hetrec2011-lastfm-2k.zip"
    with zipfile.ZipFile(real_mirror / archive) as lf, zipfile.ZipFile(tmp_path / archive, "w") as crlf:
        for member in lf.namelist():
            crlf.writestr(member, lf.read(member).replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))
    result = make_ready("lastfm", Wishes(folder=tmp_path / "data", mirror=str(tmp_path)))
    assert result.manifest is not None
    expected = open_prepared("lastfm", real_data).manifest
    assert result.manifest["arrays"] == expected["arrays"]
    assert result.manifest["fingerprint"] != expected["fingerprint"]
