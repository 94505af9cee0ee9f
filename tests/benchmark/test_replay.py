"""Any class with `choose` and `learn` is replayed and counted like the built-in methods."""

import threading
from pathlib import Path

import numpy as np
import pytest

from algorithms import RandomChoice, Transfers
from benchmark import EventStream
from benchmark.execution.replay import replay
from data_pipelines import simulate
from tests.benchmark import epsilon_greedy
from tests.benchmark.epsilon_greedy import EpsilonGreedy


@pytest.fixture(scope="module")
def stream() -> EventStream:
    return simulate(seed=0, steps=600, clients=6, arms=5, dimension=4)


def test_the_example_is_at_most_40_lines_long() -> None:
    source = Path(epsilon_greedy.__file__).read_text()
    assert len(source.splitlines()) <= 40


def test_the_example_has_less_than_half_the_regret_of_random_choice(stream: EventStream) -> None:
    regret = replay(EpsilonGreedy(period=10), stream, seed=3).regret.sum()
    assert regret < 0.5 * replay(RandomChoice(), stream, seed=3).regret.sum()


def test_the_transfers_of_the_example_are_counted_per_client(stream: EventStream) -> None:
    trace = replay(EpsilonGreedy(period=10), stream, seed=3)
    exchanges = np.bincount(stream.client_numbers) // 10
    np.testing.assert_array_equal(trace.client_uploads, exchanges)
    np.testing.assert_array_equal(trace.client_downloads, exchanges)
    assert trace.communication == 2 * exchanges.sum()


def test_replay_does_not_change_the_learner_and_is_repeatable(stream: EventStream) -> None:
    learner = EpsilonGreedy()
    first, second = replay(learner, stream, seed=3), replay(learner, stream, seed=3)
    np.testing.assert_array_equal(first.choices, second.choices)
    assert not hasattr(learner, "server")


class Scripted:
    """Returns the given values."""

    def __init__(self, choice: object = 0, transfers: object = Transfers()) -> None:
        self.choice, self.transfers = choice, transfers

    def choose(self, client: int, contexts: np.ndarray, rng: np.random.Generator) -> object:
        return self.choice

    def learn(self, client: int, context: np.ndarray, reward: float) -> object:
        return self.transfers


@pytest.mark.parametrize(
    ("learner", "message"),
    [
        (Scripted(choice=5), "choose must return the index of an arm from 0 to 4, got 5"),
        (Scripted(choice=-1), "choose must return the index of an arm from 0 to 4, got -1"),
        (Scripted(choice=None), "choose must return the index of an arm from 0 to 4, got None"),
        (Scripted(transfers=None), "learn must return a Transfers object, got None"),
        (
            Scripted(transfers=Transfers(uploads=[77])),
            "learn must only report transfers of clients of the stream, got client 77",
        ),
        (object(), "method must be a built-in method or an object with the functions choose and learn, got "),
    ],
)
def test_invalid_return_values_of_a_learner_give_one_line(stream: EventStream, learner: object, message: str) -> None:
    with pytest.raises(ValueError, match=message) as error:
        replay(learner, stream)
    assert "\n" not in str(error.value)


def test_a_learner_that_cannot_be_copied_is_used_directly(stream: EventStream) -> None:
    learner = Scripted(choice=1)
    learner.lock = threading.Lock()
    assert (replay(learner, stream).choices == 1).all()


def test_rewards_are_observed_values_and_regret_is_of_expected_values(stream: EventStream) -> None:
    trace = replay(Scripted(choice=2), stream)
    np.testing.assert_array_equal(trace.rewards, stream.rewards[:, 2] + stream.noise)
    np.testing.assert_array_equal(trace.regret, stream.rewards.max(axis=1) - stream.rewards[:, 2])
    totals = [trace.rewards[stream.client_numbers == client].sum() for client in range(len(stream.client_ids))]
    np.testing.assert_allclose(trace.client_rewards, totals)


def test_a_transfer_moves_the_upper_triangle_of_a_matrix_and_a_vector(stream: EventStream) -> None:
    learner = Scripted(transfers=Transfers(uploads=[0], downloads=[0, 1]))
    trace = replay(learner, stream)
    assert trace.communication == 3 * stream.steps
    numbers = np.triu_indices(4)[0].size + 4
    assert trace.numbers_up.tolist() == [numbers] * stream.steps
    assert trace.numbers_down.tolist() == [2 * numbers] * stream.steps
    assert trace.client_numbers_up[:2].tolist() == [stream.steps * numbers, 0]
    assert trace.client_numbers_down[:2].tolist() == [stream.steps * numbers] * 2


def test_a_class_can_declare_the_dimension_of_its_transfers(stream: EventStream) -> None:
    learner = Scripted(transfers=Transfers(uploads=[0]))
    learner.transfer_dim = 2
    assert replay(learner, stream).numbers_up.tolist() == [3 + 2] * stream.steps
