"""Communication of two methods at equal regret, on the undominated settings of each."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from benchmark.statistics.paired import CONFIDENCE, Floats, Interval, mean_interval

ABOVE_LEAST = (0.05, 0.10, 0.20, 0.50, 1.00)
"""Levels of regret, as shares above the least regret."""

Front = tuple[ArrayLike, ArrayLike]
"""Communication and regret of a method's settings on one seed."""


@dataclass(frozen=True)
class EqualRegret:
    """Communication of two methods at regrets of a share `above` the least regret of both, seed by seed.

    `first` and `second` are the methods' communication at that regret, one entry per seed: NaN where a method does
    not reach it, 0 where it does without communication.
    """

    above: float
    first: Floats
    second: Floats

    @property
    def log_ratios(self) -> Floats:
        """log10 of first / second, seed by seed; NaN where either has no positive communication."""
        has_ratio = (self.first > 0) & (self.second > 0)
        return np.log10(np.where(has_ratio, self.first, np.nan)) - np.log10(np.where(has_ratio, self.second, np.nan))

    @property
    def only_first(self) -> int:
        """The number of seeds on which only the first method reaches the regret."""
        return int((~np.isnan(self.first) & np.isnan(self.second)).sum())

    @property
    def only_second(self) -> int:
        """The number of seeds on which only the second method reaches the regret."""
        return int((np.isnan(self.first) & ~np.isnan(self.second)).sum())

    def ratio(self, confidence: float = CONFIDENCE) -> Interval:
        """Return the geometric mean of the ratio first / second over seeds, and its interval."""
        mean, low, high = (float(10**power) for power in mean_interval(self.log_ratios, confidence))
        return mean, low, high


def at_equal_regret(
    first: Sequence[Front], second: Sequence[Front], above: Sequence[float] = ABOVE_LEAST
) -> list[EqualRegret]:
    """Compare the communication of two methods at given shares above the least regret; one front per seed each."""
    if len(first) != len(second):
        raise ValueError(f"both methods must have a front for every seed, got {len(first)} and {len(second)}")
    shares = 1 + np.asarray(above, dtype=float)
    sides: list[tuple[Floats, Floats]] = []
    for one, other in zip(first, second, strict=True):
        levels = least_regret(one, other) * shares
        sides.append((communication_at(*one, levels), communication_at(*other, levels)))
    return [
        EqualRegret(share, *(np.array([side[method][index] for side in sides]) for method in (0, 1)))
        for index, share in enumerate(above)
    ]


def least_regret(*fronts: Front) -> float:
    """Return the least regret of all settings."""
    return float(min(np.min(np.asarray(regret, dtype=float)) for _, regret in fronts))


def communication_at(communication: ArrayLike, regret: ArrayLike, levels: ArrayLike) -> Floats:
    """Return the communication that reaches each level of regret.

    log10 C_T is interpolated linearly in regret between undominated settings. NaN for a level below the least
    regret; 0 for a level that a setting without communication reaches; that of the cheapest setting above its regret.
    """
    targets, costs, regrets = (np.asarray(values, dtype=float) for values in (levels, communication, regret))
    log_costs, front = undominated(costs, regrets)
    result = np.full(targets.shape, np.nan)
    if len(front):
        is_reached = targets >= front[0]
        result[is_reached] = 10 ** np.interp(targets[is_reached], front, log_costs)
    result[targets >= np.min(regrets[costs == 0], initial=np.inf)] = 0.0
    return result


def undominated(communication: ArrayLike, regret: ArrayLike) -> tuple[Floats, Floats]:
    """Return log10 C_T and regret of the Pareto-optimal settings, by rising regret; C_T = 0 is left out."""
    costs, regrets = np.asarray(communication, dtype=float), np.asarray(regret, dtype=float)
    costs, regrets = costs[costs > 0], regrets[costs > 0]
    order = np.lexsort((regrets, costs))
    costs, regrets = costs[order], regrets[order]
    best_so_far = np.minimum.accumulate(regrets)
    is_optimal = np.ones(len(regrets), dtype=bool)
    is_optimal[1:] = regrets[1:] < best_so_far[:-1]
    return np.log10(costs[is_optimal])[::-1], regrets[is_optimal][::-1]
