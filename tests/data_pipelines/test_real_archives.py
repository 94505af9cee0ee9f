"""Tests on the real archives, if there is a mirror: counts that can be verified independently."""

import zipfile
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import chisquare
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer

from data_pipelines import load
from data_pipelines.data_label import data_label
from data_pipelines.fetch.sources import PreparationOptions
from data_pipelines.prepare.prepared import open_prepared
from data_pipelines.prepare.readiness import PreparationResult, make_ready, problem_lines, remarks, status_table

pytestmark = pytest.mark.slow


def prepare(name: str, folder: Path) -> PreparationResult:
    return make_ready(name, PreparationOptions(folder=folder))


def test_lastfm_is_complete_and_labelled_as_from_a_mirror(real_data: Path):
    manifest = prepare("lastfm", real_data).manifest
    assert manifest is not None
    assert manifest["counts"]["observed"] == {"users": 1_892, "items": 17_632, "interactions": 92_834}
    assert manifest["rows"]["observed"] == manifest["rows"]["published"]
    assert manifest["differences"] == []
    assert manifest["source"] == "mirror"
    assert manifest["verified"] == "counts as published; not the official bytes"


def test_delicious_is_used_and_its_differing_counts_are_reported(real_data: Path):
    result = prepare("delicious", real_data)
    assert result.manifest is not None
    assert result.manifest["counts"] == {
        "observed": {"users": 1_855, "items": 69_226, "interactions": 103_876},
        "published": {"users": 1_867, "items": 69_226, "interactions": 104_799},
    }
    assert result.manifest["source"] == "mirror"
    table = status_table([result])
    assert "1,855 of 1,867" in table
    assert "103,876 of 104,799" in table
    assert "counts DIFFER; not the official bytes" in " ".join(" ".join(remarks([result])).split())
    assert "users: 1,855 of 1,867 published" in " ".join(problem_lines([result], {}, {}))
    assert load("delicious", seed=0, folder=real_data).steps == 103_876


@pytest.mark.parametrize("name", ["lastfm", "delicious", "lastfm-tagged"])
def test_real_pools_have_distinct_items_one_positive_and_no_other_item_of_the_user(real_data: Path, name: str):
    prepared = open_prepared(name, real_data)
    stream = load(name, seed=0, folder=real_data)
    assert (np.diff(np.sort(stream.pools, axis=1), axis=1) > 0).all()
    width = len(prepared.item_ids)
    interactions = prepared.users * width + prepared.items
    offers = stream.clients[:, None] * width + stream.pools
    assert (np.isin(offers, interactions) == (stream.rewards == 1.0)).all()
    assert (stream.rewards.sum(axis=1) == 1.0).all()
    assert (np.sort(offers[stream.rewards == 1.0]) == interactions).all()
    assert chisquare(np.bincount(stream.rewards.argmax(axis=1), minlength=25)).pvalue > 1e-4


def test_lastfm_tagged_has_exactly_the_events_of_the_paper(real_data: Path):
    prepared = open_prepared("lastfm-tagged", real_data)
    assert prepared.manifest["counts"]["observed"] == {"users": 1_892, "items": 12_523, "interactions": 96_733}
    assert prepared.manifest["differences"] == []
    pairs = np.unique(np.stack([prepared.users, prepared.items]), axis=1)
    assert pairs.shape[1] == 71_064


def test_delicious_tagged_drops_rare_tags_before_counting_events(real_data: Path):
    manifest = open_prepared("delicious-tagged", real_data).manifest
    assert manifest["counts"]["observed"]["interactions"] == 101_585
    assert data_label("mirror", manifest) == (
        "RECONSTRUCTED DATA (rows of user_taggedbookmarks-timestamps.dat: 384,599 of 437,593 published)"
    )


def test_the_components_of_tagging_events_are_those_of_a_truncated_svd(real_mirror: Path, real_data: Path):
    """Computed again with scikit-learn's vectorizer and its default, randomised, decomposition."""
    with zipfile.ZipFile(real_mirror / "hetrec2011-lastfm-2k.zip") as archive:
        tags = dict(
            line.split("\t") for line in archive.read("tags.dat").decode("latin-1").replace("\r", "").split("\n")[1:-1]
        )
        rows = archive.read("user_taggedartists-timestamps.dat").decode().split("\n")[1:-1]
    documents: dict[int, list[str]] = {}
    for row in rows:
        _, artist, tag, _ = row.split("\t")
        documents.setdefault(int(artist), []).extend(tags[tag].replace("_", " ").replace("-", " ").split())
    texts = [documents[artist] for artist in sorted(documents)]
    matrix = TfidfVectorizer(analyzer=lambda words: [word.lower() for word in words]).fit_transform(texts)
    svd = TruncatedSVD(25, random_state=0, n_iter=12)
    expected = svd.fit_transform(matrix)
    components = open_prepared("lastfm-tagged", real_data).components
    signs = np.sign((components * expected).sum(axis=0))
    np.testing.assert_allclose(components[:, :10], (expected * signs)[:, :10], atol=1e-4)


def test_the_two_data_sets_on_words_differ_in_the_words_alone(real_data: Path):
    own, other = (open_prepared(f"lastfm-tagged-{words}-words", real_data) for words in ("own", "other"))
    for array in ("users", "items", "times", "item_ids"):
        np.testing.assert_array_equal(getattr(own, array), getattr(other, array))
    for prepared in (own, other):
        assert prepared.manifest["counts"]["observed"] == {"users": 946, "items": 9_629, "interactions": 49_573}
        assert prepared.manifest["differences"] == []
    assert (own.manifest["items_without_words"], other.manifest["items_without_words"]) == (0, 2_832)
    assert own.manifest["fingerprint"] != other.manifest["fingerprint"]
    streams = [load(prepared.name, seed=0, folder=real_data) for prepared in (own, other)]
    for array in ("clients", "pools", "rewards"):
        np.testing.assert_array_equal(*(getattr(stream, array) for stream in streams))
    assert (streams[0].items != streams[1].items).any()
