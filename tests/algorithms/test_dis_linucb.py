"""DisLinUCB is Sync-LinUCB with the clock of the rounds, in both implementations; the order of their messages."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from algorithms import DisLinUCB, Message, Problem, SyncLinUCB
from benchmark import EventStream
from benchmark.execution.replay import replay
from tests.algorithms.inspection import assert_same_trace
from tests.streams import confidences, streams


@given(
    streams(),
    confidences,
    st.sampled_from([0.0, 0.01, 0.5, 3.0, 40.0, np.inf]),
    st.booleans(),
    st.integers(0, 2**63 - 1),
)
def test_it_is_sync_linucb_with_the_clock_of_the_rounds(
    stream: EventStream, confidence: dict[str, Any], threshold: float, welcome: bool, seed: int
) -> None:
    values = {"threshold": threshold, "welcome": welcome, **confidence}
    trace = replay(DisLinUCB(**values), stream, seed)
    assert_same_trace(trace, replay(SyncLinUCB(clock="rounds", **values), stream, seed))
    assert_same_trace(trace, replay(DisLinUCB(**values).literal(), stream, seed))


PROBLEM = Problem(dimension=2, arms=3, steps=10, clients=4, seed=0)


def described(messages: Sequence[tuple[int, Message]]) -> list[tuple[int, str, int, int]]:
    """Return receiver, kind, size and count of messages."""
    return [(client, message.kind, message.values.size, message.count) for client, message in messages]


def test_a_client_joins_before_it_asks_and_asks_before_every_decision() -> None:
    client = DisLinUCB(threshold=2).client(1, PROBLEM)
    assert [message.kind for message in client.arrive()] == ["join", "ask"]
    assert [message.kind for message in client.arrive()] == ["ask"]
    client = SyncLinUCB(threshold=2).client(1, PROBLEM)
    assert [message.kind for message in client.arrive()] == ["join"]
    assert client.arrive() == []


def test_clients_are_polled_in_the_order_in_which_they_joined_and_download_after_the_last_answer() -> None:
    server, size = DisLinUCB(threshold=2, welcome=True).server(PROBLEM), 5
    for step, client in enumerate((3, 0)):
        server.begin_step(step)
        assert server.receive(client, Message("join")) == []  # no welcome: there are no data
        answer = described(server.receive(client, Message("ask")))
        assert answer == [(client, "steps", 0, step + 1), (client, "known", 0, step + 1)]
    assert described(server.receive(0, Message("request"))) == [(3, "poll", 0, 0), (0, "poll", 0, 0)]
    assert server.receive(3, Message("upload", np.ones(size), 1)) == []
    downloads = described(server.receive(0, Message("upload", np.zeros(size))))
    assert downloads == [(3, "download", size, 1), (0, "download", size, 1)]
    server.begin_step(2)
    assert described(server.receive(1, Message("join"))) == [(1, "download", size, 1)]
    assert described(server.receive(1, Message("ask"))) == [(1, "steps", 0, 1), (1, "known", 0, 3)]


@pytest.mark.parametrize("option", ["clock", "charge", "patience"])
def test_the_options_of_sync_linucb_are_not_its_own(option: str) -> None:
    with pytest.raises(TypeError, match=option):
        DisLinUCB(**{"threshold": 2, option: "own"})
