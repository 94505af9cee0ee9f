"""Async-LinUCB, then alone: clients that leave after some observations."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from algorithms import AsyncLinUCB, AsyncLinUCBThenAlone, Message, Problem
from algorithms.methods.async_linucb_then_alone import Keep
from benchmark import EventStream
from benchmark.execution.replay import replay
from data_pipelines import simulate
from tests.algorithms.inspection import assert_same_trace
from tests.streams import confidences, streams, thresholds

SEEDS = st.integers(0, 2**63 - 1)
KEEPS: st.SearchStrategy[Keep] = st.sampled_from(["own", "shared"])


@given(streams(max_steps=150), confidences, thresholds, KEEPS, SEEDS)
def test_forever_is_async_linucb(
    stream: EventStream, confidence: dict[str, Any], gamma: float, keep: Keep, seed: int
) -> None:
    forever = AsyncLinUCBThenAlone(share_for=math.inf, gamma=gamma, keep=keep, **confidence)
    assert_same_trace(replay(forever, stream, seed), replay(AsyncLinUCB(gamma=gamma, **confidence), stream, seed))


@given(streams(max_steps=150), confidences, thresholds, KEEPS, st.sampled_from([0, 1]), SEEDS)
def test_no_time_or_one_observation_is_async_linucb_without_communication(
    stream: EventStream, confidence: dict[str, Any], gamma: float, keep: Keep, share_for: int, seed: int
) -> None:
    alone = AsyncLinUCBThenAlone(share_for=share_for, gamma=gamma, keep=keep, **confidence)
    trace = replay(alone, stream, seed)
    assert_same_trace(trace, replay(AsyncLinUCB(gamma=math.inf, **confidence), stream, seed))
    assert trace.communication == 0


@pytest.mark.parametrize("keep", ["own", "shared"])
def test_a_client_sends_less_than_its_number_of_shared_observations_and_nothing_after_them(keep: Keep) -> None:
    stream = simulate(seed=3, steps=600, clients=12, arms=5, dimension=4)
    share_for = 10
    trace = replay(AsyncLinUCBThenAlone(share_for=share_for, gamma=1.0, keep=keep), stream)
    shared = replay(AsyncLinUCB(gamma=1.0), stream)
    number_of_step = np.array([(stream.clients[:t] == client).sum() for t, client in enumerate(stream.clients)])
    np.testing.assert_array_equal(trace.uploads, number_of_step < share_for - 1)
    all_left = np.flatnonzero(number_of_step == share_for - 1).max()
    assert trace.downloads[all_left:].sum() == 0
    assert (trace.client_uploads <= share_for - 1).all()
    first_leave = np.flatnonzero(number_of_step == share_for - 1).min()
    np.testing.assert_array_equal(trace.choices[: first_leave + 1], shared.choices[: first_leave + 1])


def test_a_client_leaves_by_a_free_message_and_keeps_what_it_did_not_upload() -> None:
    problem = Problem(dimension=1, arms=1, steps=9, clients=2, seed=0)
    x, rng = np.ones(1), np.random.default_rng(0)
    for keep, expected in (("own", 3.0), ("shared", 8.0)):
        method = AsyncLinUCBThenAlone(share_for=3, gamma=2.0, keep=keep, ridge=1.0)
        client: Any = method.client(0, problem)
        assert [message.kind for message in client.arrive()] == ["join"]
        assert client.learn(x, 1.0) == []  # the ratio is 2
        assert [message.kind for message in client.learn(x, 1.0)] == ["upload"]
        client.receive(Message("download", np.array([5.0, 5.0]), 5))
        (farewell,) = client.learn(x, 1.0)
        assert (farewell.kind, farewell.values.size) == ("leave", 0)
        assert client.choose(np.ones((1, 1)), rng) == 0
        statistics = client.own if keep == "own" else client.model
        assert statistics.V.item() == expected
        assert client.learn(x, 1.0) == []


def test_the_server_drops_the_buffer_of_a_client_that_leaves() -> None:
    problem = Problem(dimension=1, arms=1, steps=9, clients=2, seed=0)
    server: Any = AsyncLinUCBThenAlone(share_for=3, gamma=1.0).server(problem)
    for client in (0, 1):
        assert server.receive(client, Message("join")) == []
    upload = Message("upload", np.array([1.0, 1.0]), 1)
    assert [client for client, _ in server.receive(1, upload)] == [0]
    assert server.receive(0, Message("leave")) == []
    assert server.receive(1, upload) == []


def test_with_no_time_to_share_a_client_leaves_directly_after_it_joins() -> None:
    client = AsyncLinUCBThenAlone(share_for=0).client(0, Problem(2, 3, 9, 1, 0))
    assert [message.kind for message in client.arrive()] == ["join", "leave"]
    assert client.arrive() == []
