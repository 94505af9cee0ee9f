"""Which users do better and worse with a method than alone, by activity, on a board."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmark.board.entries import Entry
from benchmark.board.result import BoardResult
from benchmark.statistics.comparison import NO_COMMUNICATION
from benchmark.statistics.users import GroupShares, bootstrap_over_users, shares_by_group
from data_pipelines.stream_spec import DatasetSpec
from reports.analysis.board import budget_text, ranked_entries
from reports.analysis.group_totals import group_of_each, groups_of
from reports.read.boards import StoredBoard
from reports.read.context import Context
from reports.read.results import Results

ALL = "all"
Floats = NDArray[np.float64]


def user_rows(stored: StoredBoard, results: Results, context: Context) -> pd.DataFrame:
    """Return, for each method, budget and activity group, the shares of users that do better and worse than alone.

    The row of all users has the difference in normalised reward with an interval over users and seeds. Empty for
    simulations, without the prepared data, and without the files of runs. Computed once per report.
    """
    if stored.experiment not in context.board_users:
        context.board_users[stored.experiment] = _user_rows(stored, results, context)
    return context.board_users[stored.experiment]


def _user_rows(stored: StoredBoard, results: Results, context: Context) -> pd.DataFrame:
    result = stored.result
    spec = result.board.task.stream
    prepared = context.prepared(spec.name) if isinstance(spec, DatasetSpec) else None
    if prepared is None or result.scores is None or not isinstance(spec, DatasetSpec):
        return pd.DataFrame()
    reference = result.board.protocol.comparison.reference
    alone_choice = result.choice(reference, 0.0)
    try:
        rewards = _Rewards(result, results)
        users = rewards.users
        alone = rewards.of(alone_choice.configuration if alone_choice else None)
        by_chance = rewards.by_chance(spec, context)
    except (OSError, ValueError, KeyError) as error:
        context.note_absent(f"{stored.experiment}: no table of users because files of runs are missing ({error})")
        return pd.DataFrame()
    groups = groups_of(prepared)
    ids, activity = np.unique(prepared.users, return_counts=True)
    numbers = group_of_each(activity[np.searchsorted(ids, users)], groups)
    labels, order = [groups[number].label for number in numbers], [group.label for group in groups]
    rows: list[dict[str, Any]] = []
    for entry, configuration, budgets in _choices(result, alone_choice.configuration if alone_choice else ""):
        with_method = rewards.of(configuration)
        overall = shares_by_group(with_method, alone, [ALL] * len(users))[0]
        interval = bootstrap_over_users(with_method, alone, by_chance)
        difference = dict(zip(("difference", "difference_low", "difference_high"), interval, strict=True))
        rows.append(_row(entry, budgets, overall) | difference)
        groups_shares = shares_by_group(with_method, alone, labels, order)
        rows += [_row(entry, budgets, each) for each in groups_shares if each.users]
    return pd.DataFrame(rows)


def _choices(result: BoardResult, alone: str) -> Iterator[tuple[Entry, str, str]]:
    """Yield each tuned method with each of its configurations but `alone`, and the budgets for which it was chosen."""
    for entry in ranked_entries(result):
        chosen = {
            budget: choice.configuration for budget in result.budgets if (choice := result.choice(entry.name, budget))
        }
        for configuration in dict.fromkeys(chosen.values()):
            if configuration != alone:
                yield (
                    entry,
                    configuration,
                    ", ".join(budget_text(each) for each in chosen if chosen[each] == configuration),
                )


def _row(entry: Entry, budgets: str, shares: GroupShares) -> dict[str, Any]:
    names = {"method": entry.label, "budget": budgets, "activity": shares.group, "users": shares.users}
    return names | {"better": shares.better, "worse": shares.worse, "equal": shares.equal}


class _Rewards:
    """Rewards by seed and user, read from the files of runs; each configuration once."""

    def __init__(self, result: BoardResult, results: Results) -> None:
        self._result, self._results = result, results
        self._cache: dict[str | None, Floats] = {}
        reference = result.selections[result.board.protocol.comparison.reference]
        any_choice = next(choice for choice in reference.choices.values() if choice is not None)
        self.users: NDArray[np.int64] = self._totals(any_choice.configuration, result.board.seeds[0])[
            "client"
        ].to_numpy()

    def of(self, configuration: str | None) -> Floats:
        """Return the rewards of a configuration, seeds × users."""
        if configuration not in self._cache:
            if configuration is None:
                raise ValueError(f"no configuration for {NO_COMMUNICATION}")
            totals = [self._totals(configuration, seed) for seed in self._result.board.seeds]
            self._cache[configuration] = np.array([frame["reward"].to_numpy(dtype=float) for frame in totals])
        return self._cache[configuration]

    def by_chance(self, spec: DatasetSpec, context: Context) -> Floats:
        """Return the expected reward of a random choice, seeds × users; one row if all seeds have the same."""
        seeds = self._result.board.seeds if spec.pools == "rated" else self._result.board.seeds[:1]
        bound = spec.bound(context.folder)
        rows = []
        for seed in seeds:
            stream = bound.build(seed)
            rows.append(np.bincount(stream.client_numbers, stream.rewards.mean(axis=1)).astype(float))
        by_chance: Floats = np.array(rows)
        return by_chance

    def _totals(self, configuration: str, seed: int) -> pd.DataFrame:
        run_id = self._result.outcomes[configuration, seed].run_id
        if not run_id:
            raise ValueError(f"the run of {configuration} on seed {seed} failed")
        return self._results.client_totals(run_id)
