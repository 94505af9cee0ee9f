"""Choose the best arm; ties are broken uniformly at random, by a number that depends on seed and step only."""

import numpy as np
from numpy.typing import NDArray

from algorithms.numerics.jit import compiled
from algorithms.numerics.random_numbers import TIES, uniform
from algorithms.numerics.tolerances import TIE


def pick(scores: NDArray[np.float64], rng: np.random.Generator) -> int:
    """Return the position of the best score, ties broken by one draw of `rng`."""
    best = scores.max()
    tied = np.flatnonzero(scores >= best - TIE * (1 + abs(best)))
    if len(tied) == 1:
        return int(tied[0])
    return int(tied[int(rng.random() * len(tied))])


@compiled
def pick_compiled(scores: NDArray[np.float64], arms: int, seed: int, step: int) -> int:
    """Do the same as `pick` with `StepRandom(seed).at(step)`; -1 if no score is a finite number."""
    best = -np.inf
    for arm in range(arms):
        if scores[arm] > best:
            best = scores[arm]
    if not np.isfinite(best):
        return -1
    bar = best - TIE * (1 + abs(best))
    tied = 0
    chosen = -1
    for arm in range(arms):
        if scores[arm] >= bar:
            tied += 1
            if tied == 1:
                chosen = arm
    if tied == 1:
        return chosen
    wanted = int(uniform(seed, step, TIES) * tied)
    for arm in range(arms):
        if scores[arm] >= bar:
            if wanted == 0:
                return arm
            wanted -= 1
    return chosen
