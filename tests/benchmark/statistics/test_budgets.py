"""Budgets, and scores within them."""

import math

import numpy as np
import pandas as pd
import pytest

from benchmark.statistics.budgets import (
    Overruns,
    full_transfer,
    full_transfers,
    is_within,
    overruns,
    random_score,
    regret_score,
)
from benchmark.statistics.comparison import NO_COMMUNICATION, with_ends
from tests.benchmark.statistics.shipped import report_scores


def runs_of(rows: list[tuple[str, int, float]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["configuration", "seed", "score"])


def test_a_full_transfer_at_25_dimensions_has_350_numbers():
    assert full_transfer(25) == 350
    assert full_transfer(1) == 2
    assert full_transfers(700, 25) == 2


def test_rounding_does_not_exceed_a_budget_but_a_number_does():
    assert is_within(700 * (1 + 1e-12), 700)
    assert not is_within(701, 700)
    assert is_within(0, 0)
    assert not is_within(1e-6, 0)
    assert is_within(1e300, math.inf)


def test_overruns_of_single_seeds_are_found():
    assert overruns({0: 600, 1: 800, 2: 650}, 700) == Overruns((1,), None)
    assert overruns({0: 600, 1: 900, 2: 650}, 700) == Overruns((1,), pytest.approx(2150 / 3 / 700))
    assert overruns({}, 700) == Overruns((), None)
    assert overruns({0: 3}, 0) == Overruns((0,), math.inf)


def test_without_a_configuration_within_a_budget_a_method_is_scored_as_no_communication():
    runs = runs_of([("a", 0, 3.0), ("a", 1, 4.0), ("alone", 0, 1.5), ("alone", 1, 2.5)])
    choices = with_ends({"m": {0.0: None, 2.0: "a"}, "reference": {0.0: "alone", 2.0: "alone"}}, "reference")
    scores = report_scores(runs, choices, [0, 1], "reward")
    assert scores.of("m").tolist() == [[1.5, 2.5], [3.0, 4.0]]
    assert scores.methods == ("m", "reference", NO_COMMUNICATION)  # m has no end of its own without communication


def test_the_score_of_a_simulation_is_the_share_of_random_regret_that_is_avoided():
    assert regret_score(380, 1000) == pytest.approx(0.62)
    assert regret_score(1000, 1000) == random_score("regret")
    assert math.isnan(regret_score(1, 0))


def test_runs_on_other_seeds_are_left_out_and_missing_runs_are_not_a_number():
    runs = runs_of([("a", 0, 3.0), ("a", 10_000, 99.0), ("a", 2, math.inf)])
    scores = report_scores(runs, {"m": {2.0: "a"}}, [0, 1, 2], "reward")
    np.testing.assert_array_equal(scores.of("m"), [[3.0, math.nan, math.nan]])


def test_scores_are_not_reported_on_seeds_for_choosing():
    with pytest.raises(ValueError, match="report seeds must be outside 10000 to 10009, got 10000"):
        report_scores(runs_of([]), {"m": {2.0: None}}, [10_000], "reward")


def test_two_runs_of_one_configuration_on_one_seed_are_refused():
    with pytest.raises(ValueError, match="expected one run per configuration and seed, got two of a on seed 0"):
        report_scores(runs_of([("a", 0, 3.0), ("a", 0, 3.0)]), {"m": {2.0: "a"}}, [0], "reward")
