"""The protocol's file: its values, its fingerprint, one clear line for every mistake, and that every value is read."""

import json
import math
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import benchmark.protocol
from benchmark.board.board import plan_board, wanted
from benchmark.board.entries import board_filters, with_fixed
from benchmark.board.task import experiment_name, load_task, task_names
from benchmark.plan.method_names import parse_filter
from benchmark.protocol import FILE, load_protocol
from benchmark.statistics.budgets import Scores
from benchmark.statistics.comparison import NO_COMMUNICATION, compare
from benchmark.statistics.selection import Result, select
from reports.analysis.board import primary_text
from reports.analysis.claims import NUMBER, Judged, judged_claims, judged_number, margin_of
from reports.page.glossary import TERMS
from reports.paper import PAPER
from reports.read.context import make_context
from tests.benchmark.board.tiny_boards import tiny_task
from tests.reports.made_up import made_up, run

VERSION_1 = "781d748a4e252c36aee95e98698389adde5832538ea8531ed319e7671f541f79"


def changed(folder: Path, old: str, new: str) -> Path:
    """Write the protocol with one text replaced."""
    text = FILE.read_text()
    assert text.count(old) == 1, old
    path = folder / "protocol.toml"
    path.write_text(text.replace(old, new))
    return path


def test_a_change_of_the_protocol_needs_a_new_version():
    protocol = load_protocol()
    assert {protocol.version: protocol.fingerprint} == {1: VERSION_1}


def test_seeds_and_grids_are_those_that_were_announced():
    protocol = load_protocol()
    assert protocol.seeds.choosing.seeds == tuple(range(10_000, 10_010))
    assert protocol.seeds.reporting.seeds == tuple(range(20))
    assert protocol.tuning.alpha == [0, 0.01, 0.1, 0.3]
    assert protocol.tuning.ridge_factors == [0.01, 0.2, 4]
    assert protocol.tuning.max_configurations == 144
    assert protocol.budgets.all[-1] == math.inf
    assert len(protocol.tasks) == 7


def test_comments_and_the_way_numbers_are_written_do_not_change_the_fingerprint(tmp_path: Path):
    path = changed(tmp_path, "primary = [2, 10, 100, 1000]", "primary = [2.0, 1e1, 100, 1_000] # another comment")
    assert load_protocol(path).fingerprint == load_protocol().fingerprint


def test_a_changed_value_changes_the_fingerprint(tmp_path: Path):
    path = changed(tmp_path, "margin = 0.05  # of eq", "margin = 0.06  # of eq")
    assert load_protocol(path).fingerprint != load_protocol().fingerprint


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("version = 1", "version = 0", "version must be greater than or equal to 1, got 0"),
        ("version = 1", "", "required field version is missing"),
        ("version = 1", "version = true", "version must be a valid integer, got True"),
        ("front_values", "font_values", "unknown field tuning.font_values, got 12"),
        ("keep = 12", "keep = 2", r"keep must decrease from pass to pass, to 1 in the last, got \[2, 3, 1\]"),
        ("keep = 1\n", "keep = 2\n", r"keep must decrease from pass to pass, to 1 in the last, got \[12, 3, 2\]"),
        ("last = 10002", "last = 10003", "passes must use every choosing seed once, in order, got"),
        ("last = 19", "last = 8", "seeds.reporting must have at least 10 seeds, got 9"),
        (
            "first = 0, last = 19",
            "first = 9990, last = 10000",
            "report seeds must be outside 10000 to 10009, got 10000",
        ),
        ("first = 0, last = 19", "first = 20, last = 19", r"last must be at least first \(20\), got 19"),
        (
            "choosing = { first = 10000",
            "choosing = { first = 9999",
            "passes must use every choosing seed once, in order",
        ),
        ("all = [0, 2,", "all = [2,", "budgets: all must be increasing, starting at 0, got"),
        ("all = [0, 2, 10,", "all = [0, 10, 2,", "budgets: all must be increasing, starting at 0, got"),
        ("all = [0, 2,", "all = [0, nan,", "budgets.all.1 must be a finite number|budgets.all.1 must be greater than"),
        ("primary = [2,", "primary = [3,", "primary must be distinct budgets from all"),
        ("alpha = [0, 0.01,", 'alpha = ["0", 0.01,', "tuning.alpha.0 must be a valid number, got '0'"),
        ("alpha = [0, 0.01,", "alpha = [0, 0,", "alpha must be distinct values, got"),
        ("front_values = 12", "front_values = 11", "max_configurations must be the size of the grid, 132, got 144"),
        (
            "confidence = 0.95  # of the",
            "confidence = 95  # of the",
            "comparison.confidence must be less than 1, got 95",
        ),
        ('"lastfm-matched"', '"../lastfm"', r"tasks.2 must match pattern .*, got '../lastfm'"),
        ('"lastfm-matched"', '"simulated-zipf"', "tasks must be distinct, got"),
        ('"theory"', '"thery"', "fixed.simulated_alpha.*'thery'"),
        ("version = 1", "version = ", "is not valid TOML: "),
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
    """The tasks, and the rows, budgets and first runs of a board with fixed rows, on real and on simulated data."""
    protocol, boards = load_protocol(), []
    for is_simulated in (True, False):
        methods = with_fixed([], protocol, is_simulated=is_simulated)
        board = plan_board(tiny_task(), methods, protocol)
        grids = [(entry.name, entry.grids) for entry in board.entries]
        boards.append((grids, board.limits, board.seeds, wanted(board, {})))
    few = board_filters([parse_filter("async-linucb-am")], protocol.comparison.reference)
    return task_names(), experiment_name(load_task("simulated-zipf"), protocol), boards, few


def selected() -> Any:
    """Every pass and every choice among 40 configurations."""
    protocol, random = load_protocol(), np.random.default_rng(0)
    names = [f"c{number}" for number in range(40)]
    levels = {name: random.normal(size=2) for name in names}
    results: dict[int, dict[str, Result]] = {}
    while (selection := select(names, results, protocol.limits(25), protocol.halving())).pending:
        for name, seed in selection.pending:
            score, cost = levels[name] + np.random.default_rng(seed).normal(size=2)
            results.setdefault(seed, {})[name] = Result(float(score), float(10 ** (3 + cost)))
    return selection


def compared() -> Any:
    """The comparison of two methods on 12 seeds: equivalent at some budgets, and not at others."""
    protocol, random = load_protocol(), np.random.default_rng(0)
    budgets, methods = tuple(protocol.budgets.all), ("a", "b", NO_COMMUNICATION)
    shifts = np.linspace(0, 0.2, 3)[:, None, None] * np.linspace(0, 1, len(budgets))[None, :, None]
    values = 2 + shifts + random.normal(0, 0.02, (3, len(budgets), 12))
    configurations = tuple(tuple(f"{method}{budget}" for budget in budgets) for method in methods)
    scores = Scores(methods, budgets, tuple(range(12)), values, configurations, "reward")
    return compare(scores, [("a", "b"), ("b", NO_COMMUNICATION)], protocol.rules()).to_csv()


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
    results, _ = made_up(runs)
    directions = judged_claims(results, make_context(results, experiments=["fig_a"]))
    assert len(directions) >= 5
    return numbers, [(claim.claim, claim.at, claim.verdict) for claim in directions]


Change = tuple[Callable[[], Any] | None, dict[str, Any]]
"""What must change, and the new values: further ones where a value cannot change alone. None: the file is refused."""

CHANGES: dict[str, Change] = {
    "version": (planned, {"version": 2}),
    "tasks": (planned, {"tasks": ["simulated-zipf"]}),
    "budgets.all": (selected, {"budgets.all": [0, 2, 10, 100, 1000]}),
    "budgets.primary": (compared, {"budgets.primary": [2, 10]}),
    "seeds.choosing.first": (selected, {"seeds.choosing.first": 9999, "passes.0.seeds.first": 9999}),
    "seeds.choosing.last": (selected, {"seeds.choosing.last": 10010, "passes.2.seeds.last": 10010}),
    "seeds.reporting.first": (planned, {"seeds.reporting.first": 1}),
    "seeds.reporting.last": (planned, {"seeds.reporting.last": 20}),
    "passes.0.seeds.first": (selected, {"seeds.choosing.first": 9998, "passes.0.seeds.first": 9998}),
    "passes.0.seeds.last": (selected, {"passes.0.seeds.last": 10001, "passes.1.seeds.first": 10002}),
    "passes.0.keep": (selected, {"passes.0.keep": 4}),
    "passes.1.seeds.first": (selected, {"passes.0.seeds.last": 10001, "passes.1.seeds.first": 10002}),
    "passes.1.seeds.last": (selected, {"passes.1.seeds.last": 10003, "passes.2.seeds.first": 10004}),
    "passes.1.keep": (selected, {"passes.1.keep": 2}),
    "passes.2.seeds.first": (selected, {"passes.1.seeds.last": 10003, "passes.2.seeds.first": 10004}),
    "passes.2.seeds.last": (selected, {"seeds.choosing.last": 10011, "passes.2.seeds.last": 10011}),
    "passes.2.keep": (None, {"passes.2.keep": 2}),
    "tuning.alpha": (planned, {"tuning.alpha": [0, 0.01, 0.1, 0.5]}),
    "tuning.ridge_factors": (planned, {"tuning.ridge_factors": [0.01, 0.2, 5]}),
    "tuning.front_values": (planned, {"tuning.front_values": 6, "tuning.max_configurations": 72}),
    "tuning.max_configurations": (None, {"tuning.max_configurations": 145}),
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


def test_the_glossary_has_the_values_of_the_file():
    protocol = load_protocol()
    meanings = {term.name: term.meaning for term in TERMS}
    *budgets, last = (f"{budget:,.0f}" for budget in protocol.budgets.primary)
    assert f"the budgets {', '.join(budgets)} and {last}:" in meanings[primary_text(protocol.budgets.primary)]
    assert f"within {protocol.comparison.margin * 100:g} % of" in meanings["equivalent"]


def test_every_value_has_a_case():
    assert [*values_in(tomllib.loads(FILE.read_text(encoding="utf-8")))] == [*CHANGES]


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
    shipped = result()
    monkeypatch.setattr(benchmark.protocol, "FILE", copy)
    assert result() != shipped
