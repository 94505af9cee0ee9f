"""Features learned from users who do not play, pools in which nothing is offered twice, clusters and spread."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from data_pipelines import EventStream, load, simulate
from data_pipelines.data_set import UNKNOWN_TIME
from data_pipelines.prepare.prepared import Prepared, open_prepared
from data_pipelines.stream_spec import dataset_spec
from data_pipelines.streams.learned import MIN_HELD_OUT_USERS, learn_from_held_out
from data_pipelines.streams.recorded import ranks_by_time
from data_pipelines.tag_events import half_of_users

ONCE: dict[str, Any] = {"features": "factors", "repeats": "once", "repeats_offered": False, "arms": 4}
PROFILE: dict[str, Any] = {**ONCE, "features": "profile", "min_interactions": 20, "max_events_per_user": 7}


@pytest.fixture(scope="module")
def purchases() -> Prepared:
    """Eighty users with 30 of 60 items each, at distinct times, rated 1 to 5."""
    random = np.random.default_rng(0)
    users = np.repeat(np.arange(80), 30)
    items = np.concatenate([np.sort(random.permutation(60)[:30]) for _ in range(80)]).astype(np.int32)
    manifest = {
        **{"name": "purchases", "fingerprint": "f", "source": "imported", "origin": "here"},
        **{"arrays": {}, "positive_rating": 4},
    }
    times, ratings = 1 + random.permutation(len(users)), random.integers(1, 6, len(users)).astype(np.float64)
    return Prepared(manifest, np.zeros((60, 25)), np.arange(60), users, items, times, ratings)


def stream_of(prepared: Prepared, seed: int = 0, **options: Any) -> EventStream:
    return dataset_spec(dataset="purchases", **options).build_from(prepared, seed)


def test_only_one_half_of_the_users_plays_and_the_other_makes_the_features(purchases: Prepared):
    stream = stream_of(purchases, **ONCE)
    plays = half_of_users(purchases.users)
    assert set(stream.client_ids) == set(purchases.users[plays])
    changed = purchases.items.copy()
    changed[plays] = changed[plays][::-1]
    held_out = learn_from_held_out(purchases, "factors")
    of_changed = learn_from_held_out(Prepared(**{**vars(purchases), "items": changed}), "factors")
    np.testing.assert_array_equal(held_out.factors, of_changed.factors)
    assert held_out.count.min() >= MIN_HELD_OUT_USERS
    np.testing.assert_array_equal(held_out.count, np.bincount(purchases.items[~plays], minlength=60))
    assert held_out.likes is not None
    np.testing.assert_array_equal(
        held_out.likes, np.bincount(purchases.items[~plays & (purchases.ratings >= 4)], minlength=60)
    )
    np.testing.assert_array_equal(stream.held_out_count, held_out.count)


def test_nothing_is_offered_to_a_player_twice_and_no_other_item_was_ever_taken(purchases: Prepared):
    stream = stream_of(purchases, **ONCE)
    taken = set(zip(purchases.users.tolist(), purchases.items.tolist(), strict=True))
    offers = [
        (int(client), int(item)) for client, pool in zip(stream.clients, stream.pools, strict=True) for item in pool
    ]
    assert len(set(offers)) == len(offers)
    are_positive = stream.rewards.ravel() == 1.0
    assert [offer in taken for offer in offers] == are_positive.tolist()
    assert (stream.rewards.sum(axis=1) == 1.0).all()
    per_client = np.bincount(stream.client_numbers)
    assert set(per_client) == {(60 - 30) // 3}  # the catalogue limits the events of each player


def test_the_events_of_a_player_are_limited_and_drawn_by_the_seed(purchases: Prepared):
    streams = [stream_of(purchases, seed, features="factors", max_events_per_user=5) for seed in (0, 0, 1)]
    assert set(np.bincount(streams[0].client_numbers)) == {5}
    np.testing.assert_array_equal(streams[0].pools, streams[1].pools)
    events = [{*zip(s.clients.tolist(), s.pools[s.rewards == 1.0].tolist(), strict=True)} for s in streams]
    assert events[0] == events[1] != events[2]


def test_a_profile_is_made_of_the_first_interactions_which_are_not_played(purchases: Prepared):
    stream = stream_of(purchases, **PROFILE)
    assert stream.item_of_row is not None
    np.testing.assert_array_equal(stream.offered_items.ravel(), stream.item_of_row)
    assert (stream.item_count, stream.dimension, len(stream.items)) == (60, 25, stream.pools.size)
    held_out = learn_from_held_out(purchases, "profile")
    for step in (0, stream.steps - 1):
        own = np.flatnonzero(purchases.users == stream.clients[step])
        first = purchases.items[own[np.argsort(purchases.times[own])[:10]]]
        p = held_out.factors[first].sum(axis=0)
        item = stream.offered_items[step, 0]
        q, n = held_out.factors[item], held_out.count
        popularity = np.log1p(n[item]) / np.log1p(n.max())
        x = np.hstack([2 * p / np.linalg.norm(p) * q, 1 / np.sqrt(2), popularity / np.sqrt(2)]) / np.sqrt(5)
        np.testing.assert_allclose(stream.items[stream.pools[step, 0]], x, atol=6e-8)
        assert not set(first) & set(stream.offered_items[step])
    assert np.linalg.norm(stream.items, axis=1).max() <= 1.0


def test_interactions_of_one_time_are_ordered_by_item_and_those_of_unknown_time_come_last(purchases: Prepared):
    arrays = {**vars(purchases), "users": np.zeros(5, int), "items": np.array([4, 3, 2, 1, 0], np.int32)}
    times = np.array([7, 7, UNKNOWN_TIME, UNKNOWN_TIME, 5])
    ranks = ranks_by_time(Prepared(**{**arrays, "times": times, "ratings": None}))
    assert ranks[[4, 1, 0]].tolist() == [0, 1, 2]
    assert sorted(ranks[[2, 3]]) == [3, 4]


def test_factors_are_cached_beside_the_data_and_a_damaged_cache_is_not_used(small_data: Path, tmp_path: Path):
    prepared = open_prepared("lastfm", small_data)
    factors = learn_from_held_out(prepared, "factors").factors
    (cache,) = (small_data / "lastfm").glob("factors-*")
    content = cache.read_bytes()
    np.testing.assert_array_equal(learn_from_held_out(prepared, "factors").factors, factors)
    cache.write_bytes(bytes(8) + content[8:])
    np.testing.assert_array_equal(learn_from_held_out(prepared, "factors").factors, factors)
    assert cache.read_bytes() == content
    assert load("lastfm", seed=0, folder=small_data).held_out_count is None


BUILD = """
import sys, warnings
from pathlib import Path
from threadpoolctl import threadpool_info
from data_pipelines import load
warnings.simplefilter("ignore")
stream = load("lastfm", seed=0, features="factors", folder=Path(sys.argv[1]))
sys.stdout.buffer.write(stream.items.tobytes())
print(*{library["architecture"] for library in threadpool_info() if "architecture" in library}, file=sys.stderr)
"""


@pytest.mark.slow
def test_two_kinds_of_processors_learn_the_same_bytes(small_data: Path):
    results = []
    for core in ("Nehalem", "Haswell"):
        for cache in (small_data / "lastfm").glob("factors-*"):
            cache.unlink()
        environment = {**os.environ, "OPENBLAS_CORETYPE": core}
        command = [sys.executable, "-c", BUILD, str(small_data)]
        done = subprocess.run(command, env=environment, capture_output=True, check=True, timeout=300)
        results.append((done.stdout, done.stderr))
    if results[0][1] == results[1][1]:
        pytest.skip("NOT RUN: this machine's linear algebra knows one kind of processor only")
    assert results[0][0] == results[1][0]


def test_clusters_and_spread_change_the_rewards_only():
    sizes: dict[str, Any] = {"seed": 3, "steps": 400, "clients": 20, "arms": 5, "dimension": 4}
    plain = simulate(**sizes)
    for options in ({"clusters": 3}, {"spread": 0.5}):
        stream = simulate(**sizes, **options)
        for name in ("items", "pools", "clients", "noise"):
            np.testing.assert_array_equal(getattr(stream, name), getattr(plain, name))
        thetas = []
        for client in stream.client_ids:
            steps = stream.clients == client
            features = stream.items[stream.pools[steps]].reshape(-1, 4)
            theta, residual, *_ = np.linalg.lstsq(features, stream.rewards[steps].ravel(), rcond=None)
            assert residual.sum() < 1e-20
            assert np.linalg.norm(theta) == pytest.approx(1.0)
            thetas.append(theta)
        distinct = len(np.unique(np.round(thetas, 8), axis=0))
        assert distinct == (3 if "clusters" in options else 20)
    assert {simulate(**sizes, clusters=3).name, simulate(**sizes, spread=0.5).name} == {
        "simulated-clusters-3",
        "simulated-spread-0_5",
    }


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"features": "genres"}, "features must be 'words', 'factors' or 'profile', got 'genres'"),
        ({"features": "factors", "dimension": 10}, "dimension must be 25 with learned features, got 10"),
        ({"features": "factors", "scaling": "unit"}, "scaling = 'unit' needs features = 'words', got features ="),
        ({"repeats_offered": False}, "repeats_offered = False needs repeats = 'once', got repeats = 'keep'"),
        (
            {"repeats_offered": False, "repeats": "once", "negatives": "popularity"},
            "repeats_offered = False needs negatives = 'uniform', got negatives = 'popularity'",
        ),
        ({"max_events_per_user": 0}, "max_events_per_user must be greater than or equal to 1, got 0"),
        ({"pools": "rated", "max_events_per_user": 3}, "max_events_per_user = 3 needs pools = 'sampled', got pools ="),
        ({"pools": "rated", "features": "profile"}, "features = 'profile' needs pools = 'sampled', got pools ="),
        ({"warm_up": 5}, "warm_up = 5 needs features = 'profile', got features = 'words'"),
        ({**ONCE, "arms": 32}, "no user of purchases has enough interactions and items for pools of 32 arms"),
    ],
)
def test_an_option_that_makes_no_sense_is_one_line(purchases: Prepared, options: dict[str, Any], message: str):
    with pytest.raises(ValueError, match=f"^{message}") as caught:
        stream_of(purchases, **options)
    assert "\n" not in str(caught.value)


def test_too_few_held_out_users_missing_times_and_two_kinds_of_clients_are_one_line(
    small_data: Path, purchases: Prepared
):
    with pytest.raises(ValueError, match=r"^features = 'factors' needs items .* in delicious only \d+% of the players"):
        load("delicious", seed=0, features="factors", folder=small_data)
    without_times = Prepared(**{**vars(purchases), "times": np.full(len(purchases.users), UNKNOWN_TIME)})
    with pytest.raises(ValueError, match=r"^features = 'profile' needs the times of interactions, and purchases has"):
        stream_of(without_times, **PROFILE)
    with pytest.raises(ValueError, match=r"^only one of global_dim, clusters and spread is possible, got clusters = 2"):
        simulate(seed=0, clusters=2, spread=0.5)
