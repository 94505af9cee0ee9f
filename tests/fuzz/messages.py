"""Messages: `pack` and `unpack`, and what clients and servers of a user's class may hand over."""

import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from algorithms.messages import Message, numbers_in_statistics, pack, unpack
from benchmark.execution.federation import SERVER, Federation
from data_pipelines import simulate
from tests.fuzz.target import Target, require, require_one_line

STREAM = simulate(seed=0, steps=4, clients=2, arms=3, dimension=2)
VALUES: Sequence[Callable[[random.Random], Any]] = (
    lambda draw: np.array([draw.uniform(-9, 9) for _ in range(draw.randrange(6))]),
    lambda draw: np.zeros(draw.randrange(4)),
    lambda draw: np.array([1.0, draw.choice((np.nan, np.inf, -np.inf, 1e308))]),
    lambda draw: np.zeros((draw.randrange(3), 2)),
    lambda draw: np.arange(3).astype(draw.choice(("int64", "float32", "complex128", "object", "bool"))),
    lambda draw: draw.choice((None, "text\n\x1b[2J", b"x", [1.0], 5, {}, object())),
)
KINDS = ("upload", "", "x" * 5000, "\n\x1b[2J", None, 5, b"x")
COUNTS: tuple[Any, ...] = (0, 1, -1, 2**80, np.int64(3), 1.5, None, True, "1")
CHOICES: tuple[Any, ...] = (0, 2, 3, -1, 1.0, None, "0", np.int32(1), [0], True, float("nan"))
ANSWERS: tuple[Any, ...] = (None, 5, "text", [5], [None], [(0,)], [(7, Message("x"))], [("0", Message("x"))], {})


class Hostile:
    """A federated method whose client and server hand over what a random generator draws."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.sent: list[Any] = []

    def client(self, number: int, problem: Any) -> "Hostile":
        return self

    def server(self, problem: Any) -> "Hostile":
        return self

    def _message(self) -> Any:
        usual = self.draw.random() < 0.7
        values = (VALUES[0] if usual else self.draw.choice(VALUES))(self.draw)
        kind, count = ("upload", 1) if usual else (self.draw.choice(KINDS), self.draw.choice(COUNTS))
        self.sent.append(message := Message(kind, values, count))  # type: ignore[arg-type]
        return message

    def arrive(self) -> Any:
        if self.draw.random() < 0.05:
            return self.draw.choice(ANSWERS)
        return [self._message() for _ in range(self.draw.randrange(3))]

    def choose(self, contexts: Any, rng: Any) -> Any:
        return self.draw.choice(CHOICES) if self.draw.random() < 0.05 else 0

    def learn(self, context: Any, reward: float) -> Any:
        return self.arrive()

    def begin_step(self, step: int) -> Any:
        return self.draw.choice(ANSWERS) if self.draw.random() < 0.05 else []

    end_step = begin_step

    def receive(self, *arguments: Any) -> Any:
        return []


def make(draw: random.Random) -> bytes:
    return bytes([draw.randrange(1, 6)]) + draw.randbytes(draw.choice((0, 8, 16, 24, 40, 72, 160, draw.randrange(200))))


def check(content: bytes) -> bool:
    """Unpack the bytes as statistics, and use them as the seed of a hostile method."""
    dimension, values = content[0] % 8 or 1, np.frombuffer(content[1 : 1 + len(content[1:]) // 8 * 8])
    try:
        V, b = unpack(values, dimension)
    except ValueError as error:
        require_one_line(error, "values must have ")
        require(values.size != numbers_in_statistics(dimension), "values of the right size are refused")
    else:
        require(values.size == numbers_in_statistics(dimension), "values of a wrong size")
        np.testing.assert_array_equal(pack(V, b), values)
        np.testing.assert_array_equal(V, V.T)
    method = Hostile(int.from_bytes(content, "little"))
    run: Federation = Federation(method, STREAM, 0)  # type: ignore[arg-type]
    try:
        for step in range(STREAM.steps):
            run.advance(step)
        trace = run.trace()
    except ValueError as error:
        require_one_line(error)
        return False
    sizes = [message.values.size for message in method.sent]
    require(all(np.isfinite(message.values).all() for message in method.sent), "values that are not finite")
    require(int(run.by_step.numbers_up.sum()) == sum(sizes), "numbers that are not counted")
    require(int(run.by_step.uploads.sum()) == sum(size > 0 for size in sizes), "messages that are not counted")
    require(SERVER not in run.clients and len(trace.choices) == STREAM.steps, "a trace of another length")
    return True


TARGET = Target("messages", 8, make, check, lambda: [make(random.Random(number)) for number in range(9)])
