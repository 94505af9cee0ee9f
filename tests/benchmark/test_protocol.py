"""The protocol's file: its values, its fingerprint, and one clear line for every mistake."""

import math
from pathlib import Path

import pytest

from benchmark.protocol import FILE, load_protocol
from benchmark.statistics.budgets import BUDGETS, PRIMARY_BUDGETS, limits
from benchmark.statistics.comparison import RULES
from benchmark.statistics.equal_regret import ABOVE_LEAST
from benchmark.statistics.equivalence import (
    COMMUNICATION_SHARE,
    INSIDE_CONFIDENCE,
    OUTSIDE_CONFIDENCE,
    REWARD_SHARE,
)
from benchmark.statistics.holm import LEVEL, MIN_SEEDS
from benchmark.statistics.selection import PASSES

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


def test_the_statistics_have_the_values_of_the_protocol_as_their_defaults():
    protocol = load_protocol()
    assert protocol.rules() == RULES
    assert protocol.halving() == PASSES
    assert tuple(protocol.budgets.all) == BUDGETS
    assert tuple(protocol.budgets.primary) == PRIMARY_BUDGETS
    assert protocol.limits(25) == limits(25)
    paper = protocol.paper
    assert (paper.reward_margin, paper.communication_margin) == (REWARD_SHARE, COMMUNICATION_SHARE)
    assert (paper.inside_confidence, paper.outside_confidence) == (INSIDE_CONFIDENCE, OUTSIDE_CONFIDENCE)
    assert (paper.level, paper.min_seeds, tuple(paper.above_least_regret)) == (LEVEL, MIN_SEEDS, ABOVE_LEAST)


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
        ("choosing = { first = 10000", "choosing = { first = 9999", "seeds for choosing must be from 10000 to 10009"),
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
        ('"theory"', '"thery"', "fixed.simulated_alpha must be 'theory', got 'thery'"),
        ("version = 1", "version = ", "is not a valid protocol: "),
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
    with pytest.raises(ValueError, match="it must have at most 100,000 bytes, got 100,001"):
        load_protocol(large)
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match=r"binary\.toml is not a valid protocol"):
        load_protocol(binary)
