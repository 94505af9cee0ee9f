"""The protocol's file: its values, its fingerprint, one clear line for every mistake, and that every value is read."""

import argparse
import json
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import benchmark.protocol
from benchmark.board.board import plan_board, wanted
from benchmark.board.entries import board_filters, with_fixed
from benchmark.board.task import experiment_name, load_task, playable_names
from benchmark.board.task_facts import task_facts
from benchmark.commands import board as board_command
from benchmark.commands.board import plan_boards, seeds_of
from benchmark.plan.method_names import parse_filter
from benchmark.protocol import FILE, load_protocol
from benchmark.statistics.budgets import Scores
from benchmark.statistics.comparison import NO_COMMUNICATION, compare, in_all_columns
from benchmark.statistics.selection import Result, select
from data_pipelines import EventStream, simulate
from reports.analysis.board import primary_text
from reports.analysis.claims import NUMBER, Judged, judged_claims, judged_number, margin_of
from reports.page.glossary import TERMS
from reports.paper import PAPER
from tests.benchmark.board.tiny_boards import tiny_task
from tests.reports.made_up import made_up, run

VERSION_2 = "ad78d14891e7dfe7568c80ed920ba7fe792c05cd7737c6e2d4a5ce18b509d2b9"


def changed(folder: Path, old: str, new: str) -> Path:
    """Write the protocol with one text replaced."""
    text = FILE.read_text()
    assert text.count(old) == 1, old
    path = folder / "protocol.toml"
    path.write_text(text.replace(old, new))
    return path


def test_a_change_of_the_protocol_needs_a_new_version():
    protocol = load_protocol()
    assert {protocol.version: protocol.fingerprint} == {2: VERSION_2}


def test_comments_and_the_way_numbers_are_written_do_not_change_the_fingerprint(tmp_path: Path):
    path = changed(tmp_path, "primary = [0.1, 0.3, 1]", "primary = [1e-1, 0.30, 1.0] # another comment")
    assert load_protocol(path).fingerprint == load_protocol().fingerprint


def test_a_changed_value_changes_the_fingerprint(tmp_path: Path):
    path = changed(tmp_path, "margin = 0.05  # of eq", "margin = 0.06  # of eq")
    assert load_protocol(path).fingerprint != load_protocol().fingerprint


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("version = 2", "version = 0", "version must be greater than or equal to 1, got 0"),
        ("version = 2", "", "required field version is missing"),
        ("version = 2", "version = true", "version must be a valid integer, got True"),
        ("front_values", "font_values", "unknown field tuning.font_values, got 12"),
        ("keep = 12", "keep = 2", r"keep must decrease from pass to pass, to 1 in the last, got \[2, 3, 1\]"),
        ("keep = 1\n", "keep = 2\n", r"keep must decrease from pass to pass, to 1 in the last, got \[12, 3, 2\]"),
        ("last = 10002", "last = 10003", "passes must use every choosing seed once, in order, got"),
        ("last = 219", "last = 208", "seeds.reporting must have at least 10 seeds, got 9"),
        (
            "first = 200, last = 219",
            "first = 9990, last = 10000",
            "report seeds must be outside 10000 to 10009, got 10000",
        ),
        ("first = 200, last = 219", "first = 220, last = 219", r"last must be at least first \(220\), got 219"),
        (
            "first = 300, last = 319",
            "first = 219, last = 319",
            "trying must be outside the report seeds, got 219 to 319",
        ),
        ("first = 300, last = 319", "first = 9999, last = 10000", "report seeds must be outside 10000 to 10009, got"),
        (
            "choosing = { first = 10000",
            "choosing = { first = 9999",
            "passes must use every choosing seed once, in order",
        ),
        ("all = [0, 0.03,", "all = [0.03,", "budgets: all must be increasing, starting at 0, got"),
        ("all = [0, 0.03, 0.1,", "all = [0, 0.1, 0.03,", "budgets: all must be increasing, starting at 0, got"),
        (
            "all = [0, 0.03,",
            "all = [0, nan,",
            "budgets.all.1 must be a finite number|budgets.all.1 must be greater than",
        ),
        ("slack = 0.97", "slack = 1.5", "budgets.slack must be less than or equal to 1, got 1.5"),
        ("primary = [0.1,", "primary = [0.2,", "primary must be distinct budgets from all"),
        ("alpha = [0, 0.1,", 'alpha = ["0", 0.1,', "tuning.alpha.0 must be a valid number, got '0'"),
        ("alpha = [0, 0.1,", "alpha = [0, 0,", "alpha must be distinct values, got"),
        ("front_values = 12", "front_values = 11", "max_configurations must be the size of the grid, 132, got 144"),
        (
            "confidence = 0.95  # of the",
            "confidence = 95  # of the",
            "comparison.confidence must be less than 1, got 95",
        ),
        ('"lastfm-once"', '"../lastfm"', r"tasks.1 must match pattern .*, got '../lastfm'"),
        ('"lastfm-once"', '"simulated-zipf"', "tasks must be distinct, got"),
        (
            '"lastfm-once"',
            '"lastfm-matched"',
            "retired must be other tasks than those that are ranked, got lastfm-matched",
        ),
        ('"theory"', '"thery"', "fixed.simulated_alpha.*'thery'"),
        ("version = 2", "version = ", "is not valid TOML: "),
    ],
)
def test_a_mistake_is_one_line_with_field_and_value(tmp_path: Path, old: str, new: str, message: str):
    with pytest.raises(ValueError, match=message) as error:
        load_protocol(changed(tmp_path, old, new))
    assert "\n" not in str(error.value)
    assert str(tmp_path / "protocol.toml") in str(error.value)


def test_files_that_cannot_be_read_are_named(tmp_path: Path):
    with pytest.raises(ValueError, match=r"missing\.toml cannot be read: No such file or directory"):
        load_protocol(tmp_path / "missing.toml")
    large = tmp_path / "large.toml"
    large.write_text("#" * 100_001)
    with pytest.raises(ValueError, match="is larger than 100,000 bytes"):
        load_protocol(large)
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match=r"binary\.toml is not valid TOML"):
        load_protocol(binary)


# Every value is read: each is changed in a copy of the file, and a plan, a selection or a verdict must change with it.


def planned() -> Any:
    """The tasks, and the rows, budgets and first runs of boards with fixed rows and of a quick one."""
    protocol, boards = load_protocol(), []
    for is_simulated in (True, False):
        methods = with_fixed([], protocol, is_simulated=is_simulated)
        board = plan_board(tiny_task(), methods, protocol)
        grids = [(entry.name, entry.grids) for entry in board.entries]
        boards.append((grids, board.limits, board.seeds, wanted(board, {})))
    few = board_filters([parse_filter("async-linucb-am")], protocol.comparison.reference)
    options = {"report": False, "quick": True, "seeds": None, "tasks": [], "configurations": None}
    arguments = argparse.Namespace(**options, method=["sync-linucb"], fixed=False)
    (quick,), _ = plan_boards(arguments)
    seeds = seeds_of(argparse.Namespace(**{**options, "quick": False, "report": True}), protocol)
    names = {name: load_protocol().retired.get(name, "") for name in playable_names()}
    return (
        names,
        experiment_name(load_task("simulated-zipf"), protocol),
        boards,
        few,
        seeds,
        quick.seeds,
        wanted(quick, {}),
    )


def selected() -> Any:
    """Every pass and every choice among 40 configurations."""
    protocol, random = load_protocol(), np.random.default_rng(0)
    names = [f"c{number}" for number in range(40)]
    levels = {name: random.normal(size=2) for name in names}
    results: dict[int, dict[str, Result]] = {}
    while (selection := select(names, results, protocol.limits(), protocol.halving())).pending:
        for name, seed in selection.pending:
            score, cost = levels[name] + np.random.default_rng(seed).normal(size=2)
            results.setdefault(seed, {})[name] = Result(float(score), float(10 ** (cost - 1)))
    return selection


def compared() -> Any:
    """The comparison of two methods on 12 seeds: equivalent at some budgets, and not at others."""
    protocol, random = load_protocol(), np.random.default_rng(0)
    budgets, methods = tuple(protocol.budgets.all), ("a", "b", NO_COMMUNICATION)
    shifts = np.linspace(0, 0.2, 3)[:, None, None] * np.linspace(0, 1, len(budgets))[None, :, None]
    noise = random.normal(0, 0.02, (3, 1, 12)) + random.normal(0, 0.005, (3, len(budgets), 12))
    values = 2 + shifts + noise
    choices = {method: {budget: f"{method}{budget}" for budget in budgets} for method in methods}
    scores = Scores(choices, tuple(range(12)), values, "reward")
    cells = in_all_columns(scores, [("a", "b"), ("b", NO_COMMUNICATION)])
    return compare(scores, cells, protocol.rules()).to_csv()


def judged() -> Any:
    """The verdicts on numbers of the paper at many distances from ours, and on the directions of figure a."""
    random = np.random.default_rng(0)
    values = pd.Series(random.normal(0, 0.05, 10))
    numbers = []
    for metric, stated in (("normalised_reward", 2.0), ("communication", 2.0)):
        row = Judged(NUMBER, None, "", "", PAPER, "", paper=stated)
        margin = margin_of(metric, stated)
        numbers += [judged_number(row, values + 2 + shift, margin, "").verdict for shift in np.linspace(0, 0.5, 500)]
    runs = [
        run(method, gamma, seed, experiment="fig_a", dataset="simulated-uniform", communication=cost, regret=regret)
        for method, factor in (("async-linucb", 1.0), ("sync-linucb", 0.1))
        for gamma in (1.5, 2.0, 3.0)
        for seed in range(6)
        for cost, regret in [(factor * 1e5 / gamma * random.lognormal(0, 0.2), 50 * gamma + seed)]
    ]
    results = made_up(runs)
    directions = judged_claims(replace(results, selected=["fig_a"]))
    assert len(directions) >= 5
    return numbers, [(claim.claim, claim.at, claim.verdict) for claim in directions]


def shown() -> Any:
    """The facts about a task whose seeds have different rewards."""
    board = replace(plan_board(tiny_task(), [], load_protocol(), seeds=[300]), source="imported")

    def build(seed: int) -> EventStream:
        stream = simulate(seed=seed, steps=300, clients=10, arms=5, dimension=4, table=300)
        return replace(stream, rewards=(stream.rewards > 0).astype(float), fingerprint="")

    facts = task_facts(board, {}, ["any"], lambda name, seed: np.zeros(300, dtype=int), build)
    return facts.one_ranking, facts.groups, str(facts.scores)


Change = tuple[Callable[[], Any] | None, dict[str, Any]]
"""What must change, and the new values: further ones where a value cannot change alone. None: the file is refused."""

CHANGES: dict[str, Change] = {
    "version": (planned, {"version": 3}),
    "tasks": (planned, {"tasks": ["simulated-zipf", "simulated-uniform"]}),
    **{
        f"retired.{name}": (planned, {f"retired.{name}": "another reason"})
        for name in ("movielens-1m-rated", "movielens-20m-rated", "lastfm-matched", "online-retail-matched")
    },
    "budgets.all": (selected, {"budgets.all": [0, 0.03, 0.1, 0.3, 1]}),
    "budgets.primary": (compared, {"budgets.primary": [0.1, 0.3]}),
    "budgets.slack": (selected, {"budgets.slack": 0.5}),
    "seeds.choosing.first": (selected, {"seeds.choosing.first": 9999, "passes.0.seeds.first": 9999}),
    "seeds.choosing.last": (selected, {"seeds.choosing.last": 10010, "passes.2.seeds.last": 10010}),
    "seeds.reporting.first": (planned, {"seeds.reporting.first": 201}),
    "seeds.reporting.last": (planned, {"seeds.reporting.last": 220}),
    "seeds.trying.first": (planned, {"seeds.trying.first": 301}),
    "seeds.trying.last": (planned, {"seeds.trying.last": 320}),
    "passes.0.seeds.first": (selected, {"seeds.choosing.first": 9998, "passes.0.seeds.first": 9998}),
    "passes.0.seeds.last": (selected, {"passes.0.seeds.last": 10001, "passes.1.seeds.first": 10002}),
    "passes.0.keep": (selected, {"passes.0.keep": 4}),
    "passes.1.seeds.first": (selected, {"passes.0.seeds.last": 10001, "passes.1.seeds.first": 10002}),
    "passes.1.seeds.last": (selected, {"passes.1.seeds.last": 10003, "passes.2.seeds.first": 10004}),
    "passes.1.keep": (selected, {"passes.1.keep": 2}),
    "passes.2.seeds.first": (selected, {"passes.1.seeds.last": 10003, "passes.2.seeds.first": 10004}),
    "passes.2.seeds.last": (selected, {"seeds.choosing.last": 10011, "passes.2.seeds.last": 10011}),
    "passes.2.keep": (None, {"passes.2.keep": 2}),
    "quick.configurations": (planned, {"quick.configurations": 24}),
    "quick.choosing_seeds": (planned, {"quick.choosing_seeds": 3}),
    "quick.report_seeds": (planned, {"quick.report_seeds": 4}),
    "tuning.alpha": (planned, {"tuning.alpha": [0, 0.1, 0.5]}),
    "tuning.ridge_factors": (planned, {"tuning.ridge_factors": [0.01, 0.2, 4, 90]}),
    "tuning.front_values": (planned, {"tuning.front_values": 6, "tuning.max_configurations": 72}),
    "tuning.max_configurations": (None, {"tuning.max_configurations": 145}),
    "fixed.methods": (planned, {"fixed.methods": ["async-linucb"]}),
    "fixed.alpha": (planned, {"fixed.alpha": 0.4}),
    "fixed.ridge": (planned, {"fixed.ridge": 0.3}),
    "fixed.simulated_alpha": (planned, {"fixed.simulated_alpha": 0.5}),
    "fixed.simulated_ridge": (planned, {"fixed.simulated_ridge": 0.2}),
    "comparison.reference": (planned, {"comparison.reference": "sync-linucb"}),
    "comparison.confidence": (compared, {"comparison.confidence": 0.9}),
    "comparison.repetitions": (compared, {"comparison.repetitions": 500}),
    "comparison.bootstrap_seed": (compared, {"comparison.bootstrap_seed": 1}),
    "comparison.margin": (compared, {"comparison.margin": 0.5}),
    "comparison.min_report_seeds": (compared, {"comparison.min_report_seeds": 13}),
    "facts.ranking_seeds.first": (shown, {"facts.ranking_seeds.first": 10001}),
    "facts.ranking_seeds.last": (shown, {"facts.ranking_seeds.last": 10003}),
    "facts.ranking_prior": (shown, {"facts.ranking_prior": 6}),
    "facts.last_decisions": (shown, {"facts.last_decisions": [1, 5, 10]}),
    "paper.reward_margin": (judged, {"paper.reward_margin": 0.06}),
    "paper.communication_margin": (judged, {"paper.communication_margin": 0.11}),
    "paper.inside_confidence": (judged, {"paper.inside_confidence": 0.8}),
    "paper.outside_confidence": (judged, {"paper.outside_confidence": 0.99}),
    "paper.level": (judged, {"paper.level": 1e-9}),
    "paper.min_seeds": (judged, {"paper.min_seeds": 11}),
    "paper.above_least_regret": (judged, {"paper.above_least_regret": [0.05]}),
}


def values_in(content: Any, place: str = "") -> Iterator[str]:
    """Yield the place of every value; a list of numbers or names is one value."""
    is_table_list = isinstance(content, list) and isinstance(content[0], dict)
    if not isinstance(content, dict) and not is_table_list:
        yield place
        return
    for name, part in content.items() if isinstance(content, dict) else enumerate(content):
        yield from values_in(part, f"{place}.{name}".removeprefix("."))


def as_toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name} = {as_toml(part)}" for name, part in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(as_toml, value)) + "]"
    return json.dumps(value) if isinstance(value, str) else repr(value)


@cache
def of_the_shipped_file(result: Callable[[], Any]) -> Any:
    """Compute once what many changes are compared with."""
    return result()


def test_the_glossary_has_the_values_of_the_file():
    protocol = load_protocol()
    meanings = {term.name: term.meaning for term in TERMS}
    *budgets, last = (f"{budget:g}" for budget in protocol.budgets.primary)
    assert f"the budgets {', '.join(budgets)} and {last}:" in meanings[primary_text(protocol.budgets.primary)]
    assert f"within {protocol.comparison.margin * 100:g} % of" in meanings["equivalent"]


def test_every_value_has_a_case():
    assert [*values_in(tomllib.loads(FILE.read_text(encoding="utf-8")))] == [*CHANGES]


@pytest.mark.parametrize("result", {result: None for result, _ in CHANGES.values() if result})
def test_results_of_an_unchanged_file_are_equal(result: Callable[[], Any], monkeypatch: pytest.MonkeyPatch):
    """A NaN in them would make the next test pass whatever the file says."""
    monkeypatch.setattr(board_command, "find_tasks", lambda names: [tiny_task()])
    assert result() == of_the_shipped_file(result)


@pytest.mark.parametrize("place", CHANGES)
def test_a_changed_value_changes_a_plan_a_selection_or_a_verdict(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    result, changes = CHANGES[place]
    assert place in changes
    content = tomllib.loads(FILE.read_text(encoding="utf-8"))
    for name, value in changes.items():
        *tables, last = name.split(".")
        part: Any = content
        for table in tables:
            part = part[int(table) if table.isdigit() else table]
        assert part[last] != value
        part[last] = value
    copy = tmp_path / "protocol.toml"
    copy.write_text("\n".join(f"{name} = {as_toml(value)}" for name, value in content.items()), encoding="utf-8")
    if result is None:
        with pytest.raises(ValueError, match=str(changes[place])):
            load_protocol(copy)
        return
    monkeypatch.setattr(board_command, "find_tasks", lambda names: [tiny_task()])
    shipped = of_the_shipped_file(result)
    monkeypatch.setattr(benchmark.protocol, "FILE", copy)
    assert result() != shipped
