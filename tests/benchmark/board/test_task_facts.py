"""What a task can show, on small streams where every number is known by hand."""

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from benchmark import EventStream
from benchmark.board.board import Outcome, plan_board
from benchmark.board.result import evaluate
from benchmark.board.task_facts import (
    TaskFacts,
    decisions_per_client,
    exploration_gain,
    item_ranking,
    reward_of_ranking,
    score_by_decision,
    task_facts,
)
from benchmark.plan.method_names import parse_filter
from tests.benchmark.board.tiny_boards import small_protocol, tiny_task

FACTS = {"ranking_seeds": {"first": 10000, "last": 10001}, "ranking_prior": 5, "last_decisions": [1, 3]}


def small(**changes: Any) -> EventStream:
    """Client 7 decides four times, clients 8 and 9 once; items 0 and 1, and always item 2 beside them."""
    fields: dict[str, Any] = {
        "items": np.eye(3),
        "clients": np.array([7, 8, 7, 7, 9, 7]),
        "pools": np.array([[0, 2], [1, 2], [0, 2], [1, 2], [1, 2], [0, 2]]),
        "rewards": np.array([[1, 0], [0, 1], [1, 0], [0, 1], [1, 0], [0, 1]], dtype=float),
        "noise": np.zeros(6),
    }
    return EventStream(**{**fields, **changes})


def test_decisions_per_client_are_quartiles():
    clients = np.repeat(np.arange(5), [1, 2, 3, 4, 50])
    stream = EventStream(np.eye(1), clients, np.zeros((60, 1), int), np.ones((60, 1)), np.zeros(60))
    assert decisions_per_client(stream) == (2, 3, 4)


def test_a_ranking_has_the_mean_reward_of_each_item_with_five_average_ones():
    # Of each stream: item 0 earns 2 of 3, item 1 one of 3, item 2 three of 6; the mean is 1/2.
    expected = [(4 + 2.5) / 11, (2 + 2.5) / 11, (6 + 2.5) / 17]
    np.testing.assert_allclose(item_ranking([small(), small()], 5), expected)


def test_a_ranking_counts_items_where_rows_are_pairs():
    pairs = small(items=np.eye(12), pools=np.arange(12).reshape(6, 2), item_of_row=small().pools.ravel())
    np.testing.assert_array_equal(item_ranking([pairs], 5), item_ranking([small()], 5))
    ranking = np.array([3.0, 1.0, 2.0])
    assert reward_of_ranking(ranking, pairs) == reward_of_ranking(ranking, small())


@pytest.mark.parametrize(
    ("ranking", "reward"),
    [
        ([3.0, 1.0, 2.0], 4 / 3),  # items 0 2 0 2 2 0 earn 1 1 1 1 0 0, chance earns 3
        ([1.0, 3.0, 2.0], 2 / 3),  # items 2 1 2 1 1 2 earn 0 0 0 0 1 1
        ([1.0, 1.0, 1.0], 1.0),
    ],
)
def test_a_ranking_earns_what_its_best_items_earn(ranking: list[float], reward: float):
    assert reward_of_ranking(np.array(ranking), small()) == pytest.approx(reward)


def test_scores_by_decision_number_are_those_of_each_group():
    choices = np.array([0, 0, 0, 0, 1, 1])
    # First decisions (steps 0, 1, 4) earn 1 of 3, second and third (2, 3) 1 of 2, the fourth (5) 1 of 1; chance 1/2.
    assert score_by_decision(small(), choices, "reward", (1, 3)) == pytest.approx((2 / 3, 1.0, 2.0))
    assert score_by_decision(small(), choices, "regret", (1, 3)) == pytest.approx((1 - 4 / 3, 0.0, 1.0))
    assert math.isnan(score_by_decision(small(), choices, "reward", (1, 3, 9))[-1])
    assert math.isnan(score_by_decision(small(), choices, "regret", (1, 3, 9))[-1])


def test_scores_by_decision_number_are_kept_for_each_seed():
    nan = math.nan
    facts = TaskFacts(
        (1, 2, 3), groups=("1", "later"), scores={"a": ((1.0, nan), (2.0, nan)), "b": ((nan, nan), (1, 2))}
    )
    assert facts.lines({"a": "a", "b": "b"})[-1] == "a: 1.5 -; b: 1 2", "means over seeds"
    restored = TaskFacts.from_json(json.loads(json.dumps(facts.to_json(), allow_nan=False)))
    np.testing.assert_array_equal(restored.scores["a"], facts.scores["a"])
    assert [*restored.scores] == ["a", "b"]


def test_exploration_gains_the_difference_of_the_best_scores():
    configurations = {"a": {"alpha": 0}, "b": {"alpha": 0}, "c": {"alpha": 0.1}, "d": {"alpha": 0.3}}
    scores = {"a": 2.0, "b": 2.5, "c": 2.25, "d": math.nan, "another method": 9.0}
    assert exploration_gain(configurations, scores) == -0.25
    assert math.isnan(exploration_gain(configurations, {"a": 2.0}))


def test_the_facts_of_a_board_are_few_short_lines_and_survive_json():
    options: dict[str, Any] = {"seeds": [300, 301], "max_configurations": 144}
    board = plan_board(tiny_task(60), [parse_filter("async-linucb")], small_protocol(facts=FACTS), **options)
    row = next(entry for entry in board.entries if entry.name == "async-linucb")
    alone = {name: values for name, values in row.configurations.items() if math.isinf(values["gamma"])}
    assert len({values["alpha"] for values in alone.values()}) > 1
    outcomes = {
        (name, 10000): Outcome("", {"regret": 2.0 if row.configurations[name]["alpha"] else 1.0}) for name in alone
    }
    assert board.baseline is not None
    outcomes[board.baseline, 10000] = Outcome("", {"regret": 4.0})
    first = next(iter(alone))
    facts = task_facts(board, outcomes, [first], lambda name, seed: np.zeros(60, int) if seed == 300 else None)
    assert facts.one_ranking == {}
    assert facts.exploration == -0.25
    assert set(facts.scores) == {first}
    assert facts.groups == ("1", "2-3", "later")
    known, unknown = facts.scores[first]  # on seeds 300 and 301
    assert [round(value, 4) for value in known] == [*known]
    assert all(map(math.isnan, unknown))
    content = json.loads(json.dumps(facts.to_json(), allow_nan=False))
    assert TaskFacts.from_json(content).to_json() == facts.to_json()
    lines = facts.lines({"alone": first, "another": "not played"})
    assert len(lines) == 4
    assert all(len(line) <= 80 for line in lines)
    assert lines[1] == "without communication, exploration gains -0.25"
    assert lines[3].startswith("alone: ")


def test_the_ceiling_of_one_ranking_is_the_mean_over_seeds():
    facts = TaskFacts((1, 2, 3), one_ranking={300: 5.0, 301: 6.0})
    assert facts.ceiling == 5.5
    assert facts.lines({}) == [
        "decisions per client: median 2, half of the clients have 1 to 3",
        "one ranking for all in hindsight earns 5.5",
    ]
    restored = TaskFacts.from_json(json.loads(json.dumps(facts.to_json(), allow_nan=False)))
    assert (restored.one_ranking, restored.ceiling) == (facts.one_ranking, 5.5)
    assert math.isnan(restored.exploration)


def test_one_ranking_for_all_is_a_reference_line_without_runs():
    board = plan_board(tiny_task(60), [], small_protocol(), seeds=[300, 301])
    result = evaluate(replace(board, facts=TaskFacts((1, 2, 3), one_ranking={300: 5.0, 301: 6.0})), {})
    assert [entry.label for entry in result.references] == ["One ranking for all in hindsight"]
    assert result.line("one-ranking")[0] == 5.5
    assert evaluate(board, {}).references == []
