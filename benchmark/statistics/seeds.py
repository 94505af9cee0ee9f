"""The purpose of a run follows from its seed: some seeds choose configurations, all others report."""

from collections.abc import Iterable
from typing import Literal

import pandas as pd

CHOOSING_SEEDS = range(10_000, 10_010)

Purpose = Literal["choose", "report"]


def purpose(seed: int) -> Purpose:
    """Return the purpose of runs on a seed."""
    return "choose" if seed in CHOOSING_SEEDS else "report"


def number_of_seeds(counts: Iterable[int]) -> str:
    """Return a number of seeds as text, such as "1 to 2 seeds" where it differs."""
    numbers = [*counts]
    least, most = min(numbers, default=0), max(numbers, default=0)
    return f"{most} seed{'s' * (most != 1)}" if least == most else f"{least} to {most} seeds"


def split_by_purpose(runs: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Split a table of runs, by its column seed, into those that choose and those that report."""
    chooses = runs["seed"].isin(list(CHOOSING_SEEDS))
    return runs[chooses], runs[~chooses]


def require_choosing(seeds: Iterable[int]) -> None:
    """Raise ValueError unless every seed is one of the seeds for choosing."""
    for seed in seeds:
        if purpose(seed) != "choose":
            raise ValueError(
                f"seeds for choosing must be from {CHOOSING_SEEDS[0]} to {CHOOSING_SEEDS[-1]}, got {seed}; "
                "a configuration must not be chosen on seeds that are reported"
            )


def require_reporting(seeds: Iterable[int]) -> None:
    """Raise ValueError if a seed is one of the seeds for choosing."""
    for seed in seeds:
        if purpose(seed) != "report":
            raise ValueError(
                f"report seeds must be outside {CHOOSING_SEEDS[0]} to {CHOOSING_SEEDS[-1]}, got {seed}; "
                "scores must not be reported on seeds that choose configurations"
            )
