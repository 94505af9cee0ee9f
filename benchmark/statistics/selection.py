"""Choosing a configuration per budget by successive halving, on the seeds for choosing alone.

Every pass runs its configurations on further seeds. Then, for each budget, those with the best mean score over all
seeds so far continue, among the ones whose mean communication over these seeds stays within the budget. The one that
continues after the last pass is the choice.

Ties: the higher mean score, then the lower mean communication, then the earlier place in the list of configurations.
Configurations with equal score and equal communication on all seeds so far are one: the first in the list continues.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from benchmark.statistics.budgets import is_within, refuse_duplicates

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Result:
    """The score of a run and its communication. A failed run has the score NaN."""

    score: float
    communication: float

    @property
    def is_valid(self) -> bool:
        """Whether the run has a score and a communication that can be compared."""
        return math.isfinite(self.score) and math.isfinite(self.communication) and self.communication >= 0


ResultsBySeed = Mapping[int, Mapping[str, Result]]
"""Results by seed and configuration."""


@dataclass(frozen=True)
class Pass:
    """One pass of successive halving: its seeds, and how many configurations continue per budget."""

    seeds: tuple[int, ...]
    keep: int


@dataclass(frozen=True)
class Choice:
    """The configuration chosen for a budget, with its means over the seeds for choosing.

    `same_as` are the configurations that had equal scores and equal communication, and did not continue.
    """

    configuration: str
    score: float
    communication: float
    same_as: tuple[str, ...] = ()


@dataclass(frozen=True)
class Selection:
    """The state of successive halving.

    `played` are the configurations of each pass so far. `pending` are the runs, as configuration and seed, that the
    current pass still needs; while there are any, `choices` is empty. Afterwards it has one entry per budget, None
    where no configuration stays within it. `failed` are runs without a valid result; their configurations are excluded.
    """

    played: tuple[tuple[str, ...], ...]
    pending: tuple[tuple[str, int], ...] = ()
    choices: Mapping[float, Choice | None] = field(default_factory=dict)
    failed: tuple[tuple[str, int], ...] = ()

    @property
    def configurations(self) -> dict[float, str | None]:
        """The name of the chosen configuration by budget."""
        return {budget: choice.configuration if choice else None for budget, choice in self.choices.items()}


def results_by_seed(runs: "pd.DataFrame") -> dict[int, dict[str, Result]]:
    """Convert a table of one method's runs, with columns configuration, seed, score and communication."""
    refuse_duplicates(runs)
    results: dict[int, dict[str, Result]] = {}
    columns = (runs[name] for name in ("configuration", "seed", "score", "communication"))
    for configuration, seed, score, communication in zip(*columns, strict=True):
        results.setdefault(int(seed), {})[str(configuration)] = Result(float(score), float(communication))
    return results


def select(
    configurations: Sequence[str],
    results: ResultsBySeed,
    limits: Mapping[float, float],
    passes: Sequence[Pass],
) -> Selection:
    """Go through the passes as far as there are results.

    Call it, execute the pending runs, add the results, and call it again until nothing is pending. `limits` are the
    mean communication that each budget allows. Raises ValueError for results on any seed that no pass has.
    """
    choosing = [seed for current in passes for seed in current.seeds]
    if others := [seed for seed in results if seed not in choosing]:
        raise ValueError(
            f"seeds for choosing must be from {min(choosing)} to {max(choosing)}, got {others[0]}; "
            "a configuration must not be chosen on seeds that are reported"
        )
    survivors = tuple(configurations)
    seeds: tuple[int, ...] = ()
    played: tuple[tuple[str, ...], ...] = ()
    failed: tuple[tuple[str, int], ...] = ()
    same_as: dict[str, tuple[str, ...]] = {}
    best: dict[float, list[Choice]] = {budget: [] for budget in limits}
    for current in passes:
        seeds, played = (*seeds, *current.seeds), (*played, survivors)
        needed = [(name, seed) for name in survivors for seed in current.seeds]
        if pending := tuple((name, seed) for name, seed in needed if name not in results.get(seed, {})):
            return Selection(played, pending, failed=failed)
        failures = tuple((name, seed) for name, seed in needed if not results[seed][name].is_valid)
        failed += failures
        valid = [name for name in survivors if name not in dict(failures)]
        candidates = merge_equal({name: [results[seed][name] for seed in seeds] for name in valid}, same_as)
        same_as |= {candidate.configuration: candidate.same_as for candidate in candidates}
        best = {budget: best_choices(candidates, limit, current.keep) for budget, limit in limits.items()}
        kept = {candidate.configuration for candidates in best.values() for candidate in candidates}
        survivors = tuple(name for name in survivors if name in kept)
    choices = {budget: candidates[0] if candidates else None for budget, candidates in best.items()}
    return Selection(played, choices=choices, failed=failed)


def merge_equal(
    results: Mapping[str, Sequence[Result]], same_as: Mapping[str, tuple[str, ...]] | None = None
) -> list[Choice]:
    """Return the means of each configuration over seeds; those with equal results on all seeds become one.

    `same_as` are the configurations that became one in earlier passes.
    """
    names_by_results: dict[tuple[Result, ...], list[str]] = {}
    for name, values in results.items():
        names_by_results.setdefault(tuple(values), []).append(name)
    earlier = same_as or {}
    return [
        Choice(
            names[0],
            score=float(np.mean([result.score for result in values])),
            communication=float(np.mean([result.communication for result in values])),
            same_as=(*names[1:], *(other for name in names for other in earlier.get(name, ()))),
        )
        for values, names in names_by_results.items()
    ]


def best_choices(candidates: Iterable[Choice], limit: float, keep: int) -> list[Choice]:
    """Return the best candidates whose mean communication stays within a limit, the best first."""
    within = [candidate for candidate in candidates if is_within(candidate.communication, limit)]
    return sorted(within, key=lambda candidate: (-candidate.score, candidate.communication))[:keep]


def edges(
    choice: Choice, values: Mapping[str, Mapping[str, float]], grids: Mapping[str, Sequence[float]]
) -> tuple[str, ...]:
    """Return the parameters whose chosen value is at an edge of its grid, where a better one might lie beyond.

    `values` are the parameters of each configuration. A parameter with a single value has no edge; neither has a
    choice that is the same as a configuration inside the grid.
    """
    equal = (choice.configuration, *choice.same_as)
    return tuple(
        parameter
        for parameter, grid in grids.items()
        if len(set(grid)) > 1 and all(values[name][parameter] in (min(grid), max(grid)) for name in equal)
    )
