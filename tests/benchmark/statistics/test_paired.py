"""Intervals over seeds, paired tests and Holm's correction, against scipy and worked examples."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from benchmark.statistics.intervals import (
    kendall_tau,
    mean_interval,
    one_sample_p,
    paired_interval,
)
from benchmark.statistics.verdicts import holm
from tests.benchmark.statistics.shipped import verdicts_on_directions


def test_the_interval_of_a_mean_is_that_of_scipy():
    values = np.random.default_rng(0).normal(3, 2, 20)
    for confidence in (0.90, 0.95):
        expected = stats.ttest_1samp(values, 0).confidence_interval(confidence)
        assert mean_interval(values, confidence) == pytest.approx((values.mean(), expected.low, expected.high))


def test_paired_differences_are_those_of_scipy():
    first, second = np.random.default_rng(1).normal(size=(2, 12))
    test = stats.ttest_rel(first, second)
    expected = test.confidence_interval(0.95)
    assert paired_interval(first, second) == pytest.approx(((first - second).mean(), expected.low, expected.high))
    assert one_sample_p(np.subtract(first, second)) == pytest.approx(test.pvalue)


def test_a_seed_without_one_of_the_values_is_left_out():
    assert paired_interval([1, 2, math.nan], [0, 0, 5]) == paired_interval([1, 2], [0, 0])
    assert paired_interval([1], [0])[0] == 1
    assert np.isnan(paired_interval([1], [0])[1:]).all()
    assert np.isnan(paired_interval([], [])).all()


def test_pairs_must_be_of_the_same_seeds():
    with pytest.raises(ValueError, match=r"paired values must be of the same seeds, got \(2,\) and \(3,\)"):
        paired_interval([1, 2], [1, 2, 3])


def test_differences_that_vary_by_rounding_alone_have_no_spread():
    assert math.isnan(one_sample_p([1.0]))
    assert one_sample_p([0.0, 0.0]) == 1
    assert one_sample_p([1.0, 1.0]) == 0
    assert one_sample_p([0.3, 0.1 + 0.2, 0.3]) == 0


def test_holms_correction_is_that_of_a_worked_example():
    # Sorted: 0.005 × 4 = 0.02, 0.01 × 3 = 0.03, 0.03 × 2 = 0.06, 0.04 × 1 is raised to 0.06.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.6]) == [1, 1]
    assert holm([]) == []


def test_a_missing_p_value_stays_missing_and_does_not_count():
    corrected = holm([math.nan, 0.02])
    assert math.isnan(corrected[0])
    assert corrected[1] == 0.02


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_lies_between_no_correction_and_bonferroni_and_keeps_the_order(values: list[float]):
    corrected = holm(values)
    for value, result in zip(values, corrected, strict=True):
        assert value <= result <= min(1.0, len(values) * value) or result == pytest.approx(max(corrected))
    order = sorted(range(len(values)), key=lambda index: (values[index], index))
    in_order = [corrected[index] for index in order]
    assert in_order == sorted(in_order)


def test_directions_are_judged_together():
    clear = [1.0, 1.1, 0.9, 1.05, 0.95]
    marginal = [1.0, 2.0, 0.2, 1.5, -0.1]  # p = 0.08 alone
    tests = verdicts_on_directions(
        {"holds": clear, "fails": [-value for value in clear], "open": marginal, "few seeds": clear[:4]}
    )
    assert tests["open"].p == pytest.approx(one_sample_p(marginal))
    assert tests["holds"].p == pytest.approx(3 * one_sample_p(clear))
    assert np.isnan(tests["few seeds"].p)
    assert {claim: test.verdict for claim, test in tests.items()} == {
        "holds": "reproduced",
        "fails": "opposite",
        "open": "undecided",
        "few seeds": "undecided",
    }


@pytest.mark.parametrize("values", [[1.0], [1.0, 2.0], [1.0, math.nan, 2.0]])
def test_fewer_than_three_values_have_no_interval(values: list[float]):
    assert [math.isnan(number) for number in mean_interval(values)] == [False, True, True]


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=2, max_size=12))
def test_kendalls_tau_is_that_of_scipy(pairs: list[tuple[int, int]]):
    first, second = zip(*pairs, strict=True)
    expected = stats.kendalltau(first, second).statistic
    assert kendall_tau(first, second) == pytest.approx(expected, nan_ok=True)
    assert kendall_tau([value if value < 5 else math.inf for value in first], second) == pytest.approx(
        expected, nan_ok=True
    )


@given(st.lists(st.integers(-100, 100), min_size=2, max_size=12).filter(lambda values: len(set(values)) > 1))
def test_the_p_of_one_sample_is_that_of_scipy(values: list[int]):
    assert one_sample_p(values) == pytest.approx(stats.ttest_1samp(values, 0).pvalue, rel=1e-9)
