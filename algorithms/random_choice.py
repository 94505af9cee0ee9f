"""RandomChoice: every arm is as good as any other; the yardstick of normalised reward."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from algorithms.jit import compiled
from algorithms.problem import Problem, trace_of
from algorithms.run import CompiledRun
from algorithms.ties import uniform
from algorithms.trace import Trace


@dataclass(frozen=True, kw_only=True)
class RandomChoice:
    """Choose uniformly at random; learn and send nothing."""

    name: ClassVar[str] = "random"

    def start(self, problem: Problem, seed: int) -> "RandomChoiceRun":
        """Prepare a run over a stream."""
        return RandomChoiceRun(problem, seed)


class RandomChoiceRun(CompiledRun):
    """One run of RandomChoice."""

    def __init__(self, problem: Problem, seed: int) -> None:
        super().__init__(problem)
        self._seed = seed

    def _advance(self, start: int, stop: int) -> int:
        _run(start, stop, self.problem.pools.shape[1], self._seed, self.choices)
        return stop

    def trace(self) -> Trace:
        """Return the outcome."""
        steps, clients = (
            np.zeros(self.steps, dtype=np.int64),
            np.zeros(len(self.problem.client_ids), dtype=np.int64),
        )
        return trace_of(self.problem, self.choices, steps, steps.copy(), clients, clients.copy())


@compiled
def _run(start: int, stop: int, arms: int, seed: int, choices: NDArray[np.int32]) -> None:
    for t in range(start, stop):
        choices[t] = int(uniform(seed, t) * arms)
