"""The options of streams: what they draw, and with which probabilities."""

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare, kstest

from data_pipelines import EventStream, load, simulate
from data_pipelines.data_set import marked_times
from data_pipelines.prepare.prepared import Prepared, open_prepared
from data_pipelines.stream_spec import DatasetSpec
from data_pipelines.streams import generator_for
from data_pipelines.streams import recorded as pools_module
from data_pipelines.streams.recorded import deal_pools, draw_order, draw_pools

USERS = np.array([0, 0, 0, 1, 1, 2, 2, 2, 3])
ITEMS = np.array([0, 1, 2, 0, 3, 0, 3, 4, 5], dtype=np.int32)
"""Item 0 has three users, item 3 two, items 1, 2, 4 and 5 one each, and item 6 none."""
COUNT = 7


def generator(seed: int = 0) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(seed))


def prepared_data(events: list[tuple[int, int, int, int]], item_count: int) -> Prepared:
    """Prepared data from events (user, item, time or 0, rating); rated 4 or more is positive."""
    users, items, times, ratings = np.array(sorted(events)).T
    manifest = {"name": "shop", "fingerprint": "data", "source": "imported", "origin": "a test", "positive_rating": 4}
    return Prepared(
        manifest,
        np.ones((item_count, 1)),
        np.arange(item_count),
        users.astype(np.int64),
        items.astype(np.int32),
        marked_times(times),
        ratings.astype(np.float32),
    )


def stream_of(prepared: Prepared, seed: int = 0, **options: Any) -> EventStream:
    return DatasetSpec(dataset="shop", **options).build_from(prepared, seed)


def sets_by_popularity(weights: Mapping[int, int], count: int) -> dict[tuple[int, ...], float]:
    """The probability of each set of `count` items drawn one after the other in proportion to their weights."""
    shares: Counter[tuple[int, ...]] = Counter()
    for draws in itertools.permutations(weights, count):
        share, left = 1.0, sum(weights.values())
        for item in draws:
            share, left = share * weights[item] / left, left - weights[item]
        shares[tuple(sorted(draws))] += share
    return dict(shares)


def others_of(user: int) -> dict[int, int]:
    """The items that a user never touched, each with the number of other users who did, unless there are none."""
    own = set(ITEMS[user == USERS].tolist())
    pairs = set(zip(USERS.tolist(), ITEMS.tolist(), strict=True))
    return dict(Counter(item for each, item in pairs if each != user and item not in own))


@pytest.mark.parametrize("rounds", [64, 0])
@pytest.mark.parametrize("arms", [2, 3])
def test_negatives_follow_the_number_of_other_users(rounds: int, arms: int, monkeypatch: pytest.MonkeyPatch):
    """Both the usual way and the search for users who touched nearly all items, against exact probabilities."""
    monkeypatch.setattr(pools_module, "MAX_ROUNDS", rounds)
    interactions = np.tile(np.arange(len(USERS)), 3_000)
    pools, positions = draw_pools(
        generator(1), USERS, ITEMS, interactions, item_count=COUNT, arms=arms, by_popularity=True
    )
    others = np.sort(np.delete(pools.ravel(), np.arange(len(pools)) * arms + positions).reshape(-1, arms - 1), axis=1)
    for user in range(4):
        expected = sets_by_popularity(others_of(user), arms - 1)
        drawn = Counter(map(tuple, others[USERS[interactions] == user].tolist()))
        assert drawn.keys() <= expected.keys()
        counts, shares = [drawn[each] for each in expected], np.array([*expected.values()])
        assert chisquare(counts, shares * sum(counts)).pvalue > 1e-4
    assert (pools[np.arange(len(pools)), positions] == ITEMS[interactions]).all()
    assert chisquare(np.bincount(positions, minlength=arms)).pvalue > 1e-4


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
    times = marked_times(np.array([30, 0, 10, 0, 20, 0]))
    position_counts = np.zeros(6)
    for seed in range(1_000):
        order = draw_order(generator(seed), users, times)
        known_times = times[order][times[order] > 0]
        assert known_times.tolist() == [10, 20, 30]
        position_counts[int(np.flatnonzero(order == 1)[0])] += 1
    assert chisquare(position_counts).pvalue > 1e-4


def test_without_times_all_orders_of_a_users_interactions_are_equally_likely():
    orders = [tuple(draw_order(generator(seed), np.zeros(3), np.zeros(3)).tolist()) for seed in range(2_000)]
    frequency = [orders.count(order) for order in itertools.permutations(range(3))]
    assert chisquare(frequency).pvalue > 1e-4


def test_users_are_drawn_uniformly_among_those_with_remaining_interactions():
    """Compare with the probability of every possible sequence of users, computed by a plain recursion."""
    counts = {1: 1, 2: 2, 7: 3}
    users = np.repeat(list(counts), list(counts.values()))
    expected = _sequence_probabilities(counts)
    sequence_counts = dict.fromkeys(expected, 0)
    runs = 4_000
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


def test_on_a_data_set_negatives_by_popularity_are_distinct_new_to_the_user_and_popular(small_data: Path):
    uniform = load("movielens", seed=0, folder=small_data, order="shuffled")
    popular = load("movielens", seed=0, folder=small_data, order="shuffled", negatives="popularity")
    spec = DatasetSpec(dataset="movielens").bound(small_data)
    prepared = spec.open()
    width = len(prepared.item_ids)
    offers = popular.clients[:, None] * width + popular.pools
    assert (np.isin(offers, prepared.users * width + prepared.items) == (popular.rewards == 1)).all()
    assert (np.diff(np.sort(popular.pools, axis=1), axis=1) > 0).all()
    users_of_item = np.bincount(prepared.items, minlength=width)
    assert users_of_item[popular.pools].min() >= 1
    assert users_of_item[popular.pools].mean() > users_of_item[uniform.pools].mean()


def test_order_and_pools_have_separate_generators(small_data: Path):
    """An option of the pools leaves the order as it is, and an option of the order the generator of the pools."""
    once = load("lastfm", seed=5, repeats="once", folder=small_data)
    popular = load("lastfm", seed=5, negatives="popularity", folder=small_data)
    np.testing.assert_array_equal(once.clients, popular.clients)
    positive_of = [stream.pools[stream.rewards == 1] for stream in (once, popular)]
    np.testing.assert_array_equal(*positive_of)
    first, again, other = (
        generator_for(purpose, 5).integers(1 << 60, size=4) for purpose in ("order", "order", "pools")
    )
    assert (first == again).all()
    assert (first != other).all()
    assert (first != generator(5).integers(1 << 60, size=4)).all()


def test_all_shuffles_are_equally_likely():
    prepared = prepared_data([(0, 0, 1, 5), (0, 1, 2, 5), (1, 2, 3, 5)], item_count=5)
    positives = [stream_of(prepared, seed, order="shuffled", arms=2) for seed in range(600)]
    orders = Counter(tuple(stream.pools[stream.rewards == 1].tolist()) for stream in positives)
    assert len(orders) == 6
    assert chisquare([*orders.values()]).pvalue > 1e-4


def test_repeats_once_keeps_the_earliest_known_event_of_each_pair():
    events = [(0, 0, 0, 5), (0, 0, 7, 5), (0, 0, 9, 5), (0, 1, 8, 5), (0, 2, 0, 5), (0, 2, 0, 5)]
    prepared = prepared_data(events, item_count=6)
    assert stream_of(prepared, arms=2).steps == 6
    for seed in range(20):
        stream = stream_of(prepared, seed, repeats="once", arms=2)
        positives = stream.pools[stream.rewards == 1].tolist()
        assert sorted(positives) == [0, 1, 2]
        assert positives.index(0) < positives.index(1)  # times 7 and 8: without the first event it would be 9


def test_min_interactions_leaves_out_less_active_users_and_their_influence_on_popularity():
    events = [(user, item, 0, 5) for user in (0, 1) for item in range(3 * user, 3 * user + 3)] + [(2, 7, 0, 5)]
    prepared = prepared_data(events, item_count=9)
    stream = stream_of(prepared, min_interactions=3, negatives="popularity", arms=3)
    assert stream.client_ids.tolist() == [0, 1]
    assert stream.steps == 6
    assert stream.pools.max() == 5  # item 7 has no user who takes part


def test_rated_items_are_dealt_in_uniformly_random_pools():
    rows = np.array([0, 0, 0, 0, 0, 1, 1])
    dealt = [deal_pools(generator(seed), rows, 2) for seed in range(6_000)]
    assert {pools.shape for pools in dealt} == {(3, 2)}
    assert all(set(pools[2]) == {5, 6} for pools in dealt)
    ordered_deals = Counter(tuple(pools[:2].ravel()) for pools in dealt)
    assert len(ordered_deals) == 120  # every 4 of the 5 interactions, in every order
    assert chisquare([*ordered_deals.values()]).pvalue > 1e-4


def ratings() -> st.SearchStrategy[list[tuple[int, int, int, int]]]:
    pairs = st.tuples(st.integers(0, 4), st.integers(0, 9))
    values = st.tuples(st.integers(0, 3), st.integers(1, 5))
    return st.dictionaries(pairs, values, min_size=1).map(
        lambda table: [(*pair, *value) for pair, value in table.items()]
    )


@given(ratings(), st.integers(1, 4), st.sampled_from(["users", "shuffled"]), st.integers(0, 9), st.integers(1, 3))
def test_pools_of_rated_items_are_each_users_own_without_replacement(events, arms, order, seed, min_interactions):
    prepared = prepared_data(events, item_count=10)
    by_user = {user: {item: rating for each, item, _, rating in events if each == user} for user in range(5)}
    pool_counts = {user: len(own) // arms for user, own in by_user.items() if len(own) >= min_interactions}
    options = {"arms": arms, "order": order, "min_interactions": min_interactions, "pools": "rated"}
    if not any(pool_counts.values()):
        with pytest.raises(ValueError, match=r"^(arms|min_interactions) must be at most"):
            stream_of(prepared, seed, **options)
        return
    stream = stream_of(prepared, seed, **options)
    assert Counter(stream.clients.tolist()) == {user: count for user, count in pool_counts.items() if count}
    offered: dict[int, list[int]] = {}
    for user, pool, rewards in zip(stream.clients.tolist(), stream.pools.tolist(), stream.rewards, strict=True):
        assert rewards.tolist() == [float(by_user[user][item] >= 4) for item in pool]
        offered.setdefault(user, []).extend(pool)
    assert all(len(items) == len(set(items)) for items in offered.values())
    assert stream.random_reward == pytest.approx(stream.rewards.mean(axis=1).sum())


def events_and_options() -> Iterator[st.SearchStrategy[Any]]:
    event = st.tuples(st.integers(0, 4), st.integers(0, 7), st.integers(0, 3), st.just(5))
    yield st.lists(event, min_size=1, max_size=40)
    yield st.fixed_dictionaries(
        {
            "arms": st.integers(2, 4),
            "negatives": st.sampled_from(["uniform", "popularity"]),
            "repeats": st.sampled_from(["keep", "once"]),
            "order": st.sampled_from(["users", "shuffled"]),
            "min_interactions": st.integers(1, 3),
            "positive": st.sampled_from(["anywhere", "first"]),
        }
    )


@given(*events_and_options(), st.integers(0, 9))
def test_sampled_pools_have_one_positive_and_items_that_the_user_never_touched(events, options, seed):
    prepared = prepared_data(events, item_count=12)
    kept = sorted({(user, item) for user, item, *_ in events}) if options["repeats"] == "once" else []
    kept = kept or sorted((user, item) for user, item, *_ in events)
    activity = Counter(user for user, _ in kept)
    expected = Counter(pair for pair in kept if activity[pair[0]] >= options["min_interactions"])
    touched = set(expected)
    available = 12 if options["negatives"] == "uniform" else len({item for _, item in touched})
    most_touched = max(Counter(user for user, _ in touched).values(), default=available)
    if options["arms"] > available - most_touched + 1:
        with pytest.raises(ValueError, match=r"^(arms must be an integer from 2 to|min_interactions must be at most)"):
            stream_of(prepared, seed, **options)
        return
    stream = stream_of(prepared, seed, **options)
    positives = stream.pools[stream.rewards == 1]
    assert Counter(zip(stream.clients.tolist(), positives.tolist(), strict=True)) == expected
    assert (stream.rewards.sum(axis=1) == 1).all()
    for user, pool in zip(stream.clients.tolist(), stream.pools.tolist(), strict=True):
        assert len(set(pool)) == options["arms"]
        assert sum((user, item) in touched for item in pool) == 1
    if options["positive"] == "first":
        assert (stream.rewards.argmax(axis=1) == 0).all()
    assert stream.random_reward == pytest.approx(stream.steps / options["arms"])


DAYS = 86_400
FIRST = 1_700_000_000
"""A time in seconds since 1970."""


def dated_events() -> st.SearchStrategy[list[tuple[int, int, int, int]]]:
    """Events (user, item, time, rating); one time in nine is unknown."""
    time = st.one_of(*[st.integers(FIRST, FIRST + 30 * DAYS)] * 8, st.just(0))
    return st.lists(st.tuples(st.integers(0, 3), st.integers(0, 7), time, st.just(5)), min_size=1, max_size=40).filter(
        lambda events: any(time for *_, time, _ in events)
    )


def free_then(events: list[tuple[int, int, int, int]], user: int, time: int, repeats: str) -> set[int]:
    """The items that some user took, and this one not in the 7 days around a time; an unknown time may be any.

    If only first times count, not at any earlier time either: what was taken cannot be taken for the first time again.
    """
    earliest = -math.inf if repeats == "once" else -3.5 * DAYS
    return {item for _, item, *_ in events} - {
        item
        for other, item, at, _ in events
        if other == user and (not time or not at or earliest <= at - time <= 3.5 * DAYS)
    }


@given(
    dated_events(), st.integers(2, 4), st.sampled_from(["keep", "once"]), st.sampled_from([64, 0]), st.integers(0, 9)
)
def test_negatives_were_not_taken_then_as_an_enumeration_of_all_events_says(events, arms, repeats, rounds, seed):
    prepared = prepared_data(events, item_count=9)
    played = sorted(events)
    if repeats == "once":
        pairs = {(user, item): [] for user, item, *_ in played}
        for user, item, time, _ in played:
            pairs[user, item].append((not time, time))
        played = [(user, item, min(times)[1], 5) for (user, item), times in pairs.items()]
    free = {(user, time): free_then(played, user, time, repeats) for user, _, time, _ in played}
    options = {"arms": arms, "negatives": "not-then", "repeats": repeats}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pools_module, "MAX_ROUNDS", rounds)
        if any(len(items) < arms - 1 for items in free.values()):
            with pytest.raises(ValueError, match=r"^arms must be at most \d+: a client took nearly all items"):
                stream_of(prepared, seed, **options)
            return
        stream = stream_of(prepared, seed, **options)
    assert stream.steps == len(played)
    assert (stream.rewards.sum(axis=1) == 1).all()
    for user, pool, rewards in zip(stream.clients.tolist(), stream.pools, stream.rewards, strict=True):
        assert len({*pool.tolist()}) == arms
        positive, others = int(pool[rewards == 1][0]), {*pool[rewards == 0].tolist()}
        times = [time for other, item, time, _ in played if (other, item) == (user, positive)]
        assert any(others <= free[user, time] for time in times)


def test_negatives_that_were_not_taken_then_follow_the_number_of_interactions():
    times = FIRST + np.array([0, 20, 0, 10, 10, 0, 1, 2, 3]) * DAYS
    first = np.zeros(3_000, dtype=np.int64)
    pools, positions = draw_pools(generator(), USERS, ITEMS, first, item_count=COUNT, arms=2, times=times)
    drawn = Counter(pools[np.arange(len(first)), 1 - positions].tolist())
    expected = {1: 1, 3: 2, 4: 1, 5: 1}  # at its first event, user 0 took item 2, too, and item 1 only 20 days later
    assert {*drawn} == {*expected}
    shares = np.array([*expected.values()]) / sum(expected.values())
    assert chisquare([drawn[item] for item in expected], 3_000 * shares).pvalue > 1e-4


@given(dated_events(), st.integers(0, 9), st.integers(1, 40))
def test_in_the_order_of_time_a_sample_has_all_events_of_its_users(events, seed, max_events):
    stream = stream_of(prepared_data(events, 9), seed, arms=1 + 1, order="time")
    times = {(user, item): [] for user, item, *_ in events}
    for user, item, time, _ in events:
        times[user, item].append(time)
    if all(time for *_, time, _ in events):
        assert stream.times is not None
        assert (np.diff(stream.times) >= 0).all()
        for user, item, time in zip(
            stream.clients.tolist(), stream.pools[stream.rewards == 1].tolist(), stream.times, strict=True
        ):
            assert time in times[user, item]
    else:
        assert stream.times is None
    sample = stream_of(prepared_data(events, 9), seed, arms=2, order="shuffled", max_events=max_events)
    whole = Counter(user for user, *_ in events)
    assert Counter(sample.clients.tolist()).items() <= whole.items()
    assert sample.steps <= max_events or len(sample.client_ids) == 1
    again = stream_of(prepared_data(events, 9), seed + 1, arms=2, max_events=max_events)
    assert {*again.client_ids.tolist()} == {*sample.client_ids.tolist()}


def test_options_that_need_times_are_refused_without_them():
    for options in ({"negatives": "not-then"}, {"order": "time"}):
        with pytest.raises(
            ValueError, match=r"^(negatives = 'not-then'|order = 'time') needs the times of interactions"
        ):
            stream_of(prepared_data([(0, 1, 0, 5), (1, 2, 0, 5)], 9), arms=2, **options)
    with pytest.raises(
        ValueError, match=r"^times must be dates or a number of seconds since 1970, got times such as 8$"
    ):
        stream_of(prepared_data([(0, 1, 7, 5), (1, 2, 8, 5)], 9), arms=2, negatives="not-then")


SMALL = {"clients": 40, "arms": 1, "dimension": 1, "client_distribution": "non-uniform"}


@pytest.mark.parametrize("exponent", [0.5, 1, 2])
def test_zipf_clients_act_in_proportion_to_a_power_of_their_rank(exponent: float):
    stream = simulate(seed=0, steps=40_000, clients_drawn="zipf", exponent=exponent, **SMALL)
    shares = np.array([rank**-exponent for rank in range(1, 41)])
    counts = np.bincount(stream.clients, minlength=40)
    assert chisquare(counts, shares / shares.sum() * counts.sum()).pvalue > 1e-4


def activities(clients_drawn: str) -> np.ndarray:
    """The activity of 500 clients in four simulations, relative to its mean."""
    streams = [
        simulate(seed=seed, steps=200_000, **{**SMALL, "clients": 500}, clients_drawn=clients_drawn)
        for seed in range(4)
    ]
    return np.concatenate([np.bincount(stream.clients, minlength=500) / 400 for stream in streams])


def test_uniform_weights_spread_clients_uniformly_and_dirichlet_exponentially():
    uniform, exponential = activities("uniform-weights"), activities("dirichlet")
    # The limits are far above the noise of counting, and below the distance of 0.16 between the distributions.
    assert kstest(uniform, "uniform", args=(0, 2)).statistic < 0.06
    assert kstest(exponential, "expon").statistic < 0.06
    assert kstest(exponential, "uniform", args=(0, 2)).statistic > 0.1
