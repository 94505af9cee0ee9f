"""A uniformly random arm, compiled."""

import numpy as np
from numpy.typing import NDArray

from algorithms.compiled_run import SilentRun
from algorithms.numerics.jit import entry_point
from algorithms.numerics.ties import uniform
from algorithms.stream import Stream


class RandomChoiceRun(SilentRun):
    """One run of RandomChoice."""

    def __init__(self, problem: Stream, seed: int) -> None:
        super().__init__(problem)
        self._seed = seed

    def _advance(self, start: int, stop: int) -> int:
        _run(start, stop, self.problem.pools.shape[1], self._seed, self.choices)
        return stop


@entry_point
def _run(start: int, stop: int, arms: int, seed: int, choices: NDArray[np.int32]) -> None:
    for t in range(start, stop):
        choices[t] = int(uniform(seed, t) * arms)
