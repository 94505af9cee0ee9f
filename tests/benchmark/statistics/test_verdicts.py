"""Verdicts on differences and on the paper's numbers, and ranks, against worked examples."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark.statistics.verdicts import (
    ClaimVerdict,
    Rank,
    Verdict,
    contradict,
    count_verdicts,
    rank_intervals,
    rank_text,
    ranks_over_budgets,
    verdict_on,
    verdict_on_count,
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


@given(st.floats(-1, 1), st.floats(0, 1), st.floats(0, 0.5))
def test_the_verdict_on_the_second_method_is_the_reverse(low: float, width: float, margin: float):
    forward = verdict(low, low + width, margin, same_configuration=False, seeds=20)
    backward = verdict(-(low + width), -low, margin, same_configuration=False, seeds=20)
    assert backward == forward.reversed


def test_ranks_are_intervals_and_ties_share_one():
    verdicts = {("a", "b"): E, ("a", "c"): B, ("b", "c"): B, ("a", "d"): B, ("b", "d"): B, ("c", "d"): U}
    assert rank_intervals("abcd", verdicts) == {"a": Rank(1, 1), "b": Rank(1, 1), "c": Rank(3, 4), "d": Rank(3, 4)}
    assert [rank_text(rank) for rank in (Rank(1, 1), Rank(3, 4), None)] == ["1", "3–4", "depends on the budget"]


def test_without_verdicts_every_rank_is_possible():
    verdicts = dict.fromkeys(itertools.combinations("abc", 2), N)
    assert set(rank_intervals("abc", verdicts).values()) == {Rank(1, 3)}


def test_a_pair_may_be_listed_in_either_order():
    assert verdict_on("a", "b", {("b", "a"): B}) == W
    assert rank_intervals("ab", {("b", "a"): B}) == {"a": Rank(2, 2), "b": Rank(1, 1)}


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [([B, W], True), ([B, U, E], False), ([W, U, W], False), ([], False), ([U, B, I, W], True)],
)
def test_only_better_and_worse_contradict_each_other(verdicts: list[Verdict], expected: bool):
    assert contradict(verdicts) == expected


def test_methods_whose_verdicts_contradict_each_other_have_no_rank():
    primary = {("a", "b"): B, ("a", "c"): B, ("b", "c"): B}
    first, second = {**primary}, {**primary, ("a", "b"): W}
    assert ranks_over_budgets("abc", primary, [first, second]) == {"a": None, "b": None, "c": Rank(3, 3)}
    assert ranks_over_budgets("abc", primary, [first, first])["a"] == Rank(1, 1)


@given(st.permutations("abcd"), st.lists(st.sampled_from([B, W, E, U, N, I]), min_size=6, max_size=6))
def test_permuting_methods_permutes_ranks(order: list[str], values: list[Verdict]):
    verdicts = dict(zip(itertools.combinations("abcd", 2), values, strict=True))
    reordered = {pair: verdict_on(*pair, verdicts) for pair in itertools.combinations(order, 2)}
    assert rank_intervals("abcd", verdicts) == rank_intervals(order, reordered)
    assert all(1 <= rank.best <= rank.worst <= 4 for rank in rank_intervals("abcd", verdicts).values())


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


def test_counts_compare_exactly():
    assert verdict_on_count(1867, 1867) == "reproduced"
    assert verdict_on_count(1867, 1866) == "different"


def test_verdicts_are_counted_by_kind_and_mechanical_ones_separately():
    counts = count_verdicts([ClaimVerdict.REPRODUCED, ClaimVerdict.MECHANICAL, ClaimVerdict.REPRODUCED])
    assert (counts[ClaimVerdict.REPRODUCED], counts[ClaimVerdict.MECHANICAL]) == (2, 1)
    assert (len(counts), sum(counts.values())) == (7, 3)


def test_a_stated_value_must_be_a_number():
    with pytest.raises(ValueError, match="the stated value must be finite and its margin at least 0, got nan"):
        verdict_on_number(math.nan, [1.0], 0.1)


@given(st.lists(st.floats(-3, 3), min_size=5, max_size=10), st.floats(-2, 2), st.floats(0, 1), st.floats(0, 1))
def test_a_wider_margin_never_turns_reproduced_into_something_else(
    ours: list[float], stated: float, margin: float, wider: float
):
    if verdict_on_number(stated, ours, margin) == "reproduced":
        assert verdict_on_number(stated, ours, margin + wider) == "reproduced"
    if verdict_on_number(stated, ours, margin + wider) == "different":
        assert verdict_on_number(stated, ours, margin) == "different"
