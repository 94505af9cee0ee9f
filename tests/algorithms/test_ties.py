"""Ties are broken uniformly, depending only on (seed, step), and identically in both implementations."""

import numpy as np
import pytest

from algorithms import AsyncLinUCB, AsyncLinUCBAM, RandomChoice, SyncLinUCB
from algorithms.literal import literal
from algorithms.numerics import ties
from algorithms.numerics.ties import StepRandom, pick
from benchmark import EventStream
from benchmark.execution.replay import replay
from tests.algorithms.inspection import python_callable

pick_compiled, uniform = python_callable(ties.pick_compiled), python_callable(ties.uniform)

ARMS = 7
CHI_SQUARE_999 = 22.46  # 6 degrees of freedom


def identical_arms(steps: int) -> EventStream:
    items = np.full((3, 2), 0.5)
    rng = np.random.default_rng(0)
    pools = rng.integers(3, size=(steps, ARMS))
    return EventStream(
        items=items,
        clients=rng.integers(5, size=steps),
        pools=pools,
        rewards=np.ones((steps, ARMS)),
        noise=np.zeros(steps),
    )


@pytest.mark.parametrize(
    "algorithm",
    [AsyncLinUCB(gamma=2), AsyncLinUCBAM(gamma=2), SyncLinUCB(threshold=1), RandomChoice()],
    ids=lambda algorithm: algorithm.name,
)
def test_identical_arms_are_chosen_equally_often(algorithm: AsyncLinUCB) -> None:
    for implementation, steps in ((algorithm, 20_000), (literal(algorithm), 1_400)):
        counts = np.bincount(replay(implementation, identical_arms(steps), seed=11).choices, minlength=ARMS)
        expected = steps / ARMS
        assert ((counts - expected) ** 2 / expected).sum() < CHI_SQUARE_999


def test_the_compiled_generator_is_numpys_philox() -> None:
    for seed in (0, 1, 12345, 2**63 - 1):
        for step in (0, 1, 77, 10**7):
            generator = np.random.Generator(np.random.Philox(key=seed, counter=[0, step, 0, 0]))
            assert uniform(seed, step) == generator.random() == StepRandom(seed).at(step).random()


def test_the_draw_of_a_step_does_not_depend_on_earlier_draws() -> None:
    random = StepRandom(3)
    random.at(0).random(1000)
    random.at(1).integers(7, size=3, dtype=np.uint32)
    assert random.at(2).random() == uniform(3, 2)


def test_a_score_within_the_tolerance_is_a_tie_and_any_other_is_not() -> None:
    near = np.array([1.0, 1.0 - 1e-9, 0.5])
    far = np.array([1.0, 1.0 - 3e-9, 0.5])
    random = StepRandom(0)
    assert {pick(near, random.at(t)) for t in range(50)} == {0, 1}
    assert {pick(far, random.at(t)) for t in range(50)} == {0}
    for t in range(50):
        assert pick_compiled(near, 3, 0, t) == pick(near, random.at(t))
        assert pick_compiled(far, 3, 0, t) == 0
