"""The item that earned most when it was chosen, compiled."""

import numpy as np
from numpy.typing import NDArray

from algorithms.compiled_run import Events, SilentRun
from algorithms.numerics.jit import entry_point
from algorithms.numerics.ties import pick_compiled
from algorithms.stream import Stream


class ItemRewardsRun(SilentRun):
    """One run of ItemRewards: a sum and a number of choices for each item."""

    def __init__(self, problem: Stream, seed: int) -> None:
        super().__init__(problem)
        self._seed = seed
        self._sums, self._counts = np.zeros((2, len(problem.items)))
        self._scores = np.zeros(problem.pools.shape[1])

    def _advance(self, start: int, stop: int) -> int:
        tables = self._sums, self._counts, self._scores
        return _run(start, stop, self.events, *tables, self._seed, self.choices)


@entry_point
def _run(
    start: int,
    stop: int,
    events: Events,
    sums: NDArray[np.float64],
    counts: NDArray[np.float64],
    scores: NDArray[np.float64],
    seed: int,
    choices: NDArray[np.int32],
) -> int:
    """Choose the largest mean, then add the observed reward of the choice; return the step reached."""
    arms = events.pools.shape[1]
    for t in range(start, stop):
        for arm in range(arms):
            item = events.pools[t, arm]
            scores[arm] = sums[item] / (counts[item] + 1.0)
        choice = pick_compiled(scores, arms, seed, t)
        if choice < 0:
            return t
        choices[t] = choice
        sums[events.pools[t, choice]] += events.rewards[t, choice] + events.noise[t]
        counts[events.pools[t, choice]] += 1.0
    return stop
