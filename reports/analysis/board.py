"""The rows of the tables and figures of a board, and which users do better and worse with a method than alone."""

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmark.board.entries import MethodRow
from benchmark.board.result import BoardResult
from benchmark.statistics.budgets import Overruns
from benchmark.statistics.comparison import NO_COMMUNICATION, PRIMARY, own_end
from benchmark.statistics.selection import Result, best_choices, merge_equal, results_by_seed
from benchmark.statistics.users import GroupShares, bootstrap_over_users, shares_by_group
from benchmark.statistics.verdicts import Verdict, rank_text
from data_pipelines.stream_spec import DatasetSpec
from reports.analysis.users import group_of_each, groups_of
from reports.read.boards import StoredBoard
from reports.read.results import Results
from reports.write.table import interval_columns

FAILED = "failed"
"""In a cell: a run is missing, so there is no mean."""

NOT_VERIFIED = "not verified"
"""Instead of a rank."""

NONE = "none: alone"
"""In a cell: no configuration stays within the budget; it is scored as tuned "no communication"."""


def budget_text(budget: float) -> str:
    """Return a budget as text: full messages per decision."""
    return "unlimited" if math.isinf(budget) else f"{budget:g}"


def primary_text(budgets: Sequence[float]) -> str:
    """Return the name of the primary endpoint wherever readers see it: the mean over these budgets."""
    first, last = budget_text(min(budgets)), budget_text(max(budgets))
    return f"mean of {first} to {last}" if first != last else f"mean of {first}"


def column_text(result: BoardResult, column: float | str) -> str:
    """Return the heading of a column: a budget, or the primary endpoint."""
    return primary_text(result.board.protocol.budgets.primary) if isinstance(column, str) else budget_text(column)


def columns_of(result: BoardResult) -> list[float | str]:
    """Return the columns of a table: the budgets and the primary endpoint."""
    return [*result.budgets, PRIMARY]


def has_verdicts(result: BoardResult) -> bool:
    """Whether there are enough report seeds, and a reference to compare with."""
    return result.board.has_enough_seeds and not result.comparisons.empty


def score_rows(result: BoardResult) -> pd.DataFrame:
    """Return one row per method, including those without scores, and per reference line: ranks, scores, notes."""
    rows: list[dict[str, Any]] = []
    for entry in result.board.entries:
        if not entry.is_contender:
            continue
        row: dict[str, Any] = {"method": entry.label, "rank": rank_of(result, entry), "against the best": ""}
        if entry.name in result.selections:
            row["against the best"] = against_best(result, entry)
            for budget in columns_of(result):
                row |= interval_columns(column_text(result, budget), result.mean(entry.name, budget))
        row |= {"communication": "measured" if entry.is_measured else "declared"}
        rows.append(row | {"notes": "; ".join(result.notes(entry)) or "–"})
    for entry in result.references:
        row = {"method": entry.label, "rank": "reference", "against the best": ""}
        row |= interval_columns(column_text(result, PRIMARY), result.line(entry.name))
        rows.append(row | {"communication": "–", "notes": "–"})
    return pd.DataFrame(rows)


def against_best(result: BoardResult, entry: MethodRow) -> str:
    """Return the verdict on a method at the primary endpoint, compared with the method with the highest mean."""
    if result.best is None or not entry.is_ranked or not has_verdicts(result):
        return "–"
    return "highest mean" if entry.name == result.best else str(result.verdict(entry.name, PRIMARY, result.best))


def rank_of(result: BoardResult, entry: MethodRow) -> str:
    """Return the rank of a method as text, or why it has none."""
    if not entry.is_verified:
        return NOT_VERIFIED
    if entry.name not in result.selections or not entry.is_ranked:
        return "not tuned" if entry.fixed and entry.name in result.selections else "–"
    if result.board.retired:
        return "retired"
    return rank_text(result.rank(entry.name)) if entry.name in result.ranks.get(PRIMARY, {}) else "no verdict"


def choice_rows(result: BoardResult) -> pd.DataFrame:
    """Return one row per method and budget: the chosen configuration, its means, and its differences."""
    rows = []
    for entry, budget in itertools.product(result.contenders, result.budgets):
        choice = result.choice(entry.name, budget)
        row: dict[str, Any] = {"method": entry.label, "budget": budget_text(budget)}
        if choice is None:
            means = interval_columns("reporting", result.mean(entry.name, budget))
            rows.append(row | {"configuration": NONE, **means})
            continue
        overruns, needed = result.overruns(entry.name, budget), result.needed(choice.configuration)
        difference = result.difference(entry.name, NO_COMMUNICATION, budget)
        row |= {
            "configuration": choice.configuration.partition("[")[2].rstrip("]") or "–",
            "at an edge": ", ".join(result.edges(entry.name, budget)) or "–",
            "choosing": choice.score,
            **interval_columns("reporting", result.mean(entry.name, budget)),
            "rank": str(result.ranks.get(budget, {}).get(entry.name, "–")),
            "messages per decision": needed,
            "messages per client": result.board.per_client(needed),
            "sent per client": result.sent(choice.configuration),
            "overruns": _overruns_text(overruns, len(result.board.seeds)),
        }
        if difference is not None:
            mean, low, high = (float(difference[name]) for name in ("difference", "low", "high"))
            # Without verdicts there are no bands.
            row |= interval_columns("difference", (mean, low, high)) if has_verdicts(result) else {"difference": mean}
            row["verdict"] = str(difference["verdict"])
            other = own_end(entry.name)
            compared = result.difference(entry.name, other, budget)
            row["against own end"] = "–" if compared is None else str(compared["verdict"])
        rows.append(row)
    return pd.DataFrame(rows)


def pair_rows(result: BoardResult) -> pd.DataFrame:
    """Return the comparisons of methods with the one with the highest mean, at every budget."""
    labels = {entry.name: entry.label for entry in result.contenders}
    table = result.comparisons
    if table.empty:
        return table
    table = table[table["first"].isin(list(labels)) & table["second"].isin(list(labels))]
    bands = {"difference_low": table["low"], "difference_high": table["high"]} if has_verdicts(result) else {}
    return pd.DataFrame(
        {
            "first": table["first"].map(labels),
            "second": table["second"].map(labels),
            "budget": [column_text(result, budget) for budget in table["budget"]],
            "seeds": table["seeds"],
            "difference": table["difference"],
            **bands,
            "verdict": table["verdict"].map(str),
        }
    )


def sensitivity_rows(result: BoardResult) -> pd.DataFrame:
    """Return the score on the first choosing seed by α and λ: the mean over the primary budgets of the best within."""
    board = result.board
    seed = board.protocol.seeds.choosing.first
    of_seed = results_by_seed(result.runs[result.runs["seed"] == seed]).get(seed, {})
    chosen = result.choice(board.protocol.comparison.reference, 0.0) if result.scores is not None else None
    alone = of_seed[chosen.configuration].score if chosen else math.nan
    rows = []
    for entry in result.contenders:
        others = [name for name in entry.grids if name != entry.front]
        for values in itertools.product(*(entry.grids[name] for name in others)):
            setting = dict(zip(others, values, strict=True))
            results = {
                name: of_seed[name]
                for name, each in entry.configurations.items()
                if all(each[key] == value for key, value in setting.items()) and name in of_seed
            }
            rows.append({"method": entry.label, **setting, "score": _best_mean(result, results, alone)})
    frame = pd.DataFrame(rows)
    return frame.rename(columns={"alpha": "α", "ridge": "λ"})


def _best_mean(result: BoardResult, results: dict[str, Result], alone: float) -> float:
    candidates = merge_equal({name: [each] for name, each in results.items() if each.is_valid})
    best = [
        best_choices(candidates, result.board.limits[budget], 1) for budget in result.board.protocol.budgets.primary
    ]
    return float(np.mean([within[0].score if within else alone for within in best]))


def summary_rows(results: Sequence[BoardResult]) -> pd.DataFrame:
    """Return one row per task and tuned method: the verdict at each budget, compared with tuned "no communication"."""
    rows = []
    for result in results:
        for entry in ranked_entries(result):
            names = {"task": result.board.task.name, "method": noted_label(entry)}
            row: dict[str, Any] = {**names, "rank": rank_of(result, entry)}
            for budget in columns_of(result):
                row[column_text(result, budget)] = cell_text(result, entry, budget)
            rows.append(row)
    return pd.DataFrame(rows)


def ranked_entries(result: BoardResult) -> list[MethodRow]:
    """Return the rows that are tuned and have scores; others have no rank and are in the tables of the task alone."""
    return [entry for entry in result.contenders if entry.is_ranked]


def noted_label(entry: MethodRow) -> str:
    """Return the label of a method with what a reader must know about its tuning."""
    return f"{entry.label} ({'; '.join(entry.notes)})" if entry.notes else entry.label


def cell_text(result: BoardResult, entry: MethodRow, budget: float | str) -> str:
    """Return the verdict at a budget with the score; "none: alone" without a configuration within it.

    "over" is by what factor the mean communication on the report seeds exceeds the budget.
    """
    if not isinstance(budget, str) and result.choice(entry.name, budget) is None:
        return NONE
    verdict, mean = result.verdict(entry.name, budget), result.mean(entry.name, budget)[0]
    score = score_text(mean)
    if (factor := factor_over(result, entry, budget)) is not None:
        score += f"; {over_text(factor)}"
    return score if verdict == Verdict.NONE else f"{verdict} ({score})"


def score_text(score: float) -> str:
    """Return a mean score with three decimals, the same text wherever it is shown."""
    return FAILED if math.isnan(score) else f"{round(score, 9):.3f}"  # equal but for rounding: the same text


def factor_over(result: BoardResult, entry: MethodRow, budget: float | str) -> float | None:
    """Return by what factor a row exceeds a budget on the report seeds; None if it does not."""
    return None if isinstance(budget, str) else result.overruns(entry.name, budget).factor


def over_text(factor: float) -> str:
    """Return by what factor a row exceeds a budget, as text."""
    return f"over: {factor:.3g} times"


def _overruns_text(overruns: Overruns, seeds: int) -> str:
    if not overruns.seeds:
        return "–"
    mean = "" if overruns.factor is None else f"; {over_text(overruns.factor)}"
    return f"{len(overruns.seeds)} of {seeds} seeds{mean}"


ALL = "all"


def user_rows(stored: StoredBoard, results: Results) -> pd.DataFrame:
    """Return, for each method, budget and activity group, the shares of users that do better and worse than alone.

    The row of all users has the difference in normalised reward with an interval over users and seeds. Empty for
    simulations, without the prepared data, and without the files of runs. Computed once per report.
    """
    if stored.experiment not in results.board_users:
        results.board_users[stored.experiment] = _user_rows(stored, results)
    return results.board_users[stored.experiment]


def _user_rows(stored: StoredBoard, results: Results) -> pd.DataFrame:
    result = stored.result
    spec, seeds = result.board.task.stream, result.board.seeds
    prepared = results.prepared(spec.name) if isinstance(spec, DatasetSpec) else None
    if prepared is None or result.scores is None or not isinstance(spec, DatasetSpec):
        return pd.DataFrame()
    alone_choice = result.choice(result.board.protocol.comparison.reference, 0.0)
    try:
        if alone_choice is None:
            raise ValueError(f"no configuration for {NO_COMMUNICATION}")
        alone = _rewards(alone_choice.configuration, result, results)
        by_chance = _rewards_by_chance(spec, seeds if spec.pools == "rated" else seeds[:1], results)
    except (OSError, ValueError, KeyError) as error:
        results.note_absent(f"{stored.experiment}: no table of users because files of runs are missing ({error})")
        return pd.DataFrame()
    groups, users = groups_of(prepared), alone.columns
    ids, activity = np.unique(prepared.users, return_counts=True)
    numbers = group_of_each(activity[np.searchsorted(ids, users)], groups)
    labels, order = [groups[number].label for number in numbers], [group.label for group in groups]
    rows: list[dict[str, Any]] = []
    for entry, configuration, budgets in _choices(result, alone_choice.configuration):
        pair = _rewards(configuration, result, results).to_numpy(), alone.to_numpy()
        overall = shares_by_group(*pair, [ALL] * len(users))[0]
        rows.append(
            _row(entry, budgets, overall) | interval_columns("difference", bootstrap_over_users(*pair, by_chance))
        )
        rows += [_row(entry, budgets, each) for each in shares_by_group(*pair, labels, order) if each.users]
    return pd.DataFrame(rows)


def _choices(result: BoardResult, alone: str) -> Iterator[tuple[MethodRow, str, str]]:
    """Yield each tuned method with each of its configurations but `alone`, and the budgets for which it was chosen."""
    for entry in ranked_entries(result):
        budgets: dict[str, list[str]] = {}
        for budget in result.budgets:
            if choice := result.choice(entry.name, budget):
                budgets.setdefault(choice.configuration, []).append(budget_text(budget))
        for configuration, texts in budgets.items():
            if configuration != alone:
                yield entry, configuration, ", ".join(texts)


def _row(entry: MethodRow, budgets: str, shares: GroupShares) -> dict[str, Any]:
    names = {"method": entry.label, "budget": budgets, "activity": shares.group, "users": shares.users}
    return names | {"better": shares.better, "worse": shares.worse, "equal": shares.equal}


def _rewards(configuration: str, result: BoardResult, results: Results) -> pd.DataFrame:
    """Return the rewards of a configuration, seeds × users, read from the files of its runs."""
    rows = {}
    for seed in result.board.seeds:
        run_id = result.outcomes[configuration, seed].run_id
        if not run_id:
            raise ValueError(f"the run of {configuration} on seed {seed} failed")
        rows[seed] = results.client_totals(run_id).set_index("client")["reward"].astype(float)
    return pd.DataFrame(rows).T


def _rewards_by_chance(spec: DatasetSpec, seeds: Sequence[int], results: Results) -> NDArray[np.float64]:
    """Return the expected reward of a random choice, seeds × users."""
    streams = map(spec.bound(results.folder).build, seeds)
    return np.array(
        [np.bincount(stream.client_numbers, stream.rewards.mean(axis=1)) for stream in streams], dtype=float
    )
