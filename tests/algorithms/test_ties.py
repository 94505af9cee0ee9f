"""Ties are broken uniformly, depending only on (seed, step), and identically in both implementations."""

from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest

from algorithms import AsyncLinUCB, AsyncLinUCBAM, RandomChoice, SyncLinUCB
from algorithms.literal import literal
from algorithms.literal.async_linucb import AsyncLinUCBClient, AsyncLinUCBServer
from algorithms.messages import Message, Problem, for_purpose
from algorithms.numerics import random_numbers, ties
from algorithms.numerics.literal_statistics import minus
from algorithms.numerics.random_numbers import THOMPSON, StepRandom, generator_of_message, normals
from algorithms.numerics.ties import pick
from benchmark import EventStream
from benchmark.execution.replay import replay
from tests.algorithms.inspection import python_callable

pick_compiled, uniform = python_callable(ties.pick_compiled), python_callable(random_numbers.uniform)
fill_with_normals = python_callable(random_numbers.fill_with_normals)

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
            assert uniform(seed, step, 0) == generator.random() == StepRandom(seed).at(step).random()


def test_random_numbers_are_those_of_the_specification() -> None:
    step, message = StepRandom(7).at(3), generator_of_message(7, 3, 3, 4)
    assert uniform(7, 3, 0) == pytest.approx(0.439002230900, abs=1e-12)
    assert for_purpose(step, THOMPSON).random(6)[5] == pytest.approx(0.861788017172, abs=1e-12)
    assert message.random(6)[5] == pytest.approx(0.074568118584, abs=1e-12)
    expected = normals(for_purpose(step, THOMPSON), 7)
    assert expected[:2] == pytest.approx([-1.253105412567, 0.272166227596], abs=1e-12)
    compiled = np.zeros(7)
    fill_with_normals(compiled, 7, 3, THOMPSON, 0)
    np.testing.assert_allclose(compiled, expected, rtol=1e-14)


def test_the_generator_of_a_purpose_does_not_depend_on_draws_for_another() -> None:
    rng = StepRandom(7).at(3)
    before = for_purpose(rng, THOMPSON).random()
    rng.random(9)
    assert for_purpose(rng, THOMPSON).random() == before


def test_the_draw_of_a_step_does_not_depend_on_earlier_draws() -> None:
    random = StepRandom(3)
    random.at(0).random(1000)
    random.at(1).integers(7, size=3, dtype=np.uint32)
    assert random.at(2).random() == uniform(3, 2, 0)


def test_a_score_within_the_tolerance_is_a_tie_and_any_other_is_not() -> None:
    near = np.array([1.0, 1.0 - 1e-9, 0.5])
    far = np.array([1.0, 1.0 - 3e-9, 0.5])
    random = StepRandom(0)
    assert {pick(near, random.at(t)) for t in range(50)} == {0, 1}
    assert {pick(far, random.at(t)) for t in range(50)} == {0}
    for t in range(50):
        assert pick_compiled(near, 3, 0, t) == pick(near, random.at(t))
        assert pick_compiled(far, 3, 0, t) == 0


class ClientWithDistances(AsyncLinUCBClient):
    """Keeps how near the log-ratio of each upload was to its threshold, in units of its rounding error."""

    distances: ClassVar[list[float]] = []

    def communicate(self) -> list[Message]:
        ridge = self.ridge
        log_ratio = self.model.log_det(ridge) - minus(self.model, self.pending).log_det(ridge)
        rounding = np.finfo(float).eps * np.linalg.norm(self.model.V, 2) / ridge  # of the least eigenvalue, λ
        self.distances.append(abs(log_ratio - np.log(self.gamma_upload)) / rounding)
        return super().communicate()


class WithDistances(AsyncLinUCB, abstract=True):
    """Async-LinUCB with such clients."""

    def client(self, number: int, problem: Problem) -> ClientWithDistances:
        return ClientWithDistances(self, number, problem)

    def server(self, problem: Problem) -> AsyncLinUCBServer:
        return AsyncLinUCBServer(self, problem)


@pytest.mark.parametrize("gamma", [1.05, 1.3, 2.0])
@pytest.mark.parametrize("size", [100.0, 1_000.0, 10_000.0])
def test_implementations_differ_on_large_features_only_where_a_ratio_equals_its_threshold_up_to_rounding(
    gamma: float, size: float
) -> None:
    """Identical features make ratios of determinants nearly ratios of integers: 2, 21/20, 13/10.

    From a size of about 1e3 on, rounding moves a log-determinant by more than the tolerance of 1e-9: next to λ = 0.2
    the matrix has entries of 1e8, so that λ itself has only eight digits left. Then either decision is right.
    """
    few = identical_arms(1_400)
    stream = replace(few, items=few.items * size)
    ClientWithDistances.distances.clear()
    expected = replay(WithDistances(gamma=gamma).literal(), stream, 11)
    actual = replay(AsyncLinUCB(gamma=gamma), stream, 11)
    differing = np.flatnonzero((actual.uploads != expected.uploads) | (actual.choices != expected.choices))
    if size < 1_000:
        assert not len(differing)
    if len(differing):
        assert ClientWithDistances.distances[differing[0]] < 10
