"""FedIGW: both implementations agree; its identities, schedule, rules and bad input."""

import math
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from algorithms import FedIGW
from algorithms.literal.fed_igw import FedIGWClient
from algorithms.messages import Message, Problem
from algorithms.methods.fed_igw import Rule
from algorithms.numerics.random_numbers import CHOICE, StepRandom
from benchmark import EventStream
from benchmark.execution.replay import replay
from data_pipelines import simulate
from tests.streams import streams

SEEDS = st.integers(0, 2**63 - 1)
RULES = st.sampled_from(get_args(Rule))
LONGEST = st.sampled_from([1, 2, 3, 7, 16, 100, math.inf])


@pytest.fixture(scope="module")
def stream() -> EventStream:
    return simulate(seed=3, steps=600, clients=40, arms=5, dimension=4)


@given(streams(max_steps=120), LONGEST, RULES, SEEDS)
def test_without_sharpness_every_rule_chooses_uniformly_at_random(
    stream: EventStream, longest: float, rule: Rule, seed: int
) -> None:
    method = FedIGW(longest=longest, rule=rule, sharpness=0)
    arms = stream.pools.shape[1]
    u = [
        np.random.Generator(np.random.Philox(key=seed, counter=[0, step, CHOICE, 0])).random()
        for step in range(stream.steps)
    ]
    for form in (method, method.literal()):
        np.testing.assert_array_equal(replay(form, stream, seed).choices, [math.floor(arms * each) for each in u])


@pytest.mark.parametrize(
    ("longest", "ends"), [(math.inf, [2, 6, 14, 30, 62]), (8, [2, 6, 14, 22, 30]), (3, [2, 5, 8, 11]), (1, [1, 2, 3])]
)
def test_epochs_double_up_to_the_longest_and_a_cut_one_ends_without_an_exchange(
    stream: EventStream, longest: float, ends: list[int]
) -> None:
    uploads = replay(FedIGW(longest=longest), stream).uploads
    np.testing.assert_array_equal(np.flatnonzero(uploads)[: len(ends)], np.array(ends) - 1)
    assert len(np.flatnonzero(uploads)) == {math.inf: 8, 8: 76, 3: 200, 1: 600}[longest]


def test_a_client_uploads_only_new_data_and_every_known_client_downloads(stream: EventStream) -> None:
    trace = replay(FedIGW(longest=4), stream)
    clients, end = stream.client_numbers, 2 + 4 * 100
    assert trace.uploads[end - 1] == len(np.unique(clients[end - 4 : end])) < len(np.unique(clients[:end]))
    is_new = end - 1 == np.flatnonzero(clients == clients[end - 1])[0]  # it is sent θ when it joins, too
    assert trace.downloads[end - 1] == len(np.unique(clients[:end])) + is_new
    np.testing.assert_array_equal(trace.needed_up, trace.uploads)
    assert trace.numbers_up.sum() == 14 * trace.uploads.sum()
    assert trace.numbers_down.sum() == 4 * trace.downloads.sum()


def test_a_client_that_joins_is_sent_the_estimate_and_decides_with_it(stream: EventStream) -> None:
    trace = replay(FedIGW(longest=math.inf), stream)
    first_steps = np.unique(stream.client_numbers, return_index=True)[1]
    between = [step for step in first_steps if step >= 2 and trace.uploads[step] == 0]
    assert between
    assert (trace.downloads[between] == 1).all()
    assert (trace.needed_down[between] == 1).all()
    assert not trace.downloads[first_steps[first_steps < 1]].any()


@pytest.mark.parametrize("rule", get_args(Rule))
def test_a_sharp_rule_takes_the_best_arm_and_a_blunt_one_any(stream: EventStream, rule: Rule) -> None:
    sharp, blunt = (replay(FedIGW(longest=8, rule=rule, sharpness=c), stream).regret.sum() for c in (1e6, 0))
    assert sharp < blunt / 5


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("igw", [1 / (3 + 30 * 0.5), 1 - 1 / 18 - 1 / 9, 1 / (3 + 30 * 0.2)]),
        ("softmax", np.exp([0, 5, 3]) / np.exp([0, 5, 3]).sum()),
        ("epsilon", [1 / 30, 28 / 30, 1 / 30]),
    ],
)
def test_probabilities_by_hand(rule: Rule, expected: list[float]) -> None:
    client = FedIGWClient(FedIGW(longest=1, rule=rule, sharpness=10), 0, Problem(2, 3, 10, 1, 0))
    client.receive(Message("download", np.array([1.0, 0.0]), count=6))  # g = 10·√(3·6/2) = 30
    estimates = np.array([[0.5, 7], [1, 7], [0.8, 7]]) @ client.theta
    np.testing.assert_allclose(client.probabilities(estimates, 1), expected)
    chosen = [client.choose(estimates[:, None] * [1, 0], StepRandom(0).at(step)) for step in range(3000)]
    np.testing.assert_allclose(np.bincount(chosen) / 3000, expected, atol=0.03)


def test_the_variants_are_the_two_further_rules() -> None:
    assert {FedIGW(longest=4, **values).rule for values in FedIGW.variants.values()} == {"softmax", "epsilon"}
