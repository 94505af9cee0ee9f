"""Differences between methods over users: a bootstrap over users and seeds, and which users do better than alone.

Rewards are seeds × users. The users are the same on every seed, so users and seeds are resampled independently of
each other.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from benchmark.statistics.intervals import CONFIDENCE, ROUNDING, Floats, Interval

REPETITIONS = 2_000
CHUNK = 100
"""Resamples that are computed at a time: 100 × 138,000 users are 110 MB."""


@dataclass(frozen=True)
class GroupShares:
    """The shares of a group's users that do better, worse or equally well with a method than alone."""

    group: str
    users: int
    better: float
    worse: float
    equal: float


def bootstrap_over_users(
    first: ArrayLike,
    second: ArrayLike,
    by_chance: ArrayLike,
    *,
    resample_seeds: bool = True,
    confidence: float = CONFIDENCE,
    repetitions: int = REPETITIONS,
    seed: int = 0,
) -> Interval:
    """Return the difference first − second in normalised reward, with a percentile interval over users and seeds.

    `by_chance` is the expected reward of a random choice, per user or per seed and user; it is 0 for a user whose pools
    have no reward. Without `resample_seeds` the interval is over users alone, for these seeds.
    """
    differences = np.subtract(first, second, dtype=float)
    expected = np.broadcast_to(np.asarray(by_chance, dtype=float), differences.shape)
    seeds, users = differences.shape
    generator = np.random.default_rng(seed)
    values: list[Floats] = []
    for start in range(0, repetitions, CHUNK):
        size = min(CHUNK, repetitions - start)
        user_counts = _counts(generator, users, size)
        seed_counts = _counts(generator, seeds, size) if resample_seeds else np.ones((size, seeds))
        values.append(_normalised(differences, expected, user_counts, seed_counts))
    tail = (1 - confidence) / 2
    low, high = np.quantile(np.concatenate(values), [tail, 1 - tail])
    return (
        float(_normalised(differences, expected, np.ones((1, users)), np.ones((1, seeds)))[0]),
        float(low),
        float(high),
    )


def shares_by_group(
    method: ArrayLike, alone: ArrayLike, groups: Sequence[str], order: Sequence[str] | None = None
) -> list[GroupShares]:
    """Return the shares of users that do better and worse than alone, by the mean over seeds, for each group.

    `groups` is the label of each user's group; `order` lists the groups, by default as they first occur.
    """
    differences, labels = np.subtract(method, alone, dtype=float).mean(axis=0), np.asarray(groups)
    names = order if order is not None else list(dict.fromkeys(groups))
    return [_shares(name, differences[labels == name]) for name in names]


def _shares(group: str, differences: Floats) -> GroupShares:
    if not len(differences):
        return GroupShares(group, 0, np.nan, np.nan, np.nan)
    better, worse = float((differences > ROUNDING).mean()), float((differences < -ROUNDING).mean())
    equal = float((np.abs(differences) <= ROUNDING).mean())
    return GroupShares(group, len(differences), better, worse, equal)


def _normalised(differences: Floats, expected: Floats, user_counts: Floats, seed_counts: Floats) -> Floats:
    """Return the mean over seeds of each resample's difference in reward over its reward by chance."""
    gained, by_chance = user_counts @ differences.T, user_counts @ expected.T  # resamples × seeds
    per_seed = np.divide(gained, by_chance, out=np.zeros_like(gained), where=by_chance > 0)
    result: Floats = (per_seed * seed_counts).sum(axis=1) / seed_counts.sum(axis=1)
    return result


def _counts(generator: np.random.Generator, size: int, repetitions: int) -> Floats:
    return generator.multinomial(size, np.full(size, 1 / size), size=repetitions).astype(float)
