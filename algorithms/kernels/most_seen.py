"""The item that was offered most often, compiled."""

import numpy as np
from numpy.typing import NDArray

from algorithms.compiled_run import SilentRun
from algorithms.numerics.jit import entry_point
from algorithms.numerics.ties import pick_compiled
from algorithms.stream import Stream


class MostSeenRun(SilentRun):
    """One run of MostSeen: a count for each item."""

    def __init__(self, problem: Stream, seed: int) -> None:
        super().__init__(problem)
        self._seed = seed
        self._counts, self._scores = np.zeros(len(problem.items)), np.zeros(problem.pools.shape[1])

    def _advance(self, start: int, stop: int) -> int:
        _run(start, stop, self.problem.pools, self._counts, self._scores, self._seed, self.choices)
        return stop


@entry_point
def _run(
    start: int,
    stop: int,
    pools: NDArray[np.int32],
    counts: NDArray[np.float64],
    scores: NDArray[np.float64],
    seed: int,
    choices: NDArray[np.int32],
) -> None:
    """Choose the largest count, then count the pool."""
    arms = pools.shape[1]
    for t in range(start, stop):
        for arm in range(arms):
            scores[arm] = counts[pools[t, arm]]
        choices[t] = pick_compiled(scores, arms, seed, t)
        for arm in range(arms):
            counts[pools[t, arm]] += 1.0
