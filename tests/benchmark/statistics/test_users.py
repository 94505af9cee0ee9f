"""The bootstrap over users and seeds, and the shares of users that do better than alone."""

import math

import numpy as np
import pytest
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


def test_the_interval_covers_the_true_difference_of_the_population_of_users():
    random = np.random.default_rng(2)
    covered = []
    for repetition in range(400):
        first, second = rewards(random, 10, 60, 0.3)
        _, low, high = bootstrap_over_users(first, second, np.ones(60), repetitions=300, seed=repetition)
        covered.append(low <= 0.3 <= high)
    assert 0.91 <= np.mean(covered) <= 0.98


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
