"""A compiled run: state that a kernel advances over the steps of a stream."""

from abc import ABC, abstractmethod
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from algorithms.numerics.references import reference
from algorithms.stream import Stream
from algorithms.trace import Trace

BLOCK = 4096
"""Steps per call of a kernel: between two calls memory can grow and Ctrl-C is handled."""


State = TypeVar("State", bound=NamedTuple)


class Events(NamedTuple):
    """The arrays of a stream, for a kernel."""

    items: NDArray[np.float64]
    clients: NDArray[np.int32]
    pools: NDArray[np.int32]
    rewards: NDArray[np.float64]
    noise: NDArray[np.float64]


class CompiledRun(ABC):
    """One run of a built-in algorithm over one stream.

    A run whose clients meet in phases, between two calls of its kernel, has a function `hold_phase(number)` for one of
    them, so that `make bench` can report their time apart from that of the steps.
    """

    def __init__(self, problem: Stream) -> None:
        self.problem = problem
        self.events = Events(problem.items, problem.client_numbers, problem.pools, problem.rewards, problem.noise)
        self.steps = len(problem.client_numbers)
        self.step = 0
        self.choices = np.zeros(self.steps, dtype=np.int32)
        self._reference: NamedTuple | None = None

    def advance(self, stop: int | None = None) -> None:
        """Run to step `stop`, or to the end."""
        stop = self.steps if stop is None else min(stop, self.steps)
        while self.step < stop:
            end = min(self.step + BLOCK, stop)
            reached = self._advance(self.step, end)
            if reached < end:
                raise ArithmeticError(
                    f"no score is a finite number at step {reached}; the features or rewards are too large"
                )
            self.step = end

    def refer(self, state: State) -> State:
        """Return a reference to the kernel's state; the previous one is reused while its arrays are unchanged."""
        self._reference = result = reference(state, self._reference)
        return result

    @abstractmethod
    def _advance(self, start: int, stop: int) -> int:
        """Run the steps from `start` to `stop` and return the step reached."""

    @abstractmethod
    def trace(self) -> Trace:
        """Return the trace of the run."""
