"""Verdicts on differences and on the paper's numbers, and ranks, against worked examples."""

import math

import pytest

from benchmark.statistics.verdicts import (
    Rank,
    Verdict,
    depending_on_budget,
    rank_text,
    ranks_in_column,
)
from reports.analysis.claims import margin_of
from tests.benchmark.statistics.shipped import equivalence_margin, verdict, verdict_on_number

B, W, E, U, N, I = (  # noqa: E741
    Verdict.BETTER,
    Verdict.WORSE,
    Verdict.EQUIVALENT,
    Verdict.UNDECIDED,
    Verdict.NONE,
    Verdict.IDENTICAL,
)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (-0.01, 0.01, E),
        (-0.05, 0.05, E),
        (0.01, 0.04, E),  # equivalence comes before better
        (-0.04, -0.01, E),
        (0.01, 0.06, B),
        (-0.06, -0.01, W),
        (-0.01, 0.06, U),
        (0.0, 0.06, U),
        (-0.06, 0.0, U),
        (math.nan, math.nan, N),
        (-math.inf, math.inf, U),
    ],
)
def test_verdicts_come_in_the_order_of_the_protocol(low: float, high: float, expected: Verdict):
    assert verdict(low, high, 0.05, same_configuration=False, seeds=10) == expected


def test_the_same_configuration_is_identical_whatever_its_band():
    assert verdict(-1, 1, 0.05, same_configuration=True, seeds=20) == I


def test_fewer_than_ten_seeds_allow_no_verdict():
    assert verdict(1, 2, 0.05, same_configuration=False, seeds=9) == N
    assert verdict(0, 0, 0.05, same_configuration=True, seeds=9) == N
    assert verdict(1, 2, 0.05, same_configuration=False, seeds=10) == B


def test_the_margin_is_a_share_of_the_gain_over_a_random_choice():
    assert equivalence_margin(2.0, "reward") == pytest.approx(0.05)
    assert equivalence_margin(0.8, "regret") == pytest.approx(0.04)
    assert equivalence_margin(0.9, "reward") == 0


def test_the_leader_and_all_that_are_not_worse_are_first_and_the_others_follow_by_their_means():
    means = {"a": 1.0, "b": 3.0, "c": 2.9, "d": 2.0, "e": math.nan}
    against_b = {"a": W, "c": U, "d": W, "e": N}
    first = Rank(1, is_shared=True)
    assert ranks_in_column(means, against_b) == {"b": first, "c": first, "d": Rank(3), "a": Rank(4)}
    assert ranks_in_column(means, {**against_b, "c": W})["b"] == Rank(1)
    assert [rank_text(rank) for rank in (Rank(1), first, Rank(3), None)] == [
        *("1", "1, shared", "3", "depends on the budget")
    ]


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (["ab", "ab"], ""),
        (["ab", "ba"], "ab"),
        (["ab", "(ab)"], ""),  # the leader of one column is not worse in the other
        (["(ab)c", "ac", "cb"], "bc"),
        ([], ""),
    ],
)
def test_ranks_contradict_each_other_if_each_method_is_first_where_the_other_is_not(columns: list[str], expected: str):
    ranks = []
    for column in columns:
        first = column[1 : column.index(")")] if column.startswith("(") else column[0]
        others = column.replace("(", "").replace(")", "").removeprefix(first)
        ranks.append({**dict.fromkeys(first, Rank(1)), **{name: Rank(2 + n) for n, name in enumerate(others)}})
    assert depending_on_budget(ranks) == set(expected)


@pytest.mark.parametrize(
    ("ours", "expected"),
    [
        ([1.83, 1.831, 1.829, 1.83, 1.83], "reproduced"),
        ([1.83 + 0.03, 1.831 + 0.03, 1.829 + 0.03, 1.86, 1.86], "reproduced"),  # within 5 % of 0.83 = 0.0415
        ([1.90, 1.901, 1.899, 1.90, 1.90], "different"),
        ([1.70, 1.701, 1.699, 1.70, 1.70], "different"),
        ([1.5, 2.1, 1.83, 1.7, 1.9], "undecided"),
        ([1.83, 1.83, 1.83, 1.83], "undecided"),  # fewer than five seeds
        ([1.83, 1.83, 1.83, 1.83, math.nan], "undecided"),
        ([], "undecided"),
    ],
)
def test_numbers_of_the_paper_are_judged_by_equivalence(ours: list[float], expected: str):
    assert verdict_on_number(1.83, ours, margin_of("normalised_reward", 1.83)) == expected


def test_reproduced_needs_the_90_and_different_the_95_percent_interval():
    # Mean 0, standard error 1, 9 degrees of freedom: the intervals are ± 1.833 and ± 2.262.
    ours = [sign * 3.0 for sign in (-1, 1) * 5]  # s = √10, so s / √10 = 1
    assert verdict_on_number(0.001, [value + 0.001 for value in ours], 1.84) == "reproduced"
    assert verdict_on_number(0.001, [value + 0.001 for value in ours], 1.83) == "undecided"
    assert verdict_on_number(5, ours, 2.73) == "different"
    assert verdict_on_number(5, ours, 2.74) == "undecided"  # 5 − 2.74 = 2.26 is inside the 95 % interval


def test_margins_are_shares_of_the_paper_s_value():
    assert margin_of("normalised_reward", 1.6891) == pytest.approx(0.034455)
    assert margin_of("normalised_reward", 0.9) == pytest.approx(0.005)
    assert margin_of("communication", 14_230) == pytest.approx(1423)


def test_zero_where_the_paper_has_zero_is_mechanical():
    assert verdict_on_number(0, [0, 0], margin_of("communication", 0)) == "mechanical"
    assert verdict_on_number(0, [5, 6, 5, 6, 5], margin_of("communication", 0)) == "different"
    assert verdict_on_number(0, [0, 0, 0, 0, 1], margin_of("communication", 0)) == "undecided"
    assert verdict_on_number(0, [], margin_of("communication", 0)) == "undecided"
