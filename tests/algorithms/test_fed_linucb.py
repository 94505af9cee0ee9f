"""FedLinUCB: both implementations agree, its identities hold, and invalid input is refused."""

import math
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from algorithms import AsyncLinUCB, CentralisedLinUCB, FedLinUCB
from algorithms.numerics.literal_statistics import Statistics, upper_bounds
from algorithms.numerics.random_numbers import StepRandom
from algorithms.numerics.ties import pick
from benchmark import EventStream
from benchmark.execution.replay import replay
from data_pipelines import simulate
from tests.algorithms.inspection import assert_same_trace
from tests.streams import streams, thresholds

SEEDS = st.integers(0, 2**63 - 1)
parameters = st.fixed_dictionaries(
    {"alpha": st.sampled_from([0.0, 0.3, 2.0]), "ridge": st.sampled_from([0.05, 0.2, 1.0])}
)


@given(streams(), thresholds, parameters, st.booleans(), st.booleans(), SEEDS)
def test_both_implementations_agree(
    stream: EventStream, gamma: float, values: dict[str, float], own_data: bool, welcome: bool, seed: int
) -> None:
    method = FedLinUCB(gamma=gamma, own_data=own_data, welcome=welcome, **values)
    assert_same_trace(replay(method, stream, seed), replay(method.literal(), stream, seed))


@pytest.mark.parametrize("own_data", [False, True])
@pytest.mark.parametrize("welcome", [False, True])
def test_both_implementations_agree_on_a_longer_stream_with_sums_and_shared_versions(
    own_data: bool, welcome: bool
) -> None:
    stream = simulate(seed=5, steps=1500, clients=40, arms=5, dimension=6)
    for gamma in (1.0, 1.2, 3.0, 40.0, 1e4):
        method = FedLinUCB(gamma=gamma, own_data=own_data, welcome=welcome)
        assert_same_trace(replay(method, stream), replay(method.literal(), stream))


@given(streams(), parameters, SEEDS)
def test_without_communication_and_with_own_data_it_is_async_linucb(
    stream: EventStream, values: dict[str, float], seed: int
) -> None:
    trace = replay(FedLinUCB(gamma=math.inf, own_data=True, **values), stream, seed)
    assert_same_trace(trace, replay(AsyncLinUCB(gamma=math.inf, **values), stream, seed))


@given(streams(), thresholds, parameters, SEEDS)
def test_one_client_with_own_data_makes_the_choices_of_linucb(
    stream: EventStream, gamma: float, values: dict[str, float], seed: int
) -> None:
    alone = replace(stream, clients=np.zeros_like(stream.clients), fingerprint="")
    trace = replay(FedLinUCB(gamma=gamma, own_data=True, **values), alone, seed)
    np.testing.assert_array_equal(trace.choices, replay(CentralisedLinUCB(**values), alone, seed).choices)


@given(streams(max_steps=100), st.booleans(), parameters, SEEDS)
def test_without_communication_and_own_data_it_never_learns(
    stream: EventStream, welcome: bool, values: dict[str, float], seed: int
) -> None:
    trace = replay(FedLinUCB(gamma=math.inf, welcome=welcome, **values), stream, seed)
    nothing, random = Statistics(stream.dimension), StepRandom(seed)
    scores = (upper_bounds(stream.items[pool], nothing, **values) for pool in stream.pools)
    assert trace.choices.tolist() == [pick(score, random.at(step)) for step, score in enumerate(scores)]
    assert trace.communication == 0


@given(streams(), thresholds, st.booleans(), SEEDS)
def test_a_trigger_costs_two_transfers_of_the_acting_client(
    stream: EventStream, gamma: float, own_data: bool, seed: int
) -> None:
    trace = replay(FedLinUCB(gamma=gamma, own_data=own_data), stream, seed)
    assert (trace.uploads <= 1).all()
    np.testing.assert_array_equal(trace.uploads, trace.downloads)
    np.testing.assert_array_equal(trace.uploads, trace.needed_up)
    size = stream.dimension * (stream.dimension + 3) // 2
    np.testing.assert_array_equal(trace.numbers_down, size * trace.downloads)


def test_at_gamma_one_every_step_with_features_is_an_exchange() -> None:
    stream = simulate(seed=2, steps=300, clients=20, arms=4, dimension=3)
    trace = replay(FedLinUCB(gamma=1), stream)
    assert (trace.uploads == 1).all()
    assert trace.needed_down.sum() == stream.steps - len(stream.client_ids)  # all but the first of each client


CASES: list[tuple[dict[str, Any], str]] = [
    ({"gamma": 0.5}, "gamma must be a number from 1 to inf, got 0.5"),
    ({"gamma": (2.0, 3.0)}, "gamma must be a number from 1 to inf, got (2.0, 3.0)"),
    ({"alpha": "theory"}, "alpha must be a finite number from 0, got 'theory'"),
    ({"alpha": -0.1}, "alpha must be a finite number from 0, got -0.1"),
    ({"alpha": math.inf}, "alpha must be a finite number from 0, got inf"),
    ({"ridge": 0}, "ridge must be a number above 0 (from 1e-50 to 1e+50), got 0"),
    ({"own_data": 1}, "own_data must be True or False, got 1"),
    ({"welcome": "yes"}, "welcome must be True or False, got 'yes'"),
]


@pytest.mark.parametrize(("values", "message"), CASES)
def test_the_error_for_an_invalid_value_is_one_line(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        FedLinUCB(**{"gamma": 2, **values})
