"""Any class with `choose` and `learn` is replayed and counted like the built-in methods."""

import threading
from pathlib import Path

import numpy as np
import pytest

from algorithms import Transfers
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
        (
            Scripted(transfers=Transfers(uploads=[0], empty_uploads=[1])),
            "empty_uploads must be some of uploads, got client 1",
        ),
        (
            object(),
            "method must be a built-in method, or an object with the functions choose and learn, or client and server, "
            "got ",
        ),
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


class TellsAll(Scripted):
    """At each step the actor uploads, the others answer without data, and everybody downloads twice."""

    def start(self, client_ids: np.ndarray, dimension: int) -> None:
        self.clients = client_ids.tolist()

    def learn(self, client: int, context: np.ndarray, reward: float) -> Transfers:
        others = [other for other in self.clients if other != client]
        return Transfers(self.clients, self.clients * 2, empty_uploads=others)


def test_needed_are_uploads_with_data_and_one_download_before_each_further_decision(stream: EventStream) -> None:
    trace = replay(TellsAll(), stream)
    decisions, clients = np.bincount(stream.client_numbers), len(stream.client_ids)
    first = np.array([np.flatnonzero(stream.client_numbers == client)[0] for client in range(clients)])
    assert trace.communication == 3 * clients * stream.steps
    assert (trace.needed_up == 1).all()
    assert trace.needed_down.tolist() == [0] + [1] * (stream.steps - 1)  # nothing is sent before the first decision
    np.testing.assert_array_equal(trace.client_needed_up, decisions)
    np.testing.assert_array_equal(trace.client_needed_down, decisions - (first == 0))
    assert trace.needed_numbers_down.sum() == trace.client_needed_numbers_down.sum() == 14 * trace.needed_down.sum()
    assert trace.needed_numbers_up.sum() == trace.client_needed_numbers_up.sum() == 14 * stream.steps


def test_uploads_that_a_class_declares_without_further_notice_are_all_needed(stream: EventStream) -> None:
    trace = replay(Scripted(transfers=Transfers(uploads=[0, 1, 1])), stream)
    np.testing.assert_array_equal(trace.needed_up, trace.uploads)
    np.testing.assert_array_equal(trace.client_needed_up, trace.client_uploads)
    assert trace.needed == trace.communication
