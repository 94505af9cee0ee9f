"""Means over seeds with 95 % Student t intervals; one seed has no interval."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from reports.read.run_table import GROUP

CONFIDENCE = 0.95


def over_seeds(runs: pd.DataFrame, metrics: Sequence[str]) -> pd.DataFrame:
    """Average over seeds.

    Returns one row per configuration (the columns `GROUP`), with its `variant` for display, `seeds` (their number),
    `seed_list`, and for each metric m its mean `m` and the ends `m_low` and `m_high` of its interval, NaN with one
    seed.
    """
    rows = []
    for values, part in runs.groupby([*GROUP], dropna=False, sort=True):
        seeds = tuple(sorted(int(seed) for seed in part["seed"]))
        row = {**dict(zip(GROUP, values, strict=True)), "variant": part["variant"].iloc[0]}
        row |= {"seeds": len(seeds), "seed_list": seeds}
        for metric in metrics:
            row[metric], row[f"{metric}_low"], row[f"{metric}_high"] = mean_interval(part[metric].to_numpy())
        rows.append(row)
    ends = [f"{metric}{end}" for metric in metrics for end in ("", "_low", "_high")]
    return pd.DataFrame(rows, columns=[*GROUP, "variant", "seeds", "seed_list", *ends])


def mean_interval(values: ArrayLike, confidence: float = CONFIDENCE) -> tuple[float, float, float]:
    """Return the mean and the ends of its Student t interval, ignoring NaN; no interval from one value."""
    numbers = np.asarray(values, dtype=float)
    numbers = numbers[~np.isnan(numbers)]
    if not len(numbers):
        return np.nan, np.nan, np.nan
    mean = float(numbers.mean())
    if len(numbers) == 1:
        return mean, np.nan, np.nan
    half = t_quantile(len(numbers) - 1, confidence) * float(numbers.std(ddof=1)) / len(numbers) ** 0.5
    return mean, mean - half, mean + half


def t_quantile(degrees: int, confidence: float = CONFIDENCE) -> float:
    """Return the two-sided quantile of Student's t distribution."""
    from scipy.special import stdtrit

    return float(stdtrit(degrees, 0.5 + confidence / 2))
