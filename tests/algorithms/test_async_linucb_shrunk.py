"""Async-LinUCB-Shrunk: between learning alone and sharing everything."""

import math
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from algorithms import AsyncLinUCB, AsyncLinUCBShrunk
from algorithms.numerics.elimination import eliminate, new_system, solve, squared_width
from algorithms.numerics.references import reference
from benchmark import EventStream
from benchmark.execution.replay import replay
from data_pipelines import simulate
from tests.algorithms.inspection import assert_same_trace, python_callable
from tests.streams import gammas, streams, thresholds

SEEDS = st.integers(0, 2**63 - 1)
ENORMOUS = 1e50
"""As the pull, it leaves no weight to a client's own data; as the ridge, none to shared data."""


@given(streams(), st.data(), SEEDS)
def test_both_implementations_agree(stream: EventStream, data: st.DataObject, seed: int) -> None:
    per_client = gammas(len(stream.client_ids))
    method = AsyncLinUCBShrunk(
        gamma_upload=data.draw(per_client),
        gamma_download=data.draw(per_client),
        pull=data.draw(st.sampled_from([0.05, 1.0, 80.0])),
        alpha=data.draw(st.sampled_from([0.0, 0.3, 2.0])),
        ridge=data.draw(st.sampled_from([0.05, 0.2, 1.0])),
        welcome=data.draw(st.booleans()),
    )
    assert_same_trace(replay(method, stream, seed), replay(method.literal(), stream, seed))


@pytest.mark.parametrize("dimension", [6, 25])
def test_they_agree_on_a_longer_stream_whose_clients_keep_sums_instead_of_rows(dimension: int) -> None:
    stream = simulate(seed=5, steps=1000, clients=4, arms=5, dimension=dimension)
    for upload, download in ((1.3, math.inf), (1.05, 40.0), (20.0, 1.2), ((1.1, 5.0, math.inf, 1.0), 2.0)):
        method = AsyncLinUCBShrunk(gamma_upload=upload, gamma_download=download)
        assert_same_trace(replay(method, stream, 2), replay(method.literal(), stream, 2))


@given(streams(max_steps=150), thresholds, st.booleans(), SEEDS)
def test_a_pull_without_end_is_async_linucb_without_exploration(
    stream: EventStream, gamma: float, welcome: bool, seed: int
) -> None:
    shrunk = replay(AsyncLinUCBShrunk(gamma=gamma, pull=ENORMOUS, welcome=welcome), stream, seed)
    assert_same_trace(shrunk, replay(AsyncLinUCB(gamma=gamma, alpha=0, welcome=welcome), stream, seed))


@given(streams(max_steps=150), thresholds, st.sampled_from([0.05, 0.2, 4.0]), SEEDS)
def test_towards_zero_it_is_independent_linucb_with_the_pull_as_ridge(
    stream: EventStream, gamma: float, pull: float, seed: int
) -> None:
    shrunk = replay(AsyncLinUCBShrunk(gamma=gamma, pull=pull, ridge=ENORMOUS), stream, seed)
    alone = replay(AsyncLinUCB(gamma=math.inf, ridge=pull), stream, seed)
    np.testing.assert_array_equal(shrunk.choices, alone.choices)


@given(streams(max_steps=150), thresholds, SEEDS)
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
    shrunk, plain = (replay(method(gamma=gamma), same_arm, seed) for method in (AsyncLinUCBShrunk, AsyncLinUCB))
    assert_same_trace(shrunk, plain)


@pytest.mark.parametrize("d", [1, 2, 7, 25])
def test_a_reduced_system_gives_the_solution_and_the_width_of_any_vector(d: int) -> None:
    rng = np.random.default_rng(d)
    X, b, x, ridge = rng.standard_normal((d + 2, d)), rng.standard_normal(d), rng.standard_normal(d), 0.3
    system, h = new_system(d, 0), np.zeros(d)
    system.rows[:, :d], system.rows[:, d] = X.T @ X, b
    state = reference(system)
    python_callable(eliminate)(state, d, 0, ridge)
    python_callable(solve)(state, h)
    inverse = np.linalg.inv(X.T @ X + ridge * np.eye(d))
    np.testing.assert_allclose(h, inverse @ b, rtol=1e-9)
    np.testing.assert_allclose(python_callable(squared_width)(state, x, np.zeros(d)), x @ inverse @ x, rtol=1e-9)


@pytest.mark.parametrize(
    ("parameters", "line"),
    [
        ({"pull": 0}, "pull must be a number above 0 (from 1e-50 to 1e+50), got 0"),
        ({"pull": math.inf}, "pull must be a number above 0 (from 1e-50 to 1e+50), got inf"),
        ({"pull": "strong"}, "pull must be a number above 0 (from 1e-50 to 1e+50), got 'strong'"),
        ({"ridge": -1}, "ridge must be a number above 0 (from 1e-50 to 1e+50), got -1"),
        ({"alpha": "theory"}, "alpha must be a finite number from 0, got 'theory'"),
        ({"alpha": math.nan}, "alpha must be a finite number from 0, got nan"),
        ({"gamma": 0.5}, "gamma must be a number from 1 to inf, got 0.5"),
        ({"gamma": None}, "gamma_upload is missing; give either gamma, or both gamma_upload and gamma_download"),
        ({"welcome": "yes"}, "welcome must be True or False, got 'yes'"),
    ],
)
def test_an_invalid_value_is_refused(parameters: dict[str, Any], line: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(line)}$"):
        AsyncLinUCBShrunk(**{"gamma": 2.0, **parameters})
