"""Rows, configurations and the runs that a board needs, without playing any."""

import math
from collections.abc import Callable

import pytest

from algorithms import AsyncLinUCBAsPublished
from algorithms.method import MethodInfo
from algorithms.registry import built_in_methods
from benchmark.board.board import Board, Outcome, RunName, plan_board, run_table, selection_of, wanted
from benchmark.board.document import from_json, to_json
from benchmark.board.entries import (
    MethodRow,
    board_filters,
    entry_name,
    make_entry,
    others_text,
    thinned,
    variants_of,
    with_usual,
)
from benchmark.board.result import BoardResult, evaluate
from benchmark.commands.board import board_lines
from benchmark.plan.method_names import method_info, parse_filter
from benchmark.protocol import load_protocol
from benchmark.statistics.comparison import NO_COMMUNICATION, PRIMARY
from benchmark.statistics.verdicts import Rank, Verdict
from tests.benchmark.board.tiny_boards import small_protocol, tiny_task

REFERENCE = load_protocol().comparison.reference
OWN = "tests.benchmark.epsilon_greedy:EpsilonGreedy"
CONTENDERS = {name: info for name, info in built_in_methods().items() if info.role == "contender"}
VARIANTS = [variant for name in CONTENDERS for variant in variants_of(name).values()]
Play = Callable[[str, int], Outcome]


def entry(text: str, squared_norm: float = 25.0, **options: int) -> MethodRow:
    return make_entry(parse_filter(text), load_protocol(), squared_norm, **options)


def small_board(*methods: str, **options: int) -> Board:
    filters = [parse_filter(text) for text in methods or GAINS]
    return plan_board(tiny_task(), filters, small_protocol(), **{"max_configurations": 8, **options})


GAINS = {"async-linucb": 5, "async-linucb-am": 15, "sync-linucb": 25}
"""How much regret each method saves by communicating."""


def made_up(board: Board) -> Play:
    """Runs whose regret falls with communication, by method, and a little with α."""

    def play(configuration: str, seed: int) -> Outcome:
        method, values = board.parameters[configuration]
        front = values.get("gamma", values.get("threshold", math.inf))
        amount = 0.0 if front == math.inf else 0.2
        noise = 0.1 * math.sin(seed * 7 + len(configuration))
        saved = GAINS.get(method, 0) * (amount > 0) + float(str(values.get("alpha", 0)))
        regret = 100.0 if method == "random" else 60 - saved + noise
        metrics = {"regret": regret, "needed_per_decision": amount, "communication": 600.0 * amount}
        return Outcome(f"{configuration} {seed}", metrics)

    return play


def played(board: Board, play: Play) -> tuple[BoardResult, list[list[RunName]]]:
    outcomes: dict[RunName, Outcome] = {}
    passes = []
    while names := wanted(board, outcomes):
        passes.append(names)
        outcomes |= {name: play(*name) for name in names}
    return evaluate(board, outcomes), passes


@pytest.mark.parametrize("method", [*CONTENDERS, *map(entry_name, VARIANTS)])
def test_every_built_in_method_and_variant_has_144_configurations_and_is_ranked(method: str):
    made = entry(method)
    assert len(made.configurations) == 144
    assert made.notes == ()
    assert made.is_measured
    assert made.is_ranked


def test_the_grids_of_methods_are_those_of_the_protocol():
    tuning = load_protocol().tuning
    assert entry(REFERENCE).grids["alpha"] == tuple(tuning.alpha)
    ridges = tuple(25 * factor for factor in tuning.ridge_factors)
    assert entry(REFERENCE).grids["ridge"] == ridges == (0.25, 5.0, 100.0, 2000.0)
    assert f"{REFERENCE}[gamma=inf,alpha=0.3,ridge=5]" in entry(REFERENCE).configurations


def test_values_fixed_by_the_user_make_a_further_row_that_is_not_tuned_and_not_ranked():
    filters = board_filters([parse_filter(f"{REFERENCE}[alpha=0.3]")], REFERENCE)
    rows = [make_entry(each, load_protocol(), 25.0) for each in filters]
    assert [row.name for row in rows] == [REFERENCE, f"{REFERENCE}[alpha=0.3]"]
    assert [row.is_ranked for row in rows] == [True, False]
    assert rows[1].notes == ("not tuned: alpha=0.3 fixed",)
    assert len(rows[1].configurations) == 48


def test_a_variant_is_a_row_of_its_own_tuned_over_the_grid_of_its_method():
    made, method = entry(f"{REFERENCE}[welcome=true]"), entry(REFERENCE)
    assert (made.name, made.label) == (f"{REFERENCE}[welcome=True]", "Async-LinUCB with welcome (ours)")
    assert made.grids == {**method.grids, "welcome": (True,)}
    assert made.fixed == {}
    assert not {*made.configurations} & {*method.configurations}
    assert method_info(REFERENCE).variant_label("ε = 4") == "Async-LinUCB, ε = 4"


def test_a_board_plays_all_contenders_with_their_variants_and_a_named_method_alone():
    def names(*methods: str) -> list[str]:
        return [entry_name(row) for row in board_filters([parse_filter(text) for text in methods], REFERENCE)]

    variant = f"{REFERENCE}[welcome=True]"
    assert len(names()) == len(CONTENDERS) + len(VARIANTS)
    assert names()[names().index(REFERENCE) + 1] == variant
    assert names("sync-linucb") == [REFERENCE, "sync-linucb"]
    assert names(f"{REFERENCE}[welcome=true]") == names(REFERENCE, variant) == [REFERENCE, variant]
    assert names(f"{REFERENCE}[welcome=[true,false]]")[1:] == [f"{REFERENCE}[welcome=[True,False]]"]
    assert not entry(f"{REFERENCE}[welcome=[true,false]]").is_ranked
    assert not entry(f"{REFERENCE}[welcome=false]").is_ranked


def test_at_most_five_contenders_are_usual_and_others_are_named():
    usual = [name for name, info in built_in_methods().items() if info.is_usual]
    assert {REFERENCE} < {*usual} <= {*CONTENDERS}
    assert len(usual) <= 5
    assert [row.name for row in with_usual([])] == usual
    assert [row.name for row in with_usual([parse_filter(usual[-1]), parse_filter(OWN)])] == [*usual, OWN]
    assert {row.name for row in board_filters(with_usual([]), REFERENCE)} == {*usual}
    assert others_text(usual[:-1]).startswith("Other methods take part if they are named (--method): ")
    assert usual[-1] in others_text(usual[:-1])
    assert others_text(CONTENDERS) == ""
    inherited = MethodInfo.of(AsyncLinUCBAsPublished)
    assert AsyncLinUCBAsPublished.is_usual
    assert not inherited.is_usual


def test_own_classes_are_added_to_the_others_and_their_communication_is_declared():
    names = [each.name for each in board_filters([parse_filter(OWN)], REFERENCE)]
    assert names[-1] == OWN
    assert {*names} == {*CONTENDERS, OWN}
    own = entry(OWN)
    assert not own.is_measured
    assert own.notes == (
        "without a front: its communication cannot be chosen",
        "communication declared by the method, not measured",
    )


def test_fewer_configurations_are_spread_over_the_grid_and_the_row_says_so():
    made = entry(REFERENCE, max_configurations=24)
    assert made.notes == ("24 of 144 configurations",)
    assert made.grids["gamma"][0] == math.inf
    assert made.grids["gamma"][-1] == 1
    assert {name: len(values) for name, values in made.grids.items()} == {"gamma": 6, "alpha": 2, "ridge": 2}
    assert thinned(made.grids, "gamma", 24) == made.grids
    assert len(entry(REFERENCE, max_configurations=1).configurations) == 1


def test_a_method_with_more_configurations_than_the_protocol_allows_does_not_take_part():
    values = ",".join(str(value / 100) for value in range(15))
    made = entry(f"{REFERENCE}[alpha=[{values}]]")
    assert made.problem == "must have at most 144 configurations, got 720"
    assert made.configurations == {}


def test_a_value_that_the_method_refuses_is_a_problem_of_its_row():
    assert "alpha must be" in entry(f"{REFERENCE}[alpha=-1]").problem


def test_tuning_uses_choosing_seeds_and_then_the_chosen_configurations_are_reported():
    board = small_board()
    _, passes = played(board, made_up(board))
    purposes = [{board.protocol.seeds.purpose(seed) for _, seed in names} for names in passes]
    assert purposes == [{"choose"}, {"choose"}, {"report"}]  # the stream of a report seed is built once
    assert {seed for _, seed in passes[0]} == {10000}
    assert {seed for _, seed in passes[1]} == {10001, 10002}


def test_report_runs_never_change_a_choice():
    board = small_board()
    result, _ = played(board, made_up(board))
    table = run_table(board, result.outcomes)
    better = table["score"].where(table["seed"].isin(board.protocol.seeds.choosing.seeds), 99.0)
    for row in result.contenders:
        changed = selection_of(board, row, table.assign(score=better))
        assert changed.configurations == result.selections[row.name].configurations


def test_a_made_up_board_gives_ranks_verdicts_and_reference_lines():
    board = small_board()
    result, _ = played(board, made_up(board))
    assert result.ranks[PRIMARY] == {"async-linucb": Rank(3), "async-linucb-am": Rank(2), "sync-linucb": Rank(1)}
    assert [*result.ranks] == [0.0, 0.3, math.inf, PRIMARY]
    assert result.rank("sync-linucb") == Rank(1)
    assert result.best == "sync-linucb"
    assert result.verdict("sync-linucb", math.inf) == Verdict.BETTER
    assert result.verdict("async-linucb", math.inf, "sync-linucb") == Verdict.WORSE
    assert result.verdict("async-linucb", math.inf, "async-linucb-am") == Verdict.NONE  # neither is the leader
    assert result.verdict("async-linucb", 0.0, NO_COMMUNICATION) == Verdict.IDENTICAL
    assert result.line("random")[0] == 0
    assert result.edges("sync-linucb", 0.0) == ("ridge",)
    assert result.overruns("sync-linucb", 0.3).seeds == ()
    chosen = result.selections["sync-linucb"].configurations[math.inf]
    assert chosen is not None
    assert result.needed(chosen) == pytest.approx(0.2)
    assert board.per_client(0.2) == pytest.approx(0.2 * 300 / 10)
    assert result.sent(chosen) == pytest.approx(600 * 0.2 / 10)


def test_a_run_without_a_score_leaves_its_row_without_a_mean_and_is_named():
    board = small_board()
    play = made_up(board)
    chosen, _ = played(board, play)
    at_unlimited = chosen.selections["sync-linucb"].configurations[math.inf]

    def fail(configuration: str, seed: int) -> Outcome:
        outcome = play(configuration, seed)
        is_failing = configuration == at_unlimited and seed == 3
        return Outcome(outcome.key, {"regret": math.nan, "needed_per_decision": 0.0}) if is_failing else outcome

    result, _ = played(board, fail)
    assert math.isnan(result.mean("sync-linucb", math.inf)[0])
    assert result.verdict("sync-linucb", math.inf) == Verdict.NONE
    row = next(each for each in board.entries if each.name == "sync-linucb")
    assert "1 report runs failed (no score)" in result.notes(row)
    assert result.verdict("async-linucb-am", math.inf) == Verdict.BETTER


def test_a_method_whose_runs_all_fail_has_a_reason_instead_of_scores_and_the_others_are_compared():
    board = small_board()
    play = made_up(board)

    def fail(configuration: str, seed: int) -> Outcome:
        return Outcome("k", error="ValueError: no") if configuration.startswith("sync") else play(configuration, seed)

    result, _ = played(board, fail)
    assert result.problems == {"sync-linucb": "every configuration failed: ValueError: no"}
    assert set(result.ranks[PRIMARY]) == {"async-linucb", "async-linucb-am"}


def test_a_board_whose_reference_fails_has_no_comparisons():
    board = small_board()
    play = made_up(board)

    def fail(configuration: str, seed: int) -> Outcome:
        is_failing = configuration.startswith(f"{REFERENCE}[")
        return Outcome("k", error="ValueError: no") if is_failing else play(configuration, seed)

    result, _ = played(board, fail)
    assert result.comparisons.empty
    assert result.verdict("sync-linucb", math.inf) == Verdict.NONE
    assert result.ranks == {}


def test_a_board_is_the_same_after_it_was_written_and_read():
    board = small_board(f"{REFERENCE}[alpha=0.3]", f"{REFERENCE}[welcome=true]", "sync-linucb")
    result, _ = played(board, made_up(board))
    assert {*result.ranks[PRIMARY]} == {REFERENCE, "sync-linucb", f"{REFERENCE}[welcome=True]"}
    assert "Async-LinUCB with welcome" in "\n".join(board_lines(result))
    text = to_json(board, result.outcomes)
    again, outcomes = from_json(text, {})
    assert again == board
    assert set(outcomes) == set(result.outcomes)
    assert {outcome.error for outcome in outcomes.values()} == {"its record is missing"}
