"""Budgets in full transfers and in numbers per client, and scores within them."""

import math

import numpy as np
import pandas as pd
import pytest

from benchmark.statistics.budgets import (
    Overruns,
    full_transfer,
    full_transfers,
    is_within,
    numbers_per_client,
    overruns,
    random_score,
    regret_score,
)
from tests.benchmark.statistics.shipped import BUDGETS, LIMITS_25, RULES, report_scores


def runs_of(rows: list[tuple[str, int, float]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["configuration", "seed", "score"])


def test_a_full_transfer_at_25_dimensions_has_350_numbers():
    assert full_transfer(25) == 350
    assert full_transfer(1) == 2
    assert numbers_per_client(2, 25) == 700
    assert full_transfers(700, 25) == 2
    with pytest.raises(ValueError, match="dimension must be at least 1, got 0"):
        full_transfer(0)


def test_the_budgets_are_those_of_the_protocol():
    assert list(BUDGETS) == [0, 2, 10, 100, 1000, math.inf]
    assert list(RULES.primary_budgets) == [2, 10, 100, 1000]
    assert {0: 0, 2: 700, 10: 3500, 100: 35_000, 1000: 350_000, math.inf: math.inf} == LIMITS_25


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


@pytest.mark.parametrize(("scale", "score"), [("reward", 1.0), ("regret", 0.0)])
def test_without_a_configuration_within_a_budget_a_method_is_scored_as_random_choice(scale, score: float):
    assert random_score(scale) == score
    runs = runs_of([("a", 0, 3.0), ("a", 1, 4.0)])
    scores = report_scores(runs, {"m": {0.0: None, 2.0: "a"}}, [0, 1], scale)
    assert scores.of("m").tolist() == [[score, score], [3.0, 4.0]]
    assert scores.configurations_of("m") == (None, "a")


def test_the_score_of_a_simulation_is_the_share_of_random_regret_that_is_avoided():
    assert regret_score(380, 1000) == pytest.approx(0.62)
    assert regret_score(1000, 1000) == random_score("regret")
    with pytest.raises(ValueError, match="the regret of a random choice must be above 0, got 0"):
        regret_score(1, 0)


def test_runs_on_other_seeds_are_left_out_and_missing_runs_are_not_a_number():
    runs = runs_of([("a", 0, 3.0), ("a", 10_000, 99.0), ("a", 2, math.inf)])
    scores = report_scores(runs, {"m": {2.0: "a"}}, [0, 1, 2], "reward")
    np.testing.assert_array_equal(scores.of("m"), [[3.0, math.nan, math.nan]])


def test_scores_are_not_reported_on_seeds_for_choosing():
    with pytest.raises(ValueError, match="report seeds must be outside 10000 to 10009, got 10000"):
        report_scores(runs_of([]), {"m": {2.0: None}}, [10_000], "reward")


def test_a_contender_that_is_added_changes_no_score_of_another():
    runs = runs_of([("a", 0, 3.0), ("b", 0, 100.0)])
    alone = report_scores(runs, {"m": {2.0: "a"}}, [0], "reward")
    together = report_scores(runs, {"m": {2.0: "a"}, "strong": {2.0: "b"}}, [0], "reward")
    assert together.of("m").tolist() == alone.of("m").tolist()


def test_bad_tables_and_choices_are_refused():
    with pytest.raises(ValueError, match="expected one run per configuration and seed, got two of a on seed 0"):
        report_scores(runs_of([("a", 0, 3.0), ("a", 0, 3.0)]), {"m": {2.0: "a"}}, [0], "reward")
    with pytest.raises(ValueError, match="expected choices of at least one method, got none"):
        report_scores(runs_of([]), {}, [0], "reward")
    with pytest.raises(ValueError, match=r"every method must have the same budgets, got \(2.0,\) and \(3.0,\)"):
        report_scores(runs_of([]), {"m": {2.0: "a"}, "n": {3.0: "a"}}, [0], "reward")
