"""The result of a board: choices, scores, verdicts and ranks, computed from the outcomes of its runs."""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from benchmark.board.board import COLUMNS, COMMUNICATION, Board, Outcomes, chosen_by, run_table, selection_of
from benchmark.board.entries import MethodRow
from benchmark.statistics.budgets import Overruns, Scores, overruns, report_scores, score_table
from benchmark.statistics.comparison import (
    NO_COMMUNICATION,
    PRIMARY,
    Cell,
    Column,
    column_means,
    compare,
    family_of_comparisons,
    in_all_columns,
    leaders,
    own_end,
    ranks_from,
    with_ends,
    with_primary,
)
from benchmark.statistics.intervals import Floats, Interval, mean_interval, paired_interval
from benchmark.statistics.selection import Choice, Selection, edges
from benchmark.statistics.verdicts import Rank, Verdict, depending_on_budget

ONE_RANKING = MethodRow("one-ranking", "one-ranking", "One ranking for all in hindsight", role="reference", style=18)
"""The row of the ceiling of one ranking for all, which follows from the streams alone: no run plays it."""

SENT = "communication"
"""The metric of the paper's count of transfers."""


@dataclass(frozen=True)
class BoardResult:
    """A board and the results of its runs.

    Args:
        board: the task, the protocol and the rows.
        outcomes: its runs.
        selections: the choices of each contender that takes part.
        problems: why a row has no scores, by its name.
        scores: those on report seeds, with tuned "no communication" and the methods' own ends; None without contenders.
        comparisons: those that `statistics.comparison.compare` returns.
        leaders: the tuned contender with the highest mean at each budget and at the primary endpoint.
        ranks: those of the tuned contenders at each budget and at the primary endpoint; none without verdicts, and none
            of a retired task.
        lines: the score of each reference line, by the name of its row and by seed.
        runs: one row per run, as `run_table` returns them.
        is_interrupted: whether a signal ended it; the other results are then empty.
        metric_errors: one line per error of a metric of the user; no other result depends on it.
    """

    board: Board
    outcomes: Outcomes
    selections: Mapping[str, Selection] = field(default_factory=dict)
    problems: Mapping[str, str] = field(default_factory=dict)
    scores: Scores | None = None
    comparisons: pd.DataFrame = field(default_factory=pd.DataFrame)
    leaders: Mapping[Column, str] = field(default_factory=dict)
    ranks: Mapping[Column, Mapping[str, Rank]] = field(default_factory=dict)
    lines: Mapping[str, Mapping[int, float]] = field(default_factory=dict)
    runs: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=COLUMNS))
    is_interrupted: bool = False
    metric_errors: tuple[str, ...] = ()

    @property
    def budgets(self) -> list[float]:
        """The budgets, in full messages per decision."""
        return list(self.board.protocol.budgets.all)

    @property
    def contenders(self) -> list[MethodRow]:
        """The rows that have scores and are compared."""
        return [entry for entry in self.board.entries if entry.name in self.selections]

    @property
    def references(self) -> list[MethodRow]:
        """The reference lines that have scores, the ranking for all in hindsight included."""
        return [entry for entry in (*self.board.entries, ONE_RANKING) if entry.name in self.lines]

    @cached_property
    def chosen(self) -> list[str]:
        """The chosen configurations of all contenders at all budgets."""
        choices = [name for selection in self.selections.values() for name in selection.configurations.values()]
        return [name for name in dict.fromkeys(choices) if name is not None]

    def facts_lines(self) -> list[str]:
        """Return what the task can show in at most four lines; by decision number, alone and the best method."""
        if self.board.facts is None:
            return []
        reference, shown = self.board.protocol.comparison.reference, dict[str, str]()
        alone = self.choice(reference, self.budgets[0]) if reference in self.selections else None
        if alone is not None:
            shown["alone"] = alone.configuration
        if self.best is not None:
            budget = max(self.board.protocol.budgets.primary)
            choice = self.choice(self.best, budget)
            if choice is not None:
                shown[f"{self._entry(self.best).label} at {budget:g}"] = choice.configuration
        return self.board.facts.lines(shown)

    def values(self, name: str, budget: Column = PRIMARY) -> Floats:
        """Return the scores of a row on the report seeds, at a budget or at the primary endpoint."""
        if self.scores is None:
            return np.full(len(self.board.seeds), math.nan)
        rows = with_primary(self.scores, name, self.board.protocol.budgets.primary)
        result: Floats = rows[-1 if isinstance(budget, str) else self.budgets.index(budget)]
        return result

    def mean(self, name: str, budget: Column = PRIMARY) -> Interval:
        """Return the mean score with its interval over seeds; NaN if a run is missing, as a mean would be biased."""
        values = self.values(name, budget)
        return mean_interval(values if np.isfinite(values).all() else [])

    def choice(self, name: str, budget: float) -> Choice | None:
        """Return the configuration of a row at a budget; None if none stays within it."""
        return self.selections[name].choices[budget]

    def difference(self, first: str, second: str, budget: Column) -> Mapping[Any, Any] | None:
        """Return a row of the comparisons: difference, low, high and verdict; None if the two are not compared."""
        return self._differences.get((first, second, budget))

    @cached_property
    def _differences(self) -> dict[Cell, Mapping[Any, Any]]:
        rows = self.comparisons.to_dict("records")
        return {(row["first"], row["second"], row["budget"]): row for row in rows}

    def verdict(self, name: str, budget: Column, other: str = NO_COMMUNICATION) -> Verdict:
        """Return the verdict on a row, compared with another, by default tuned "no communication"."""
        row = self.difference(name, other, budget)
        return Verdict.NONE if row is None else Verdict(str(row["verdict"]))

    @property
    def best(self) -> str | None:
        """The tuned row with the highest mean at the primary endpoint."""
        return self.leaders.get(PRIMARY)

    @cached_property
    def depending(self) -> set[str]:
        """The rows whose ranks at different budgets contradict each other."""
        return depending_on_budget(ranks for column, ranks in self.ranks.items() if column != PRIMARY)

    def rank(self, name: str) -> Rank | None:
        """Return the rank of a row at the primary endpoint; None where it depends on the budget."""
        return None if name in self.depending else self.ranks[PRIMARY][name]

    def reported(self, configuration: str, metric: str = COMMUNICATION) -> dict[int, float]:
        """Return a metric of a configuration on the report seeds."""
        outcomes = {seed: self.outcomes.get((configuration, seed)) for seed in self.board.seeds}
        return {seed: each.metrics[metric] for seed, each in outcomes.items() if each and metric in each.metrics}

    def needed(self, configuration: str) -> float:
        """Return the mean of the needed full messages per decision on the report seeds."""
        return _mean(self.reported(configuration))

    def sent(self, configuration: str) -> float:
        """Return the mean of the transfers per client that the paper counts, on the report seeds."""
        return _mean(self.reported(configuration, SENT)) / self.board.clients

    def overruns(self, name: str, budget: float) -> Overruns:
        """Return the report seeds on which the chosen configuration exceeds the budget."""
        choice = self.choice(name, budget)
        return overruns(self.reported(choice.configuration) if choice else {}, budget)

    def edges(self, name: str, budget: float) -> tuple[str, ...]:
        """Return the parameters whose chosen value is at an edge of its grid; the front does not count."""
        entry, choice = self._entry(name), self.choice(name, budget)
        if choice is None:
            return ()
        numeric = {
            parameter: [float(value) for value in grid]
            for parameter, grid in entry.grids.items()
            if parameter != entry.front and all(isinstance(value, int | float) for value in grid)
        }
        values = {key: {each: float(part[each]) for each in numeric} for key, part in entry.configurations.items()}
        return edges(choice, values, numeric)

    def below(self, name: str) -> list[str]:
        """Return the reference lines that a row is below, by a paired interval at the primary endpoint.

        There is none with fewer report seeds than a verdict needs.
        """
        if not self.board.has_enough_seeds:
            return []
        lines = {entry.label: self.above(entry.name, name) for entry in self.references}
        return [label for label, (_, low, _) in lines.items() if low > 0]

    def above(self, reference: str, name: str) -> Interval:
        """Return the paired difference of a reference line to a row at the primary endpoint, with its interval."""
        return paired_interval(self._line(reference), self.values(name))

    def line(self, name: str) -> Interval:
        """Return the mean score of a reference line, with its interval over seeds."""
        values = self._line(name)
        return mean_interval(values if np.isfinite(values).all() else [])

    def notes(self, entry: MethodRow) -> list[str]:
        """Return the notes on a row: how it was tuned, failed runs, references that are better."""
        if entry.name in self.problems:
            return [self.problems[entry.name]]
        notes = [*entry.notes, *filter(None, [self.board.tuning_note(entry)])]
        notes += [*self._failures(entry), *self._over(entry)]
        return notes + [f"below {label}" for label in self.below(entry.name)]

    def _over(self, entry: MethodRow) -> list[str]:
        """Return the finite budgets that the mean over the report seeds exceeds: choices limit choosing seeds only."""
        budgets = self.budgets if entry.name in self.selections else []
        factors = {budget: self.overruns(entry.name, budget).factor for budget in budgets}
        return [
            f"over: {factor:.3g} times the budget of {budget:,g} on the report seeds"
            for budget, factor in factors.items()
            if factor is not None
        ]

    def _failures(self, entry: MethodRow) -> list[str]:
        own = {run: outcome for run, outcome in self.outcomes.items() if run[0] in entry.configurations}
        runs = self.runs[self.runs["configuration"].isin(list(entry.configurations))]
        invalid = runs[~np.isfinite(runs["score"].astype(float))]
        seeds = self.board.protocol.seeds
        invalid_seeds = Counter(seeds.purpose(seed) for seed in invalid["seed"])
        errors = [outcome.error for outcome in own.values() if outcome.error]
        reason = f" ({errors[0]})" if errors else " (no score)"
        words = {"choose": "choosing", "report": "report"}
        return [f"{count} {words[purpose]} runs failed{reason}" for purpose, count in invalid_seeds.items()]

    def _line(self, name: str) -> Floats:
        return np.array([self.lines[name].get(seed, math.nan) for seed in self.board.seeds])

    def _entry(self, name: str) -> MethodRow:
        return next(entry for entry in self.board.entries if entry.name == name)


def evaluate(board: Board, outcomes: Outcomes, further_runs: pd.DataFrame | None = None) -> BoardResult:
    """Choose configurations on the choosing seeds, and compare them on the report seeds.

    `further_runs` are rows of `run_table` for runs that are not among the outcomes.
    """
    runs = pd.concat([further_runs, run_table(board, outcomes)], ignore_index=True)
    reported = score_table(runs[runs["seed"].isin(list(board.seeds))])
    problems = {entry.name: entry.problem for entry in board.entries if entry.problem}
    selections: dict[str, Selection] = {}
    lines: dict[str, dict[int, float]] = {}
    for entry in board.playing:
        if not entry.is_contender:
            chosen, _ = chosen_by(board, entry, runs)
            if chosen and chosen[0] in reported:
                lines[entry.name] = reported[chosen[0]]
            continue
        selection = selection_of(board, entry, runs)
        if any(choice is not None for choice in selection.choices.values()):
            selections[entry.name] = selection
        else:
            errors = [outcomes[run].error for run in selection.failed if outcomes[run].error]
            reason = f"every configuration failed: {errors[0]}" if errors else "no configuration has a score"
            problems[entry.name] = reason
    if board.facts is not None and board.facts.one_ranking:
        lines[ONE_RANKING.name] = dict(board.facts.one_ranking)
    return _compared(BoardResult(board, outcomes, selections, problems, lines=lines, runs=runs))


def judged_by(result: BoardResult, goal: str) -> BoardResult:
    """Return the same choices, with all scores by another metric of the same runs."""
    board = replace(result.board, goal=goal)
    runs = run_table(board, result.outcomes)
    reported = score_table(runs[runs["seed"].isin(list(board.seeds))])
    configurations = {entry.name: [*entry.configurations] for entry in result.references}
    lines = {
        name: next((reported[each] for each in names if each in reported), {}) for name, names in configurations.items()
    }
    return _compared(replace(result, board=board, runs=runs, lines=lines))


def _compared(result: BoardResult) -> BoardResult:
    """Add scores, comparisons and ranks; without choices of the reference there are none."""
    board, reference = result.board, result.board.protocol.comparison.reference
    if reference not in result.selections:
        return result
    choices = {name: selection.configurations for name, selection in result.selections.items()}
    choosing = board.protocol.seeds.choosing.seeds
    scores = report_scores(result.runs, with_ends(choices, reference), board.seeds, board.scale, choosing=choosing)
    ranked = [entry.name for entry in result.contenders if entry.is_ranked]
    not_tuned = [  # rows with fixed values: with no communication, with their own end, with the tuned method
        (entry.name, other)
        for entry in result.contenders
        if not entry.is_ranked
        for other in (NO_COMMUNICATION, own_end(entry.name), entry.method)
        if other in scores.methods
    ]
    rules = board.protocol.rules()
    means = column_means(scores, ranked, rules)
    first = leaders(means)
    # Two families of bands, so that a row with fixed values changes no verdict on the tuned methods.
    families = [family_of_comparisons(scores, ranked, first), in_all_columns(scores, not_tuned)]
    comparisons = pd.concat([compare(scores, cells, rules) for cells in families if cells], ignore_index=True)
    ranks = ranks_from(comparisons, means, first) if not board.retired else {}
    return replace(result, scores=scores, comparisons=comparisons, leaders=first, ranks=ranks)


def _mean(values: Mapping[int, float]) -> float:
    return float(np.mean(list(values.values()))) if values else math.nan
