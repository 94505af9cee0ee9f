"""Fronts and comparisons, against numbers computed by hand."""

import math

import pytest

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
