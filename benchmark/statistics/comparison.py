"""All comparisons on one task: every pair of methods at every budget and at the primary endpoint, with verdicts."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from benchmark.statistics.budgets import Choices, Scores
from benchmark.statistics.intervals import Floats, mean_interval, simultaneous_bands
from benchmark.statistics.verdicts import Rank, Verdict, equivalence_margin, ranks_over_budgets, verdict

PRIMARY = "primary"
"""In the column `budget`: the mean of the score over the primary budgets."""

NO_COMMUNICATION = "no communication"
"""The reference: the reference method's choice at budget 0, at every budget."""

Pair = tuple[str, str]


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
    """Add tuned "no communication", and the own no-communication end of every method but the reference."""
    if reference not in choices:
        raise ValueError(f"reference must be one of {', '.join(choices)}, got {reference}")
    if without := [method for method, chosen in choices.items() if 0.0 not in chosen]:
        raise ValueError(f"budgets must include 0, got {tuple(choices[without[0]])} for {without[0]}")
    ends = {NO_COMMUNICATION if method == reference else own_end(method): method for method in choices}
    constant = {name: dict.fromkeys(choices[method], choices[method][0.0]) for name, method in ends.items()}
    return {**choices, **constant}


def board_pairs(methods: Sequence[str], reference: str) -> list[Pair]:
    """Return every two methods, each method with "no communication", and each with its own end."""
    to_reference = [(method, NO_COMMUNICATION) for method in methods]
    to_own_end = [(method, own_end(method)) for method in methods if method != reference]
    return [*itertools.combinations(methods, 2), *to_reference, *to_own_end]


def compare(scores: Scores, pairs: Sequence[Pair], rules: Rules) -> pd.DataFrame:
    """Compare pairs of methods at every budget and at the primary endpoint, by one bootstrap for all of them.

    Returns one row per pair and budget: first, second, budget (a number or "primary"), seeds (those with both
    scores), difference (mean of first − second), low and high (simultaneous band; NaN with too few seeds),
    student_low and student_high (interval of this row alone), verdict. All numbers are NaN, and there is no verdict,
    if a run is missing. The scores must include "no communication", which determines the margin.
    """
    if NO_COMMUNICATION not in scores.methods:
        raise ValueError(f"scores must include {NO_COMMUNICATION!r}, got {', '.join(scores.methods)}")
    margin = equivalence_margin(float(scores.of(NO_COMMUNICATION).mean()), scores.scale, rules.margin_share)
    values = {method: with_primary(scores, method, rules.primary_budgets) for method in scores.methods}
    differences = np.stack([values[first] - values[second] for first, second in pairs])
    low, high = band_ends(differences, rules)
    budgets: list[float | str] = [*scores.budgets, PRIMARY]
    rows = []
    for index, pair in enumerate(pairs):
        for column, budget in enumerate(budgets):
            band = float(low[index, column]), float(high[index, column])
            compared = rules.primary_budgets if isinstance(budget, str) else (budget,)
            first, second = (dict(zip(scores.budgets, scores.configurations_of(each), strict=True)) for each in pair)
            same = all(first[number] == second[number] for number in compared)
            judged = verdict(*band, margin, same_configuration=same, seeds=len(scores.seeds), min_seeds=rules.min_seeds)
            names = {"first": pair[0], "second": pair[1], "budget": budget}
            rows.append(names | _numbers(differences[index, column], band) | {"verdict": judged})
    return pd.DataFrame(rows)


def with_primary(scores: Scores, method: str, primary_budgets: Sequence[float]) -> Floats:
    """Return the scores of a method at each budget, and in the last row at the primary endpoint; rows × seeds."""
    if missing := sorted(set(primary_budgets) - set(scores.budgets)):
        raise ValueError(f"budgets must include the primary budget {missing[0]:g}, got {scores.budgets}")
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


def ranks_from(comparisons: pd.DataFrame, methods: Sequence[str]) -> dict[str, Rank | None]:
    """Return the rank of each method as an interval; None where it depends on the budget.

    `comparisons` are those that `compare` returns; pairs with other names, such as references, are not used.
    """
    among = comparisons[comparisons["first"].isin(methods) & comparisons["second"].isin(methods)]
    by_budget: dict[float | str, dict[Pair, Verdict]] = {}
    for first, second, budget, judged in among[["first", "second", "budget", "verdict"]].itertuples(index=False):
        by_budget.setdefault(budget, {})[first, second] = Verdict(judged)  # pandas stores plain strings
    primary = by_budget.pop(PRIMARY, {})
    return ranks_over_budgets(methods, primary, by_budget.values())


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
