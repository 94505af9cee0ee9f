"""A method as clients and a server: the harness carries their messages, measures and counts them."""

from collections import deque
from collections.abc import Iterable
from typing import Any

import numpy as np

from algorithms.messages import Client, Federated, Message, Problem, numbers_in_statistics
from algorithms.numerics.random_numbers import StepRandom
from algorithms.stream import Stream, trace_of
from algorithms.trace import Counts, Trace
from data_pipelines.support.messages import one_line

SERVER = -1
"""The address of the server; those of clients are their positions, from 0."""


class Federation:
    """One run: a server, the clients that have joined, and the counts of their messages.

    A message with values is one transfer of as many numbers. An upload is needed if it has data. All downloads to a
    client since its last decision count as one needed download of each kind, of the last one's size, when the client
    decides again.
    """

    def __init__(self, method: Federated, stream: Stream, seed: int) -> None:
        steps, arms = stream.pools.shape
        self.method, self.stream = method, stream
        self.problem = Problem(stream.items.shape[1], arms, steps, len(stream.client_ids), seed)
        self.server = method.server(self.problem)
        self.clients: dict[int, Client] = {}
        self.choices = np.zeros(steps, dtype=np.int32)
        self.unsettled = np.zeros(steps, dtype=np.bool_)
        self.by_step, self.by_client = Counts.zeros(steps), Counts.zeros(self.problem.clients)
        self._random = StepRandom(seed)
        self._unread: dict[int, dict[str, int]] = {}  # for each client, the size of the last download of each kind

    def advance(self, step: int) -> None:
        """Play one step. The messages that a call returns are delivered at once, and so are the answers."""
        number = int(self.stream.client_numbers[step])
        contexts = self.stream.items[self.stream.pools[step]]
        self._deliver(step, self._from_server(self.server.begin_step(step)))
        if number not in self.clients:
            self.clients[number] = self.method.client(number, self.problem)
        client = self.clients[number]
        self._deliver(step, self._from_client(number, client.arrive()))
        choice = checked_choice(client.choose(contexts.copy(), self._random.at(step)), self.problem.arms)
        self.choices[step] = choice
        for size in self._unread.pop(number, {}).values():
            self._count("needed_down", "needed_numbers_down", step, number, size)
        reward = float(self.stream.rewards[step, choice] + self.stream.noise[step])
        messages = client.learn(contexts[choice], reward)
        self.unsettled[step] = getattr(client, "unsettled", False)
        self._deliver(step, self._from_client(number, messages))
        self._deliver(step, self._from_server(self.server.end_step(step)))

    def trace(self) -> Trace:
        """Return the trace of the run."""
        if getattr(self.method, "charges_all", False):
            self._charge_all()
        return trace_of(self.stream, self.choices, self.by_step, self.by_client, unsettled=self.unsettled)

    def _deliver(self, step: int, messages: Iterable[tuple[int, int, Message]]) -> None:
        """Deliver messages, answers and answers to answers, in the order in which they were made."""
        queue = deque(messages)
        while queue:
            sender, receiver, message = queue.popleft()
            size = message.values.size
            if receiver == SERVER:
                if size:
                    self._count("uploads", "numbers_up", step, sender, size)
                    if message.count > 0 or message.values.any():
                        self._count("needed_up", "needed_numbers_up", step, sender, size)
                queue.extend(self._from_server(self.server.receive(sender, message)))
                continue
            if size:
                self._count("downloads", "numbers_down", step, receiver, size)
                self._unread.setdefault(receiver, {})[message.kind] = size
            queue.extend(self._from_client(receiver, self.clients[receiver].receive(message)))

    def _from_client(self, number: int, messages: Iterable[Message]) -> list[tuple[int, int, Message]]:
        return [(number, SERVER, _checked(message)) for message in _listed("a client", messages)]

    def _from_server(self, messages: Iterable[tuple[int, Message]]) -> list[tuple[int, int, Message]]:
        addressed = []
        for pair in _listed("the server", messages):
            if not isinstance(pair, tuple) or len(pair) != 2:
                raise ValueError(one_line(f"the server must return pairs of a client and a message, got {pair!r}"))
            number, message = pair
            if not isinstance(number, int | np.integer) or number not in self.clients:
                raise ValueError(
                    one_line(f"the server must only send messages to clients that have joined, got client {number}")
                )
            addressed.append((SERVER, int(number), _checked(message)))
        return addressed

    def _count(self, transfers: str, numbers: str, step: int, client: int, size: int) -> None:
        for counts, place in ((self.by_step, step), (self.by_client, client)):
            getattr(counts, transfers)[place] += 1
            getattr(counts, numbers)[place] += size

    def _charge_all(self) -> None:
        """Count an upload and a download in each synchronisation also for clients that do not take part in it."""
        size = numbers_in_statistics(self.problem.dimension)
        polled = self.by_step.uploads > 0
        missing_in_step = np.where(polled, self.problem.clients - self.by_step.uploads, 0)
        missing_of_client = polled.sum() - self.by_client.uploads
        for counts, missing in ((self.by_step, missing_in_step), (self.by_client, missing_of_client)):
            for transfers, numbers in ((counts.uploads, counts.numbers_up), (counts.downloads, counts.numbers_down)):
                transfers += missing
                numbers += missing * size


def _listed(sender: str, messages: Any) -> list[Any]:
    if not isinstance(messages, Iterable):  # usually a function without `return`
        raise ValueError(one_line(f"{sender} must return a list of messages, which may be empty, got {messages!r}"))
    return list(messages)


def _checked(message: Any) -> Message:
    """Return a copy of a message, whose values cannot change after it is sent."""
    if not isinstance(message, Message):
        raise ValueError(one_line(f"a message must be a Message, got {message!r}"))
    if not isinstance(message.kind, str):
        raise ValueError(one_line(f"the kind of a message must be a text, got {message.kind!r}"))
    values = message.values
    if not isinstance(values, np.ndarray) or values.dtype != np.float64 or values.ndim != 1:
        shape = f"{values.dtype} of shape {values.shape}" if isinstance(values, np.ndarray) else type(values).__name__
        raise ValueError(one_line(f"the values of message {message.kind!r} must be a flat float64 array, got {shape}"))
    if not np.isfinite(values).all():
        value = values[~np.isfinite(values)][0]
        raise ValueError(one_line(f"the values of message {message.kind!r} must be finite, got {value}"))
    if not isinstance(message.count, int | np.integer):
        raise ValueError(one_line(f"the count of message {message.kind!r} must be an integer, got {message.count!r}"))
    return Message(message.kind, values.copy(), int(message.count))


def checked_choice(choice: object, arms: int) -> int:
    """Check the index of an arm."""
    if not isinstance(choice, int | np.integer) or not 0 <= choice < arms:
        raise ValueError(one_line(f"choose must return the index of an arm from 0 to {arms - 1}, got {choice!r}"))
    return int(choice)
