"""Communication: budgets and the scores of methods within them; what two methods need for equal regret.

Budgets and the communication of runs are in full messages per decision: needed numbers, up and down, in units of a
full {V, b}, which has d(d+1)/2 + d numbers.
"""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike

from benchmark.statistics.intervals import CONFIDENCE, Floats, Interval, mean_interval

if TYPE_CHECKING:
    import pandas as pd

TOLERANCE = 1e-9
"""Relative: a mean over seeds that exceeds a budget by rounding alone stays within it."""

Scale = Literal["reward", "regret"]
"""A score is a normalised reward (`reward`), or in simulations 1 − regret / regret of random choice (`regret`)."""

Choices = Mapping[str, Mapping[float, str | None]]
"""The chosen configuration by method and budget; None if no configuration of the method stays within the budget."""


def full_transfer(dimension: int) -> int:
    """Return the numbers in a full transfer of {V, b}: the symmetric half of V, and b."""
    return dimension * (dimension + 1) // 2 + dimension


def full_transfers(numbers: float, dimension: int) -> float:
    """Convert numbers into full transfers."""
    return numbers / full_transfer(dimension)


def is_within(communication: float, limit: float) -> bool:
    """Whether a mean over seeds stays within a limit."""
    return communication <= limit * (1 + TOLERANCE)


def random_score(scale: Scale) -> float:
    """Return the score of a random choice."""
    return 1.0 if scale == "reward" else 0.0


def regret_score(regret: float, random_regret: float) -> float:
    """Return the score of a simulated run: 1 − regret / regret of a random choice on the same stream, or NaN."""
    return 1 - regret / random_regret if random_regret > 0 else math.nan


@dataclass(frozen=True)
class Overruns:
    """The seeds on which a configuration exceeds its budget; if its mean over seeds does so too, by what factor."""

    seeds: tuple[int, ...]
    factor: float | None


def overruns(communication_by_seed: Mapping[int, float], budget: float) -> Overruns:
    """Find the overruns of a configuration."""
    seeds = tuple(sorted(seed for seed, amount in communication_by_seed.items() if not is_within(amount, budget)))
    mean = float(np.mean(list(communication_by_seed.values()))) if communication_by_seed else 0.0
    return Overruns(seeds, None if is_within(mean, budget) else mean / budget if budget else math.inf)


@dataclass(frozen=True)
class Scores:
    """Scores on the report seeds: `values` is methods × budgets × seeds.

    A missing or failed run is NaN.
    """

    choices: Choices
    seeds: tuple[int, ...]
    values: Floats
    scale: Scale

    @property
    def methods(self) -> tuple[str, ...]:
        """The names of the methods."""
        return tuple(self.choices)

    @property
    def budgets(self) -> tuple[float, ...]:
        """The budgets, which are the same for all methods."""
        return tuple(next(iter(self.choices.values())))

    def of(self, method: str) -> Floats:
        """Return the scores of one method, budgets × seeds."""
        result: Floats = self.values[self.methods.index(method)]
        return result


def require_reporting(seeds: Iterable[int], choosing: Collection[int]) -> None:
    """Raise ValueError if a seed is one of the seeds for choosing."""
    for seed in seeds:
        if seed in choosing:
            raise ValueError(
                f"report seeds must be outside {min(choosing)} to {max(choosing)}, got {seed}; "
                "scores must not be reported on seeds that choose configurations"
            )


def report_scores(
    runs: "pd.DataFrame", choices: Choices, seeds: Sequence[int], scale: Scale, *, choosing: Collection[int]
) -> Scores:
    """Look up the score of each method within each budget on the report seeds; without a choice it is NaN.

    `runs` has the columns configuration, seed and score; a configuration's name is unique over all methods. Runs on
    other seeds or of other configurations are not used. Raises ValueError for a report seed that is for choosing.
    """
    require_reporting(seeds, choosing)
    by_configuration = score_table(runs[runs["seed"].isin(list(seeds))])

    def scores_of(configuration: str | None) -> list[float]:
        return [by_configuration.get(configuration or "", {}).get(seed, math.nan) for seed in seeds]

    values = np.array([[scores_of(each) for each in chosen.values()] for chosen in choices.values()])
    values[~np.isfinite(values)] = math.nan
    return Scores(choices, tuple(seeds), values, scale)


def score_table(runs: "pd.DataFrame") -> dict[str, dict[int, float]]:
    """Return the scores by configuration and seed; two runs of one configuration on one seed are refused."""
    refuse_duplicates(runs)
    table: dict[str, dict[int, float]] = {}
    for configuration, seed, score in zip(runs["configuration"], runs["seed"], runs["score"], strict=True):
        table.setdefault(str(configuration), {})[int(seed)] = float(score)
    return table


def refuse_duplicates(runs: "pd.DataFrame") -> None:
    """Raise ValueError if a configuration has two runs on one seed."""
    duplicates = runs[runs.duplicated(["configuration", "seed"])]
    if len(duplicates):
        configuration, seed = duplicates.iloc[0][["configuration", "seed"]]
        raise ValueError(f"expected one run per configuration and seed, got two of {configuration} on seed {seed}")


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


def at_equal_regret(first: Sequence[Front], second: Sequence[Front], above: Sequence[float]) -> list[EqualRegret]:
    """Compare the communication of two methods at given shares above the least regret; one front per seed each."""
    shares = 1 + np.asarray(above, dtype=float)
    sides: list[tuple[Floats, Floats]] = []
    for one, other in zip(first, second, strict=True):
        levels = min(np.min(regret) for _, regret in (one, other)) * shares
        sides.append((communication_at(*one, levels), communication_at(*other, levels)))
    return [
        EqualRegret(share, *(np.array([side[method][index] for side in sides]) for method in (0, 1)))
        for index, share in enumerate(above)
    ]


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
