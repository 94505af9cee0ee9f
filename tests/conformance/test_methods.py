"""What every method must do, for all built-in methods and their examples: a new method is tested without a new test."""

import math
import pickle
import subprocess
import sys
from dataclasses import fields
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import algorithms
from algorithms import Trace, kernels, methods
from algorithms import literal as literals
from algorithms.literal import literal
from algorithms.method import EVERYTHING_SHARED, FIRST_FREE_STYLE, NO_COMMUNICATION, Method, MethodInfo
from algorithms.registry import built_in_methods, module_names
from algorithms.stream import StreamOutline
from benchmark import EventStream
from benchmark.board.entries import declared_grids
from benchmark.execution.replay import replay
from benchmark.plan.method_names import make_method
from benchmark.protocol import load_protocol
from benchmark.styles import style
from data_pipelines import simulate
from tests.algorithms.inspection import PER_CLIENT, PER_STEP, assert_same_trace
from tests.golden.runs import description, golden
from tests.streams import streams, with_held_out_users

INFOS = [*built_in_methods().values()]
WITH_FRONT = [info for info in INFOS if info.front is not None]
EXAMPLES: list[Method] = [example for each in INFOS for example in each.method.examples()]  # type: ignore[attr-defined]
MIN_DIMENSION = 2
"""The largest global dimension among the examples."""
ALWAYS_COMMUNICATES = {"fclub", "fed-igw"}
"""Methods that communicate at fixed steps, at every value of their front."""

by_name = pytest.mark.parametrize("info", INFOS, ids=lambda info: info.name)
with_front = pytest.mark.parametrize("info", WITH_FRONT, ids=lambda info: info.name)
by_example = pytest.mark.parametrize(
    "example", EXAMPLES, ids=[f"{example.name}-{number}" for number, example in enumerate(EXAMPLES)]
)


@pytest.fixture(scope="module")
def stream() -> EventStream:
    return simulate(seed=3, steps=600, clients=12, arms=5, dimension=4)


def suited(example: Method, stream: EventStream) -> EventStream:
    """Return a stream that the method is run on: with users who do not play, if it needs them."""
    return stream if example.skip(StreamOutline.of(stream)) is None else with_held_out_users(stream)


@by_example
@settings(max_examples=max(settings().max_examples // 5, 1))  # there are many examples, and more tests of each method
@given(
    stream=streams(max_steps=120).filter(lambda stream: stream.dimension >= MIN_DIMENSION),
    seed=st.integers(0, 2**63 - 1),
)
def test_the_compiled_method_agrees_with_the_literal_one(example: Method, stream: EventStream, seed: int) -> None:
    stream = suited(example, stream)
    trace = replay(example, stream, seed)
    assert_same_trace(trace, replay(literal(example), stream, seed))
    assert_needed_is_at_most_sent(trace, stream)
    if (trace.uploads <= 1).all():  # only acting clients upload
        assert trace.needed <= 2 * stream.steps


def assert_needed_is_at_most_sent(trace: Trace, stream: EventStream) -> None:
    """Compare needed and sent transfers in the sums over steps so far and per client, and both with each other."""
    for sent, needed in (("uploads", "needed_up"), ("downloads", "needed_down")):
        by_step, by_client = getattr(trace, needed), getattr(trace, f"client_{needed}")
        assert (np.cumsum(by_step) <= np.cumsum(getattr(trace, sent))).all()
        assert (by_client <= getattr(trace, f"client_{sent}")).all()
        assert by_client.sum() == by_step.sum()
    assert (trace.needed_down <= 1).all()
    used = np.bincount(stream.client_numbers[trace.needed_down == 1], minlength=len(stream.client_ids))
    np.testing.assert_array_equal(trace.client_needed_down, used)


@by_example
def test_they_agree_on_a_longer_stream(example: Method, stream: EventStream) -> None:
    stream = suited(example, stream)
    actual = replay(example, stream, 1)
    assert_same_trace(actual, replay(literal(example), stream, 1))
    assert len(np.unique(actual.choices)) > 1


@by_example
def test_an_example_is_a_golden_run(example: Method) -> None:
    names = {run["run"].partition(": ")[2] for run in golden()["runs"].values()}
    assert description(example) in names, "run: python -m tests.golden"


@by_example
def test_an_example_can_be_sent_to_another_process(example: Method) -> None:
    assert pickle.loads(pickle.dumps(example)) == example
    assert hash(pickle.loads(pickle.dumps(example))) == hash(example)


@by_example
def test_the_same_seed_gives_the_same_trace_also_step_by_step(example: Method, stream: EventStream) -> None:
    stream = suited(example, stream)
    at_once, run = replay(example, stream, 5), example.start(stream, 5)
    for stop in (1, 2, 300, None):
        run.advance(stop)
    for name in (*PER_STEP, *PER_CLIENT):
        np.testing.assert_array_equal(getattr(run.trace(), name), getattr(at_once, name), err_msg=name)


@by_example
def test_skip_gives_no_reason_or_one_line(example: Method) -> None:
    for outline in (StreamOutline("a", 25), StreamOutline("b", 2, 1, 10, 1), StreamOutline("c", 25, 25, 10**7, 10**6)):
        reason = example.skip(outline)
        assert reason is None or (reason.strip() and "\n" not in reason)


@by_name
def test_a_declaration_is_complete_and_can_be_sent_to_another_process(info: MethodInfo) -> None:
    assert info.name == info.name.lower()
    assert info.label
    assert info.reference
    assert info.version >= 1
    assert info.microseconds_per_step > 0
    assert pickle.loads(pickle.dumps(info)) == info
    assert {*info.kernel_settings} <= {*info.parameters}
    assert {field.name for field in fields(info.method)} == {*info.parameters}
    for name, value in info.added.items():
        assert value == next(field.default for field in fields(info.method) if field.name == name)


def test_a_contender_says_what_its_clients_share() -> None:
    assert all((info.kind is None) == (info.front is None) for info in built_in_methods().values())


@by_name
def test_an_unknown_parameter_is_refused_in_one_line(info: MethodInfo) -> None:
    with pytest.raises(ValueError, match=f"unknown parameter of {info.name} 'no_such_parameter'") as error:
        make_method(info.name, {"no_such_parameter": 1})
    assert "\n" not in str(error.value)


@with_front
@pytest.mark.parametrize("value", [math.nan, "many", -1, True, [], None])
def test_a_wrong_value_is_refused_with_its_name(info: MethodInfo, value: Any) -> None:
    assert info.front is not None
    middle = {info.front.parameter: info.front.grid[6]}
    for parameter in (info.front.parameter, *info.tuned):
        with pytest.raises(ValueError, match=rf"^{parameter}\w* (must|is missing)") as error:
            make_method(info.name, {**middle, parameter: value})
        assert "\n" not in str(error.value)


@with_front
def test_the_grid_runs_from_the_least_to_the_most_communication(info: MethodInfo) -> None:
    front = info.front
    assert front is not None
    assert len({*front.grid}) == 12
    stream = simulate(seed=3, steps=12_000, clients=12, arms=5, dimension=4)  # some schedules are slow
    spent = [replay(info.method(**{front.parameter: value}), stream).communication for value in front.grid]
    assert spent[0] < spent[6] < spent[-1]
    assert spent == sorted(spent)
    assert {*front.landmarks} <= {*front.grid}


@with_front
def test_there_are_144_configurations_to_tune_over(info: MethodInfo) -> None:
    front = info.front
    assert front is not None
    values = declared_grids(info, load_protocol(), 1.0)
    assert values[front.parameter] == front.grid
    configurations = [dict(zip(values, combination, strict=True)) for combination in product(*values.values())]
    assert len({info.method(**configuration) for configuration in configurations}) == 144


@with_front
def test_landmarks_are_what_their_names_say(info: MethodInfo, stream: EventStream) -> None:
    front = info.front
    assert front is not None
    for value, name in front.landmarks.items():
        trace = replay(info.method(**{front.parameter: value}), stream)
        if name == NO_COMMUNICATION:
            assert trace.communication == 0
        else:
            assert name == EVERYTHING_SHARED
            assert (trace.uploads == 1).all()


def test_without_communication_nothing_is_sent_at_the_first_value_of_any_grid(stream: EventStream) -> None:
    for info in WITH_FRONT:
        if info.front is not None and math.isinf(info.front.grid[0]) and info.name not in ALWAYS_COMMUNICATES:
            method = info.method(**{info.front.parameter: math.inf})
            assert replay(method, stream).communication == 0


def test_methods_are_in_three_modules_of_one_name() -> None:
    from pkgutil import iter_modules

    for package in (kernels, literals):
        assert sorted(module.name for module in iter_modules(package.__path__)) == module_names()
    assert len(INFOS) >= len(module_names())
    assert methods.__name__ == "algorithms.methods"


def test_declarations_are_read_without_numba() -> None:
    code = "import sys; from algorithms.registry import built_in_methods as b; print(len(b()), 'numba' in sys.modules)"
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert process.stdout.split() == [str(len(INFOS)), "False"]


def test_the_public_names_are_those_of_the_registry() -> None:
    classes = {info.method.__name__ for info in INFOS}
    assert {*algorithms.__all__} == classes | {*algorithms.MODULES}
    for name in algorithms.__all__:
        assert getattr(algorithms, name).__name__ == name


def test_styles_of_built_in_methods_differ_and_the_papers_keep_theirs() -> None:
    numbers = [info.style for info in INFOS]
    assert len({*numbers}) == len(numbers)
    assert all(0 <= number < FIRST_FREE_STYLE for number in numbers)
    looks = {info.name: style(info.style) for info in INFOS}
    assert (looks["async-linucb"].colour, looks["async-linucb"].marker) == ("#0072b2", "*")
    assert (looks["async-linucb-am"].colour, looks["async-linucb-am"].marker) == ("#d55e00", "s")
    assert (looks["sync-linucb"].colour, looks["sync-linucb"].marker) == ("#009e73", "^")
    assert (looks["random"].colour, looks["random"].marker) == ("#999999", "x")


@pytest.mark.parametrize("missing", ["name", "label", "reference", "start", "literal", "examples"])
def test_a_method_must_not_inherit_who_it_is_or_its_oracle(missing: str) -> None:
    built_in = INFOS[0].method
    own = {name: getattr(built_in, name) for name in ("name", "label", "reference", "start", "literal", "examples")}
    parent = type("Parent", (Method,), {**own})
    del own[missing]
    with pytest.raises(TypeError, match=f"method Mine must define {missing} itself, not inherit it"):
        type("Mine", (parent,), own)
