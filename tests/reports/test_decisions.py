"""The score by decision number, on hand-made streams and scores where every number is known."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from benchmark.board.board import plan_board
from benchmark.board.entries import MethodRow
from benchmark.board.result import BoardResult
from benchmark.board.task_facts import TaskFacts, task_facts
from benchmark.statistics.budgets import Scores
from benchmark.statistics.comparison import NO_COMMUNICATION
from benchmark.statistics.selection import Selection
from reports.analysis.board import ALL
from reports.analysis.decisions import alone_from, alone_sentence, decision_rows, first_not_worse
from reports.figures import decisions
from reports.read.results import Results
from tests.benchmark.board.test_task_facts import small
from tests.benchmark.board.tiny_boards import small_protocol, tiny_task
from tests.reports.made_up import made_up as made_up_results
from tests.reports.test_clipped_text import clipped

NAN = math.nan
BUDGETS = {"all": [0.0, 0.3, 1.0], "primary": [0.3, 1.0], "slack": 0.97}
FACTS = {"ranking_seeds": {"first": 10000, "last": 10001}, "ranking_prior": 5, "last_decisions": [1, 3]}
ROWS = (
    MethodRow("shared", "shared", "Shared", kind="one model"),
    MethodRow("shared[welcome=True]", "shared", "Shared with welcome", kind="one model"),
    MethodRow("poor", "poor", "Poor", kind="one model"),
    MethodRow("own", "own", "Own", kind="personal"),
    MethodRow("noisy", "noisy", "Noisy", kind="private"),
    MethodRow("rule", "rule", "Rule", role="reference", configurations={"rule": {}}),
    MethodRow("worse-rule", "worse-rule", "Worse rule", role="reference", configurations={"worse-rule": {}}),
)
PRIMARY = {"shared": 2.0, "shared[welcome=True]": 3.0, "poor": 1.0, "own": 1.0, "noisy": 9.0, NO_COMMUNICATION: 1.0}
"""The scores at the primary endpoint, by which the best of each kind is found."""


def made_up(scores: Mapping[str, Sequence[float]], *, seeds: int = 10) -> BoardResult:
    """Return a board; at 0.3 and 1, each method plays the configurations "NAME 0.3" and "NAME 1".

    `scores` has those of configurations by group of decision numbers (1, 2-3, later), the same on all seeds.
    """
    protocol = small_protocol(budgets=BUDGETS, facts=FACTS)
    board = plan_board(tiny_task(60), [], protocol, seeds=range(300, 300 + seeds))
    facts = TaskFacts(
        (1, 2, 3), (), {}, protocol.facts.groups, {name: (tuple(row),) * seeds for name, row in scores.items()}
    )
    choices: dict[str, dict[float, str | None]] = {
        name: {0.0: "alone", 0.3: f"{name} 0.3", 1.0: f"{name} 1"} for name in PRIMARY
    }
    choices[NO_COMMUNICATION] = dict.fromkeys((0.0, 0.3, 1.0), "alone")
    values = np.array([np.full((3, seeds), PRIMARY[name]) for name in choices])
    return BoardResult(
        replace(board, entries=ROWS, facts=facts),
        {},
        {row.name: Selection(()) for row in ROWS if row.is_contender},
        scores=Scores(choices, board.seeds, values, "reward"),
        lines={name: dict.fromkeys(board.seeds, score) for name, score in (("worse-rule", 1.0), ("rule", 1.5))},
    )


SCORES = {
    "alone": (1.0, 1.5, 3.0),
    "shared 0.3": (1.0, 2.0, 2.5),
    "shared 1": (1.0, 3.0, 2.5),
    "shared[welcome=True] 0.3": (2.0, 2.0, 2.0),
    "shared[welcome=True] 1": (2.0, 2.0, 2.0),
    "own 0.3": (1.0, 1.5, 3.0),
    "own 1": (1.0, 1.75, 3.5),
    "noisy 0.3": (9.0, 9.0, 9.0),
    "noisy 1": (9.0, 9.0, 9.0),
    "rule": (1.25, 1.25, 1.25),
    "worse-rule": (1.0, 1.0, 1.0),
}


def test_the_best_method_of_each_kind_is_compared_with_alone_in_each_group():
    rows = decision_rows(made_up(SCORES))
    assert [*rows["decisions"].unique()] == ["1", "2-3", "later"]
    assert [*rows["first"].unique()] == [1, 2, 4]
    lines = rows.groupby("method", sort=False).first()
    assert [*lines["kind"].items()] == [
        ("Alone", "alone"),
        ("Shared", "one model"),
        ("Shared with welcome", "one model"),
        ("Own", "personal"),
        ("Rule", "rule"),
    ]
    assert [*lines.index[lines["is_best"]]] == ["Shared with welcome", "Own"]
    by_method = dict(iter(rows.groupby("method")))
    np.testing.assert_allclose(by_method["Shared"]["score"], [1.0, 2.5, 2.5])  # the mean of two budgets
    np.testing.assert_allclose(by_method["Shared"]["difference"], [0.0, 1.0, -0.5])
    np.testing.assert_allclose(by_method["Shared"]["difference_low"], [0.0, 1.0, -0.5])  # equal on all seeds
    np.testing.assert_allclose(by_method["Rule"]["score"], [1.25, 1.25, 1.25])
    assert by_method["Rule"]["difference_low"].isna().all()


def test_the_answer_is_where_the_bands_no_longer_lie_above_zero():
    result = made_up(SCORES)
    assert alone_from(result) == (None, 4)
    assert alone_sentence(result) == (
        "From decision 4 on, a client alone is not worse than the best one-model method, Shared with welcome; "
        "even from decision 4 on, a client alone is worse than the best personal method, Own."
    )
    equal = {"own 0.3": SCORES["alone"], "own 1": SCORES["alone"]}
    assert alone_sentence(made_up({**SCORES, **equal})) == (
        "At no decision number is a client alone worse than the best personal method, Own; "
        "from decision 4 on, a client alone is not worse than the best one-model method, Shared with welcome."
    )
    better = {"own 0.3": (1.0, 9.0, 3.0)}
    assert alone_sentence(made_up({**SCORES, **better, "own 1": SCORES["alone"]})) == (
        "From decision 4 on, a client alone is not worse than the best one-model method, Shared with welcome, "
        "and the best personal method, Own."
    )


@pytest.mark.parametrize(
    ("low", "number"),
    [((-1, -1, -1), 1), ((1, -1, 0), 2), ((-1, 1, -1), 6), ((1, 1, 1), None), ((-1, -1, 1), None)],
)
def test_alone_is_not_worse_from_behind_the_last_band_above_zero(low: Sequence[float], number: int | None):
    assert first_not_worse((1, 2, 6), low) == number


def test_few_seeds_have_differences_without_bands_and_no_answer():
    result = made_up(SCORES, seeds=9)
    rows = decision_rows(result)
    assert rows["difference_low"].isna().all()
    assert rows["score_low"].notna().all()
    assert alone_sentence(result) == ""


def test_groups_without_decisions_and_lines_without_choices_are_left_out():
    rows = decision_rows(made_up({name: (*row[:2], NAN) for name, row in SCORES.items() if name != "rule"}))
    assert [*rows["decisions"].unique()] == ["1", "2-3"]
    assert "Rule" not in set(rows["method"])
    assert decision_rows(made_up({name: row for name, row in SCORES.items() if name != "alone"})).empty
    assert decision_rows(made_up({"alone": SCORES["alone"]})).empty
    assert alone_sentence(made_up({})) == ""


def test_a_method_tuned_to_be_silent_is_named_so():
    result = made_up(SCORES)
    assert result.scores is not None
    choices = {**result.scores.choices, "own": result.scores.choices[NO_COMMUNICATION]}
    silent = replace(result, scores=replace(result.scores, choices=choices))
    assert "the best personal method, Own, which is best without messages" in alone_sentence(silent)


def test_scores_and_differences_are_those_of_a_stream():
    result = made_up({})
    played = {"alone": [0, 0, 0, 0, 1, 0], "own 0.3": [0, 0, 0, 0, 1, 1], "own 1": [0, 0, 0, 1, 0, 1]}

    def choices(name: str, seed: int) -> np.ndarray:
        return np.array(played[name])

    facts = task_facts(replace(result.board, source="imported"), {}, [*played], choices, lambda seed: small())
    rows = decision_rows(replace(result, board=replace(result.board, facts=facts))).set_index(["method", "decisions"])
    # Chance earns 1/2 per step: 1.5 in the first decisions (steps 0, 1, 4), 1 in the next two (2, 3), 0.5 in the last.
    np.testing.assert_allclose(rows.loc["Alone", "score"], [2 / 3, 1.0, 0.0], atol=1e-4)
    np.testing.assert_allclose(rows.loc["Own", "score"], [1.0, 1.5, 2.0], atol=1e-4)
    np.testing.assert_allclose(rows.loc["Own", "difference"], [1 / 3, 0.5, 2.0], atol=1e-4)


USERS = [
    ("Shared with welcome", "0.3, 1", ALL, 30, 0.5, 0.4, 0.1),
    ("Shared with welcome", "0.3, 1", "[1, 9)", 20, 0.6, 0.3, 0.1),
    ("Shared with welcome", "0.3, 1", "[9, 20]", 10, 0.3, 0.6, 0.1),
    ("Own", "0.3", "[1, 9)", 20, 0.1, 0.1, 0.8),
    ("Own", "1, unlimited", "[1, 9)", 20, 0.25, 0.75, 0.0),
    ("Shared", "1", "[1, 9)", 20, 0.9, 0.1, 0.0),
]


def stored(result: BoardResult) -> Any:
    return SimpleNamespace(experiment="board_tiny", result=result, warning=("NOT THE PROTOCOL: a test",))


def results_of(board: Any) -> Results:
    columns = ["method", "budget", "activity", "users", "better", "worse", "equal"]
    results = replace(made_up_results([]), boards=(board,))
    results.board_users[board.experiment] = pd.DataFrame(USERS, columns=columns)
    return results


def test_a_figure_has_scores_and_differences_by_decision_number():
    board = stored(made_up(SCORES))
    figure, _ = decisions.figures(results_of(board))
    assert figure.name == "board_tiny_decisions"
    scores, differences = figure.plain_panels
    assert [series.label for series in scores.series] == [
        "Alone",
        "Shared: one model",
        "Shared with welcome: one model",
        "Own: personal",
        "Rule",
    ]
    assert [series.label for series in differences.series] == [series.label for series in scores.series[1:4]]
    assert [series.is_hollow for series in differences.series] == [True, False, False]
    assert len({(series.colour, series.marker) for series in differences.series}) == 2  # both forms look alike
    assert [text for _, text in scores.x.ticks] == ["1", "2-3", "later"]
    assert alone_sentence(board.result) in figure.caption
    assert alone_sentence(board.result) in figure.short_caption
    assert clipped(figure) == []


def test_a_figure_has_the_shares_of_users_of_the_best_method_of_each_kind_at_the_largest_primary_budget():
    board = stored(made_up(SCORES))
    results = results_of(board)
    rows = decisions.share_rows(board, results)
    assert rows[["kind", "method", "activity", "better", "worse"]].to_numpy().tolist() == [
        ["one model", "Shared with welcome", "[1, 9)", 0.6, 0.3],
        ["one model", "Shared with welcome", "[9, 20]", 0.3, 0.6],
        ["personal", "Own", "[1, 9)", 0.25, 0.75],
    ]
    _, figure = decisions.figures(results)
    first, second = figure.plain_panels
    assert (first.title, second.title) == ("Shared with welcome", "Own")
    ends = [series.y_interval for series in first.series if series.has_band]
    assert ends == [((0, 0), (0.6, 0.6)), ((-0.3, -0.3), (0, 0)), ((0, 0), (0.3, 0.3)), ((-0.6, -0.6), (0, 0))]
    marks = [series.y for series in first.series if series.marker]
    np.testing.assert_allclose(marks, [[0.3], [-0.3]])
    assert "one model: Shared with welcome; personal: Own" in figure.caption
    assert clipped(figure) == []


def test_without_users_there_is_only_the_figure_by_decision_number():
    results = results_of(stored(made_up(SCORES)))
    results.board_users["board_tiny"] = pd.DataFrame()
    assert [figure.name for figure in decisions.figures(results)] == ["board_tiny_decisions"]
