"""Async-LinTS: Thompson sampling on the exchange of Async-LinUCB."""

import math
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from algorithms import AsyncLinTS, AsyncLinUCB
from benchmark import EventStream
from benchmark.execution.replay import replay
from data_pipelines import simulate
from tests.algorithms.inspection import assert_same_trace
from tests.streams import gammas, streams

SEEDS = st.integers(0, 2**63 - 1)
LONG = simulate(seed=5, steps=1500, clients=4, arms=5, dimension=6)
"""Some clients get slots and private states."""


@given(streams(), st.data(), SEEDS)
def test_both_implementations_agree(stream: EventStream, data: st.DataObject, seed: int) -> None:
    thresholds = gammas(len(stream.client_ids))
    method = AsyncLinTS(
        gamma_upload=data.draw(thresholds),
        gamma_download=data.draw(thresholds),
        v=data.draw(st.sampled_from([0.0, 0.3, 2.0, "theory"])),
        ridge=data.draw(st.sampled_from([0.05, 0.2, 1.0])),
        sigma=data.draw(st.sampled_from([0.1, 1.0])),
        delta=data.draw(st.sampled_from([0.01, 0.1])),
        welcome=data.draw(st.booleans()),
    )
    assert_same_trace(replay(method, stream, seed), replay(method.literal(), stream, seed))


@pytest.mark.parametrize(
    ("upload", "download"),
    [(1.3, math.inf), (1.05, 40.0), (20.0, 1.2), ((1.1, 5.0, math.inf, 1.0), (2.0, 1.0, 9.0, math.inf))],
)
def test_observations_are_counted_in_slots_and_private_states(upload: Any, download: Any) -> None:
    method = AsyncLinTS(gamma_upload=upload, gamma_download=download, v="theory", sigma=1.0)
    assert_same_trace(replay(method, LONG, 2), replay(method.literal(), LONG, 2))


@given(streams(max_steps=150), st.sampled_from([1.0, 1.2, 4.0, math.inf]), st.booleans(), SEEDS)
def test_without_randomness_it_is_async_linucb_without_exploration(
    stream: EventStream, gamma: float, welcome: bool, seed: int
) -> None:
    sampled = replay(AsyncLinTS(gamma=gamma, v=0, welcome=welcome), stream, seed)
    assert_same_trace(sampled, replay(AsyncLinUCB(gamma=gamma, alpha=0, welcome=welcome), stream, seed))


@given(streams(max_steps=150), st.sampled_from([1.0, 1.2, 4.0]), SEEDS)
def test_the_exchange_is_that_of_async_linucb_where_all_arms_are_the_same(
    stream: EventStream, gamma: float, seed: int
) -> None:
    same_arm = EventStream(
        items=stream.items,
        clients=stream.clients,
        pools=np.repeat(stream.pools[:, :1], 3, axis=1),
        rewards=np.repeat(stream.rewards[:, :1], 3, axis=1),
        noise=stream.noise,
    )
    assert_same_trace(replay(AsyncLinTS(gamma=gamma), same_arm, seed), replay(AsyncLinUCB(gamma=gamma), same_arm, seed))


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


@pytest.mark.parametrize(
    ("parameters", "line"),
    [
        ({"v": "lots"}, "v must be a finite number from 0, or \"theory\", got 'lots'"),
        ({"v": -0.1}, 'v must be a finite number from 0, or "theory", got -0.1'),
        ({"v": math.inf}, 'v must be a finite number from 0, or "theory", got inf'),
        ({"v": True}, 'v must be a finite number from 0, or "theory", got True'),
        ({"ridge": 0}, "ridge must be a number above 0 (from 1e-50 to 1e+50), got 0"),
        ({"sigma": -1}, "sigma must be a finite number from 0, got -1"),
        ({"delta": 1.0}, "delta must be a number above 0 and below 1, got 1.0"),
        ({"gamma": 0.5}, "gamma must be a number from 1 to inf, got 0.5"),
        ({"gamma": None}, "gamma_upload is missing; give either gamma, or both gamma_upload and gamma_download"),
        ({"welcome": 1}, "welcome must be True or False, got 1"),
    ],
)
def test_an_invalid_value_is_refused(parameters: dict[str, Any], line: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(line)}$"):
        AsyncLinTS(**{"gamma": 2.0, **parameters})
