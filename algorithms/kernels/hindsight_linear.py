"""Ridge regression on all rewards of the stream: one matrix product, then compiled choices."""

import numpy as np
from numpy.typing import NDArray

from algorithms.compiled_run import SilentRun
from algorithms.methods.hindsight_linear import HindsightLinear
from algorithms.numerics.jit import entry_point
from algorithms.numerics.ties import pick_compiled
from algorithms.stream import Stream


class HindsightLinearRun(SilentRun):
    """One run of HindsightLinear: a fixed score for each item."""

    def __init__(self, method: HindsightLinear, problem: Stream, seed: int) -> None:
        super().__init__(problem)
        self._seed = seed
        self._item_scores = problem.items @ fitted(problem, method.ridge)
        self._scores = np.zeros(problem.pools.shape[1])

    def _advance(self, start: int, stop: int) -> int:
        return _run(start, stop, self.problem.pools, self._item_scores, self._scores, self._seed, self.choices)


def fitted(stream: Stream, ridge: float) -> NDArray[np.float64]:
    """Return θ: each item counts as often as it was offered."""
    offered = stream.pools.ravel()
    counts = np.bincount(offered, minlength=len(stream.items))
    sums = np.bincount(offered, weights=stream.rewards.ravel(), minlength=len(stream.items))
    V = stream.items.T @ (stream.items * counts[:, None])
    try:
        theta = np.linalg.solve(V + ridge * np.eye(len(V)), stream.items.T @ sums)
    except np.linalg.LinAlgError:
        raise ArithmeticError("no linear model can be fitted; the features are too large, or ridge too small") from None
    return np.asarray(theta, dtype=np.float64)


@entry_point
def _run(
    start: int,
    stop: int,
    pools: NDArray[np.int32],
    item_scores: NDArray[np.float64],
    scores: NDArray[np.float64],
    seed: int,
    choices: NDArray[np.int32],
) -> int:
    """Choose the largest score; return the step reached."""
    arms = pools.shape[1]
    for t in range(start, stop):
        for arm in range(arms):
            scores[arm] = item_scores[pools[t, arm]]
        choice = pick_compiled(scores, arms, seed, t)
        if choice < 0:
            return t
        choices[t] = choice
    return stop
