"""A user's class is tuned as the built-in methods are, unless it declares otherwise, and fewer settings are stated."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest

import benchmark.commands.new
from algorithms.method import TUNED, Front, Method, MethodInfo
from benchmark.board.board import Board, plan_board
from benchmark.board.entries import make_entry
from benchmark.commands.board import board_lines, tuning_lines
from benchmark.plan.method_names import parse_filter
from benchmark.protocol import load_protocol
from tests.benchmark.board.test_planning import made_up, played
from tests.benchmark.board.tiny_boards import small_protocol, tiny_task

SQUARED_NORM = 25.0


class Plain:
    def choose(self, client: int, contexts: Any, rng: Any) -> int:
        return 0

    def learn(self, client: int, context: Any, reward: float) -> None:
        return None


@dataclass
class Alike(Plain):
    gamma: float
    alpha: float = 1.0
    ridge: float = 1.0


@dataclass
class OnlyAlpha(Plain):
    gamma: float
    alpha: float = 1.0


@dataclass
class NotTuned(Alike):
    tuning: ClassVar[dict[str, Any]] = {}


@dataclass
class Pulled(Plain):
    gamma: float
    pull: float = 1.0
    alpha: float = 1.0
    scaled: ClassVar[tuple[str, ...]] = ("pull",)
    tuning: ClassVar[dict[str, Any]] = {"pull": (0.2, 4.0), "alpha": (0, 0.3)}


@dataclass
class OtherMeaning(Alike):
    tuning: ClassVar[str] = "a word"


@dataclass
class LongFront(Plain):
    gamma: float
    front: ClassVar[Front] = Front("gamma", "γ", tuple(float(30 - number) for number in range(23)))


@dataclass(frozen=True, kw_only=True)
class Derived(Method):
    name: ClassVar[str] = "derived"
    label: ClassVar[str] = "Derived"
    reference: ClassVar[str] = "ours"
    ridge: float = 1.0

    def start(self, stream: Any, seed: int) -> Any: ...
    def literal(self) -> Any: ...
    @classmethod
    def examples(cls) -> Any: ...


def board(*classes: type, **options: int) -> Board:
    filters = [parse_filter(f"{__name__}:{each.__name__}") for each in classes]
    return plan_board(tiny_task(), filters, small_protocol(), **options)


@pytest.mark.parametrize("each", [Alike, OtherMeaning])
def test_alpha_and_ridge_of_a_users_class_are_tuned_as_those_of_built_in_methods(each: type):
    own, built_in = (
        make_entry(parse_filter(name), load_protocol(), SQUARED_NORM)
        for name in (f"{__name__}:{each.__name__}", "async-linucb")
    )
    assert own.grids == built_in.grids
    assert own.grids["ridge"] == (0.25, 5.0, 100.0, 2000.0)
    assert len(own.configurations) == 144


def test_a_declaration_replaces_the_usual_tuning_even_if_it_is_empty():
    assert (MethodInfo.of(NotTuned).tuned, MethodInfo.of(NotTuned).tuning) == ((), {})
    assert MethodInfo.of(Derived).tuned == ("ridge",)
    assert MethodInfo.of(OnlyAlpha).tuned == ("alpha",)
    assert MethodInfo.of(Alike).tuned == TUNED


def test_values_of_a_parameter_that_is_relative_to_the_features_are_multiplied_by_their_mean_squared_norm():
    grids = make_entry(parse_filter(f"{__name__}:Pulled"), load_protocol(), SQUARED_NORM).grids
    assert (grids["pull"], grids["alpha"]) == ((5.0, 100.0), (0, 0.3))


def test_of_a_longer_front_as_many_values_as_the_protocol_has_are_used_and_the_row_says_so():
    made = make_entry(parse_filter(f"{__name__}:LongFront"), load_protocol(), SQUARED_NORM)
    assert made.grids == {"gamma": tuple(float(30 - 2 * number) for number in range(12))}
    assert "12 of 23 configurations" in made.notes


def test_a_class_with_fewer_configurations_says_so_in_its_row_and_before_the_board_is_played():
    planned = board(Alike, OnlyAlpha, NotTuned)
    notes = {entry.method.partition(":")[2]: planned.tuning_note(entry) for entry in planned.entries}
    assert notes["Alike"] == ""
    assert notes["OnlyAlpha"] == "36 configurations to choose from, other methods have 144"
    assert notes["NotTuned"] == "12 configurations to choose from, other methods have 144"
    assert {note for name, note in notes.items() if name not in ("OnlyAlpha", "NotTuned")} == {""}
    assert [line.partition(" (")[0] for line in tuning_lines([planned, planned])] == ["OnlyAlpha", "NotTuned"]
    entry = next(entry for entry in planned.entries if entry.method.endswith("OnlyAlpha"))
    result, _ = played(planned, made_up(planned))
    assert notes["OnlyAlpha"] in result.notes(entry)
    assert any("36 configurations to choose from" in line for line in board_lines(result))


def test_fixed_values_and_a_smaller_board_have_no_such_note():
    fixed = parse_filter(f"{__name__}:Alike[alpha=0.3]")
    planned = plan_board(tiny_task(), [fixed], small_protocol(), max_configurations=4)
    assert {planned.tuning_note(entry) for entry in planned.entries} == {""}


def test_the_page_and_the_template_have_the_values_of_the_built_in_methods():
    page = (Path(__file__).parents[3] / "docs" / "own_method.md").read_text(encoding="utf-8")
    template = (Path(benchmark.commands.new.__file__).parent / "templates" / "method.txt").read_text(encoding="utf-8")
    tuning = load_protocol().tuning
    alpha, ridge = (", ".join(f"{value:g}" for value in values) for values in (tuning.alpha, tuning.ridge_factors))
    assert f"α ∈ {{{alpha}}}" in page
    assert f"λ ∈ {{{ridge}}}" in page
    words = " ".join(template.replace("#", " ").split())
    assert f"alpha over {alpha}, and ridge over {ridge} (" in words
