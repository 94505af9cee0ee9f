"""The baseline of `make bench`: the minimum work of one shared LinUCB model, kept as a plain loop."""

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(fastmath=True, cache=True)
def floor(
    items: NDArray[np.float64],
    pools: NDArray[np.int32],
    rewards: NDArray[np.float64],
    noise: NDArray[np.float64],
    ridge: float,
    alpha: float,
) -> float:
    """Gather K arms, compute K means and widths, take the maximum, update the inverse; return the total reward."""
    steps, arms = pools.shape
    d = items.shape[1]
    inverse = np.eye(d) / ridge
    theta = np.zeros(d)
    w = np.zeros(d)
    contexts = np.zeros((arms, d))
    total = 0.0
    for t in range(steps):
        for k in range(arms):
            for i in range(d):
                contexts[k, i] = items[pools[t, k], i]
        best = -np.inf
        choice = 0
        for k in range(arms):
            mean = 0.0
            width = 0.0
            for i in range(d):
                product = 0.0
                for j in range(d):
                    product += inverse[i, j] * contexts[k, j]
                width += product * contexts[k, i]
                mean += theta[i] * contexts[k, i]
            score = mean + alpha * np.sqrt(width)
            if score > best:
                best = score
                choice = k
        x = contexts[choice]
        y = rewards[t, choice] + noise[t]
        total += y
        scale = 1.0
        error = y
        for i in range(d):
            product = 0.0
            for j in range(d):
                product += inverse[i, j] * x[j]
            w[i] = product
            scale += product * x[i]
            error -= theta[i] * x[i]
        for i in range(d):
            theta[i] += w[i] * error / scale
            for j in range(d):
                inverse[i, j] -= w[i] * w[j] / scale
    return total
