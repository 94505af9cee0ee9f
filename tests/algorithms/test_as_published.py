"""The peculiarities of the published script: the compiled version against the literal Async-LinUCB with them."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from algorithms import AsyncLinUCB, AsyncLinUCBAsPublished
from benchmark import EventStream
from benchmark.execution.replay import replay
from data_pipelines import simulate


@given(
    seed=st.integers(0, 1000),
    gamma=st.sampled_from([1.0, 1.01, 1.5, 3.0, 30.0, np.inf]),
    stale=st.booleans(),
    first=st.booleans(),
)
def test_both_implementations_make_the_same_choices_and_transfers(seed: int, gamma: float, stale: bool, first: bool):
    stream = simulate(steps=120, clients=6, arms=5, dimension=4, seed=seed)
    algorithm = AsyncLinUCBAsPublished(gamma=gamma, stale_models=stale, first_maximum=first)
    compiled, expected = replay(algorithm, stream, seed), replay(algorithm.literal(), stream, seed)
    for name in ("choices", "uploads", "downloads", "client_downloads"):
        np.testing.assert_array_equal(getattr(compiled, name), getattr(expected, name))


def test_without_its_peculiarities_it_is_async_linucb():
    stream = simulate(steps=2_000, clients=30, arms=8, dimension=6, seed=1)
    original, as_published = AsyncLinUCB(gamma=1.5), AsyncLinUCBAsPublished(gamma=1.5)
    np.testing.assert_array_equal(replay(original, stream, 1).choices, replay(as_published, stream, 1).choices)
    stale = AsyncLinUCBAsPublished(gamma=1.5, stale_models=True)
    assert (replay(original, stream, 1).choices != replay(stale, stream, 1).choices).any()


def test_if_all_arms_are_equal_the_first_maximum_is_always_the_first_arm():
    stream = simulate(steps=500, clients=5, arms=5, dimension=4, seed=2)
    stream_of_equal_arms = EventStream(
        items=stream.items,
        clients=stream.clients,
        pools=np.repeat(stream.pools[:, :1], 5, axis=1),
        rewards=np.repeat(stream.rewards[:, :1], 5, axis=1),
        noise=stream.noise,
    )
    first = replay(AsyncLinUCBAsPublished(gamma=3.0, first_maximum=True), stream_of_equal_arms, 0)
    assert not first.choices.any()
    random = replay(AsyncLinUCBAsPublished(gamma=3.0), stream_of_equal_arms, 0)
    assert len(np.unique(random.choices)) == 5


@pytest.mark.parametrize("name", ["stale_models", "first_maximum"])
def test_a_peculiarity_must_be_true_or_false(name: str):
    invalid: dict[str, Any] = {name: "yes"}
    with pytest.raises(ValueError, match=f"{name} must be true or false, got 'yes'"):
        AsyncLinUCBAsPublished(gamma=3.0, **invalid)
