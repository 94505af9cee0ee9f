"""Communication at equal regret, against numbers computed by hand."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark.statistics.budgets import (
    at_equal_regret,
    communication_at,
    undominated,
)


def test_dominated_settings_and_those_without_communication_are_left_out():
    spent, lost = undominated([0, 10, 100, 1000, 5000], [900, 50, 60, 20, 20])
    assert spent.tolist() == pytest.approx([3, 1])
    assert lost.tolist() == [20, 50]


@pytest.mark.parametrize(
    ("spent", "lost", "regrets", "expected"),
    [
        # Regret 150 is half-way between 100 and 200, and log10 C_T half-way between 3 and 1.
        ([10, 1000, 500], [200, 100, 300], [100, 150, 200], [1000, 100, 10]),
        ([10, 1000], [200, 100], [99], [math.nan]),  # not reached
        ([0], [200], [199], [math.nan]),
        ([10, 1000], [200, 100], [400], [10]),  # the cheapest setting suffices
        ([0, 10, 1000], [300, 200, 100], [250, 300, 400], [10, 0, 0]),  # reached without communication
    ],
)
def test_communication_is_interpolated_between_undominated_settings(
    spent: list[float], lost: list[float], regrets: list[float], expected: list[float]
):
    assert communication_at(spent, lost, regrets) == pytest.approx(expected, nan_ok=True)


def test_two_methods_are_compared_at_shares_above_the_least_regret_of_both():
    first = ([1000, 10], [100, 300])
    second = ([10_000, 100], [100, 300])
    at_half, at_double = at_equal_regret([first] * 3, [second] * 3, above=[0.5, 1.0])
    assert at_half.above == 0.5
    assert at_half.first == pytest.approx([10**2.5] * 3)
    assert at_half.log_ratios == pytest.approx([-1, -1, -1])
    assert at_double.ratio() == pytest.approx((0.1, 0.1, 0.1))


def test_seeds_on_which_only_one_method_reaches_the_regret_are_counted_apart():
    strong, weak = ([1000, 10], [100, 300]), ([1000, 10], [190, 300])
    near, far = at_equal_regret([strong, strong], [weak, strong], above=[0.05, 1.0])
    assert (near.only_first, near.only_second) == (1, 0)
    assert near.log_ratios == pytest.approx([math.nan, 0], nan_ok=True)
    assert (far.only_first, far.only_second) == (0, 0)
    assert at_equal_regret([weak], [strong], above=[0.05])[0].only_second == 1


@given(st.lists(st.tuples(st.floats(0, 1e6), st.floats(1, 1e4)), min_size=1, max_size=10))
def test_more_regret_never_needs_more_communication(settings: list[tuple[float, float]]):
    spent, lost = zip(*settings, strict=True)
    needed = communication_at(spent, lost, np.linspace(min(lost), 2 * max(lost), 50))
    assert not np.isnan(needed).any()
    assert (np.diff(needed) <= 1e-9 * (1 + needed[:-1])).all()
