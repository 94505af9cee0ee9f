"""The answer at the top of the page: which method within which budget of communication, for each data set."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from benchmark.answers.tables import COST, MIN_SEEDS_FOR_INTERVAL, best_within, interval
from benchmark.board.entries import Entry
from benchmark.board.result import BoardResult
from benchmark.metrics import Metric, objective
from benchmark.plan.experiment import experiment_names
from benchmark.statistics.budgets import full_transfers
from benchmark.statistics.verdicts import Verdict
from reports.analysis.board import (
    NONE,
    budget_text,
    cell_text,
    column_text,
    columns_of,
    noted_label,
    rank_of,
    ranked_entries,
)
from reports.drawing.labels import algorithm_label, dataset_label, front_text, variant_text
from reports.figures.fronts import has_own_table_only
from reports.paper import paper
from reports.read.boards import StoredBoard, by_protocol
from reports.read.context import Context
from reports.read.experiment_files import effects_of, stream_in_name
from reports.read.methods import method
from reports.read.results import Results

BUDGETS = (0.0, 10.0, 100.0, math.inf)
"""Full transfers per client, of the table from experiments; a board has its own."""

HEADINGS = ("no transfers", "at most 10 per client", "at most 100 per client", "unlimited")
CHOSEN = "Settings were chosen on these seeds, so they are too optimistic; `fedbandit board` chooses on others."


@dataclass(frozen=True)
class Cell:
    """The best setting of a method within a budget: its value, the setting, and whether it leads its column."""

    value: str
    setting: str = ""
    is_best: bool = False
    verdict: str = ""


@dataclass(frozen=True)
class Group:
    """One data set or task: a sentence, and a row of cells for each method."""

    title: str
    labels: tuple[str, ...]
    unit: str
    sentence: str
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]
    anchor: str = ""


@dataclass(frozen=True)
class Answer:
    """The table at the top of the page."""

    introduction: str
    headings: tuple[str, ...]
    groups: tuple[Group, ...]
    note: str


def make_answer(results: Results, context: Context) -> Answer | None:
    """Return the summary of the boards if there are any, else that of the experiments; None without either."""
    boards = [board for board in results.boards if board.result.contenders]
    if boards:
        return _from_boards(by_protocol(boards) or boards, context)
    groups = tuple(_group(*main, results, context) for main in main_streams(results))
    groups = tuple(group for group in groups if group.rows)
    if not groups:
        return None
    introduction = (
        "Each cell is the best mean of a method within a budget, in transfers per client, and the setting that reaches "
        "it. The best of each column is bold."
    )
    return Answer(introduction, HEADINGS, groups, CHOSEN)


def main_streams(results: Results) -> list[tuple[str, str]]:
    """Return experiments and streams that compare methods, without the variants of a shipped experiment's data."""
    runs = results.runs[results.runs["global_dim"].isna()]
    others = {*has_own_table_only(), *paper()["by_threshold"]["experiments"]}
    pairs: list[tuple[str, str]] = []
    further: list[tuple[str, str]] = []
    for (experiment, stream), part in runs.groupby(["experiment", "stream"]):
        name, shipped = str(experiment), str(experiment) in experiment_names()
        contenders = {each for each in part["algorithm"] if method(str(each)).role == "contender"}
        streams = runs.loc[runs["experiment"] == experiment, "stream"]
        is_variant = shipped and stream_in_name(name, str(stream), streams)
        if not contenders or effects_of(name) or name in others:
            continue
        is_main = not shipped or (len(contenders) > 1 and not is_variant)
        (pairs if is_main else further).append((name, str(stream)))
    simulated = {*runs.loc[runs["source"] == "simulated", "stream"]}
    return sorted(pairs or further, key=lambda pair: pair[1] in simulated)  # data first


def short_names(results: Results) -> dict[tuple[str, str], str]:
    """Return a short name for each of the main streams, such as LastFM; longer where two would be the same."""
    labels = {pair: dataset_label(pair[1]) for pair in main_streams(results)}
    first = {pair: label.partition(",")[0] for pair, label in labels.items()}
    short = {pair: name if [*first.values()].count(name) == 1 else labels[pair] for pair, name in first.items()}
    return {
        pair: name if [*short.values()].count(name) == 1 else f"{name} ({results.about(pair[0]).title})"
        for pair, name in short.items()
    }


def settings_of(runs: pd.DataFrame) -> pd.DataFrame:
    """Return a row per setting of each contender: mean over seeds, interval, and cost in full transfers per client."""
    goal = objective(runs["source"])
    rows = []
    for (algorithm, _), part in runs.groupby(["algorithm", "configuration"]):
        if method(str(algorithm)).role != "contender":
            continue
        mean, low, high = interval(part[goal.name])
        first = part.iloc[0]
        parts = (front_text(str(algorithm), float(first["threshold"])), variant_text(str(first["variant"])))
        rows.append(
            {
                "dataset": "",
                "algorithm": str(algorithm),
                "objective": goal.name,
                "setting": ", ".join(filter(None, parts)),
                "seeds": len(part),
                COST: _cost(part),
                "mean": mean,
                "low": low,
                "high": high,
            }
        )
    return pd.DataFrame(rows)


def _cost(runs: pd.DataFrame) -> float:
    """Return full transfers per client; runs of older versions only recorded the number of transfers."""
    numbers, dimension = runs["numbers_per_client"].mean(), int(runs["dimension"].iloc[0])
    if not math.isnan(numbers) and dimension > 0:
        return full_transfers(float(numbers), dimension)
    clients = runs["clients"].mean()
    return float(runs["communication"].mean() / clients) if clients > 0 else math.nan


def _group(experiment: str, stream: str, results: Results, context: Context) -> Group:
    runs = results.runs[(results.runs["experiment"] == experiment) & (results.runs["stream"] == stream)]
    goal, settings = objective(runs["source"]), settings_of(runs)
    best = [best_within(settings, budget).set_index("algorithm") for budget in BUDGETS]
    names = dict.fromkeys(settings["algorithm"])
    rows = tuple((algorithm_label(name), tuple(_cell(column, name) for column in best)) for name in names)
    seeds = int(settings["seeds"].max())
    unit = f"{goal.label}, {goal.direction}; {seeds} seed{'s' if seeds > 1 else ''}"
    title = short_names(results).get((experiment, stream), dataset_label(stream))
    anchor = f"figure-{experiment}"
    return Group(title, context.labels(runs), unit, _sentence(best, goal), rows, anchor)


def _cell(column: pd.DataFrame, algorithm: str) -> Cell:
    if algorithm not in column.index:
        return Cell("–")
    mean, setting = column["mean"][algorithm], column["setting"][algorithm]
    return Cell(short(float(mean)), str(setting), is_best=column.index[0] == algorithm)


def short(value: float) -> str:
    """Return a mean with three digits, also if the last are zeros (1.10), or a whole number above 100."""
    return f"{value:,.0f}" if abs(value) >= 99.95 else f"{value:#.3g}"


def _sentence(best: Sequence[pd.DataFrame], goal: Metric) -> str:
    """Return what communication changes: alone, with the best setting, and within 10 transfers per client."""
    alone, few, _, most = (_leader(column) for column in best)
    if most is None:
        return ""
    unit = " times a random choice" if goal.by_chance == 1 else ""
    if alone is None:
        return f"Best: {short(most['mean'])}{unit} ({_named(most)}, {_cost_text(most[COST])} transfers per client)."
    if _is_same(alone, most):
        return f"Communication does not help: the best is {short(alone['mean'])}{unit}, without any ({_named(alone)})."
    change = abs(most["mean"] / alone["mean"] - 1) if alone["mean"] else math.nan
    verb = "raises" if goal.sign > 0 else "lowers"
    effect = f"{verb} {goal.label} by {change:.0%}" if _is_apart(alone, most) else "changes little"
    sentence = (
        f"Communication {effect}: from {short(alone['mean'])}{unit} ({_named(alone)}) to {short(most['mean'])} "
        f"({_named(most)}, {_cost_text(most[COST])} transfers per client)."
    )
    if few is None or _is_same(few, alone) or _is_same(few, most):
        return sentence
    return f"{sentence} At most 10 transfers per client give {short(few['mean'])} ({_named(few)})."


def _leader(column: pd.DataFrame) -> dict[str, Any] | None:
    """Return the first row of a column, the best one; None if it is empty."""
    if column.empty:
        return None
    return {**{str(name): value for name, value in column.iloc[0].items()}, "name": str(column.index[0])}


def _is_same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return bool(one["name"] == other["name"] and one["setting"] == other["setting"])


def _is_apart(alone: dict[str, Any], most: dict[str, Any]) -> bool:
    """Return whether the intervals of two means do not overlap; false with too few seeds for intervals."""
    if min(alone["seeds"], most["seeds"]) < MIN_SEEDS_FOR_INTERVAL:
        return False
    return bool(most["low"] > alone["high"] or most["high"] < alone["low"])


def _named(leader: dict[str, Any]) -> str:
    return " ".join(filter(None, (algorithm_label(leader["name"]), leader["setting"])))


def _cost_text(cost: float) -> str:
    return f"{cost:.3g}" if cost < 1000 else f"{float(f'{cost:.2g}'):,.0f}"


def _from_boards(boards: Sequence[StoredBoard], context: Context) -> Answer:
    groups = []
    for board in boards:
        result = board.result
        data = result.board
        label = context.label(data.task.stream.name, data.source)
        rows = tuple(
            (noted_label(entry), tuple(_board_cell(result, entry, budget) for budget in columns_of(result)))
            for entry in ranked_entries(result) or result.contenders
        )
        labels = ((f"{data.task.stream.name}: {label}",) if label else ()) + board.warning
        unit = f"{len(data.seeds)} report seeds"
        title = data.task.title or data.task.name
        groups.append(Group(title, labels, unit, board_sentence(result), rows, f"table-{board.experiment}"))
    introduction = (
        "Each cell is the mean score of a method within a budget, in transfers per client, and the verdict compared "
        "with no communication: better, worse, equivalent, identical or undecided. A score of 2 is twice what random "
        "choice earns; in simulations 1 is perfect and 0 is random choice. The best of each column is bold. Every "
        "method is tuned alike, on seeds that are not reported."
    )
    first = boards[0].result
    headings = tuple(column_text(first, column) for column in columns_of(first))
    note = f"Methods are ranked by the last column, the {headings[-1]}; intervals are in the section on the board."
    return Answer(introduction, headings, tuple(groups), note)


def _board_cell(result: BoardResult, entry: Any, budget: float | str) -> Cell:
    text = cell_text(result, entry, budget)
    if text == NONE:
        return Cell(NONE)
    verdict = result.verdict(entry.name, budget)
    mean = result.mean(entry.name, budget)[0]
    best = max((result.mean(each.name, budget)[0] for each in result.contenders if each.is_ranked), default=math.nan)
    shown = "" if verdict == Verdict.NONE else str(verdict)
    return Cell("failed" if math.isnan(mean) else short(mean), shown, is_best=mean == best, verdict=shown)


def board_sentence(result: BoardResult) -> str:
    """Return the method with the best mean over the budgets, its rank, where communication helps, and what beats it."""
    if result.best is None:
        return ""
    entry = next(each for each in result.contenders if each.name == result.best)
    mean = short(result.mean(entry.name)[0])
    better = [budget_text(each) for each in result.budgets if result.verdict(entry.name, each) == Verdict.BETTER]
    than = (
        f"better than no communication at {', '.join(better)}"
        if better
        else "not better than no communication at any budget"
    )
    sentence = (
        f"{entry.label} has the highest mean score over the budgets, {mean} (rank: {rank_of(result, entry)}); {than}."
    )
    reference = _best_above_all(result)
    if reference is None:
        return sentence
    return f"{sentence} The reference “{reference.label}” earns more: {short(result.line(reference.name)[0])}."


def _best_above_all(result: BoardResult) -> Entry | None:
    """Return the best of the reference lines that every method with a score is below; None without one."""
    scored = [each.name for each in result.contenders if not math.isnan(result.mean(each.name)[0])]
    below = [result.below(name) for name in scored]
    above_all = [each for each in result.references if all(each.label in labels for labels in below)]
    return max(above_all, key=lambda each: result.line(each.name)[0]) if scored and above_all else None
