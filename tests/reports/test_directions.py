"""Evidence on the paper's directions, against numbers computed by hand."""

import math

import pytest

from data_pipelines.data_label import DataKind, DataLabel
from reports.analysis.claims import data_caveat
from reports.analysis.directions import check_direction, evidence
from tests.reports.made_up import made_up, run


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
    results, context = made_up(runs)
    found = check_direction({**trend, "algorithm": "async-linucb"}, results.runs, results, context)
    assert found.ours.startswith(f"τ = {tau} (no interval); from γ=1 to γ=")


def test_a_metric_that_never_varies_has_no_trend():
    runs = [run("async-linucb", threshold, regret=5.0, experiment="fig_a") for threshold in (1.0, 2.0, 3.0)]
    trend = {"test": "trend", "along": "threshold", "metric": "regret", "sign": 1}
    results, context = made_up(runs)
    found = check_direction({**trend, "algorithm": "async-linucb"}, results.runs, results, context)
    assert (found.values, found.why_not) == ((), "the metric does not vary")


def test_evidence_has_one_number_per_seed_above_zero_where_it_agrees_with_the_paper():
    found = evidence([1.0, math.nan, 3.0], -1, "change ", "how")
    assert (found.values, found.seeds, found.verdict) == ((-1.0, -3.0), 2, None)
    assert found.ours == "change 2 (no interval)"  # two seeds
    assert evidence([1.0, 2.0, 3.0], -1, "change ", "how").ours.startswith("change 2.0 [")


def test_caveats_follow_from_the_labels_of_the_data():
    assert data_caveat(DataLabel(DataKind("STAND-IN DATA"), "(generated): not a valid result")) == "stand-in data"
    assert data_caveat(DataLabel(DataKind("RECONSTRUCTED DATA"), "(5 of 7 users)")) == "reconstructed data"
    assert data_caveat(DataLabel(DataKind("CHANGED DATA"), "(5 of 7 users)")) == "changed data"
    assert (
        data_caveat(DataLabel(DataKind("UNVERIFIED COPY"), "(mirror): its data set is not available"))
        == "unverified copy"
    )
    assert (
        data_caveat(DataLabel(DataKind("FROM THE PACKAGE"), "graphdatascience 2.2; tags by number"))
        == "from the package"
    )
    assert data_caveat(DataLabel()) == ""
