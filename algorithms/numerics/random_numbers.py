"""Random numbers by key: Philox-4x64-10, whose counter says what a number is for.

Number n of (seed, a, purpose, b) is the same in any implementation and in any order. A draw that belongs to a step has
a = step and b = 0; one that belongs to a message has a = number of the message, per client, and b = 1 + client.
"""

import math

import numpy as np
from numpy.typing import NDArray

from algorithms.numerics.jit import compiled

TIES = 0
CHOICE = 1
THOMPSON = 2
PRIVACY = 3


class StepRandom:
    """NumPy generators for the steps of one run: Philox with the seed as key and the step in the counter."""

    def __init__(self, seed: int) -> None:
        self._bits = np.random.Philox(key=seed)
        self._state = self._bits.state
        self._generator = np.random.Generator(self._bits)

    def at(self, step: int) -> np.random.Generator:
        """Return the generator, set to the given step."""
        self._state["state"]["counter"] = np.array([0, step, TIES, 0], dtype=np.uint64)
        self._state["buffer_pos"] = 4
        self._state["has_uint32"] = 0
        self._bits.state = self._state
        return self._generator


def generator_of_message(seed: int, message: int, purpose: int, client: int) -> np.random.Generator:
    """Return the generator for a message of a client, both numbered from 0."""
    return np.random.Generator(np.random.Philox(key=seed, counter=[0, message, purpose, 1 + client]))


def normals(rng: np.random.Generator, count: int) -> NDArray[np.float64]:
    """Return standard normals in pairs (Box–Muller): r·cos φ and r·sin φ with r² = -2 log(1 - u) and φ = 2πu'."""
    u = rng.random((-(-count // 2), 2))
    radius, angle = np.sqrt(-2 * np.log(1 - u[:, 0])), 2 * np.pi * u[:, 1]
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1).ravel()[:count]


@compiled
def uniform(seed: int, step: int, purpose: int) -> float:
    """Return the first number of a purpose of a step, as NumPy's generator draws it."""
    return unit(philox(seed, 0, step, purpose, 0)[0])


@compiled
def fill_with_normals(values: NDArray[np.float64], seed: int, a: int, purpose: int, b: int) -> None:
    """Fill a flat array with the first normals of (seed, a, purpose, b), in pairs as in `normals`."""
    for first in range(0, values.size, 4):
        words = philox(seed, first // 4, a, purpose, b)
        set_normal_pair(values, first, unit(words[0]), unit(words[1]))
        set_normal_pair(values, first + 2, unit(words[2]), unit(words[3]))


@compiled
def set_normal_pair(values: NDArray[np.float64], place: int, u: float, v: float) -> None:
    """Set up to two values, as far as there are any."""
    radius, angle = math.sqrt(-2.0 * math.log(1.0 - u)), 2.0 * math.pi * v
    if place < values.size:
        values[place] = radius * math.cos(angle)
    if place + 1 < values.size:
        values[place + 1] = radius * math.sin(angle)


@compiled
def unit(word: np.uint64) -> float:
    """Return a number in [0, 1) from the upper 53 bits of a word."""
    return (word >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@compiled
def philox(seed: int, block: int, a: int, purpose: int, b: int) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    """Return the four words of a block, from 0, of Philox-4x64-10 with key (seed, 0) and counter (·, a, purpose, b)."""
    key0 = np.uint64(seed)
    key1 = np.uint64(0)
    word0 = np.uint64(block) + np.uint64(1)  # NumPy increments the counter before it draws
    word1 = np.uint64(a)
    word2 = np.uint64(purpose)
    word3 = np.uint64(b)
    for _ in range(10):
        high0, low0 = _multiply(np.uint64(0xD2E7470EE14C6C93), word0)
        high1, low1 = _multiply(np.uint64(0xCA5A826395121157), word2)
        word0, word1, word2, word3 = high1 ^ word1 ^ key0, low1, high0 ^ word3 ^ key1, low0
        key0 += np.uint64(0x9E3779B97F4A7C15)
        key1 += np.uint64(0xBB67AE8584CAA73B)
    return word0, word1, word2, word3


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
