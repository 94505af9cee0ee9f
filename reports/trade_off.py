"""Communication against reward or regret: fronts, the area under them, and communication at equal regret.

Communication goes in as log10(1 + C_T): a run that never communicates (γ=∞) has C_T = 0, which no logarithm takes.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
LEVELS = 50


def log_communication(communication: ArrayLike) -> Floats:
    """Return log10(1 + C_T)."""
    result: Floats = np.log10(1 + np.asarray(communication, dtype=float))
    return result


def best_within_budget(communication: ArrayLike, value: ArrayLike) -> tuple[Floats, Floats]:
    """Return the front: budgets log10(1 + C_T) in rising order, and the best value that each can buy.

    It is a staircase: whoever may communicate more can still choose a setting that communicates less.
    """
    budget, values = log_communication(communication), np.asarray(value, dtype=float)
    order = np.lexsort((-values, budget))
    return budget[order], np.maximum.accumulate(values[order])


def mean_height(budget: Floats, best: Floats, low: float, high: float) -> float:
    """Return the area under a staircase between two budgets, divided by their distance: its mean height there."""
    if high <= low:
        return float(best[np.searchsorted(budget, low, side="right") - 1])
    inside = (budget > low) & (budget < high)
    steps = np.concatenate([[low], budget[inside], [high]])
    heights = best[np.searchsorted(budget, steps[:-1], side="right") - 1]
    return float(np.sum(heights * np.diff(steps)) / (high - low))


def least_communication(communication: ArrayLike, value: ArrayLike, level: float) -> float:
    """Return the least C_T of all settings whose value reaches a level."""
    reached = np.asarray(value, dtype=float) >= level
    return float(np.asarray(communication, dtype=float)[reached].min()) if reached.any() else float("nan")


def undominated(communication: ArrayLike, regret: ArrayLike) -> tuple[Floats, Floats]:
    """Return log10 C_T and regret of the settings that none beats in both, by rising regret; C_T = 0 is left out."""
    spent, lost = np.asarray(communication, dtype=float), np.asarray(regret, dtype=float)
    spent, lost = spent[spent > 0], lost[spent > 0]
    order = np.lexsort((lost, spent))
    spent, lost = spent[order], lost[order]
    best_so_far = np.minimum.accumulate(lost)
    kept = np.ones(len(lost), dtype=bool)
    kept[1:] = lost[1:] < best_so_far[:-1]
    return np.log10(spent[kept])[::-1], lost[kept][::-1]


def log_ratio_at_equal_regret(
    one: tuple[ArrayLike, ArrayLike], other: tuple[ArrayLike, ArrayLike]
) -> tuple[Floats, Floats]:
    """Return regrets that both methods reach, and log10 of C_T of the one over C_T of the other there.

    Each method is given as C_T and regret of its settings. log10 C_T is interpolated linearly between the undominated
    ones; the levels are spaced evenly in log regret over the range common to both. Empty if there is none.
    """
    (one_spent, one_lost), (other_spent, other_lost) = undominated(*one), undominated(*other)
    if not len(one_lost) or not len(other_lost):
        return np.empty(0), np.empty(0)
    low, high = max(one_lost[0], other_lost[0]), min(one_lost[-1], other_lost[-1])
    if not 0 < low < high:
        return np.empty(0), np.empty(0)
    levels = np.geomspace(low, high, LEVELS)
    return levels, np.interp(levels, one_lost, one_spent) - np.interp(levels, other_lost, other_spent)
