"""Any class with `choose` and `learn` is replayed and counted like the built-in methods."""

import threading
from pathlib import Path

import numpy as np
import pytest

import algorithms.epsilon_greedy
from algorithms import RandomChoice, Transfers
from algorithms.epsilon_greedy import EpsilonGreedy
from benchmark import EventStream, replay
from data_pipelines import simulate


@pytest.fixture(scope="module")
def stream() -> EventStream:
    return simulate(seed=0, steps=600, clients=6, arms=5, dimension=4)


def test_the_worked_example_is_short_learns_and_is_counted(stream: EventStream) -> None:
    source = Path(algorithms.epsilon_greedy.__file__).read_text()
    assert len(source.splitlines()) <= 40
    learner = EpsilonGreedy(period=10)
    trace = replay(learner, stream, seed=3)
    exchanges = np.bincount(stream.client_numbers) // 10
    np.testing.assert_array_equal(trace.client_uploads, exchanges)
    np.testing.assert_array_equal(trace.client_downloads, exchanges)
    assert trace.communication == 2 * exchanges.sum()
    assert trace.regret.sum() < 0.5 * replay(RandomChoice(), stream, seed=3).regret.sum()


def test_replaying_leaves_the_learner_as_it_was_and_repeats(stream: EventStream) -> None:
    learner = EpsilonGreedy()
    first, second = replay(learner, stream, seed=3), replay(learner, stream, seed=3)
    np.testing.assert_array_equal(first.choices, second.choices)
    assert not hasattr(learner, "server")


class Scripted:
    """Answers as it is told."""

    def __init__(self, choice: object = 0, transfers: object = Transfers()) -> None:
        self.choice, self.transfers = choice, transfers

    def choose(self, client: int, contexts: np.ndarray, rng: np.random.Generator) -> object:
        return self.choice

    def learn(self, client: int, context: np.ndarray, reward: float) -> object:
        return self.transfers


@pytest.mark.parametrize(
    ("learner", "message"),
    [
        (Scripted(choice=5), "choose returned 5; allowed are positions in the pool, 0 to 4"),
        (Scripted(choice=-1), "choose returned -1; allowed are positions"),
        (Scripted(choice=None), "choose returned None; allowed are positions"),
        (Scripted(transfers=None), "learn returned None; allowed is a Transfers"),
        (
            Scripted(transfers=Transfers(uploads=[77])),
            "learn reported a transfer of client 77; allowed are the clients",
        ),
        (object(), "allowed are built-in algorithms and objects with choose and learn"),
    ],
)
def test_a_learner_that_misbehaves_is_told_so_in_one_line(stream: EventStream, learner: object, message: str) -> None:
    with pytest.raises(ValueError, match=message) as error:
        replay(learner, stream)
    assert "\n" not in str(error.value)


def test_a_learner_that_cannot_be_copied_runs_as_it_is(stream: EventStream) -> None:
    learner = Scripted(choice=1)
    learner.lock = threading.Lock()
    assert (replay(learner, stream).choices == 1).all()


def test_rewards_are_what_was_observed_and_regret_is_of_expectations(stream: EventStream) -> None:
    trace = replay(Scripted(choice=2), stream)
    np.testing.assert_array_equal(trace.rewards, stream.rewards[:, 2] + stream.noise)
    np.testing.assert_array_equal(trace.regret, stream.rewards.max(axis=1) - stream.rewards[:, 2])
    totals = [trace.rewards[stream.client_numbers == client].sum() for client in range(len(stream.client_ids))]
    np.testing.assert_allclose(trace.client_rewards, totals)


def test_scalars_moved_follow_the_dimension_of_what_is_transferred(stream: EventStream) -> None:
    learner = Scripted(transfers=Transfers(uploads=[0], downloads=[0, 1]))
    trace = replay(learner, stream)
    assert trace.communication == 3 * stream.steps
    assert trace.scalars_moved == 3 * stream.steps * (16 + 4)
    assert trace.scalars_moved_symmetric == 3 * stream.steps * (10 + 4)
