"""A federated method: a client and a server, two classes that share no memory and exchange messages.

A method has `client(number, problem)` and `server(problem)`. A harness carries their messages and counts them; on a
device and a server, the same two classes can talk over a network.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Message:
    """What a client sends to the server, or the server to a client.

    Attributes:
        kind: its meaning for the receiver, such as "join", "upload", "download" or "poll".
        values: a flat array of what is sent; its size is what is counted, so a message without values is free.
        count: a free whole number; with statistics, how many observations they hold.
    """

    kind: str
    values: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    count: int = 0


@dataclass(frozen=True)
class Problem:
    """What clients and server know about a run: the number of features, arms, steps and clients, and the seed."""

    dimension: int
    arms: int
    steps: int
    clients: int
    seed: int


class Client(Protocol):
    """One client. It does not know the number of the step. It may have an attribute `unsettled`, read after `learn`."""

    def arrive(self) -> Sequence[Message]:
        """Return messages before a decision: "join" at the first one, then "ask" where a method needs an answer."""

    def choose(self, contexts: Any, rng: np.random.Generator) -> int:
        """Return the index of the chosen row of `contexts` (K, d). `rng` depends on seed and step only."""

    def learn(self, context: Any, reward: float) -> Sequence[Message]:
        """Learn from the reward of the chosen row."""

    def receive(self, message: Message) -> Sequence[Message]:
        """Receive a message of the server; return the answers."""


class Server(Protocol):
    """The server. Clients are numbers from 0; it learns of a client from its first message."""

    def begin_step(self, step: int) -> Sequence[tuple[int, Message]]:
        """Return messages that a schedule sends before a step, each with its client; usually none."""

    def end_step(self, step: int) -> Sequence[tuple[int, Message]]:
        """Return messages that a schedule sends after a step, each with its client; usually none."""

    def receive(self, client: int, message: Message) -> Sequence[tuple[int, Message]]:
        """Receive a message of a client; return messages to any clients."""


class Federated(Protocol):
    """A method that consists of clients and a server."""

    def client(self, number: int, problem: Problem) -> Client:
        """Return a new client; `number` is its position among the clients of the stream."""

    def server(self, problem: Problem) -> Server:
        """Return the server."""


@lru_cache(maxsize=8)
def _upper_triangle(dimension: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    return np.triu_indices(dimension)


def numbers_in_statistics(dimension: int) -> int:
    """Return the size of {V, b}: the upper triangle of V, and b."""
    return dimension * (dimension + 1) // 2 + dimension


def pack(V: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the values of a message with {V, b}: the upper triangle of V, row by row, then b."""
    return np.concatenate([V[_upper_triangle(len(b))], b])


def unpack(values: NDArray[np.float64], dimension: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return {V, b} from the values of a message."""
    if values.size != (size := numbers_in_statistics(dimension)):
        raise ValueError(f"values must have {size} numbers for {dimension} features, got {values.size}")
    triangle = _upper_triangle(dimension)
    V = np.zeros((dimension, dimension))
    V[triangle] = V.T[triangle] = values[:-dimension]
    return V, values[-dimension:].copy()


def for_purpose(rng: np.random.Generator, purpose: int) -> np.random.Generator:
    """Return the generator of another purpose of the step that `rng` belongs to; 0 is that of `rng` itself."""
    state: Any = rng.bit_generator.state["state"]
    counter = [0, int(state["counter"][1]), purpose, 0]
    return np.random.Generator(np.random.Philox(key=state["key"], counter=counter))
