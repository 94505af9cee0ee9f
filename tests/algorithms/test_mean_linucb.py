"""Mean-LinUCB: both implementations agree, its identities hold, and invalid input is refused."""

import math
from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from algorithms import AsyncLinUCB, MeanLinUCB, Message, Problem
from benchmark import EventStream
from benchmark.execution.replay import replay
from data_pipelines import simulate
from tests.algorithms.inspection import assert_same_trace
from tests.streams import streams, thresholds

SEEDS = st.integers(0, 2**63 - 1)
parameters = st.fixed_dictionaries(
    {"alpha": st.sampled_from([0.0, 0.3, 2.0]), "pull": st.sampled_from([0.05, 0.2, 1.0, 20.0])}
)


@given(streams(), parameters, SEEDS)
def test_without_communication_it_is_independent_linucb_with_the_pull_as_its_ridge(
    stream: EventStream, values: dict[str, float], seed: int
) -> None:
    trace = replay(MeanLinUCB(gamma=math.inf, **values), stream, seed)
    independent = AsyncLinUCB(gamma=math.inf, alpha=values["alpha"], ridge=values["pull"])
    assert_same_trace(trace, replay(independent, stream, seed))


@given(streams(), thresholds, SEEDS)
def test_a_trigger_costs_two_transfers_of_d_numbers(stream: EventStream, gamma: float, seed: int) -> None:
    trace = replay(MeanLinUCB(gamma=gamma), stream, seed)
    assert (trace.uploads <= 1).all()
    np.testing.assert_array_equal(trace.uploads, trace.downloads)
    np.testing.assert_array_equal(trace.numbers_up, stream.dimension * trace.uploads)
    np.testing.assert_array_equal(trace.numbers_down, stream.dimension * trace.downloads)


def test_an_estimate_of_zero_is_a_needed_upload() -> None:
    stream = simulate(seed=1, steps=200, clients=10, arms=4, dimension=3)
    without_reward = replace(
        stream, rewards=np.zeros_like(stream.rewards), noise=np.zeros_like(stream.noise), fingerprint=""
    )
    for method in (MeanLinUCB(gamma=1), MeanLinUCB(gamma=1).literal()):
        trace = replay(method, without_reward)
        assert trace.needed_up.sum() == trace.uploads.sum() == stream.steps


def test_an_uploader_downloads_the_mean_of_the_latest_estimates_and_others_receive_nothing() -> None:
    server = MeanLinUCB(gamma=2).server(Problem(dimension=2, arms=3, steps=10, clients=4, seed=0))
    assert server.receive(0, Message("join")) == []
    expected = {(0, 1.0): [1.0, 0.0], (3, 5.0): [3.0, 0.0], (0, 7.0): [6.0, 0.0]}
    for (client, value), mean in expected.items():
        [(receiver, download)] = server.receive(client, Message("upload", np.array([value, 0.0]), 1))
        assert receiver == client
        assert download.values.tolist() == mean


def test_a_strong_pull_makes_a_client_decide_with_the_mean() -> None:
    problem = Problem(dimension=2, arms=2, steps=10, clients=2, seed=0)
    client = MeanLinUCB(gamma=2, pull=1e6, alpha=0.0).client(0, problem)
    client.learn(np.array([1.0, 0.0]), 1.0)
    client.receive(Message("download", np.array([-1.0, 1.0])))
    contexts = np.eye(2)
    assert client.choose(contexts, np.random.default_rng(0)) == 1
