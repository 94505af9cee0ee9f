"""Means over seeds with 95 % Student t intervals; fewer than three seeds have no interval."""

from collections.abc import Sequence

import pandas as pd

from benchmark.statistics.intervals import mean_interval
from reports.read.run_table import GROUP


def over_seeds(runs: pd.DataFrame, metrics: Sequence[str]) -> pd.DataFrame:
    """Average over seeds.

    Returns one row per configuration (the columns `GROUP`), with its `variant` for display, `seeds` (their number),
    `seed_list`, and for each metric m its mean `m`, the ends `m_low` and `m_high` of its interval, NaN below three
    seeds, and `m_seeds`, its values in the order of `seed_list`.
    """
    rows = []
    for values, unsorted in runs.groupby([*GROUP], dropna=False, sort=True):
        part = unsorted.sort_values("seed")
        seeds = tuple(int(seed) for seed in part["seed"])
        row = {**dict(zip(GROUP, values, strict=True)), "variant": unsorted["variant"].iloc[0]}
        row |= {"seeds": len(seeds), "seed_list": seeds}
        for metric in metrics:
            row[metric], row[f"{metric}_low"], row[f"{metric}_high"] = mean_interval(unsorted[metric].to_numpy())
            row[f"{metric}_seeds"] = tuple(part[metric])
        rows.append(row)
    ends = [f"{metric}{end}" for metric in metrics for end in ("", "_low", "_high", "_seeds")]
    return pd.DataFrame(rows, columns=[*GROUP, "variant", "seeds", "seed_list", *ends])
