"""The item that was rewarded most in earlier pools, compiled."""

import numpy as np
from numpy.typing import NDArray

from algorithms.compiled_run import Events, SilentRun
from algorithms.methods.most_popular import MostPopular
from algorithms.numerics.jit import entry_point
from algorithms.numerics.ties import pick_compiled
from algorithms.stream import Stream, pair_numbers


class MostPopularRun(SilentRun):
    """One run of MostPopular: a sum for each item, or for each pair of client and item."""

    def __init__(self, method: MostPopular, problem: Stream, seed: int) -> None:
        super().__init__(problem)
        self._seed = seed
        self._entries, entries = _entries(problem, method.per_client)
        self._sums, self._scores = np.zeros(entries), np.zeros(problem.pools.shape[1])

    def _advance(self, start: int, stop: int) -> int:
        return _run(start, stop, self.events, self._entries, self._sums, self._scores, self._seed, self.choices)


def _entries(stream: Stream, per_client: bool) -> tuple[NDArray[np.int64], int]:
    """Return for each offered arm the position of its sum, and the number of sums."""
    return pair_numbers(stream) if per_client else (stream.pools.astype(np.int64), len(stream.items))


@entry_point
def _run(
    start: int,
    stop: int,
    events: Events,
    entries: NDArray[np.int64],
    sums: NDArray[np.float64],
    scores: NDArray[np.float64],
    seed: int,
    choices: NDArray[np.int32],
) -> int:
    """Choose the largest sum, then add the rewards of the pool; return the step reached."""
    arms = entries.shape[1]
    for t in range(start, stop):
        for arm in range(arms):
            scores[arm] = sums[entries[t, arm]]
        choice = pick_compiled(scores, arms, seed, t)
        if choice < 0:
            return t
        choices[t] = choice
        for arm in range(arms):
            sums[entries[t, arm]] += events.rewards[t, arm]
    return stop
