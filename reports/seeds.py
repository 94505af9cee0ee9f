"""Means over seeds with 95 % Student t intervals; one seed has no interval, and none is made up."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from reports.run_table import SETTING

CONFIDENCE = 0.95


def over_seeds(runs: pd.DataFrame, metrics: Sequence[str]) -> pd.DataFrame:
    """Average over seeds.

    Returns one row for each setting (experiment, dataset, source, algorithm, variant, threshold, global_dim), with
    `seeds` (how many), `seed_list`, and of each metric m its mean `m` and the ends `m_low` and `m_high` of its
    interval, NaN with one seed.
    """
    rows = []
    for setting, same in runs.groupby([*SETTING], dropna=False, sort=True):
        names = tuple(sorted(int(seed) for seed in same["seed"]))
        row = {**dict(zip(SETTING, setting, strict=True)), "seeds": len(names), "seed_list": names}
        for metric in metrics:
            row[metric], row[f"{metric}_low"], row[f"{metric}_high"] = mean_interval(same[metric].to_numpy())
        rows.append(row)
    ends = [f"{metric}{end}" for metric in metrics for end in ("", "_low", "_high")]
    return pd.DataFrame(rows, columns=[*SETTING, "seeds", "seed_list", *ends])


def mean_interval(values: ArrayLike, confidence: float = CONFIDENCE) -> tuple[float, float, float]:
    """Return the mean and the ends of its Student t interval, leaving out NaN; no interval from one value."""
    known = np.asarray(values, dtype=float)
    known = known[~np.isnan(known)]
    if not len(known):
        return np.nan, np.nan, np.nan
    mean = float(known.mean())
    if len(known) == 1:
        return mean, np.nan, np.nan
    half = t_quantile(len(known) - 1, confidence) * float(known.std(ddof=1)) / len(known) ** 0.5
    return mean, mean - half, mean + half


def t_quantile(degrees: int, confidence: float = CONFIDENCE) -> float:
    """Return the two-sided quantile of Student's t distribution."""
    from scipy.special import stdtrit

    return float(stdtrit(degrees, 0.5 + confidence / 2))
