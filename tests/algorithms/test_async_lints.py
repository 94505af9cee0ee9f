"""Async-LinTS: Thompson sampling on the exchange of Async-LinUCB."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from algorithms import AsyncLinTS, AsyncLinUCB
from benchmark import EventStream
from benchmark.execution.replay import replay
from tests.algorithms.inspection import assert_same_trace
from tests.streams import streams

SEEDS = st.integers(0, 2**63 - 1)


@given(streams(max_steps=150), st.sampled_from([1.0, 1.2, 4.0, math.inf]), st.booleans(), SEEDS)
def test_without_randomness_it_is_async_linucb_without_exploration(
    stream: EventStream, gamma: float, welcome: bool, seed: int
) -> None:
    sampled = replay(AsyncLinTS(gamma=gamma, v=0, welcome=welcome), stream, seed)
    assert_same_trace(sampled, replay(AsyncLinUCB(gamma=gamma, alpha=0, welcome=welcome), stream, seed))


@pytest.mark.parametrize("v", [0.01, 5.0, "theory"])
def test_the_first_choice_of_a_client_follows_the_normals_of_seed_and_step(v: Any) -> None:
    items, steps, seed = np.eye(5)[:3], 400, 7
    stream = EventStream(
        items=items,
        clients=np.arange(steps),
        pools=np.tile([0, 1, 2], (steps, 1)),
        rewards=np.zeros((steps, 3)),
        noise=np.zeros(steps),
    )
    u = [np.random.Generator(np.random.Philox(key=seed, counter=[0, t, 2, 0])).random(6) for t in range(steps)]
    radius, angle = np.sqrt(-2 * np.log(1 - np.array(u)[:, ::2])), 2 * np.pi * np.array(u)[:, 1::2]
    z = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=2).reshape(steps, 6)
    np.testing.assert_allclose(z[3, :2], [-1.253105412567, 0.272166227596])  # as in the specification
    choices = replay(AsyncLinTS(gamma=math.inf, v=v), stream, seed).choices
    np.testing.assert_array_equal(choices, z[:, :3].argmax(axis=1))
