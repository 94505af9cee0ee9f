"""The answer at the top of the page: which method within which budget of communication, for each data set."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from benchmark.board.entries import MethodRow
from benchmark.board.result import BoardResult
from benchmark.metrics import objective
from benchmark.plan.experiment import experiment_names
from benchmark.results.budget import BUDGETS
from benchmark.results.frames import best_within
from benchmark.statistics.intervals import number_of_seeds
from benchmark.statistics.verdicts import Verdict, no_statement
from data_pipelines.data_label import DataLabel, is_generated
from reports.analysis.board import (
    FAILED,
    NONE,
    budget_text,
    cell_text,
    column_text,
    columns_of,
    has_verdicts,
    noted_label,
    rank_of,
    score_text,
)
from reports.figures.fronts import has_own_table_only
from reports.labels import dataset_label
from reports.page.effect import effect_sentences, on_same_streams, rule_sentences, settings_of, short, streams_of
from reports.paper import paper
from reports.read.boards import StoredBoard, by_protocol
from reports.read.results import Results, effects_of, stream_in_name

HEADINGS = ("no transfers", "at most 10 per client", "at most 100 per client", "unlimited")
CHOSEN = "Settings were chosen on these seeds, so their means are too optimistic; `fedbandit board` chooses on others."
BOLD = "The best mean of each column is bold, and so are those with the same digits."
BOARD_PAGE = "board.html"
"""The page of the boards, next to the report."""

GENERATED = "These data are generated: no statement on methods."


@dataclass(frozen=True)
class Cell:
    """The best setting of a method within a budget: its value, the setting, and whether it leads its column."""

    value: str
    setting: str = ""
    is_best: bool = False
    verdict: str = ""


@dataclass(frozen=True)
class Group:
    """One data set or task: a sentence, and a row of cells for each method; `notes` are the numbers of footnotes."""

    title: str
    labels: tuple[str, ...]
    unit: str
    sentence: str
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]
    address: str = ""
    notes: tuple[int, ...] = ()


@dataclass(frozen=True)
class Answer:
    """What was found: sentences at the top of the page, and a table; `first` are on data that are not in it."""

    introduction: str
    headings: tuple[str, ...]
    groups: tuple[Group, ...]
    note: str
    first: tuple[str, ...] = ()


def make_answer(results: Results) -> Answer | None:
    """Return the summary of the boards if there are any, else that of the experiments; None without either."""
    if boards := shown_boards(results):
        return _from_boards(boards, results)
    main = main_streams(results)
    groups = tuple(group for pair in main if (group := _group(*pair, results)).rows)
    if not groups:
        return None
    shown = {stream for pair in main for stream in streams_of(results.runs_of(*pair))}
    introduction = (
        "Each cell is the best mean of a method within a budget, in transfers per client, and the setting that reaches "
        f"it, from all experiments on these data. {BOLD}"
    )
    return Answer(introduction, HEADINGS, groups, CHOSEN, tuple(rule_sentences(results.runs, shown, results.methods)))


def shown_boards(results: Results) -> list[StoredBoard]:
    """Return the boards by the protocol; without any, of each task the one with scores on the most report seeds."""
    boards = [board for board in results.boards if board.result.contenders]
    by_seeds = sorted(boards, key=lambda board: len(board.result.board.seeds))
    one_per_task = {board.result.board.task.name: board for board in by_seeds}
    return by_protocol(boards) or [each for each in boards if each is one_per_task[each.result.board.task.name]]


def main_streams(results: Results) -> list[tuple[str, str]]:
    """Return experiments and streams that compare methods, without the variants of a shipped experiment's data."""
    runs = results.runs[results.runs["global_dim"].isna()]
    others = {*has_own_table_only(), *paper()["by_threshold"]["experiments"]}
    pairs: list[tuple[str, str]] = []
    further: list[tuple[str, str]] = []
    for (experiment, stream), part in runs.groupby(["experiment", "stream"]):
        name, shipped = str(experiment), str(experiment) in experiment_names()
        contenders = {each for each in part["algorithm"] if results.methods.info(str(each)).role == "contender"}
        streams = runs.loc[runs["experiment"] == experiment, "stream"]
        is_variant = shipped and stream_in_name(name, str(stream), streams)
        if not contenders or effects_of(name) or name in others:
            continue
        is_main = not shipped or (len(contenders) > 1 and not is_variant)
        (pairs if is_main else further).append((name, str(stream)))
    simulated = {*runs.loc[runs["source"] == "simulated", "stream"]}
    return sorted(pairs or further, key=lambda pair: pair[1] in simulated)  # data first


def short_names(results: Results) -> dict[tuple[str, str], str]:
    """Return a name for each of the main streams, as everywhere else; with the experiment where two are the same."""
    short = {pair: dataset_label(pair[1]) for pair in main_streams(results)}
    return {
        pair: name if [*short.values()].count(name) == 1 else f"{name} ({results.about(pair[0]).title})"
        for pair, name in short.items()
    }


def _group(experiment: str, stream: str, results: Results) -> Group:
    """Return the group of a stream, from the runs of all experiments on it; generated data show nothing on methods."""
    runs = on_same_streams(results.runs_of(experiment, stream), results.runs)
    goal, is_made_up = objective(runs["source"]), "stand-in" in set(runs["source"])
    settings = settings_of(runs, results.methods)
    best = [best_within(settings, budget).set_index("algorithm") for budget in BUDGETS]
    labels = dict(zip(settings["algorithm"], settings["label"], strict=True))
    rows = tuple(
        (label, tuple(_cell(column, name, can_lead=not is_made_up) for column in best))
        for name, label in labels.items()
    )
    unit = f"{goal.label}, {goal.direction}; {number_of_seeds(settings['seeds'])}"
    title = short_names(results).get((experiment, stream), dataset_label(stream))
    sentence = stream_sentence(experiment, stream, results)
    labels_of_data = results.labels(runs)
    red = tuple(label for label in labels_of_data if is_generated(label))
    return Group(title, red, unit, sentence, rows, f"#figure-{experiment}", notes_of(labels_of_data, results))


def notes_of(labels: Sequence[str], results: Results) -> tuple[int, ...]:
    """Return the numbers, from 1, of the footnotes on data with these labels."""
    details = {_without_names(label) for label in labels}
    return tuple(number for number, note in enumerate(footnotes(results), start=1) if _without_names(note) in details)


def _without_names(label: str) -> str:
    return str(label.of()) if isinstance(label, DataLabel) else label


def footnotes(results: Results) -> list[str]:
    """Return what is to be known about data that are not generated: where they are from, and how they differ."""
    return [label for label in results.labels(results.all_runs) if not is_generated(label)]


def stream_sentence(experiment: str, stream: str, results: Results) -> str:
    """Return what all runs on a stream say about communication and rules without a model."""
    runs = on_same_streams(results.runs_of(experiment, stream), results.runs)
    if "stand-in" in set(runs["source"]):
        return GENERATED
    return effect_sentences(runs, settings_of(runs, results.methods), results.methods)


def _cell(column: pd.DataFrame, algorithm: str, *, can_lead: bool) -> Cell:
    if algorithm not in column.index:
        return Cell("–")
    text, best = short(column["mean"][algorithm]), short(column["mean"].iloc[0])
    return Cell(text, str(column["setting"][algorithm]), is_best=can_lead and text == best)


def _from_boards(boards: Sequence[StoredBoard], results: Results) -> Answer:
    groups, of_runs = [], _sentences_of_runs(results)
    for board in boards:
        result = board.result
        data = result.board
        label = results.label(data.task.stream.name, data.source)
        leaders = set(result.leaders.values())
        rows = tuple(
            (noted_label(entry), tuple(_board_cell(result, entry, budget) for budget in columns_of(result)))
            for entry in result.contenders
            if entry.name in leaders or not leaders
        )
        of_data = (label.of(dataset_label(data.task.stream.name)),) if label else ()
        labels = (*filter(is_generated, of_data), *board.warning)
        sentences = [board_sentence(result), *of_runs.pop(data.task.stream.name, [])]
        unit = f"{len(data.seeds)} report seeds"
        title = data.task.title or data.task.name
        address, notes = f"{BOARD_PAGE}#card-{data.task.name}", notes_of(of_data, results)
        groups.append(Group(title, labels, unit, " ".join(filter(None, sentences)), rows, address, notes))
    introduction = (
        "Each cell is the mean score of a method within a budget, in needed messages per decision, and the verdict "
        "compared with no communication: better, worse, equivalent, identical or undecided. A score of 2 is twice what "
        "random choice earns; in simulations 1 is perfect and 0 is random choice. Every method is tuned alike, on "
        f"seeds that are not reported. Only methods with the highest mean in a column are shown. {BOLD}"
    )
    first = boards[0].result
    headings = tuple(column_text(first, column) for column in columns_of(first))
    note = f"Methods are ranked by the last column, the {headings[-1]}; intervals are on the page of the board."
    first_sentences = tuple(text for texts in of_runs.values() for text in texts)
    return Answer(introduction, headings, tuple(groups), note, first_sentences)


def _sentences_of_runs(results: Results) -> dict[str, list[str]]:
    """Return what the experiments found on each data set, by its name; none on generated data."""
    sentences: dict[str, list[str]] = {}
    for experiment, stream in main_streams(results):
        group, runs = _group(experiment, stream, results), results.runs_of(experiment, stream)
        if group.rows and group.sentence != GENERATED:
            text = f"In the experiments, on {group.title}: {group.sentence}"
            sentences.setdefault(str(runs["dataset"].iloc[0]), []).append(text)
    return sentences


def _board_cell(result: BoardResult, entry: Any, budget: float | str) -> Cell:
    text = cell_text(result, entry, budget)
    if text == NONE:
        return Cell(NONE)
    verdict = result.verdict(entry.name, budget)
    shown = "" if verdict == Verdict.NONE else str(verdict)
    means = [result.mean(each.name, budget)[0] for each in result.contenders if each.is_ranked]
    best = max((mean for mean in means if not math.isnan(mean)), default=math.nan)
    value = score_text(result.mean(entry.name, budget)[0])
    return Cell(value, shown, is_best=value == score_text(best) != FAILED, verdict=shown)


def board_sentence(result: BoardResult) -> str:
    """Return first a reference that is above every method, then the method with the best mean and its verdicts."""
    if result.best is None:
        return ""
    entry = next(each for each in result.contenders if each.name == result.best)
    best = f"{entry.label} has the highest mean score over the budgets, {score_text(result.mean(entry.name)[0])}"
    if not has_verdicts(result):
        needed = result.board.protocol.comparison.min_report_seeds
        return f"{no_statement([len(result.board.seeds)], needed)}."
    verdicts: dict[Verdict, list[str]] = {}
    for budget in result.budgets:
        verdicts.setdefault(result.verdict(entry.name, budget), []).append(budget_text(budget))
    against = "; ".join(f"{verdict} at {', '.join(budgets)}" for verdict, budgets in verdicts.items())
    first, reference = "", _best_above_all(result)
    if reference is not None:
        earned = score_text(result.line(reference.name)[0])
        first = f"The reference “{reference.label}” earns more than every method: {earned}. "
    return f"{first}{best} (rank: {rank_of(result, entry)}). Compared with no communication it is {against}."


def _best_above_all(result: BoardResult) -> MethodRow | None:
    """Return the best of the reference lines that every method with a score is below; None without one."""
    scored = [each.name for each in result.contenders if not math.isnan(result.mean(each.name)[0])]
    below = [result.below(name) for name in scored]
    above_all = [each for each in result.references if all(each.label in labels for labels in below)]
    return max(above_all, key=lambda each: result.line(each.name)[0]) if scored and above_all else None
