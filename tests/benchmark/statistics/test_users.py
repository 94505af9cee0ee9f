"""The bootstrap over users and seeds, and the shares of users that do better than alone."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from benchmark.statistics.intervals import mean_interval
from benchmark.statistics.users import GroupShares, bootstrap_over_users, shares_by_group


def rewards(random: np.random.Generator, seeds: int, users: int, effect: float) -> tuple[NDArray[np.float64], ...]:
    """Rewards of two methods: users differ in how much the first one helps them, on every seed."""
    gain = effect + random.normal(0, 1, users)
    second = 5 + random.normal(size=(seeds, users))
    return second + gain + random.normal(0, 0.2, size=(seeds, users)), second


def test_the_difference_is_that_of_the_normalised_rewards():
    first, second = np.array([[3.0, 1.0], [2.0, 2.0]]), np.array([[1.0, 1.0], [1.0, 1.0]])
    difference, low, high = bootstrap_over_users(first, second, [0.5, 1.5], repetitions=200)
    assert difference == pytest.approx((4 - 2) / 2)
    assert low <= difference <= high


def test_users_that_all_gain_the_same_leave_no_uncertainty():
    second = np.random.default_rng(0).normal(size=(3, 50))
    assert bootstrap_over_users(second + 2, second, np.ones(50), repetitions=100) == pytest.approx((2, 2, 2))


def test_the_interval_over_users_is_wider_than_the_one_over_seeds_where_users_differ():
    first, second = rewards(np.random.default_rng(1), 10, 100, 0.3)
    _, low, high = bootstrap_over_users(first, second, np.ones(100), repetitions=1000)
    _, seed_low, seed_high = mean_interval((first - second).mean(axis=1))
    assert low < seed_low < seed_high < high
    _, users_low, users_high = bootstrap_over_users(first, second, np.ones(100), resample_seeds=False)
    spread = (first - second).mean(axis=0).std() / 100**0.5
    assert (users_high - users_low) == pytest.approx(2 * 1.96 * spread, rel=0.1)


def test_seeds_are_resampled_unless_they_are_taken_as_given():
    second = np.zeros((6, 20))
    first = second + np.arange(6.0)[:, None]  # all users alike, seeds different
    assert bootstrap_over_users(first, second, np.ones(20), resample_seeds=False) == pytest.approx((2.5, 2.5, 2.5))
    _, low, high = bootstrap_over_users(first, second, np.ones(20))
    assert low < 2 < 3 < high


def test_the_interval_covers_the_true_difference_of_the_population_of_users():
    random = np.random.default_rng(2)
    covered = []
    for repetition in range(400):
        first, second = rewards(random, 10, 60, 0.3)
        _, low, high = bootstrap_over_users(first, second, np.ones(60), repetitions=300, seed=repetition)
        covered.append(low <= 0.3 <= high)
    assert 0.91 <= np.mean(covered) <= 0.98


def test_more_resamples_than_fit_into_one_chunk_are_the_same_for_the_same_seed():
    first, second = rewards(np.random.default_rng(3), 4, 20, 0.0)
    one, other = (bootstrap_over_users(first, second, np.ones(20), repetitions=250, seed=5) for _ in range(2))
    assert one == other


def test_users_better_and_worse_off_are_counted_by_group():
    alone = np.array([[1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0]])
    method = np.array([[3.0, 1.0, 0.0, 2.0], [0.0, 1.0, 1.0, 2.0]])
    groups = ["few", "few", "many", "many"]
    assert shares_by_group(method, alone, groups) == [
        GroupShares("few", 2, better=0.5, worse=0.0, equal=0.5),
        GroupShares("many", 2, better=0.5, worse=0.5, equal=0.0),
    ]
    ordered = shares_by_group(method, alone, groups, ["many", "none", "few"])
    assert [(shares.group, shares.users) for shares in ordered] == [("many", 2), ("none", 0), ("few", 2)]
    assert math.isnan(ordered[1].better)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 1000))
def test_the_shares_of_a_group_add_up_and_swap_with_the_methods(seed: int):
    random = np.random.default_rng(seed)
    one, other = random.integers(0, 3, size=(2, 2, 30)).astype(float)
    groups = [str(group) for group in random.integers(0, 3, 30)]
    for shares, reverse in zip(shares_by_group(one, other, groups), shares_by_group(other, one, groups), strict=True):
        assert shares.better + shares.worse + shares.equal == pytest.approx(1)
        assert (shares.better, shares.worse) == (reverse.worse, reverse.better)


def test_a_user_without_any_reward_in_its_pools_changes_nothing_but_the_resamples():
    first, second = np.array([[3.0, 4.0, 0.0]] * 2), np.array([[2.0, 2.0, 0.0]] * 2)
    mean, low, high = bootstrap_over_users(first, second, [1.0, 1.0, 0.0])
    assert mean == 3 / 2
    assert 0 <= low <= mean <= high <= 2


def test_bad_rewards_are_refused():
    good = np.ones((2, 3))
    with pytest.raises(ValueError, match=r"rewards must be of the same seeds and users, got \(2, 3\) and \(2, 2\)"):
        bootstrap_over_users(good, good[:, :2], np.ones(3))
    with pytest.raises(ValueError, match=r"the reward by chance must not be negative for any user, got -1\.0"):
        bootstrap_over_users(good, good, [1.0, -1.0, 1.0])
    with pytest.raises(ValueError, match="the reward by chance must be above 0 for some user of every seed"):
        bootstrap_over_users(good, good, [0.0, 0.0, 0.0])
    with pytest.raises(ValueError, match=r"first must have one row per seed and one column per user, got shape \(3,\)"):
        bootstrap_over_users(np.ones(3), good, np.ones(3))
    with pytest.raises(ValueError, match="second must be finite"):
        bootstrap_over_users(good, good * math.nan, np.ones(3))
    with pytest.raises(ValueError, match="must be of the same users"):
        shares_by_group(good, good, ["a"])
