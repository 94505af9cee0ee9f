"""The answer at the top of the page says what its runs show, and nothing else."""

import math
from dataclasses import replace
from typing import Any

import pytest

from benchmark.records.record import RunRecord
from benchmark.statistics.verdicts import no_statement
from reports.page.answer import GENERATED, Answer, make_answer
from tests.benchmark.statistics.shipped import MIN_SEEDS
from tests.reports.made_up import made_up, run
from tests.reports.made_up_boards import made_up_stored, results_of

ALONE, SHARED = math.inf, 2.0


def played(gamma: float, value: float, seeds: int = MIN_SEEDS, noise: float = 0.01, **more: Any) -> list[RunRecord]:
    """Runs of a method, at γ=∞ without communication; their values vary over seeds by some noise."""
    of = {"experiment": "mine", "dataset": "own", **more}
    name = of.pop("algorithm", "async-linucb")
    spent = 0.0 if math.isinf(gamma) else 100.0 * of.pop("transfers", 1)
    noise *= 2 if math.isinf(gamma) else 1
    metric = "regret" if of.get("source") == "simulated" else "normalised_reward"
    return [
        run(name, gamma, seed, communication=spent, **{metric: value + noise * (seed % 3 - 1)}, **of)
        for seed in range(seeds)
    ]


def answer(*runs: list[RunRecord]) -> Answer:
    made = make_answer(made_up([each for part in runs for each in part]))
    assert made is not None
    return made


def sentence(*runs: list[RunRecord]) -> str:
    (group,) = answer(*runs).groups
    return group.sentence


def simulated(gamma: float, value: float, **more: Any) -> list[RunRecord]:
    return played(gamma, value, source="simulated", **more)


def test_too_few_seeds_allow_no_statement_but_the_means():
    text = sentence(played(ALONE, 7.0, seeds=1), played(SHARED, 5.0, seeds=1))
    assert text.startswith("1 seed: no statement on differences (10 are needed). The best mean is 6.98 times")
    assert text.endswith(
        "without communication (Async-LinUCB γ=∞) and 4.99 with it (Async-LinUCB γ=2, 10 transfers per client)."
    )
    assert no_statement([MIN_SEEDS - 1], MIN_SEEDS) in sentence(
        played(ALONE, 7.0, seeds=9), played(SHARED, 9.0, seeds=9)
    )


@pytest.mark.parametrize(
    ("shared", "noise", "start"),
    [
        (8.4, 0.01, "Communication raises normalised reward by 20%. The best mean is 7.00 times a random choice"),
        (6.0, 0.01, "Communication does not help. The best mean is 7.00 times a random choice without"),
        (7.1, 0.01, "Communication changes little (by less than 5% of the gain over chance). The best mean is 7.00"),
        (7.5, 2.0, "Whether communication helps is undecided. The best mean is"),
    ],
)
def test_enough_seeds_have_a_verdict(shared: float, noise: float, start: str):
    assert sentence(played(ALONE, 7.0, noise=noise), played(SHARED, shared, noise=noise)).startswith(start)


@pytest.mark.parametrize("with_chance", [False, True])
def test_a_regret_that_falls_by_a_factor_is_lower(with_chance: bool):
    chance = simulated(math.nan, 20_000.0, algorithm="random") if with_chance else []
    text = sentence(simulated(ALONE, 7_850.0), simulated(SHARED, 381.0), chance)
    assert text.startswith("Communication lowers regret by 95%. The best mean is 7,850 without communication")


def test_an_answer_includes_the_runs_of_all_experiments_on_its_stream():
    further = played(16.0, 7.5, experiment="other", transfers=0.1)
    text = sentence(played(ALONE, 7.0), played(SHARED, 6.0), further[:0])
    assert "and 6.00 with it" in text
    both = answer(played(ALONE, 7.0), played(SHARED, 6.0), further)
    assert {group.sentence for group in both.groups} == {
        "Communication raises normalised reward by 7%. The best mean is 7.00 times a random choice without "
        "communication (Async-LinUCB γ=∞) and 7.50 with it (Async-LinUCB γ=16, 1 transfers per client)."
    }


def test_a_rule_without_a_model_that_has_the_best_mean_comes_first():
    rule = played(math.nan, 11.5, algorithm="most-popular", seeds=1, noise=0)
    model = played(math.nan, 15.0, algorithm="hindsight-linear", seeds=1, settings={"ridge": 1.0})
    methods = played(ALONE, 7.0, seeds=1), played(SHARED, 8.0, seeds=1)
    text = sentence(*methods, rule, model)
    assert text.startswith("A rule without a model has the best mean: Most popular so far with 11.5 times a random")
    assert "1 seed: no statement" in text
    assert "without a model" not in sentence(*methods, played(math.nan, 6.0, algorithm="most-popular", seeds=1), model)


def test_such_a_rule_on_data_that_are_not_in_the_table_comes_before_it():
    tagged = played(ALONE, 7.0, dataset="lastfm-tagged", experiment="fig_d")
    tagged += played(0.1, 6.0, dataset="lastfm-tagged", experiment="fig_d", algorithm="sync-linucb")
    others = {"dataset": "lastfm", "experiment": "references", "seeds": 1, "noise": 0.0}
    rule = played(math.nan, 11.5, algorithm="most-popular", **others)
    made = answer(tagged, played(ALONE, 8.0, **others), rule)
    assert [group.title for group in made.groups] == ["LastFM, tagging events (as in the paper)"]
    (first,) = made.first
    assert first.startswith("A rule without a model has the best mean on LastFM: Most popular so far with 11.5 times")
    invented = [
        played(ALONE, 8.0, source="stand-in", **others),
        played(math.nan, 11.5, algorithm="most-popular", source="stand-in", **others),
    ]
    assert answer(tagged, *invented).first == ()


def test_a_board_adds_its_sentence_to_those_of_the_runs_on_the_same_data():
    results = results_of(made_up_stored("lastfm-once", ("async-linucb", "sync-linucb")))
    runs = [*played(ALONE, 7.0, dataset="lastfm"), *played(SHARED, 9.0, dataset="lastfm")]
    made = make_answer(replace(results, runs=made_up([*runs, *played(SHARED, 3.0)]).runs))
    assert made is not None
    (group,) = made.groups
    assert "Compared with no communication it is " in group.sentence
    assert "In the experiments, on LastFM: Communication raises normalised reward by 29%." in group.sentence
    assert [text.partition(":")[0] for text in made.first] == ["In the experiments, on own"]  # data without a board


def test_generated_data_say_nothing_about_methods():
    made = answer(played(ALONE, 7.0, seeds=2, source="stand-in"), played(SHARED, 9.0, seeds=1, source="stand-in"))
    assert made.groups[0].unit.endswith("; 1 to 2 seeds")
    assert [group.sentence for group in made.groups] == [GENERATED]
    assert not any(cell.is_best for group in made.groups for _, cells in group.rows for cell in cells)
