"""Communication against reward or regret: fronts and the area under them.

Communication is measured as log10(1 + C_T), because a run that never communicates (γ=∞) has C_T = 0.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


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
