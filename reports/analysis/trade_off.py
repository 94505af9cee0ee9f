"""Communication against reward or regret: fronts, the area under them, and communication at equal regret.

Communication is measured as log10(1 + C_T), because a run that never communicates (γ=∞) has C_T = 0.
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
    """Return the front: budgets log10(1 + C_T) in rising order, and the best value within each.

    It is a non-decreasing step function, because a larger budget also allows every cheaper setting.
    """
    budget, values = log_communication(communication), np.asarray(value, dtype=float)
    order = np.lexsort((-values, budget))
    return budget[order], np.maximum.accumulate(values[order])


def mean_height(budget: Floats, best: Floats, low: float, high: float) -> float:
    """Return the mean height of a front between two budgets: the area below it divided by their distance."""
    if high <= low:
        return float(best[np.searchsorted(budget, low, side="right") - 1])
    inside = (budget > low) & (budget < high)
    steps = np.concatenate([[low], budget[inside], [high]])
    heights = best[np.searchsorted(budget, steps[:-1], side="right") - 1]
    return float(np.sum(heights * np.diff(steps)) / (high - low))


def least_communication(communication: ArrayLike, value: ArrayLike, level: float) -> float:
    """Return the least C_T of the settings whose value reaches a level."""
    reaches = np.asarray(value, dtype=float) >= level
    return float(np.asarray(communication, dtype=float)[reaches].min()) if reaches.any() else float("nan")


def undominated(communication: ArrayLike, regret: ArrayLike) -> tuple[Floats, Floats]:
    """Return log10 C_T and regret of the Pareto-optimal settings, by rising regret; C_T = 0 is left out."""
    spent, lost = np.asarray(communication, dtype=float), np.asarray(regret, dtype=float)
    spent, lost = spent[spent > 0], lost[spent > 0]
    order = np.lexsort((lost, spent))
    spent, lost = spent[order], lost[order]
    best_so_far = np.minimum.accumulate(lost)
    is_optimal = np.ones(len(lost), dtype=bool)
    is_optimal[1:] = lost[1:] < best_so_far[:-1]
    return np.log10(spent[is_optimal])[::-1], lost[is_optimal][::-1]


def log_ratio_at_equal_regret(
    one: tuple[ArrayLike, ArrayLike], other: tuple[ArrayLike, ArrayLike]
) -> tuple[Floats, Floats]:
    """Return levels of regret that both methods reach, and log10 of the ratio of their C_T at each level.

    Each method is given as C_T and regret of its settings. log10 C_T is interpolated linearly between the undominated
    settings; the levels are spaced evenly in log regret over the common range. Empty if there is none.
    """
    (one_spent, one_lost), (other_spent, other_lost) = undominated(*one), undominated(*other)
    if not len(one_lost) or not len(other_lost):
        return np.empty(0), np.empty(0)
    low, high = max(one_lost[0], other_lost[0]), min(one_lost[-1], other_lost[-1])
    if not 0 < low < high:
        return np.empty(0), np.empty(0)
    levels = np.geomspace(low, high, LEVELS)
    return levels, np.interp(levels, one_lost, one_spent) - np.interp(levels, other_lost, other_spent)
