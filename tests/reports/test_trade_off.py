"""Fronts and comparisons, against numbers worked out by hand."""

import math

import numpy as np
import pytest

from reports.directions import kendall
from reports.finding import UNDECIDED, judged
from reports.leaderboard import holm, paired_p
from reports.trade_off import (
    best_within_budget,
    least_communication,
    log_ratio_at_equal_regret,
    mean_height,
    undominated,
)
from reports.verdicts import data_caveat, verdict_on_number


def test_the_front_is_a_staircase_that_never_falls():
    budget, best = best_within_budget([99, 0, 9], [3.0, 1.0, 5.0])
    assert budget.tolist() == pytest.approx([0, 1, 2])
    assert best.tolist() == [1, 5, 5]


def test_its_mean_height_is_its_area_over_the_width():
    budget, best = best_within_budget([0, 9, 99], [1.0, 2.0, 4.0])
    assert mean_height(budget, best, 0, 2) == pytest.approx((1 + 2) / 2)
    assert mean_height(budget, best, 0.5, 3) == pytest.approx((0.5 * 1 + 1 * 2 + 1 * 4) / 2.5)
    assert mean_height(budget, best, 1, 1) == 2


def test_the_least_communication_for_a_level():
    assert least_communication([100, 10, 1], [3, 2, 1], 1.9) == 10
    assert math.isnan(least_communication([100], [3], 4))


def test_settings_beaten_in_both_and_those_without_communication_are_left_out():
    spent, lost = undominated([0, 10, 100, 1000, 5000], [900, 50, 60, 20, 20])
    assert spent.tolist() == pytest.approx([3, 1])
    assert lost.tolist() == [20, 50]


def test_communication_is_compared_where_regret_is_equal():
    levels, ratio = log_ratio_at_equal_regret(([100, 1000], [200, 100]), ([1000, 10_000], [200, 100]))
    assert (levels[0], levels[-1]) == pytest.approx((100, 200))
    assert ratio == pytest.approx(-1)
    assert len(log_ratio_at_equal_regret(([10, 20], [9, 8]), ([10, 20], [7, 6]))[0]) == 0
    assert len(log_ratio_at_equal_regret(([0], [9]), ([10], [7]))[0]) == 0


@pytest.mark.parametrize(
    ("along", "metric", "tau"),
    [([1, 2, math.inf], [3, 2, 1], -1), ([1, 2, 3], [1, 3, 2], 1 / 3), ([1, 2, 3, 4], [0, 0, 1, 2], 5 / math.sqrt(30))],
)
def test_kendalls_tau(along: list[float], metric: list[float], tau: float):
    assert kendall(along, metric) == pytest.approx(tau)


def test_a_direction_needs_its_whole_interval_on_one_side():
    assert judged([1.0, 1.01], 1, "", "").as_stated is True
    assert judged([1.0, 1.01], -1, "", "").as_stated is False
    undecided = judged([1.0, 3.0], 1, "", "")
    assert (undecided.as_stated, undecided.why_not) == (None, UNDECIDED)
    one = judged([0.5], 1, "", "")
    assert (one.as_stated, one.ours, one.seeds) == (True, "0.5 (one seed)", 1)


def test_p_values_are_those_of_a_paired_t_test_corrected_after_holm():
    from scipy.stats import ttest_1samp

    values = [0.3, 0.1, 0.5, 0.2]
    assert paired_p(values) == pytest.approx(ttest_1samp(values, 0).pvalue)
    assert math.isnan(paired_p([1.0]))
    assert paired_p([1.0, 1.0]) == 0
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert np.isnan(holm([math.nan, 0.02])[0])
    assert holm([math.nan, 0.02])[1] == 0.02


@pytest.mark.parametrize(
    ("stated", "ours", "seeds", "caveat", "verdict"),
    [
        (1.0, (1.2, 0.9, 1.5), 10, "", "reproduced"),
        (1.0, (1.04, 1.03, 1.05), 10, "", "reproduced"),
        (1.0, (1.06, 1.055, 1.065), 10, "", "differs"),
        (1.0, (1.06, math.nan, math.nan), 1, "", "differs (one seed)"),
        (0.0, (0.0, math.nan, math.nan), 1, "reconstructed data", "reproduced (one seed, reconstructed data)"),
        (1.0, (1.0, 1.0, 1.0), 10, "stand-in data", "cannot be checked (stand-in data)"),
    ],
)
def test_verdicts_on_numbers(stated: float, ours: tuple[float, float, float], seeds: int, caveat: str, verdict: str):
    assert verdict_on_number(stated, ours, seeds, caveat, tolerance=0.05) == verdict


def test_caveats_come_from_the_labels_of_data():
    assert data_caveat("STAND-IN DATA (generated): no result on it is a finding") == "stand-in data"
    assert data_caveat("RECONSTRUCTED DATA (5 of 7 users)") == "reconstructed data"
    assert data_caveat("") == ""
