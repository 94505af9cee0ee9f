"""Choosing configurations by successive halving, against worked examples and a plain implementation."""

import math

import numpy as np
import pytest

from benchmark.statistics.selection import (
    Choice,
    Result,
    Selection,
    best_choices,
    edges,
)
from tests.benchmark.statistics.shipped import BUDGETS, CHOOSING_SEEDS, PROTOCOL, select
from tests.benchmark.statistics.shipped import LIMITS as SHIPPED_LIMITS

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
    levels, spent = random.normal(2, 0.3, len(configurations)), 10 ** random.uniform(-3, 1, len(configurations))
    spent[:3] = 0
    return {
        key: {
            name: Result(float(level + random.normal(0, 0.2)), float(amount * random.uniform(0.9, 1.1)))
            for name, level, amount in zip(configurations, levels, spent, strict=True)
        }
        for key in CHOOSING_SEEDS
    }


@pytest.mark.parametrize(
    ("seed", "expected"), [(0, "report"), (9999, "report"), (10_000, "choose"), (10_009, "choose"), (10_010, "report")]
)
def test_the_purpose_of_a_run_follows_from_its_seed(seed: int, expected: str):
    assert PROTOCOL.seeds.purpose(seed) == expected


@pytest.mark.parametrize("seed", [0, 19, 9_999, 10_010])
def test_results_on_a_report_seed_are_refused(seed: int):
    message = f"seeds for choosing must be from 10000 to 10009, got {seed}; a configuration must not be chosen"
    with pytest.raises(ValueError, match=message):
        select(["a"], {10_000: {"a": Result(1, 0)}, seed: {"a": Result(1, 0)}}, LIMITS)


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


def test_a_choice_uses_at_most_97_percent_of_its_budget():
    table = constant({"free": (1.0, 0.0), "just": (2.0, 0.097), "above": (3.0, 0.0971)})
    selection, _ = play(["free", "just", "above"], table, SHIPPED_LIMITS)
    assert list(selection.configurations.values()) == ["free", "free", "just", "above", "above", "above"]


def test_a_budget_that_no_configuration_meets_has_no_choice():
    selection, _ = play(["a", "b"], constant({"a": (1.0, 800.0), "b": (2.0, 900.0)}), LIMITS)
    assert selection.configurations == {0.0: None, 2.0: None, math.inf: "b"}


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
    assert [choice.configuration for choice in best_choices(candidates, 10.0, 3)] == ["b", "c", "a"]


def test_configurations_with_equal_results_are_one():
    table = constant({"γ=∞": (2.0, 0.0), "γ=1e16": (2.0, 0.0), "γ=1e8": (2.0, 1.0)})
    selection, runs = play(["γ=∞", "γ=1e16", "γ=1e8"], table, LIMITS)
    assert selection.played[1] == ("γ=∞", "γ=1e8")
    assert runs == 3 + 2 * 9
    assert selection.choices[0.0] == Choice("γ=∞", 2.0, 0.0, same_as=("γ=1e16",))


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


def plain_choices(configurations: list[str], table: Table, allowed: dict[float, float]) -> dict[float, str | None]:
    """Successive halving as plainly as possible; scores are distinct, so neither ties nor equal ones occur."""
    survivors = set(configurations)
    best: dict[float, list[str]] = {}
    for last_seed, keep in ((10_000, 12), (10_002, 3), (10_009, 1)):
        seeds = range(10_000, last_seed + 1)
        means = {name: np.mean([table[seed][name].score for seed in seeds]) for name in survivors}
        spent = {name: np.mean([table[seed][name].communication for seed in seeds]) for name in survivors}
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
    selection, runs = play(configurations, table, SHIPPED_LIMITS)
    assert selection.configurations == plain_choices(configurations, table, SHIPPED_LIMITS)
    assert runs <= 144 + 2 * 12 * len(BUDGETS) + 7 * 3 * len(BUDGETS)
