"""A whole board from made-up runs, and how often two identical methods are told apart."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmark.statistics.budgets import Overruns, Scores, overruns
from benchmark.statistics.comparison import (
    NO_COMMUNICATION,
    PRIMARY,
    Rules,
    band_ends,
    board_pairs,
    compare,
    own_end,
    ranks_from,
    with_ends,
    with_primary,
)
from benchmark.statistics.intervals import mean_interval
from benchmark.statistics.selection import results_by_seed
from benchmark.statistics.verdicts import Rank, Verdict
from tests.benchmark.statistics.shipped import (
    BUDGETS,
    CHOOSING_SEEDS,
    LIMITS_25,
    PROTOCOL,
    RULES,
    report_scores,
    select,
    verdict,
)

FAST = replace(RULES, repetitions=500)
REPORT_SEEDS = range(20)
METHODS = {"strong": 0.4, "twin": 0.4, "weak": 0.1, "reference": 0.2}
"""What each method gains per decade of communication."""


def made_up_runs(seed: int = 0) -> pd.DataFrame:
    """Runs of four methods with seven configurations each, on the seeds for choosing and for reporting.

    More communication helps; the seed of a stream has an effect on all methods alike. Without communication the
    twin is the same learner as the strong method.
    """
    random = np.random.default_rng(seed)
    rows = []
    for run_seed in (*CHOOSING_SEEDS, *REPORT_SEEDS):
        stream = random.normal(0, 0.3)
        noise = {}
        for method, gain in METHODS.items():
            for power in range(7):
                numbers = 0.0 if power == 0 else 7.0 * 10.0**power
                learner = ("twin" if method == "strong" else method) if power == 0 else method
                error = noise.setdefault((learner, power), random.normal(0, 0.02))
                score = 2 + gain * power + stream + error
                rows.append((method, f"{method}/{power}", run_seed, score, numbers))
    return pd.DataFrame(rows, columns=["method", "configuration", "seed", "score", "numbers_per_client"])


def choices_of(runs: pd.DataFrame) -> dict[str, dict[float, str | None]]:
    choices = {}
    choosing, _ = PROTOCOL.seeds.split(runs)
    for method, part in choosing.groupby("method", sort=False):
        selection = select(list(part["configuration"].unique()), results_by_seed(part), LIMITS_25)
        assert selection.pending == ()
        choices[str(method)] = selection.configurations
    return choices


def board(runs: pd.DataFrame, rules: Rules = FAST) -> tuple[Scores, pd.DataFrame]:
    choices = with_ends(choices_of(runs), "reference")
    scores = report_scores(runs, choices, list(REPORT_SEEDS), "reward")
    return scores, compare(scores, board_pairs(list(METHODS), "reference"), rules)


def verdict_of(comparisons: pd.DataFrame, first: str, second: str, budget: float | str) -> Verdict:
    row = comparisons.query("first == @first and second == @second and budget == @budget")
    assert len(row) == 1
    return Verdict(row["verdict"].iloc[0])


def test_a_board_goes_from_runs_to_ranks():
    runs = made_up_runs()
    choices = choices_of(runs)
    # Numbers per client are 0 and 70, 700, …, 7e6; the budgets are 0, 700, 3,500, 35,000, 350,000 and unlimited.
    assert list(choices["strong"].values()) == [f"strong/{power}" for power in (0, 2, 2, 3, 4, 6)]
    scores, comparisons = board(runs)
    assert scores.values.shape == (len(METHODS) * 2, len(BUDGETS), 20)
    assert verdict_of(comparisons, "strong", "weak", PRIMARY) == Verdict.BETTER
    assert verdict_of(comparisons, "weak", NO_COMMUNICATION, PRIMARY) == Verdict.BETTER
    assert verdict_of(comparisons, "weak", "reference", 100.0) == Verdict.WORSE
    assert verdict_of(comparisons, "strong", "twin", PRIMARY) == Verdict.EQUIVALENT
    assert verdict_of(comparisons, "reference", NO_COMMUNICATION, 0.0) == Verdict.IDENTICAL
    assert verdict_of(comparisons, "strong", own_end("strong"), 0.0) == Verdict.IDENTICAL
    assert verdict_of(comparisons, "strong", own_end("strong"), 10.0) == Verdict.BETTER
    ranks = ranks_from(comparisons, list(METHODS))
    assert ranks == {"strong": Rank(1, 1), "twin": Rank(1, 1), "weak": Rank(4, 4), "reference": Rank(3, 3)}
    played = runs[(runs["configuration"] == choices["strong"][10.0]) & runs["seed"].isin(list(REPORT_SEEDS))]
    numbers = dict(zip(played["seed"], played["numbers_per_client"], strict=True))
    assert overruns(numbers, LIMITS_25[10.0]) == Overruns((), None)


def test_every_pair_is_compared_at_every_budget_and_at_the_primary_endpoint():
    _, comparisons = board(made_up_runs())
    pairs = comparisons[["first", "second"]].drop_duplicates()
    assert len(pairs) == 6 + 4 + 3
    assert len(comparisons) == len(pairs) * (len(BUDGETS) + 1)
    assert (comparisons["seeds"] == 20).all()


def test_differences_and_their_single_intervals_are_paired_by_seed():
    scores, comparisons = board(made_up_runs())
    row = comparisons.query("first == 'strong' and second == 'weak' and budget == 10").iloc[0]
    expected = mean_interval(scores.of("strong")[2] - scores.of("weak")[2])
    assert (row["difference"], row["student_low"], row["student_high"]) == pytest.approx(expected)
    assert row["low"] < row["student_low"]


def test_the_primary_endpoint_is_the_mean_over_four_budgets():
    scores, _ = board(made_up_runs())
    primary = with_primary(scores, "strong", RULES.primary_budgets)[-1]
    assert primary == pytest.approx(scores.of("strong")[1:5].mean(axis=0))


def test_equal_learners_with_other_configurations_are_equivalent_not_identical():
    _, comparisons = board(made_up_runs())
    row = comparisons.query("first == 'strong' and second == 'twin' and budget == 0").iloc[0]
    assert (row["low"], row["high"], row["verdict"]) == (0, 0, Verdict.EQUIVALENT)


def test_two_methods_without_a_configuration_are_both_random_choice():
    choices = {"a": {0.0: None, 2.0: "x"}, "b": {0.0: None, 2.0: "x"}, NO_COMMUNICATION: {0.0: "y", 2.0: "y"}}
    rows = [(name, seed, 2.0 + seed % 3) for name in "xy" for seed in REPORT_SEEDS]
    runs = pd.DataFrame(rows, columns=["configuration", "seed", "score"])
    scores = report_scores(runs, choices, list(REPORT_SEEDS), "reward")
    comparisons = compare(scores, [("a", "b"), ("a", NO_COMMUNICATION)], replace(FAST, primary_budgets=(2.0,)))
    assert verdict_of(comparisons, "a", "b", 0.0) == Verdict.IDENTICAL
    assert verdict_of(comparisons, "a", NO_COMMUNICATION, 0.0) == Verdict.WORSE


def test_a_missing_run_leaves_its_comparisons_without_numbers_and_the_others_as_they_are():
    runs = made_up_runs()
    is_missing = (runs["configuration"] == "weak/2") & (runs["seed"] == 3)
    _, comparisons = board(runs[~is_missing])
    row = comparisons.query("first == 'strong' and second == 'weak' and budget == 2").iloc[0]
    assert (row["seeds"], row["verdict"]) == (19, Verdict.NONE)
    assert row[["difference", "low", "high", "student_low"]].isna().all()
    assert verdict_of(comparisons, "strong", "weak", PRIMARY) == Verdict.NONE
    assert verdict_of(comparisons, "strong", "weak", 100.0) == Verdict.BETTER
    assert verdict_of(comparisons, "strong", "reference", PRIMARY) == Verdict.BETTER
    assert ranks_from(comparisons, list(METHODS))["weak"] == Rank(1, 4)


def test_fewer_than_ten_report_seeds_give_differences_but_neither_bands_nor_verdicts():
    runs = made_up_runs()
    choices = with_ends(choices_of(runs), "reference")
    scores = report_scores(runs, choices, range(9), "reward")
    comparisons = compare(scores, board_pairs(list(METHODS), "reference"), FAST)
    assert set(comparisons["verdict"]) == {Verdict.NONE}
    assert comparisons["low"].isna().all()
    assert comparisons["student_low"].notna().all()
    assert set(ranks_from(comparisons, list(METHODS)).values()) == {Rank(1, 4)}


def test_verdicts_that_contradict_each_other_leave_both_methods_without_a_rank():
    _, comparisons = board(made_up_runs())
    turned = comparisons.copy()
    is_turned = (turned["first"] == "strong") & (turned["second"] == "weak") & (turned["budget"] == math.inf)
    turned.loc[is_turned, "verdict"] = Verdict.WORSE
    ranks = ranks_from(turned, list(METHODS))
    assert ranks == {"strong": None, "twin": Rank(1, 1), "weak": None, "reference": Rank(3, 3)}


def test_what_a_comparison_needs_is_named_when_it_is_missing():
    scores, _ = board(made_up_runs())
    with pytest.raises(ValueError, match="reference must be one of strong, got other"):
        with_ends({"strong": {0.0: None}}, "other")
    with pytest.raises(ValueError, match=r"budgets must include 0, got \(2.0,\) for strong"):
        with_ends({"strong": {2.0: None}}, "strong")
    with pytest.raises(ValueError, match="budgets must include the primary budget 5, got"):
        compare(scores, [("strong", "weak")], replace(FAST, primary_budgets=(2.0, 5.0)))
    with pytest.raises(ValueError, match="scores must include 'no communication', got strong"):
        compare(replace(scores, methods=("strong",)), [], FAST)


@settings(max_examples=5, deadline=None)
@given(st.permutations(list(METHODS)))
def test_permuting_methods_permutes_the_board(order: list[str]):
    runs = made_up_runs()
    scores, comparisons = board(runs)
    permuted = compare(scores, board_pairs(order, "reference"), FAST)
    assert ranks_from(permuted, order) == ranks_from(comparisons, list(METHODS))


def test_adding_a_constant_to_every_score_changes_no_difference():
    runs = made_up_runs()
    _, comparisons = board(runs)
    _, moved = board(runs.assign(score=runs["score"] + 5))
    numbers = ["difference", "low", "high"]
    np.testing.assert_allclose(moved[numbers], comparisons[numbers], atol=1e-9)


def test_a_contender_that_is_added_changes_no_score_and_no_difference_of_others():
    runs = made_up_runs()
    everyone, _ = board(runs)
    choices = {name: chosen for name, chosen in choices_of(runs).items() if name != "strong"}
    scores = report_scores(runs, with_ends(choices, "reference"), list(REPORT_SEEDS), "reward")
    for method in ("twin", "weak", "reference", NO_COMMUNICATION):
        np.testing.assert_array_equal(scores.of(method), everyone.of(method))


def test_two_identical_methods_are_told_apart_in_at_most_five_percent_of_the_tasks():
    random = np.random.default_rng(2024)
    repetitions, rules = 2_000, replace(RULES, repetitions=1_000)
    told_apart = 0
    for _ in range(repetitions):
        scores = random.normal(2, 0.1, size=(2, len(BUDGETS), 20)) + random.normal(0, 0.3, size=20)
        scores = np.concatenate([scores, scores[:, 1:5].mean(axis=1, keepdims=True)], axis=1)
        ends = zip(*band_ends(scores[0] - scores[1], rules), strict=True)
        verdicts = {verdict(*band, 0.0, same_configuration=False, seeds=20) for band in ends}
        told_apart += bool(verdicts & {Verdict.BETTER, Verdict.WORSE})
    assert 0 < told_apart / repetitions <= 0.05 + 2 * (0.05 * 0.95 / repetitions) ** 0.5
