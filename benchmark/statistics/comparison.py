"""All comparisons on one task, with verdicts, at every budget and at the primary endpoint; the ranks of methods."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmark.statistics.budgets import Choices, Scores
from benchmark.statistics.intervals import Floats, mean_interval, simultaneous_bands
from benchmark.statistics.verdicts import Rank, Verdict, equivalence_margin, ranks_in_column, verdict

if TYPE_CHECKING:
    import pandas as pd

PRIMARY = "primary"
"""In the column `budget`: the mean of the score over the primary budgets."""

NO_COMMUNICATION = "no communication"
"""The reference: the reference method's choice at budget 0, at every budget."""

Column = float | str
"""A budget, or the primary endpoint."""

Pair = tuple[str, str]
Cell = tuple[str, str, Column]
"""Two methods that are compared in a column."""


@dataclass(frozen=True)
class Rules:
    """The numbers of the protocol that comparisons need."""

    primary_budgets: tuple[float, ...]
    margin_share: float
    confidence: float
    repetitions: int
    min_seeds: int
    seed: int


def own_end(method: str) -> str:
    """Return the name of a method's own choice at budget 0, when it is compared as a method."""
    return f"{method} without communication"


def with_ends(choices: Choices, reference: str) -> dict[str, Mapping[float, str | None]]:
    """Add tuned "no communication", and the own no-communication end of every other method that has one.

    A method without a configuration within a budget is scored as tuned "no communication" there.
    """
    alone = choices[reference][0.0]
    filled = {
        method: {budget: configuration or alone for budget, configuration in chosen.items()}
        for method, chosen in choices.items()
    }
    ends = {NO_COMMUNICATION: alone}
    ends |= {own_end(method): chosen[0.0] for method, chosen in choices.items() if method != reference and chosen[0.0]}
    return {**filled, **{name: dict.fromkeys(choices[reference], end) for name, end in ends.items()}}


def columns_of(scores: Scores) -> list[Column]:
    """Return the budgets and the primary endpoint."""
    return [*scores.budgets, PRIMARY]


def column_means(scores: Scores, methods: Sequence[str], rules: Rules) -> dict[Column, dict[str, float]]:
    """Return the mean score of each method in each column; NaN if a run is missing, as a mean would be biased."""
    means = {method: with_primary(scores, method, rules.primary_budgets).mean(axis=1) for method in methods}
    columns = columns_of(scores)
    return {column: {name: float(of[index]) for name, of in means.items()} for index, column in enumerate(columns)}


def leaders(means: Mapping[Column, Mapping[str, float]]) -> dict[Column, str]:
    """Return the method with the highest mean of each column, the first of equal ones; none where no mean is known."""
    known = {
        column: {name: mean for name, mean in row.items() if not math.isnan(mean)} for column, row in means.items()
    }
    return {column: max(row, key=lambda name: row[name]) for column, row in known.items() if row}


def in_all_columns(scores: Scores, pairs: Iterable[Pair]) -> list[Cell]:
    """Return pairs of methods, each in every column."""
    return [(*pair, column) for pair in pairs for column in columns_of(scores)]


def family_of_comparisons(scores: Scores, methods: Sequence[str], leader: Mapping[Column, str]) -> list[Cell]:
    """Return the comparisons of a task: each method with "no communication", its own end, and each column's leader."""
    to_ends = [(method, NO_COMMUNICATION) for method in methods]
    to_ends += [(method, own_end(method)) for method in methods if own_end(method) in scores.methods]
    to_leader: list[Cell] = [
        (method, leader[column], column)
        for method in methods
        for column in columns_of(scores)
        if column in leader and method != leader[column]
    ]
    return [*in_all_columns(scores, to_ends), *to_leader]


def compare(scores: Scores, cells: Sequence[Cell], rules: Rules) -> "pd.DataFrame":
    """Compare pairs of methods, each at a budget or at the primary endpoint, by one bootstrap for all of them.

    Returns one row per cell: first, second, budget (a number or "primary"), seeds (those with both scores), difference
    (mean of first − second), low and high (simultaneous band; NaN with too few seeds), student_low and student_high
    (interval of this row alone), verdict. All numbers are NaN, and there is no verdict, if a run is missing. The scores
    must include "no communication", which determines the margin.
    """
    import pandas as pd  # half a second, which a worker process would need to read the protocol

    margin = equivalence_margin(float(scores.of(NO_COMMUNICATION).mean()), scores.scale, rules.margin_share)
    values = {method: with_primary(scores, method, rules.primary_budgets) for method in scores.methods}
    columns = columns_of(scores)
    places = [columns.index(column) for *_, column in cells]
    differences = np.stack(
        [values[first][place] - values[second][place] for (first, second, _), place in zip(cells, places, strict=True)]
    )
    low, high = band_ends(differences, rules)
    rows = []
    for index, (first, second, column) in enumerate(cells):
        band = float(low[index]), float(high[index])
        compared = rules.primary_budgets if isinstance(column, str) else (column,)
        same = all(scores.choices[first][each] == scores.choices[second][each] for each in compared)
        judged = verdict(*band, margin, same_configuration=same, seeds=len(scores.seeds), min_seeds=rules.min_seeds)
        names = {"first": first, "second": second, "budget": column}
        rows.append(names | _numbers(differences[index], band) | {"verdict": judged})
    return pd.DataFrame(rows)


def with_primary(scores: Scores, method: str, primary_budgets: Sequence[float]) -> Floats:
    """Return the scores of a method at each budget, and in the last row at the primary endpoint; rows × seeds."""
    columns = [scores.budgets.index(budget) for budget in primary_budgets]
    by_budget = scores.of(method)
    return np.vstack([by_budget, by_budget[columns].mean(axis=0)])


def band_ends(differences: Floats, rules: Rules) -> tuple[Floats, Floats]:
    """Return the ends of the simultaneous bands, NaN with fewer than `min_seeds` seeds."""
    if differences.shape[-1] < rules.min_seeds:
        no_band = np.full(differences.shape[:-1], np.nan)
        return no_band, no_band
    bands = simultaneous_bands(differences, confidence=rules.confidence, repetitions=rules.repetitions, seed=rules.seed)
    return bands.low, bands.high


def ranks_from(
    comparisons: "pd.DataFrame", means: Mapping[Column, Mapping[str, float]], leader: Mapping[Column, str]
) -> dict[Column, dict[str, Rank]]:
    """Return the ranks of the methods in each column; empty if there are no verdicts.

    `comparisons` are those that `compare` returns of `family_of_comparisons`; those with other methods than the leaders
    are not used.
    """
    is_judged = bool((comparisons["verdict"] != Verdict.NONE).any())
    ranks: dict[Column, dict[str, Rank]] = {}
    for column, name in leader.items() if is_judged else ():
        rows = comparisons[(comparisons["budget"] == column) & (comparisons["second"] == name)]
        verdicts = {first: Verdict(judged) for first, judged in zip(rows["first"], rows["verdict"], strict=True)}
        ranks[column] = ranks_in_column(means[column], verdicts)
    return ranks


def _numbers(differences: Floats, band: tuple[float, float]) -> dict[str, Any]:
    seeds = int(np.isfinite(differences).sum())
    # Seeds without a run may be those on which a method fails: a mean over the others would be biased.
    mean, student_low, student_high = mean_interval(differences if seeds == len(differences) else [])
    return {
        "seeds": seeds,
        "difference": mean,
        "low": band[0],
        "high": band[1],
        "student_low": student_low,
        "student_high": student_high,
    }
