"""Fronts and comparisons, against numbers computed by hand."""

import math

import numpy as np
import pytest

from benchmark.statistics.equal_regret import log_ratio_at_equal_regret, undominated
from benchmark.statistics.holm import holm
from benchmark.statistics.paired import paired_p
from reports.analysis.directions import check_direction
from reports.analysis.evidence import UNDECIDED, judge
from reports.analysis.trade_off import (
    best_within_budget,
    least_communication,
    mean_height,
)
from reports.analysis.verdicts import data_caveat, verdict_on_number
from tests.reports.made_up import made_up, run


def test_the_front_is_a_non_decreasing_step_function():
    budget, best = best_within_budget([99, 0, 9], [3.0, 1.0, 5.0])
    assert budget.tolist() == pytest.approx([0, 1, 2])
    assert best.tolist() == [1, 5, 5]


def test_the_mean_height_of_a_front_is_its_area_over_its_width():
    budget, best = best_within_budget([0, 9, 99], [1.0, 2.0, 4.0])
    assert mean_height(budget, best, 0, 2) == pytest.approx((1 + 2) / 2)
    assert mean_height(budget, best, 0.5, 3) == pytest.approx((0.5 * 1 + 1 * 2 + 1 * 4) / 2.5)
    assert mean_height(budget, best, 1, 1) == 2


def test_least_communication_is_that_of_the_cheapest_setting_that_reaches_a_level():
    assert least_communication([100, 10, 1], [3, 2, 1], 1.9) == 10
    assert math.isnan(least_communication([100], [3], 4))


def test_dominated_settings_and_those_without_communication_are_left_out():
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
    ("thresholds", "regrets", "tau"),
    [
        ([1, 2, math.inf], [3, 2, 1], "−1"),
        ([1, 2, 3], [1, 3, 2], "0.3333"),
        ([1, 2, 3, 4], [0, 0, 1, 2], "0.9129"),  # ties: τ-b = 5 / √30
    ],
)
def test_a_trend_is_kendalls_tau_over_the_thresholds(thresholds: list[float], regrets: list[float], tau: str):
    pairs = zip(thresholds, regrets, strict=True)
    runs = [run("async-linucb", threshold, regret=regret, experiment="fig_a") for threshold, regret in pairs]
    trend = {"test": "trend", "along": "threshold", "metric": "regret", "sign": 1}
    evidence = check_direction({**trend, "experiment": "fig_a", "algorithm": "async-linucb"}, *made_up(runs))
    assert evidence.ours == f"τ = {tau} (one seed)"


def test_a_metric_that_never_varies_has_no_trend():
    runs = [run("async-linucb", threshold, regret=5.0, experiment="fig_a") for threshold in (1.0, 2.0, 3.0)]
    trend = {"test": "trend", "along": "threshold", "metric": "regret", "sign": 1}
    evidence = check_direction({**trend, "experiment": "fig_a", "algorithm": "async-linucb"}, *made_up(runs))
    assert (evidence.supports_paper, evidence.why_not) == (None, "the metric does not vary")


def test_a_direction_needs_its_whole_interval_on_one_side():
    assert judge([1.0, 1.01], 1, "", "").supports_paper is True
    assert judge([1.0, 1.01], -1, "", "").supports_paper is False
    undecided = judge([1.0, 3.0], 1, "", "")
    assert (undecided.supports_paper, undecided.why_not) == (None, UNDECIDED)
    one = judge([0.5], 1, "", "")
    assert (one.supports_paper, one.ours, one.seeds) == (True, "0.5 (one seed)", 1)


def test_p_values_are_those_of_a_paired_t_test_with_holms_correction():
    # Differences 0.3, 0.1, 0.5, 0.2: t = 0.275 / (0.17078 / 2) = 3.2205 with 3 degrees of freedom.
    assert paired_p([1.3, 2.1, 3.5, 4.2], [1.0, 2.0, 3.0, 4.0]) == pytest.approx(0.0485668565598, rel=1e-9)
    assert math.isnan(paired_p([1.0], [0.0]))
    assert paired_p([2.0, 3.0], [1.0, 2.0]) == 0
    assert paired_p([1.0, 2.0], [1.0, 2.0]) == 1
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
def test_numbers_within_the_interval_or_tolerance_are_reproduced(
    stated: float, ours: tuple[float, float, float], seeds: int, caveat: str, verdict: str
):
    assert verdict_on_number(stated, ours, seeds, caveat, tolerance=0.05) == verdict


def test_caveats_follow_from_the_labels_of_the_data():
    assert data_caveat("STAND-IN DATA (generated): not a valid result") == "stand-in data"
    assert data_caveat("RECONSTRUCTED DATA (5 of 7 users)") == "reconstructed data"
    assert data_caveat("") == ""
