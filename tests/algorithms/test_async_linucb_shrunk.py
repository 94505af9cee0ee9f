"""Async-LinUCB-Shrunk: between learning alone and sharing everything."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from algorithms import AsyncLinUCB, AsyncLinUCBShrunk
from algorithms.numerics.elimination import eliminate, new_system, solve, squared_width
from algorithms.numerics.references import reference
from benchmark import EventStream
from benchmark.execution.replay import replay
from tests.algorithms.inspection import assert_same_trace, python_callable
from tests.streams import streams, thresholds

SEEDS = st.integers(0, 2**63 - 1)
ENORMOUS = 1e50
"""As the pull, it leaves no weight to a client's own data; as the ridge, none to shared data."""


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
