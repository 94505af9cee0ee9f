"""Communication budgets, and the scores of methods within them.

A budget is given in full transfers per client: a full {V, b} has d(d+1)/2 + d numbers. Runs are measured in numbers
moved per client, up and down.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from benchmark.statistics.paired import Floats
from benchmark.statistics.seeds import require_reporting

BUDGETS = (0.0, 2.0, 10.0, 100.0, 1000.0, math.inf)
"""Full transfers per client; the last one is unlimited."""

PRIMARY_BUDGETS = (2.0, 10.0, 100.0, 1000.0)
"""The primary endpoint is the mean score over these."""

TOLERANCE = 1e-9
"""Relative: a mean over seeds that exceeds a budget by rounding alone stays within it."""

Scale = Literal["reward", "regret"]
"""A score is a normalised reward (`reward`), or in simulations 1 − regret / regret of random choice (`regret`)."""

Choices = Mapping[str, Mapping[float, str | None]]
"""The chosen configuration by method and budget; None if no configuration of the method stays within the budget."""


def full_transfer(dimension: int) -> int:
    """Return the numbers in a full transfer of {V, b}: the symmetric half of V, and b."""
    if dimension < 1:
        raise ValueError(f"dimension must be at least 1, got {dimension}")
    return dimension * (dimension + 1) // 2 + dimension


def numbers_per_client(full_transfers: float, dimension: int) -> float:
    """Convert full transfers per client into numbers per client."""
    return full_transfers * full_transfer(dimension)


def full_transfers(numbers: float, dimension: int) -> float:
    """Convert numbers per client into full transfers per client."""
    return numbers / full_transfer(dimension)


def limits(dimension: int, budgets: Iterable[float] = BUDGETS) -> dict[float, float]:
    """Return the numbers per client that each budget allows."""
    return {budget: numbers_per_client(budget, dimension) for budget in budgets}


def is_within(numbers: float, limit: float) -> bool:
    """Whether a mean over seeds stays within a limit; both in numbers per client."""
    return numbers <= limit * (1 + TOLERANCE)


def random_score(scale: Scale) -> float:
    """Return the score of a random choice, which also is that of a method without a configuration within a budget."""
    return 1.0 if scale == "reward" else 0.0


def regret_score(regret: float, random_regret: float) -> float:
    """Return the score of a simulated run: 1 − regret / regret of a random choice on the same stream."""
    if not random_regret > 0:
        raise ValueError(f"the regret of a random choice must be above 0, got {random_regret}")
    return 1 - regret / random_regret


@dataclass(frozen=True)
class Overruns:
    """The seeds on which a configuration exceeds its budget; if its mean over seeds does so too, by what factor."""

    seeds: tuple[int, ...]
    factor: float | None


def overruns(numbers_by_seed: Mapping[int, float], limit: float) -> Overruns:
    """Find the overruns of a configuration; numbers and limit per client."""
    seeds = tuple(sorted(seed for seed, numbers in numbers_by_seed.items() if not is_within(numbers, limit)))
    mean = float(np.mean(list(numbers_by_seed.values()))) if numbers_by_seed else 0.0
    return Overruns(seeds, None if is_within(mean, limit) else mean / limit if limit else math.inf)


@dataclass(frozen=True)
class Scores:
    """Scores on the report seeds: `values` is methods × budgets × seeds.

    A missing or failed run is NaN. `configurations` has one entry per method and budget; None stands for no
    configuration within the budget, scored as a random choice.
    """

    methods: tuple[str, ...]
    budgets: tuple[float, ...]
    seeds: tuple[int, ...]
    values: Floats
    configurations: tuple[tuple[str | None, ...], ...]
    scale: Scale

    def of(self, method: str) -> Floats:
        """Return the scores of one method, budgets × seeds."""
        result: Floats = self.values[self.methods.index(method)]
        return result

    def configurations_of(self, method: str) -> tuple[str | None, ...]:
        """Return the configuration of one method at each budget."""
        return self.configurations[self.methods.index(method)]


def report_scores(runs: pd.DataFrame, choices: Choices, seeds: Sequence[int], scale: Scale) -> Scores:
    """Look up the score of each method within each budget on the report seeds.

    `runs` has the columns configuration, seed and score; a configuration's name is unique over all methods. Runs on
    other seeds or of other configurations are not used.
    """
    require_reporting(seeds)
    by_configuration = score_table(runs[runs["seed"].isin(list(seeds))])
    budgets = _common_budgets(choices)
    values = np.full((len(choices), len(budgets), len(seeds)), random_score(scale))
    for row, chosen in enumerate(choices.values()):
        for column, budget in enumerate(budgets):
            if (configuration := chosen[budget]) is not None:
                scores = by_configuration.get(configuration, {})
                values[row, column] = [scores.get(seed, math.nan) for seed in seeds]
    values[~np.isfinite(values)] = math.nan
    configurations = tuple(tuple(chosen[budget] for budget in budgets) for chosen in choices.values())
    return Scores(tuple(choices), budgets, tuple(seeds), values, configurations, scale)


def score_table(runs: pd.DataFrame) -> dict[str, dict[int, float]]:
    """Return the scores by configuration and seed; two runs of one configuration on one seed are refused."""
    refuse_duplicates(runs)
    table: dict[str, dict[int, float]] = {}
    for configuration, seed, score in zip(runs["configuration"], runs["seed"], runs["score"], strict=True):
        table.setdefault(str(configuration), {})[int(seed)] = float(score)
    return table


def refuse_duplicates(runs: pd.DataFrame) -> None:
    """Raise ValueError if a configuration has two runs on one seed."""
    duplicates = runs[runs.duplicated(["configuration", "seed"])]
    if len(duplicates):
        configuration, seed = duplicates.iloc[0][["configuration", "seed"]]
        raise ValueError(f"expected one run per configuration and seed, got two of {configuration} on seed {seed}")


def _common_budgets(choices: Choices) -> tuple[float, ...]:
    if not choices:
        raise ValueError("expected choices of at least one method, got none")
    budgets = [tuple(chosen) for chosen in choices.values()]
    if different := [names for names in budgets if names != budgets[0]]:
        raise ValueError(f"every method must have the same budgets, got {budgets[0]} and {different[0]}")
    return budgets[0]
