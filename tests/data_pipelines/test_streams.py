import itertools
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import chisquare

from data_pipelines import load
from data_pipelines.prepare.prepared import open_prepared
from data_pipelines.streams import recorded as pools_module
from data_pipelines.streams.recorded import draw_order, draw_pools


def generator(seed: int = 0) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(seed))


@pytest.mark.parametrize("name", ["lastfm", "delicious", "movielens"])
def test_every_pool_has_distinct_items_one_positive_and_no_other_item_of_the_user(small_data: Path, name: str):
    prepared = open_prepared(name, small_data)
    stream = load(name, seed=3, folder=small_data)
    interactions = set(zip(prepared.users.tolist(), prepared.items.tolist(), strict=True))
    positives = set()
    for user, pool, rewards in zip(stream.clients.tolist(), stream.pools.tolist(), stream.rewards, strict=True):
        assert len(set(pool)) == 25
        (position,) = np.flatnonzero(rewards)
        assert rewards[position] == 1.0
        assert [item for item in pool if (user, item) in interactions] == [pool[position]]
        assert (user, pool[position]) not in positives
        positives.add((user, pool[position]))
    assert positives == interactions
    assert not stream.noise.any()


def test_the_positive_may_be_put_first_and_nothing_else_changes(small_data: Path):
    anywhere = load("delicious", seed=4, folder=small_data)
    first = load("delicious", seed=4, positive="first", folder=small_data)
    assert (first.rewards.argmax(axis=1) == 0).all()
    assert (first.rewards.sum(axis=1) == 1).all()
    np.testing.assert_array_equal(np.sort(first.pools), np.sort(anywhere.pools))
    rows = np.arange(anywhere.steps)
    np.testing.assert_array_equal(first.pools[:, 0], anywhere.pools[rows, anywhere.rewards.argmax(axis=1)])
    assert first.fingerprint != anywhere.fingerprint


def test_the_position_of_the_positive_is_uniform(small_data: Path):
    stream = load("movielens", seed=0, folder=small_data)
    counts = np.bincount(stream.rewards.argmax(axis=1), minlength=25)
    assert chisquare(counts).pvalue > 1e-4


def test_the_other_arms_are_uniform_among_the_items_new_to_the_user():
    users, items = np.zeros(4, dtype=np.int64), np.array([0, 3, 4, 9], dtype=np.int32)
    interactions = np.tile(np.arange(4), 5_000)
    pools, positions = draw_pools(generator(), users, items, interactions, item_count=12, arms=4)
    others = np.delete(pools.ravel(), np.arange(len(pools)) * 4 + positions)
    counts = np.bincount(others, minlength=12)
    assert not counts[items].any()
    assert chisquare(np.delete(counts, items)).pvalue > 1e-4
    rows = np.sort(others.reshape(-1, 3), axis=1)
    subsets, frequency = np.unique(rows, axis=0, return_counts=True)
    assert len(subsets) == 56  # every set of 3 of the 8 new items
    assert chisquare(frequency).pvalue > 1e-4


def test_the_search_used_for_very_many_users_and_items_gives_the_same_pools(small_data: Path, monkeypatch):
    by_table = load("lastfm", seed=0, folder=small_data)
    monkeypatch.setattr(pools_module, "MAX_BITS", 0)
    by_search = load("lastfm", seed=0, folder=small_data)
    assert (by_table.pools == by_search.pools).all()


def test_pools_can_contain_all_items_that_are_new_to_the_user():
    users, items = np.zeros(3, dtype=np.int64), np.arange(3, dtype=np.int32)
    interactions = np.tile(np.arange(3), 10)
    pools, _ = draw_pools(generator(), users, items, interactions, item_count=1_000, arms=998)
    assert (np.sort(pools, axis=1)[:, 1:] == np.arange(3, 1_000)).all()
    with pytest.raises(ValueError, match=r"arms must be an integer from 2 to 998 \(.*\), got 999"):
        draw_pools(generator(), users, items, interactions, item_count=1_000, arms=999)


def test_each_users_interactions_are_in_order_of_time(small_data: Path):
    for name in ("delicious", "movielens"):
        prepared = open_prepared(name, small_data)
        assert (prepared.times > 0).all()
        order = draw_order(generator(), prepared.users, prepared.times)
        assert sorted(order.tolist()) == list(range(len(prepared.users)))
        for user in np.unique(prepared.users):
            times = prepared.times[order[prepared.users[order] == user]]
            assert (np.diff(times) >= 0).all()


def test_interactions_of_unknown_time_are_at_random_positions_and_the_others_in_order_of_time():
    users = np.zeros(6, dtype=np.int64)
    times = np.array([30, 0, 10, 0, 20, 0])
    position_counts = np.zeros(6)
    for seed in range(3_000):
        order = draw_order(generator(seed), users, times)
        known_times = times[order][times[order] > 0]
        assert known_times.tolist() == [10, 20, 30]
        position_counts[int(np.flatnonzero(order == 1)[0])] += 1
    assert chisquare(position_counts).pvalue > 1e-4


def test_without_times_all_orders_of_a_users_interactions_are_equally_likely():
    orders = [tuple(draw_order(generator(seed), np.zeros(3), np.zeros(3)).tolist()) for seed in range(6_000)]
    frequency = [orders.count(order) for order in itertools.permutations(range(3))]
    assert chisquare(frequency).pvalue > 1e-4


def test_users_are_drawn_uniformly_among_those_with_remaining_interactions():
    """Compare with the probability of every possible sequence of users, computed by a plain recursion."""
    counts = {1: 1, 2: 2, 7: 3}
    users = np.repeat(list(counts), list(counts.values()))
    expected = _sequence_probabilities(counts)
    sequence_counts = dict.fromkeys(expected, 0)
    runs = 20_000
    for seed in range(runs):
        order = draw_order(generator(seed), users, np.zeros(6))
        sequence_counts[tuple(users[order].tolist())] += 1
    assert chisquare(list(sequence_counts.values()), [runs * share for share in expected.values()]).pvalue > 1e-4


def _sequence_probabilities(remaining: dict[int, int]) -> dict[tuple[int, ...], float]:
    users = [user for user, count in remaining.items() if count]
    if not users:
        return {(): 1.0}
    shares: dict[tuple[int, ...], float] = {}
    for user in users:
        for rest, share in _sequence_probabilities({**remaining, user: remaining[user] - 1}).items():
            shares[(user, *rest)] = shares.get((user, *rest), 0.0) + share / len(users)
    return shares


def test_one_very_active_user_is_drawn_correctly():
    users = np.concatenate([np.arange(20_000), np.full(200_000, 20_000)])
    order = draw_order(generator(), users, np.zeros(len(users)))
    assert np.bincount(users[order]).tolist() == [*[1] * 20_000, 200_000]


def test_the_same_seed_gives_the_same_stream_and_another_seed_a_different_one(small_data: Path):
    first, again, other = (load("lastfm", seed=seed, folder=small_data) for seed in (0, 0, 1))
    for array in ("items", "clients", "pools", "rewards"):
        assert getattr(first, array).tobytes() == getattr(again, array).tobytes()
    assert first.fingerprint == again.fingerprint
    assert first.fingerprint != other.fingerprint
    assert (first.pools != other.pools).any()


def test_order_and_pools_are_the_same_on_every_machine():
    """Compare with recorded numbers: they depend only on whole numbers, so a difference means a different stream."""
    users = np.array([4, 4, 4, 8, 8, 15])
    times = np.array([3, 1, 2, 0, 0, 0])
    order = draw_order(generator(42), users, times)
    pools, positions = draw_pools(
        generator(42),
        np.array([0, 0, 0, 1, 1, 2]),
        np.array([0, 1, 2, 3, 4, 5], dtype=np.int32),
        order,
        item_count=10,
        arms=4,
    )
    assert order.tolist() == EXPECTED_ORDER
    assert pools.tolist() == EXPECTED_POOLS
    assert positions.tolist() == EXPECTED_POSITIONS


EXPECTED_ORDER = [1, 5, 2, 0, 4, 3]
EXPECTED_POOLS = [[7, 8, 1, 6], [4, 5, 6, 8], [5, 2, 6, 3], [0, 4, 5, 9], [4, 7, 9, 8], [5, 7, 3, 1]]
EXPECTED_POSITIONS = [2, 1, 1, 0, 0, 2]


def test_arms_dimension_and_scaling_are_parameters_and_part_of_the_fingerprint(small_data: Path):
    default = load("lastfm", seed=0, folder=small_data)
    others = [
        load("lastfm", seed=0, arms=10, folder=small_data),
        load("lastfm", seed=0, dimension=8, folder=small_data),
        load("lastfm", seed=0, scaling="unit", folder=small_data),
    ]
    assert (default.arms, default.dimension) == (25, 25)
    assert (others[0].arms, others[1].dimension) == (10, 8)
    assert len({default.fingerprint, *(other.fingerprint for other in others)}) == 4
    np.testing.assert_allclose(default.items.std(axis=0), 1.0)
    np.testing.assert_allclose(np.linalg.norm(others[2].items, axis=1), 1.0)
    # Scaling and dimension change only the features, not the pools.
    assert (others[2].pools == default.pools).all()
    assert (others[1].pools == default.pools).all()


def test_a_stream_has_the_name_and_source_of_its_data(small_data: Path):
    stream = load("delicious", seed=0, folder=small_data)
    assert (stream.name, stream.source) == ("delicious", "stand-in")
    assert set(stream.client_ids) == set(open_prepared("delicious", small_data).users)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seed": -1}, "seed must be an integer from 0, got -1"),
        ({"seed": 0, "scaling": "none"}, "scaling must be 'standard', 'pca' or 'unit', got 'none'"),
        ({"seed": 0, "positive": "last"}, "positive must be 'anywhere' or 'first', got 'last'"),
        ({"seed": 0, "dimension": 26}, "dimension must be an integer from 1 to 25, .*, got 26"),
        ({"seed": 0, "arms": 1}, "arms must be an integer from 2 to .*, got 1"),
    ],
)
def test_invalid_parameters_are_reported(small_data: Path, options: dict, message: str):
    with pytest.raises(ValueError, match=message):
        load("lastfm", folder=small_data, **options)


def test_the_error_for_missing_data_says_how_to_prepare_them(tmp_path: Path):
    with pytest.raises(ValueError, match="lastfm is not prepared; run: fedbandit data lastfm"):
        load("lastfm", seed=0, folder=tmp_path)
    with pytest.raises(ValueError, match=r"data set must be one of book-crossing, delicious, .*, got '../lastfm'"):
        load("../lastfm", seed=0, folder=tmp_path)
