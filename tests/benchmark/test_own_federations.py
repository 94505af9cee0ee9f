"""A user's clients and server: accepted wherever plain classes are, measured, and checked message by message."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from algorithms import AsyncLinUCB, Message, pack, unpack
from algorithms.registry import built_in_methods
from benchmark.board.entries import make_entry
from benchmark.execution.local import LocalExecutor
from benchmark.execution.replay import replay
from benchmark.execution.run_result import run_method
from benchmark.plan.method_names import declared_by, is_measured, make_method, parse_filter
from benchmark.protocol import load_protocol
from benchmark.recommend.recommend import contenders
from data_pipelines import simulate
from tests.benchmark.tiny_sweeps import sweep, write_tiny
from tests.readme import example_file

OWN = f"{__name__}:Federated"
SMALL: dict[str, Any] = {"steps": 60, "clients": 4, "arms": 4, "dimension": 3}


class Federated:
    """Clients that upload two numbers after each step, and a server that answers; options replace messages."""

    def __init__(self, bad: str = "") -> None:
        self.bad = bad

    def client(self, number: int, problem: Any) -> "Client":
        return Client(BAD.get(self.bad, {}).get("client", lambda: [Message("upload", np.ones(2), 1)]))

    def server(self, problem: Any) -> "Server":
        return Server(BAD.get(self.bad, {}).get("server", lambda client: [(client, Message("download", np.ones(3)))]))


class Client:
    def __init__(self, send: Callable[[], Any]) -> None:
        self.send = send

    def arrive(self) -> list[Message]:
        return []

    def choose(self, contexts: Any, rng: Any) -> int:
        return 0

    def learn(self, context: Any, reward: float) -> Any:
        return self.send()

    def receive(self, message: Message) -> list[Message]:
        message.values[:] = 7.0  # a copy: the sender does not notice
        return []


class Server:
    def __init__(self, answer: Callable[[int], Any]) -> None:
        self.answer = answer

    def begin_step(self, step: int) -> list[tuple[int, Message]]:
        return []

    def end_step(self, step: int) -> list[tuple[int, Message]]:
        return []

    def receive(self, client: int, message: Message) -> Any:
        return self.answer(client)


BAD: dict[str, dict[str, Callable[..., Any]]] = {
    "list": {"client": lambda: [Message("upload", [1.0])]},  # type: ignore[arg-type]
    "integers": {"client": lambda: [Message("upload", np.ones(2, dtype=int))]},
    "matrix": {"client": lambda: [Message("upload", np.ones((2, 2)))]},
    "nan": {"client": lambda: [Message("upload", np.array([1.0, np.nan]))]},
    "count": {"client": lambda: [Message("upload", np.ones(2), 0.5)]},  # type: ignore[arg-type]
    "text": {"client": lambda: ["upload"]},
    "array": {"client": lambda: [np.ones((40, 2))]},
    "kind": {"client": lambda: [Message(["upload"], np.ones(2))]},  # type: ignore[arg-type]
    "nothing": {"client": lambda: None},
    "single": {"client": lambda: Message("upload", np.ones(40))},
    "infinite": {"server": lambda client: [(client, Message("download", np.array([np.inf])))]},
    "stranger": {"server": lambda client: [(99, Message("download", np.ones(2)))]},
    "float": {"server": lambda client: [(float(client), Message("download", np.ones(2)))]},
    "clients": {"server": lambda client: [([client], Message("download", np.ones(2)))]},
    "alone": {"server": lambda client: [Message("download", np.ones(40))]},
    "none": {"server": lambda client: None},
}
LINES = {
    "list": "the values of message 'upload' must be a flat float64 array, got list",
    "integers": "the values of message 'upload' must be a flat float64 array, got int64 of shape (2,)",
    "matrix": "the values of message 'upload' must be a flat float64 array, got float64 of shape (2, 2)",
    "nan": "the values of message 'upload' must be finite, got nan",
    "count": "the count of message 'upload' must be an integer, got 0.5",
    "text": "a message must be a Message, got 'upload'",
    "array": "a message must be a Message, got array(",
    "kind": "the kind of a message must be a text, got ['upload']",
    "nothing": "a client must return a list of messages, which may be empty, got None",
    "single": "a client must return a list of messages, which may be empty, got Message(",
    "infinite": "the values of message 'download' must be finite, got inf",
    "stranger": "the server must only send messages to clients that have joined, got client 99",
    "float": "the server must only send messages to clients that have joined, got client ",
    "clients": "the server must only send messages to clients that have joined, got client [",
    "alone": "the server must return pairs of a client and a message, got Message(",
    "none": "the server must return a list of messages, which may be empty, got None",
}


def test_messages_are_measured():
    trace = replay(make_method(OWN, {}), simulate(seed=0, **SMALL), 0)
    assert (trace.uploads.sum(), trace.numbers_up.sum()) == (60, 120)
    assert (trace.downloads.sum(), trace.numbers_down.sum()) == (60, 180)
    assert trace.needed_down.sum() == 60 - 4  # each client's last download is never used


@pytest.mark.parametrize("bad", BAD)
def test_a_bad_message_fails_its_run_with_one_line(bad: str):
    result = run_method(simulate(seed=0, **SMALL), Federated(bad), 0)  # type: ignore[arg-type]
    assert result.error.startswith(f"ValueError: {LINES[bad]}")
    assert "\n" not in result.error
    with pytest.raises(ValueError, match=re.escape(LINES[bad])) as error:
        replay(Federated(bad), simulate(seed=0, **SMALL), 0)
    assert "\n" not in str(error.value)


def test_statistics_are_packed_as_the_upper_triangle_and_a_wrong_number_of_values_is_refused():
    V, b = np.array([[4.0, 1.0], [1.0, 3.0]]), np.array([5.0, 6.0])
    assert pack(V, b).tolist() == [4, 1, 3, 5, 6]
    assert all(np.array_equal(*pair) for pair in zip(unpack(pack(V, b), 2), (V, b), strict=True))
    with pytest.raises(ValueError, match=r"^values must have 5 numbers for 2 features, got 4$"):
        unpack(np.ones(4), 2)


def test_a_run_that_fails_leaves_the_others_alone(tmp_path: Path, workers: LocalExecutor):
    own = parse_filter(f"{OWN}[bad=[matrix,stranger,fine]]")
    result = sweep(tmp_path, workers, write_tiny(tmp_path, seeds=1), methods=(own,))
    assert sorted(failure.name.split()[1] for failure in result.failed) == ["bad=matrix", "bad=stranger"]


def test_its_row_on_the_board_is_measured_and_a_recommendation_takes_it_by_name():
    made = make_entry(parse_filter(OWN), load_protocol(), 1.0)
    assert made.is_measured
    assert made.notes == ("without a front: its communication cannot be chosen",)
    assert not is_measured("tests.benchmark.epsilon_greedy:EpsilonGreedy")
    assert parse_filter(OWN) in contenders("async-linucb", [parse_filter(OWN)])
    assert declared_by(Federated).name == OWN


def test_a_class_without_these_functions_is_refused():
    with pytest.raises(ValueError, match=r"functions choose and learn, or client and server, got '.*:Server'"):
        parse_filter(f"{__name__}:Server")
    with pytest.raises(ValueError, match="choose and learn, or client and server"):
        declared_by(int)


@pytest.fixture
def of_the_page() -> Any:
    """The class of docs/own_method.md."""
    namespace: dict[str, Any] = {"__name__": "own_fedlinucb"}
    exec(compile(example_file("own_fedlinucb.py"), "own_method.md", "exec"), namespace)
    return namespace["OwnFedLinUCB"]


def test_the_example_of_the_page_is_fed_linucb(of_the_page: Any):
    stream = simulate(seed=1, steps=400, clients=5, arms=5, dimension=4)
    trace = replay(of_the_page(gamma=1.5), stream, 0)
    assert trace.uploads.sum() == trace.downloads.sum() > 10
    assert (trace.numbers_up == 14 * trace.uploads).all()
    never = replay(of_the_page(gamma=np.inf), stream, 0)
    assert never.communication == 0
    assert trace.regret.sum() < never.regret.sum()
    if "fed-linucb" in built_in_methods():
        built_in = replay(make_method("fed-linucb", {"gamma": 1.5}), stream, 0)
        assert np.array_equal(built_in.choices, trace.choices)
        assert np.array_equal(built_in.uploads, trace.uploads)
    alone = replay(AsyncLinUCB(gamma=np.inf), stream, 0)
    assert alone.regret.sum() < never.regret.sum()  # FedLinUCB does not use what it has not exchanged
