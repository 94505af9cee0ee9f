"""The board as a table to sort and filter, with a card for each task and each method: in the report and on the site."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, product, repeat
from typing import get_args

from algorithms.hyperparameters import number_text
from algorithms.method import Kind, MethodInfo
from algorithms.registry import built_in_methods
from benchmark.board.entries import MethodRow
from benchmark.board.result import BoardResult
from benchmark.board.task import Task, load_task, task_names
from benchmark.board.task_facts import TaskFacts
from benchmark.statistics.comparison import NO_COMMUNICATION, PRIMARY
from benchmark.statistics.verdicts import Verdict
from data_pipelines.data_set import data_sets, stream_label
from data_pipelines.stream_spec import SimulatedSpec
from reports.analysis.board import (
    NONE,
    NOT_VERIFIED,
    column_text,
    columns_of,
    factor_over,
    has_verdicts,
    over_text,
    rank_of,
    score_text,
)
from reports.labels import seeds_text
from reports.page.answer import Cell, board_sentence, shown_boards
from reports.page.effect import short
from reports.page.sections import Card, Section, with_plot_or_alone
from reports.read.boards import StoredBoard, submitted_boards, submitted_rows
from reports.read.results import Results
from reports.read.submissions import Submission
from reports.write.figure import Figure
from reports.write.table import Table

UNKNOWN = "–"
REFERENCE, NO_KIND = "reference", "not declared"
KINDS = (*get_args(Kind), NO_KIND, REFERENCE)
"""The values of the filter by kind, in its order."""

TEXTS = ("method", "task", "kind", "budget")
SCORES = ("score", "difference to no communication", "rank")
MESSAGES = ("messages per decision", "messages per client", "sent per client")
HEADINGS = (*TEXTS, *SCORES, *MESSAGES)
NUMBERS = ("score", *MESSAGES)
"""The columns of the table, and those that are set as numbers."""

TO_COME = (
    "The board of version 2 is to come: its report seeds have not been played yet. Until then, this page has its tasks "
    "and methods. `fedbandit board TASK --quick` plays a task on other seeds, and `fedbandit report` makes this page "
    "of it."
)


ABOUT_SUBMISSIONS = (
    "Each is a bundle in the folder `submissions`, with source and runs: `fedbandit verify` executes them again."
)


@dataclass(frozen=True)
class Row:
    """A method on a task at a budget, or a reference on a task, which has no budget; its cells are by column."""

    task: str
    budget: str
    kind: str
    cells: Mapping[str, Cell]
    is_verified: bool = True


@dataclass(frozen=True)
class Finding:
    """What was found on a task in a sentence, with the labels of its data."""

    task: str
    title: str
    sentence: str
    labels: tuple[str, ...]


@dataclass(frozen=True)
class BoardTable:
    """The table with its filters: the name of each, its values, and the one that is chosen first."""

    explanations: Mapping[str, str]
    findings: tuple[Finding, ...]
    filters: tuple[tuple[str, tuple[str, ...], str], ...]
    rows: tuple[Row, ...]
    headings: tuple[str, ...] = HEADINGS
    numbers: tuple[str, ...] = NUMBERS


def board_table(boards: Sequence[StoredBoard], results: Results) -> BoardTable:
    """Return the table of at least one board; it starts with the first task and the primary endpoint."""
    of_boards = [row for board in boards for row in _rows(board.result)]
    tasks = tuple(dict.fromkeys(row.task for row in of_boards))
    rows = (*of_boards, *(row for each in results.submissions for row in _submitted(each) if row.task in tasks))
    budgets = tuple(dict.fromkeys(row.budget for row in rows if row.budget))
    kinds = tuple(kind for kind in KINDS if kind in {row.kind for row in rows})
    filters = (("task", tasks, tasks[0]), ("budget", budgets, budgets[-1]), ("kind", kinds, "all"))
    findings = tuple(_finding(board, results) for board in boards)
    return BoardTable(_explanations(boards[0].result), findings, filters, rows)


def _explanations(result: BoardResult) -> dict[str, str]:
    """Return what the columns mean."""
    confidence = f"{result.board.protocol.comparison.confidence * 100:g} %"
    return {
        "score": "Reward divided by that of a random choice: 2 is twice as much. In simulations it is 1 − regret / "
        "regret of a random choice: 1 is perfect, 0 is a random choice. It is a mean over the report seeds, ± half its "
        "95 % interval.",
        "difference": "To “no communication”, tuned: every client learns alone. In brackets are "
        f"{confidence} bands that hold for all comparisons of the task at once; they decide the verdict.",
        "rank": "1 for the method with the highest score and all that are not worse. The "
        f"{column_text(result, PRIMARY)} decides; each budget has a rank of its own, too.",
        "budget": "What methods may send on average: needed full messages {V, b} per decision. A configuration is "
        f"chosen for each budget. “{NONE}”: none stays within it, and the score is that of no communication.",
        "messages": "Needed full messages on the report seeds. Sent counts all transfers, as the paper does.",
        "reference": "A rule that is not ranked and has no budget.",
        "not verified": "Grey: this repository has not executed the runs of the row again, so it is not ranked. A "
        "submitted method that was verified is ranked when its report seeds have been played.",
    }


def _finding(board: StoredBoard, results: Results) -> Finding:
    data = board.result.board
    return Finding(data.task.name, data.task.title, board_sentence(board.result), _labels(board, results))


def _labels(board: StoredBoard, results: Results) -> tuple[str, ...]:
    data = board.result.board
    return (*filter(None, [results.label(data.task.stream.name, data.source)]), *board.warning)


def _rows(result: BoardResult) -> Iterator[Row]:
    """Yield the rows of a task: at each budget the methods from the highest mean to the lowest, then the references."""
    for column in columns_of(result):
        means = {entry.name: result.mean(entry.name, column)[0] for entry in result.contenders}
        by_mean = sorted(
            result.contenders, key=lambda entry: -means[entry.name] if means[entry.name] > -math.inf else 1e9
        )
        for entry in by_mean:
            yield _row(result, entry, column)
    for entry in result.references:
        yield _filled(result, entry.label, REFERENCE, "", [_score(*result.line(entry.name))])


def _submitted(submission: Submission) -> Iterator[Row]:
    """Yield the rows of a submitted method; its seeds are its own, so it has no rank among the others."""
    for board in submitted_boards(submission):
        rank = f"seeds {seeds_text(board.result.board.seeds)}" if submission.verification else NOT_VERIFIED
        for entry, column in product(submitted_rows(board), columns_of(board.result)):
            row = _row(board.result, entry, column)
            score = replace(row.cells["score"], is_best=False)
            cells = {**row.cells, "score": score, "rank": Cell(rank)}
            yield replace(row, cells=cells, is_verified=submission.verification is not None)


def _row(result: BoardResult, entry: MethodRow, column: float | str) -> Row:
    score = _score(*result.mean(entry.name, column), is_best=entry.name == result.leaders.get(column))
    rank = result.ranks.get(column, {}).get(entry.name)
    rank_text = rank_of(result, entry) if rank is None or column == PRIMARY else str(rank)
    messages: list[Cell] = []
    if not isinstance(column, str):
        choice = result.choice(entry.name, column)
        if choice is None:
            score = Cell(score.value, f"{score.setting} {NONE}".strip())
        else:
            needed, factor = result.needed(choice.configuration), factor_over(result, entry, column)
            amounts = needed, result.board.per_client(needed), result.sent(choice.configuration)
            messages = [Cell(short(amount) if amount else "0") for amount in amounts]
            messages[0] = Cell(messages[0].value, "" if factor is None else over_text(factor))
    cells = [score, _difference(result, entry, column), Cell(rank_text), *messages]
    method = entry.label
    row = _filled(result, method, entry.kind or NO_KIND, column_text(result, column), cells, "; ".join(entry.notes))
    return replace(row, is_verified=entry.is_verified)


def _filled(result: BoardResult, method: str, kind: str, budget: str, cells: Sequence[Cell], notes: str = "") -> Row:
    """Return a row with these cells from the score on; further ones are empty."""
    task = result.board.task.name
    first = (Cell(method, notes), Cell(task), Cell(kind), Cell(budget or UNKNOWN))
    return Row(task, budget, kind, dict(zip(HEADINGS, chain(first, cells, repeat(Cell(UNKNOWN))), strict=False)))


def _score(mean: float, low: float, high: float, *, is_best: bool = False) -> Cell:
    half = "" if math.isnan(low) else f"± {(high - low) / 2:.3f}"
    return Cell(score_text(mean).replace("-", "−"), half, is_best=is_best)


def _difference(result: BoardResult, entry: MethodRow, column: float | str) -> Cell:
    row = result.difference(entry.name, NO_COMMUNICATION, column)
    if row is None:
        return Cell(UNKNOWN)
    difference, low, high = (_signed(float(row[name])) for name in ("difference", "low", "high"))
    if not has_verdicts(result):
        return Cell(difference)
    verdict = str(row["verdict"])
    return Cell(f"{difference} {verdict}", f"[{low}; {high}]", verdict="" if verdict == Verdict.NONE else verdict)


def _signed(value: float) -> str:
    return f"{round(value, 9):+.3f}".replace("-", "−")


def card_sections(boards: Sequence[StoredBoard], results: Results, documentation: str = "") -> list[Section]:
    """Return the sections with the cards of tasks and of methods.

    These are all that the protocol has in the documentation and without boards, otherwise those that were played.
    `documentation` is the address of the page on methods, if it can be linked to.
    """
    has_all = bool(documentation) or not boards
    of_tasks = {board.result.board.task.name: board for board in boards}
    tasks = {name: load_task(name) for name in task_names()} if has_all else {}
    tasks |= {name: board.result.board.task for name, board in of_tasks.items()}
    task_cards = [task_card(task, of_tasks.get(name), results) for name, task in tasks.items()]
    played = {entry.method for board in boards for entry in board.result.board.entries if entry.is_contender}
    infos = [
        info for name, info in built_in_methods().items() if info.role == "contender" and (name in played or has_all)
    ]
    infos += [results.methods.info(name) for name in sorted(played - {info.name for info in infos})]
    infos = sorted(infos, key=lambda info: info.label.lower())
    where = "" if documentation else " Formulas, and how each differs from its published form, are in docs/methods.md."
    about_tasks = "A task is a stream of decisions. What it can show limits what a result on it means."
    about_methods = (
        "Clients share one model, a model beside one of their own (personal), a model per cluster (clustered), or one "
        f"with noise (private).{where}"
    )
    sections = [
        Section("Tasks", about_tasks, cards=task_cards, is_folded=False),
        Section("Methods", about_methods, cards=[method_card(each, documentation) for each in infos], is_folded=False),
    ]
    if results.submissions:
        cards = [submission_card(each) for each in results.submissions]
        sections.append(Section("Submitted methods", ABOUT_SUBMISSIONS, cards=cards, is_folded=False))
    return sections


def submission_card(submission: Submission) -> Card:
    """Return the card of a submitted method: what its authors say, and whether it was verified."""
    card = submission.card
    entries = [("authors", ", ".join(card.authors)), ("reference", card.reference), ("licence", card.licence)]
    entries += [("deviations", card.deviations), ("bundle", submission.name), ("verified", submission.checked)]
    return Card(f"submission-{submission.name.removesuffix('.zip')}", card.name, "", entries)


def task_card(task: Task, board: StoredBoard | None, results: Results) -> Card:
    """Return the card of a task; what it can show is known if it was played."""
    spec, entries, labels = task.stream, [("what it is", task.description)], tuple[str, ...]()
    if board is not None:
        data, labels = board.result.board, _labels(board, results)
        entries += _sizes(data.steps, data.clients)
        entries += _facts(data.facts) if data.facts is not None else []
        entries += [("not ranked", data.retired)] if data.retired else []
        entries += [
            (f"without a score: {entry.label}", board.result.problems[entry.name])
            for entry in data.entries
            if entry.name in board.result.problems
        ]
    else:
        entries += _sizes(spec.steps, spec.clients) if isinstance(spec, SimulatedSpec) else []
        entries += [("results", "to come")]
    licence = "not applicable (generated from seeds)"
    if not isinstance(spec, SimulatedSpec):
        declared = data_sets().get(spec.dataset)
        licence = str(results.manifests[spec.name]["licence"]) if spec.name in results.manifests else ""
        licence = licence or (declared.licence if declared else "not known")
        entries.append(("data", stream_label(spec.dataset)))
    return Card(task.name, f"{task.name}: {task.title}", "; ".join(labels), [*entries, ("licence", licence)])


def _sizes(steps: int, clients: int) -> list[tuple[str, str]]:
    return [("steps T", f"{steps:,}"), ("clients N", f"{clients:,}")]


def _facts(facts: TaskFacts) -> list[tuple[str, str]]:
    """Return what a task can show, as names and texts."""
    first, median, third = facts.decisions
    entries = [("decisions per client", f"median {median:,}; half of the clients have {first:,} to {third:,}")]
    if not math.isnan(facts.ceiling):
        text = f"{facts.ceiling:.3g}: what is the same for all users earns no more than about this"
        entries.append(("one ranking for all in hindsight", text))
    if not math.isnan(facts.exploration):
        entries.append(("gain of exploration", f"{_signed(facts.exploration)} without communication"))
    return entries


def method_card(info: MethodInfo, documentation: str = "") -> Card:
    """Return the card of a method, from its declaration; a link leads to its section in the documentation."""
    about = getattr(info.method, "about", None)
    entries = [("kind", info.kind or NO_KIND)]
    entries += [("what it does", about.idea), ("sends", about.sends)] if about else []
    entries += [("reference", info.reference)] if info.reference else []
    if info.ends:
        first, last = (number_text(value).replace("inf", "∞") for value in info.ends)
        entries.append(("front parameter", f"{info.symbol} from {first} to {last}"))
    entries += [("variants", "; ".join(info.variants))] if info.variants else []
    address = f"{documentation}#{_heading_anchor(info.label)}" if documentation and about else ""
    return Card(f"method-{info.name}", info.label, "", entries, address)


def _heading_anchor(heading: str) -> str:
    """Return the anchor of a heading in the documentation."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def detail_sections(results: Results, tables: Sequence[Table], figures: Sequence[Figure]) -> list[Section]:
    """Return the folded sections with the figures and tables of the boards: of all together, and of each task."""
    names = {board.experiment: board.result.board.task.name for board in shown_boards(results)}
    names = {board.experiment: names.get(board.experiment, board.experiment) for board in results.boards}
    together = Section("Figures and tables: all tasks")
    sections = {experiment: Section(f"Figures and tables: {name}") for experiment, name in names.items()}

    def section_of(experiments: tuple[str, ...]) -> Section:
        return sections[experiments[0]] if len(experiments) == 1 else together

    for table in tables:
        section_of(table.experiments).tables.append(table)
    for figure in with_plot_or_alone(figures, tables):
        section_of(figure.experiments).figures.append(figure)
    return [section for section in (together, *sections.values()) if section.tables or section.figures]
