"""Choosing configurations by successive halving, against worked examples and a plain implementation."""

import math
from random import Random

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmark.statistics.budgets import require_reporting
from benchmark.statistics.selection import (
    Choice,
    Result,
    Selection,
    best_within,
    edges,
    merge_equal,
    results_by_seed,
)
from tests.benchmark.statistics.shipped import BUDGETS, CHOOSING_SEEDS, LIMITS_25, PASSES, PROTOCOL, select

Table = dict[int, dict[str, Result]]
LIMITS = {0.0: 0.0, 2.0: 700.0, math.inf: math.inf}


def play(configurations: list[str], everything: Table, allowed: dict[float, float]) -> tuple[Selection, int]:
    """Play pending runs until none is left; return the selection and the number of runs."""
    results: Table = {}
    selection = select(configurations, results, allowed)
    runs = 0
    while selection.pending:
        for name, seed in selection.pending:
            assert name not in results.setdefault(seed, {}), "a run must not be asked for twice"
            results[seed][name] = everything[seed][name]
            runs += 1
        selection = select(configurations, results, allowed)
    return selection, runs


def constant(scores: dict[str, tuple[float, float]]) -> Table:
    """The same score and communication on every seed for choosing."""
    return {seed: {name: Result(*values) for name, values in scores.items()} for seed in CHOOSING_SEEDS}


def noisy(configurations: list[str], seed: int) -> Table:
    random = np.random.default_rng(seed)
    levels, spent = random.normal(2, 0.3, len(configurations)), 10 ** random.uniform(-1, 6, len(configurations))
    spent[:3] = 0
    return {
        key: {
            name: Result(float(level + random.normal(0, 0.2)), float(numbers * random.uniform(0.9, 1.1)))
            for name, level, numbers in zip(configurations, levels, spent, strict=True)
        }
        for key in CHOOSING_SEEDS
    }


@pytest.mark.parametrize(
    ("seed", "expected"), [(0, "report"), (9999, "report"), (10_000, "choose"), (10_009, "choose"), (10_010, "report")]
)
def test_the_purpose_of_a_run_follows_from_its_seed(seed: int, expected: str):
    assert PROTOCOL.seeds.purpose(seed) == expected


def test_runs_are_split_by_their_purpose():
    choosing, reporting = PROTOCOL.seeds.split(pd.DataFrame({"seed": [0, 10_000, 19, 10_009, 10_010]}))
    assert choosing["seed"].tolist() == [10_000, 10_009]
    assert reporting["seed"].tolist() == [0, 19, 10_010]


@pytest.mark.parametrize("seed", [0, 19, 9_999, 10_010])
def test_results_on_a_report_seed_are_refused(seed: int):
    message = f"seeds for choosing must be from 10000 to 10009, got {seed}; a configuration must not be chosen"
    with pytest.raises(ValueError, match=message):
        select(["a"], {10_000: {"a": Result(1, 0)}, seed: {"a": Result(1, 0)}}, LIMITS)


def test_choosing_seeds_are_refused_for_reporting():
    with pytest.raises(ValueError, match="report seeds must be outside 10000 to 10009, got 10003"):
        require_reporting([0, 1, 10_003], CHOOSING_SEEDS)


def test_the_passes_are_those_of_the_protocol():
    assert [current.keep for current in PASSES] == [12, 3, 1]
    assert [current.seeds for current in PASSES] == [(10_000,), (10_001, 10_002), tuple(range(10_003, 10_010))]


def test_the_passes_narrow_down_from_all_to_twelve_to_three():
    configurations = [f"c{number}" for number in range(20)]
    everything = constant({name: (float(number), 100.0) for number, name in enumerate(configurations)})
    first = select(configurations, {}, {2.0: 700.0})
    assert first.pending == tuple((name, 10_000) for name in configurations)
    assert first.choices == {}
    selection, runs = play(configurations, everything, {2.0: 700.0})
    assert selection.played == (tuple(configurations), tuple(configurations[8:]), tuple(configurations[17:]))
    assert runs == 20 + 12 * 2 + 3 * 7
    assert selection.choices == {2.0: Choice("c19", 19, 100)}


def test_each_budget_has_survivors_of_its_own():
    table = constant({"free": (1.0, 0.0), "cheap": (2.0, 700.0), "dear": (3.0, 701.0)})
    selection, _ = play(["free", "cheap", "dear"], table, LIMITS)
    assert selection.configurations == {0.0: "free", 2.0: "cheap", math.inf: "dear"}


def test_a_budget_that_no_configuration_meets_has_no_choice():
    selection, _ = play(["a", "b"], constant({"a": (1.0, 800.0), "b": (2.0, 900.0)}), LIMITS)
    assert selection.configurations == {0.0: None, 2.0: None, math.inf: "b"}


def test_without_any_survivor_nothing_is_pending_and_nothing_chosen():
    selection, runs = play(["a"], constant({"a": (1.0, 800.0)}), {0.0: 0.0})
    assert (selection.pending, selection.configurations, runs) == ((), {0.0: None}, 1)


def test_the_choice_is_the_best_mean_over_all_ten_seeds_not_the_best_of_the_first_pass():
    table = constant({"lucky": (1.0, 1.0), "good": (2.0, 1.0)})
    table[10_000]["lucky"] = Result(5.0, 1.0)
    selection, _ = play(["lucky", "good"], table, {2.0: 700.0})
    assert selection.choices[2.0] == Choice("good", 2.0, 1.0)


def test_staying_within_a_budget_refers_to_the_mean_over_seeds():
    table = constant({"varies": (2.0, 600.0), "small": (1.0, 0.0)})
    table[10_005]["varies"] = Result(2.0, 1600.0)  # mean 700
    assert play(["varies", "small"], table, {2.0: 700.0})[0].configurations == {2.0: "varies"}
    table[10_006]["varies"] = Result(2.0, 601.0)
    assert play(["varies", "small"], table, {2.0: 700.0})[0].configurations == {2.0: "small"}


def test_ties_go_to_less_communication_and_then_to_the_earlier_configuration():
    candidates = [Choice("a", 2.0, 9.0), Choice("b", 2.0, 5.0), Choice("c", 2.0, 5.0), Choice("d", 3.0, 99.0)]
    assert [choice.configuration for choice in best_within(candidates, 10.0, 3)] == ["b", "c", "a"]


def test_configurations_with_equal_results_are_one():
    table = constant({"γ=∞": (2.0, 0.0), "γ=1e16": (2.0, 0.0), "γ=1e8": (2.0, 1.0)})
    selection, runs = play(["γ=∞", "γ=1e16", "γ=1e8"], table, LIMITS)
    assert selection.played[1] == ("γ=∞", "γ=1e8")
    assert runs == 3 + 2 * 9
    assert selection.choices[0.0] == Choice("γ=∞", 2.0, 0.0, same_as=("γ=1e16",))


def test_configurations_that_became_one_early_are_remembered_when_their_representative_is_merged():
    merged = merge_equal({"a": [Result(1, 0)], "b": [Result(1, 0)]}, {"a": ("x",), "b": ("y",)})
    assert merged == [Choice("a", 1, 0, same_as=("b", "x", "y"))]


def test_equal_configurations_take_one_of_the_twelve_places():
    names = [f"c{number}" for number in range(15)]
    scores = {name: (float(number), 0.0) for number, name in enumerate(names)} | {"c13": (14.0, 0.0)}
    selection, _ = play(names, constant(scores), {0.0: 0.0})
    assert selection.played[1] == (*names[2:14],)


@pytest.mark.parametrize(
    "broken", [Result(math.nan, math.nan), Result(math.inf, 1.0), Result(9.0, math.nan), Result(9.0, -1.0)]
)
def test_a_failed_run_excludes_its_configuration_and_is_listed(broken: Result):
    table = constant({"good": (2.0, 0.0), "broken": (9.0, 0.0)})
    table[10_004]["broken"] = broken
    selection, _ = play(["good", "broken"], table, LIMITS)
    assert set(selection.configurations.values()) == {"good"}
    assert selection.failed == (("broken", 10_004),)


def test_a_choice_at_the_edge_of_a_grid_is_marked():
    values = {"a": {"alpha": 0.0, "ridge": 0.2}, "b": {"alpha": 0.1, "ridge": 4.0}}
    grids = {"alpha": [0.0, 0.1, 0.3], "ridge": [0.01, 0.2, 4.0]}
    assert edges(Choice("a", 1, 0), values, grids) == ("alpha",)
    assert edges(Choice("b", 1, 0), values, grids) == ("ridge",)
    assert edges(Choice("a", 1, 0, same_as=("b",)), values, grids) == ()
    assert edges(Choice("a", 1, 0), values, {"alpha": [0.0]}) == ()


def test_configurations_must_be_distinct_and_some():
    with pytest.raises(ValueError, match="configurations must be distinct, got a more than once"):
        select(["a", "b", "a"], {}, LIMITS)
    with pytest.raises(ValueError, match="expected at least one configuration, got none"):
        select([], {}, LIMITS)


def test_a_table_of_runs_becomes_results_by_seed():
    rows = [("a", 10_000, 1.5, 7.0), ("a", 10_001, math.nan, 7.0)]
    runs = pd.DataFrame(rows, columns=["configuration", "seed", "score", "numbers_per_client"])
    results = results_by_seed(runs)
    assert results[10_000] == {"a": Result(1.5, 7.0)}
    assert not results[10_001]["a"].is_valid
    with pytest.raises(ValueError, match="expected one run per configuration and seed, got two of a on seed 10000"):
        results_by_seed(pd.concat([runs, runs]))


def plain_choices(configurations: list[str], table: Table, allowed: dict[float, float]) -> dict[float, str | None]:
    """Successive halving as plainly as possible; scores are distinct, so neither ties nor equal ones occur."""
    survivors = set(configurations)
    best: dict[float, list[str]] = {}
    for last_seed, keep in ((10_000, 12), (10_002, 3), (10_009, 1)):
        seeds = range(10_000, last_seed + 1)
        means = {name: np.mean([table[seed][name].score for seed in seeds]) for name in survivors}
        spent = {name: np.mean([table[seed][name].numbers for seed in seeds]) for name in survivors}
        best = {
            budget: sorted((name for name in survivors if spent[name] <= limit), key=lambda name: -means[name])[:keep]
            for budget, limit in allowed.items()
        }
        survivors = {name for names in best.values() for name in names}
    return {budget: names[0] if names else None for budget, names in best.items()}


@pytest.mark.parametrize("seed", range(20))
def test_selection_agrees_with_a_plain_implementation(seed: int):
    configurations = [f"c{number}" for number in range(144)]
    table = noisy(configurations, seed)
    selection, runs = play(configurations, table, LIMITS_25)
    assert selection.configurations == plain_choices(configurations, table, LIMITS_25)
    assert runs <= 144 + 2 * 12 * len(BUDGETS) + 7 * 3 * len(BUDGETS)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.randoms(use_true_random=False))
def test_the_order_of_configurations_changes_no_choice_without_ties(seed: int, random: Random):
    configurations = [f"c{number}" for number in range(30)]
    table = noisy(configurations, seed)
    shuffled = random.sample(configurations, len(configurations))
    one, other = (play(names, table, LIMITS_25)[0] for names in (configurations, shuffled))
    assert one.configurations == other.configurations


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000))
def test_a_larger_budget_never_has_a_lower_choosing_score(seed: int):
    selection, _ = play([f"c{n}" for n in range(30)], noisy([f"c{n}" for n in range(30)], seed), LIMITS_25)
    scores = [choice.score if choice else -math.inf for choice in selection.choices.values()]
    assert scores == sorted(scores)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(-4, 4))
def test_adding_a_constant_to_all_scores_changes_no_choice(seed: int, shift: int):
    configurations = [f"c{number}" for number in range(30)]
    table = noisy(configurations, seed)
    shifted = {
        key: {name: Result(result.score + shift, result.numbers) for name, result in row.items()}
        for key, row in table.items()
    }
    one, other = (play(configurations, results, LIMITS_25)[0] for results in (table, shifted))
    assert one.configurations == other.configurations
