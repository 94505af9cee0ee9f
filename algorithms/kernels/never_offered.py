"""An item new to this client, then the most seen, compiled."""

import numpy as np
from numpy.typing import NDArray

from algorithms.compiled_run import SilentRun
from algorithms.numerics.jit import entry_point
from algorithms.numerics.ties import pick_compiled
from algorithms.stream import Stream, pair_numbers


class NeverOfferedRun(SilentRun):
    """One run of NeverOffered: a count for each item, and a mark for each pair of client and item offered so far."""

    def __init__(self, problem: Stream, seed: int) -> None:
        super().__init__(problem)
        self._seed = seed
        self._pairs, size = pair_numbers(problem)
        self._is_offered = np.zeros(size, dtype=np.bool_)
        self._counts, self._scores = np.zeros(len(problem.items)), np.zeros(problem.pools.shape[1])

    def _advance(self, start: int, stop: int) -> int:
        tables = self._pairs, self._is_offered, self._counts, self._scores
        _run(start, stop, self.problem.pools, *tables, self._seed, self.choices)
        return stop


@entry_point
def _run(
    start: int,
    stop: int,
    pools: NDArray[np.int32],
    pairs: NDArray[np.int64],
    is_offered: NDArray[np.bool_],
    counts: NDArray[np.float64],
    scores: NDArray[np.float64],
    seed: int,
    choices: NDArray[np.int32],
) -> None:
    """Choose the largest count among new items if there are any, then count and mark the pool."""
    arms = pools.shape[1]
    for t in range(start, stop):
        new_items = 0
        for arm in range(arms):
            if not is_offered[pairs[t, arm]]:
                new_items += 1
        for arm in range(arms):
            is_candidate = new_items == 0 or not is_offered[pairs[t, arm]]
            scores[arm] = counts[pools[t, arm]] if is_candidate else -1.0
        choices[t] = pick_compiled(scores, arms, seed, t)
        for arm in range(arms):
            counts[pools[t, arm]] += 1.0
            is_offered[pairs[t, arm]] = True
