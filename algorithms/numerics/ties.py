"""Choose the best arm; ties are broken uniformly at random.

The random numbers come from NumPy's Philox generator with the run's seed as key and the step in its counter,
so that any implementation, in any order, draws the same number for the same (seed, step).
"""

import numpy as np
from numpy.typing import NDArray

from algorithms.numerics.jit import compiled
from algorithms.numerics.tolerances import TIE


class StepRandom:
    """NumPy generators for the steps of one run: Philox with the seed as key and the step in the counter."""

    def __init__(self, seed: int) -> None:
        self._bits = np.random.Philox(key=seed)
        self._state = self._bits.state
        self._generator = np.random.Generator(self._bits)

    def at(self, step: int) -> np.random.Generator:
        """Return the generator, set to the given step."""
        self._state["state"]["counter"] = np.array([0, step, 0, 0], dtype=np.uint64)
        self._state["buffer_pos"] = 4
        self._state["has_uint32"] = 0
        self._bits.state = self._state
        return self._generator


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
    wanted = int(uniform(seed, step) * tied)
    for arm in range(arms):
        if scores[arm] >= bar:
            if wanted == 0:
                return arm
            wanted -= 1
    return chosen


@compiled
def uniform(seed: int, step: int) -> float:
    """Return the first double of Philox-4x64-10 with key (seed, 0) and counter (0, step, 0, 0), as NumPy draws it."""
    key0 = np.uint64(seed)
    key1 = np.uint64(0)
    word0 = np.uint64(1)  # NumPy increments the counter before it draws
    word1 = np.uint64(step)
    word2 = np.uint64(0)
    word3 = np.uint64(0)
    for _ in range(10):
        high0, low0 = _multiply(np.uint64(0xD2E7470EE14C6C93), word0)
        high1, low1 = _multiply(np.uint64(0xCA5A826395121157), word2)
        word0, word1, word2, word3 = high1 ^ word1 ^ key0, low1, high0 ^ word3 ^ key1, low0
        key0 += np.uint64(0x9E3779B97F4A7C15)
        key1 += np.uint64(0xBB67AE8584CAA73B)
    return (word0 >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@compiled
def _multiply(a: np.uint64, b: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Return the high and the low 64 bits of a product."""
    half = np.uint64(32)
    mask = np.uint64(0xFFFFFFFF)
    a_high, a_low = a >> half, a & mask
    b_high, b_low = b >> half, b & mask
    middle = a_high * b_low + ((a_low * b_low) >> half)
    carry = a_low * b_high + (middle & mask)
    return a_high * b_high + (middle >> half) + (carry >> half), a * b
