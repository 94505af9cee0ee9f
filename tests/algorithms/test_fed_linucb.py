"""FedLinUCB: both implementations agree, its identities hold, and invalid input is refused."""

import math
from dataclasses import replace

import numpy as np
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
