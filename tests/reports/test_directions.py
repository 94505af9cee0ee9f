"""Evidence on the paper's directions, against numbers computed by hand."""

import math

import pytest

from reports.analysis.directions import Evidence, check_direction
from tests.reports.made_up import made_up, run


def check_trend(thresholds: list[float], regrets: list[float]) -> Evidence:
    pairs = zip(thresholds, regrets, strict=True)
    runs = [run("async-linucb", threshold, regret=regret, experiment="fig_a") for threshold, regret in pairs]
    results = made_up(runs)
    trend = {"test": "trend", "along": "threshold", "metric": "regret", "sign": 1, "algorithm": "async-linucb"}
    return check_direction(trend, results.runs, results)


@pytest.mark.parametrize(
    ("thresholds", "regrets", "tau"),
    [
        ([1, 2, math.inf], [3, 2, 1], "−1"),
        ([1, 2, 3], [1, 3, 2], "0.3333"),
        ([1, 2, 3, 4], [0, 0, 1, 2], "0.9129"),  # ties: τ-b = 5 / √30
    ],
)
def test_a_trend_is_kendalls_tau_over_the_thresholds(thresholds: list[float], regrets: list[float], tau: str):
    assert check_trend(thresholds, regrets).ours.startswith(f"τ = {tau} (no interval); from γ=1 to γ=")


def test_a_metric_that_never_varies_has_no_trend():
    unvaried = check_trend([1, 2, 3], [5, 5, 5])
    assert (unvaried.values, unvaried.why_not) == ((), "the metric does not vary")


def test_a_method_without_runs_has_no_trend():
    results = made_up([run("async-linucb", 2.0, experiment="fig_c")])
    trend = {"test": "trend", "along": "global_dim", "metric": "regret", "sign": 1, "algorithm": "async-linucb-am"}
    claim = {**trend, "parameters": {"order": "global"}}
    assert check_direction(claim, results.runs, results).why_not == "fewer than three settings were run"
