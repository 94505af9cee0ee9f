"""A uniformly random arm, compiled."""

import numpy as np
from numpy.typing import NDArray

from algorithms.compiled_run import CompiledRun
from algorithms.numerics.jit import entry_point
from algorithms.numerics.ties import uniform
from algorithms.stream import Stream, trace_of
from algorithms.trace import Trace


class RandomChoiceRun(CompiledRun):
    """One run of RandomChoice."""

    def __init__(self, problem: Stream, seed: int) -> None:
        super().__init__(problem)
        self._seed = seed

    def _advance(self, start: int, stop: int) -> int:
        _run(start, stop, self.problem.pools.shape[1], self._seed, self.choices)
        return stop

    def trace(self) -> Trace:
        """Return the trace of the run."""
        steps, clients = (
            np.zeros(self.steps, dtype=np.int64),
            np.zeros(len(self.problem.client_ids), dtype=np.int64),
        )
        return trace_of(self.problem, self.choices, steps, steps.copy(), clients, clients.copy())


@entry_point
def _run(start: int, stop: int, arms: int, seed: int, choices: NDArray[np.int32]) -> None:
    for t in range(start, stop):
        choices[t] = int(uniform(seed, t) * arms)
