"""Classes that fail on request. Worker processes import them by name."""

from dataclasses import dataclass
from typing import Any

from algorithms import Transfers


@dataclass
class First:
    """Chooses the first arm, and raises an error at a step."""

    fail_at: int = -1

    def choose(self, client: int, contexts: Any, rng: Any) -> int:
        return 0

    def learn(self, client: int, context: Any, reward: float) -> Transfers:
        self.fail_at -= 1
        if self.fail_at == 0:
            raise RuntimeError("line one\nline two")
        return Transfers(uploads=[client])


@dataclass
class Quits:
    """Raises an exception that usually ends a process."""

    how: str = "fine"

    def choose(self, client: int, contexts: Any, rng: Any) -> int:
        match self.how:
            case "exit":
                raise SystemExit(0)
            case "interrupt":
                raise KeyboardInterrupt
            case "close":
                raise GeneratorExit
        return 0

    def learn(self, client: int, context: Any, reward: float) -> Transfers:
        return Transfers()
