"""Private-FedLinUCB: both implementations agree; its identities, noise, schedule and bad input."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from algorithms import AsyncLinUCB, CentralisedLinUCB, PrivateFedLinUCB
from algorithms.literal.private_fed_linucb import PrivateFedLinUCBClient
from algorithms.messages import Message, Problem, unpack
from benchmark import EventStream
from benchmark.execution.federation import Federation
from benchmark.execution.replay import replay
from data_pipelines import simulate
from tests.algorithms.inspection import assert_same_trace
from tests.streams import streams

SEEDS = st.integers(0, 2**63 - 1)
EPSILONS = st.sampled_from([0.01, 1.0, 16.0, 1e4, math.inf])
ALPHAS = st.sampled_from([0.0, 0.3, 2.0])
RIDGES = st.sampled_from([0.05, 0.2, 80.0])


@pytest.fixture(scope="module")
def stream() -> EventStream:
    return simulate(seed=3, steps=600, clients=40, arms=5, dimension=4)


def bounded(stream: EventStream) -> EventStream:
    """Return the stream with features of length 1 at most, and with observed rewards from -1 to 1."""
    largest = max(1.0, np.linalg.norm(stream.items, axis=1).max())
    rewards = stream.rewards / max(1.0, 2 * np.abs(stream.rewards).max())
    return replace(stream, items=stream.items / largest, rewards=rewards, noise=np.clip(stream.noise, -0.5, 0.5))


@given(streams(), ALPHAS, RIDGES, SEEDS)
def test_one_client_without_noise_that_always_synchronises_is_linucb(
    stream: EventStream, alpha: float, ridge: float, seed: int
) -> None:
    stream = bounded(replace(stream, clients=np.zeros(stream.steps, dtype=np.int64)))
    method = PrivateFedLinUCB(period=1, epsilon=math.inf, alpha=alpha, ridge=ridge)
    expected = replay(CentralisedLinUCB(alpha=alpha, ridge=ridge), stream, seed)
    np.testing.assert_array_equal(replay(method, stream, seed).choices, expected.choices)


@given(streams(), EPSILONS, ALPHAS, SEEDS)
def test_without_synchronisations_every_client_learns_alone(
    stream: EventStream, epsilon: float, alpha: float, seed: int
) -> None:
    stream = bounded(stream)
    alone = replay(PrivateFedLinUCB(period=math.inf, epsilon=epsilon, alpha=alpha), stream, seed)
    assert_same_trace(alone, replay(AsyncLinUCB(gamma=math.inf, alpha=alpha), stream, seed))


def test_long_features_are_scaled_and_large_rewards_clipped() -> None:
    client = PrivateFedLinUCBClient(PrivateFedLinUCB(period=1, epsilon=math.inf), 0, Problem(2, 2, 10, 1, 0))
    client.learn(np.array([3.0, 4.0]), -7.0)
    client.learn(np.array([0.0, 0.5]), 0.5)
    [upload] = client.receive(Message("poll", count=1))
    np.testing.assert_allclose(upload.values, [0.36, 0.48, 0.64 + 0.25, -0.6, -0.8 + 0.25])
    assert upload.count == 2


def test_every_synchronisation_uploads_and_downloads_for_every_known_client(stream: EventStream) -> None:
    trace = replay(PrivateFedLinUCB(period=50), stream)
    np.testing.assert_array_equal(np.flatnonzero(trace.uploads), np.arange(50, 601, 50) - 1)
    known = [len(np.unique(stream.client_numbers[:end])) for end in range(50, 601, 50)]
    np.testing.assert_array_equal(trace.uploads[49::50], known)
    np.testing.assert_array_equal(trace.uploads, trace.downloads)
    np.testing.assert_array_equal(trace.needed_up, trace.uploads)  # noise is never zero
    np.testing.assert_array_equal(trace.numbers_down, 14 * trace.downloads)


def test_without_noise_an_upload_is_needed_if_the_client_acted_in_the_batches_that_it_sums(stream: EventStream) -> None:
    needed = replay(PrivateFedLinUCB(period=10, epsilon=math.inf), stream).needed_up
    for number, batches in ((1, 1), (2, 2), (3, 1), (12, 4), (60, 4), (32, 32)):
        end = 10 * number
        assert needed[end - 1] == len(np.unique(stream.client_numbers[end - 10 * batches : end]))


@pytest.mark.parametrize("synchronisations", [1, 2, 3, 6, 7, 8])
def test_the_total_has_every_observation_once(stream: EventStream, synchronisations: int) -> None:
    stream = bounded(stream)
    method = PrivateFedLinUCB(period=20, epsilon=math.inf)
    federation = Federation(method.literal(), stream, 0)
    for step in range(20 * synchronisations):
        federation.advance(step)
    rows = stream.items[stream.pools[np.arange(20 * synchronisations), federation.choices[: 20 * synchronisations]]]
    np.testing.assert_allclose(unpack(federation.server.conclude().values, 4)[0], rows.T @ rows, atol=1e-12)  # type: ignore[attr-defined]


def test_the_noise_of_a_message_is_that_of_its_number_and_client() -> None:
    method = PrivateFedLinUCB(period=10)
    client = PrivateFedLinUCBClient(method, 4, Problem(2, 2, 100, 9, 7))
    for number in range(1, 5):
        [upload] = client.receive(Message("poll", count=number))
    sigma = 3 * math.sqrt(4 * (math.log(1e6) + 1))
    assert method.levels(100) == 4
    assert method.noise(100) == pytest.approx(sigma)
    u = np.random.Generator(np.random.Philox(key=7, counter=[0, 3, 3, 5])).random(6)
    assert u[5] == pytest.approx(0.074568118584)
    radius, angle = np.sqrt(-2 * np.log(1 - u[::2])), 2 * np.pi * u[1::2]
    z = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1).ravel()
    expected = sigma * np.array([z[0], (z[1] + z[2]) / 2, z[3], z[4], z[5]])
    np.testing.assert_allclose(upload.values, expected)


def test_the_ridge_covers_the_noise_by_hand() -> None:
    method = PrivateFedLinUCB(period=10, ridge=0.2)
    size = math.sqrt(9 * 4) * method.noise(100) * (math.sqrt(4 + math.log(20)) + 2)
    assert method.ridge_with_noise(np.eye(2), 9, 100) == pytest.approx(size)
    assert method.ridge_with_noise(-1e6 * np.eye(2), 9, 100) == pytest.approx(1e6 + 0.2)
    assert replace(method, ridge=1e9).ridge_with_noise(np.eye(2), 9, 100) == 1e9
    assert replace(method, epsilon=math.inf).ridge_with_noise(np.eye(2), 9, 100) == 0.2


@pytest.mark.parametrize(("period", "levels"), [(math.inf, 1), (101, 1), (100, 1), (50, 2), (33, 2), (25, 3), (1, 7)])
def test_there_is_a_partial_sum_for_each_binary_digit(period: float, levels: int) -> None:
    assert PrivateFedLinUCB(period=period).levels(100) == levels


def test_replacing_one_observation_changes_the_sums_by_at_most_the_sensitivity() -> None:
    angles = np.linspace(0, np.pi, 361)
    x = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    V = x[:, :, None] * x[:, None, :]
    changes = [((V - V[0]) ** 2).sum(axis=(1, 2)) + ((x - sign * x[0]) ** 2).sum(axis=1) for sign in (-1, 1)]
    assert np.max(changes) == pytest.approx(4.5, abs=1e-3)


def test_more_privacy_costs_reward(stream: EventStream) -> None:
    weak, strong = (replay(PrivateFedLinUCB(period=20, epsilon=epsilon), stream).regret.sum() for epsilon in (1e4, 0.1))
    assert weak < strong / 2


def test_a_delta_of_one_over_the_number_of_steps_is_refused_at_the_start_unless_there_is_no_noise(
    stream: EventStream,
) -> None:
    method = PrivateFedLinUCB(period=50, privacy_delta=1 / 600)
    for start in (method, method.literal()):
        with pytest.raises(ValueError, match=r"^privacy_delta must be below 1/600, .* got 0.0016666666666666668$"):
            replay(start, stream)
    replay(replace(method, epsilon=math.inf), stream)
    replay(replace(method, privacy_delta=1 / 601), stream)


def test_the_variants_are_two_further_levels_of_privacy() -> None:
    assert [PrivateFedLinUCB(period=9, **values).epsilon for values in PrivateFedLinUCB.variants.values()] == [4, 16]
