"""A whole board from made-up runs, and how often two identical methods are told apart."""

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
    Column,
    Rules,
    band_ends,
    column_means,
    compare,
    family_of_comparisons,
    in_all_columns,
    leaders,
    own_end,
    ranks_from,
    with_ends,
)
from benchmark.statistics.intervals import mean_interval
from benchmark.statistics.selection import results_by_seed
from benchmark.statistics.verdicts import Rank, Verdict
from tests.benchmark.statistics.shipped import (
    BUDGETS,
    CHOOSING_SEEDS,
    LIMITS,
    PROTOCOL,
    RULES,
    report_scores,
    select,
    verdict,
)

FAST = replace(RULES, repetitions=500)
REPORT_SEEDS = range(300, 320)
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
                amount = 0.0 if power == 0 else 0.002 * 3.0**power
                learner = ("twin" if method == "strong" else method) if power == 0 else method
                error = noise.setdefault((learner, power), random.normal(0, 0.02))
                score = 2 + gain * power + stream + error
                rows.append((method, f"{method}/{power}", run_seed, score, amount))
    return pd.DataFrame(rows, columns=["method", "configuration", "seed", "score", "communication"])


def choices_of(runs: pd.DataFrame) -> dict[str, dict[float, str | None]]:
    choices = {}
    choosing, _ = PROTOCOL.seeds.split(runs)
    for method, part in choosing.groupby("method", sort=False):
        selection = select(list(part["configuration"].unique()), results_by_seed(part), LIMITS)
        assert selection.pending == ()
        choices[str(method)] = selection.configurations
    return choices


def compared(
    scores: Scores, methods: list[str], rules: Rules = FAST
) -> tuple[pd.DataFrame, dict[Column, dict[str, Rank]]]:
    """The comparisons and the ranks of some methods."""
    means = column_means(scores, methods, rules)
    comparisons = compare(scores, family_of_comparisons(scores, methods, leaders(means)), rules)
    return comparisons, ranks_from(comparisons, means, leaders(means))


def board(runs: pd.DataFrame, rules: Rules = FAST) -> tuple[Scores, pd.DataFrame]:
    choices = with_ends(choices_of(runs), "reference")
    scores = report_scores(runs, choices, list(REPORT_SEEDS), "reward")
    return scores, compared(scores, list(METHODS), rules)[0]


def verdict_of(comparisons: pd.DataFrame, first: str, second: str, budget: float | str) -> Verdict:
    row = comparisons.query("first == @first and second == @second and budget == @budget")
    assert len(row) == 1
    return Verdict(row["verdict"].iloc[0])


def test_a_board_goes_from_runs_to_ranks():
    runs = made_up_runs()
    choices = choices_of(runs)
    # Messages per decision are 0 and 0.006, 0.018, 0.054, 0.162, 0.486 and 1.458.
    assert list(choices["strong"].values()) == [f"strong/{power}" for power in (0, 2, 3, 4, 5, 6)]
    scores, comparisons = board(runs)
    assert scores.values.shape == (len(METHODS) * 2, len(BUDGETS), 20)
    leader = leaders(column_means(scores, list(METHODS), FAST))[PRIMARY]
    other = {"strong": "twin", "twin": "strong"}[leader]
    assert verdict_of(comparisons, "weak", leader, PRIMARY) == Verdict.WORSE
    assert verdict_of(comparisons, "weak", NO_COMMUNICATION, PRIMARY) == Verdict.BETTER
    assert verdict_of(comparisons, other, leader, PRIMARY) == Verdict.EQUIVALENT
    assert verdict_of(comparisons, "reference", NO_COMMUNICATION, 0.0) == Verdict.IDENTICAL
    assert verdict_of(comparisons, "strong", own_end("strong"), 0.0) == Verdict.IDENTICAL
    assert verdict_of(comparisons, "strong", own_end("strong"), 0.1) == Verdict.BETTER
    ranks = compared(scores, list(METHODS))[1]
    first = Rank(1, is_shared=True)
    assert ranks[PRIMARY] == {"strong": first, "twin": first, "reference": Rank(3), "weak": Rank(4)}
    assert [*ranks] == [*BUDGETS, PRIMARY]
    played = runs[(runs["configuration"] == choices["strong"][0.1]) & runs["seed"].isin(list(REPORT_SEEDS))]
    amounts = dict(zip(played["seed"], played["communication"], strict=True))
    assert overruns(amounts, 0.1) == Overruns((), None)


def test_the_family_has_no_communication_the_own_end_and_the_leader_of_each_column():
    scores, comparisons = board(made_up_runs())
    columns = len(BUDGETS) + 1
    leader = leaders(column_means(scores, list(METHODS), FAST))
    to_leaders = comparisons[comparisons["second"].isin(list(METHODS))]
    assert len(comparisons) == columns * (4 + 3 + 3)
    assert len(to_leaders) == columns * 3
    assert {(row.budget, row.second) for row in to_leaders.itertuples()} == set(leader.items())
    assert (comparisons["seeds"] == 20).all()


def test_differences_and_their_single_intervals_are_paired_by_seed():
    scores, comparisons = board(made_up_runs())
    row = comparisons.query("first == 'weak' and second == @NO_COMMUNICATION and budget == 0.1").iloc[0]
    expected = mean_interval(scores.of("weak")[2] - scores.of(NO_COMMUNICATION)[2])
    assert (row["difference"], row["student_low"], row["student_high"]) == pytest.approx(expected)
    assert row["low"] < row["student_low"]


def test_a_method_without_a_configuration_within_a_budget_is_identical_to_no_communication_there():
    chosen = {"a": {0.0: None, 2.0: "x"}, "b": {0.0: None, 2.0: "x"}, "reference": {0.0: "y", 2.0: "y"}}
    rows = [(name, seed, 2.0 + seed % 3) for name in "xy" for seed in REPORT_SEEDS]
    runs = pd.DataFrame(rows, columns=["configuration", "seed", "score"])
    scores = report_scores(runs, with_ends(chosen, "reference"), list(REPORT_SEEDS), "reward")
    cells = in_all_columns(scores, [("a", "b"), ("a", NO_COMMUNICATION)])
    comparisons = compare(scores, cells, replace(FAST, primary_budgets=(2.0,)))
    assert verdict_of(comparisons, "a", "b", 0.0) == Verdict.IDENTICAL
    assert verdict_of(comparisons, "a", NO_COMMUNICATION, 0.0) == Verdict.IDENTICAL
    assert verdict_of(comparisons, "a", NO_COMMUNICATION, 2.0) == Verdict.EQUIVALENT


def test_a_missing_run_leaves_its_comparisons_without_numbers_and_the_others_as_they_are():
    runs = made_up_runs()
    is_missing = (runs["configuration"] == "weak/3") & (runs["seed"] == 303)
    choices = with_ends(choices_of(runs), "reference")
    scores = report_scores(runs[~is_missing], choices, list(REPORT_SEEDS), "reward")
    comparisons, ranks = compared(scores, list(METHODS))
    row = comparisons.query("first == 'weak' and second == @NO_COMMUNICATION and budget == 0.1").iloc[0]
    assert (row["seeds"], row["verdict"]) == (19, Verdict.NONE)
    assert row[["difference", "low", "high", "student_low"]].isna().all()
    assert verdict_of(comparisons, "weak", NO_COMMUNICATION, PRIMARY) == Verdict.NONE
    assert verdict_of(comparisons, "weak", NO_COMMUNICATION, 1.0) == Verdict.BETTER
    assert verdict_of(comparisons, "strong", NO_COMMUNICATION, PRIMARY) == Verdict.BETTER
    assert [*ranks[PRIMARY]][2:] == ["reference"]
    assert ranks[1.0]["weak"] == Rank(4)


def test_fewer_than_ten_report_seeds_give_differences_but_neither_bands_nor_verdicts_nor_ranks():
    runs = made_up_runs()
    choices = with_ends(choices_of(runs), "reference")
    scores = report_scores(runs, choices, REPORT_SEEDS[:9], "reward")
    comparisons, ranks = compared(scores, list(METHODS))
    assert set(comparisons["verdict"]) == {Verdict.NONE}
    assert comparisons["low"].isna().all()
    assert comparisons["student_low"].notna().all()
    assert ranks == {}


@settings(max_examples=5, deadline=None)
@given(st.permutations(list(METHODS)))
def test_permuting_methods_permutes_the_board(order: list[str]):
    runs = made_up_runs()
    scores, _ = board(runs)
    assert compared(scores, order)[1] == compared(scores, list(METHODS))[1]


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
        scores = np.concatenate([scores, scores[:, 2:5].mean(axis=1, keepdims=True)], axis=1)
        ends = zip(*band_ends(scores[0] - scores[1], rules), strict=True)
        verdicts = {verdict(*band, 0.0, same_configuration=False, seeds=20) for band in ends}
        told_apart += bool(verdicts & {Verdict.BETTER, Verdict.WORSE})
    assert 0 < told_apart / repetitions <= 0.05 + 2 * (0.05 * 0.95 / repetitions) ** 0.5
