"""A server that polls all known clients after certain steps: the base of literal methods with a fixed schedule."""

from abc import ABC, abstractmethod

from algorithms.messages import Message


class PollingServer(ABC):
    """It knows the clients that have joined, in that order, and polls them where its schedule says so."""

    def __init__(self) -> None:
        self.known: list[int] = []
        self.awaited = 0

    def begin_step(self, step: int) -> list[tuple[int, Message]]:
        """Send nothing."""
        return []

    def end_step(self, step: int) -> list[tuple[int, Message]]:
        """Poll every known client, if it is time."""
        poll = self.poll_after(step)
        if poll is None:
            return []
        self.awaited = len(self.known)
        return [(client, poll) for client in self.known]

    def receive(self, client: int, message: Message) -> list[tuple[int, Message]]:
        """Let a client join, or collect its answer; after the last answer all known clients download."""
        if message.kind == "join":
            self.known.append(client)
            return [(client, download) for download in self.greeting()]
        self.collect(message)
        self.awaited -= 1
        if self.awaited:
            return []
        download = self.conclude()
        return [(other, download) for other in self.known]

    def greeting(self) -> list[Message]:
        """Return the messages to a client that joins."""
        return []

    @abstractmethod
    def poll_after(self, step: int) -> Message | None:
        """Return the poll to send after a step; `None` at most steps."""

    @abstractmethod
    def collect(self, answer: Message) -> None:
        """Add a client's answer."""

    @abstractmethod
    def conclude(self) -> Message:
        """Return the download for all known clients, after all have answered."""
