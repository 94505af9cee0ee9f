"""The page of the board, docs/board.md, and the tables of each task in docs/tables: made from the records alone.

The page is the template board_page.md: sections between `<!-- renewed: NAME -->` and `<!-- end -->` are generated, and
`[[board: NAME]]` is a number. Without boards in the records the page is board_to_come.md.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from textwrap import fill
from typing import Any

import pandas as pd

from benchmark.board.entries import MethodRow, board_filters, entry_name, variant_suffix
from benchmark.board.result import BoardResult
from benchmark.plan.method_names import MethodFilter, method_info
from benchmark.protocol import load_protocol
from benchmark.statistics.budgets import random_score
from benchmark.statistics.comparison import NO_COMMUNICATION, PRIMARY, Column
from benchmark.statistics.verdicts import Verdict
from reports.analysis.board import (
    NOT_VERIFIED,
    budget_text,
    choice_rows,
    column_text,
    columns_of,
    noted_label,
    rank_of,
    ranked_entries,
    score_text,
)
from reports.figures import decisions, ranking
from reports.figures.board import LOOKS
from reports.labels import seeds_text
from reports.read.boards import StoredBoard, by_protocol, submitted_boards, submitted_rows
from reports.read.results import Results
from reports.tables import board as board_tables
from reports.write.figure import Figure
from reports.write.table import Table, interval_text
from tests.tools.board_findings import can_show, expectations, firsts, found, in_short, percent, task_of, tasks_text
from tests.tools.prose import BLOCK, bare

FOLDER = Path(__file__).parent
TEMPLATE, TO_COME = FOLDER / "board_page.md", FOLDER / "board_to_come.md"
VALUE = re.compile(r"\[\[board: ([a-z ]+)\]\]")
TABLES = "tables/board-{}.md"
WIDTH = 100


def shown_boards(results: Results) -> list[StoredBoard]:
    """Return the boards by the protocol that have scores, in its order of tasks; none on generated stand-ins."""
    boards = [board for board in by_protocol(results.boards) if board.result.contenders]
    return [board for board in boards if board.result.board.source != "stand-in"]


def board_page(results: Results) -> str:
    """Return the page, or the one that says that the board is to come."""
    boards = shown_boards(results)
    if not boards:
        return TO_COME.read_text(encoding="utf-8")
    page, numbers = TEMPLATE.read_text(encoding="utf-8"), values([board.result for board in boards])
    page = VALUE.sub(lambda match: numbers[match[1]], page)
    sections: dict[str, Callable[[], str]] = {
        "board_scope": lambda: scope(boards),
        "board_short": lambda: short_section(boards),
        "board_budgets": lambda: budgets_table(boards),
        "board_tasks": lambda: "\n".join(task_section(board, results) for board in boards),
        "board_submitted": lambda: submitted_table(results),
        "board_expectations": lambda: expectations_table(boards),
    }
    return BLOCK.sub(lambda match: match[1] + sections[match["name"]]() + match[3], page)


def table_pages(results: Results) -> dict[str, str]:
    """Return the page with all tables and the further figures of each task, by its path in docs."""
    pages, tables, pictures = {}, board_tables.tables(results), decisions.figures(results)
    for board in shown_boards(results):
        name, own = task_of(board.result), (board.experiment,)
        parts = [
            f"# Tables of the board: {name}",
            f"All numbers behind the [board](../board.md#{name}) on this task. {board.result.board.task.description}",
            *(f"![{each.title}](../pictures/{each.name}.png)\n\n{each.caption}" for each in _of(pictures, own)),
            *(each.markdown().replace("### ", "## ", 1).strip() for each in tables if each.experiments == own),
        ]
        pages[TABLES.format(name)] = "\n\n".join(parts) + "\n"
    return pages


def _of(pictures: Sequence[Figure], experiments: tuple[str, ...]) -> list[Figure]:
    return [picture for picture in pictures if picture.experiments == experiments]


def figures(results: Results) -> list[Figure]:
    """Return the figures of these pages."""
    names = {board.experiment for board in shown_boards(results)}
    return [each for each in (*ranking.figures(results), *decisions.figures(results)) if {*each.experiments} <= names]


def scope(boards: Sequence[StoredBoard]) -> str:
    """Return which tasks and contenders have been played, and which are to come."""
    results, protocol = [board.result for board in boards], load_protocol()
    labels = {entry_name(row): _label(row) for row in board_filters([], protocol.comparison.reference)}
    by_missing: dict[tuple[str, ...], list[BoardResult]] = {}
    for result in results:
        played = {entry.name for entry in result.board.entries}
        by_missing.setdefault(tuple(name for name in labels if name not in played), []).append(result)
    seeds, runs = seeds_text(results[0].board.seeds), sum(len(result.runs) for result in results)
    sentences = [f"**Played:** {len(results)} of {len(protocol.tasks)} tasks, on seeds {seeds}, in {runs:,} runs."]
    for missing, of_tasks in by_missing.items():
        where = "on all of them" if len(by_missing) == 1 else f"on {tasks_text(of_tasks)}"
        to_come = f"; to come: {', '.join(f'*{labels[name]}*' for name in missing)}" if missing else ""
        sentences.append(f"{len(labels) - len(missing)} of {len(labels)} methods and variants {where}{to_come}.")
    names = {task_of(result) for result in results}
    if tasks := [f"`{task}`" for task in protocol.tasks if task not in names]:
        sentences.append(f"**To come:** {', '.join(tasks)}.")
    return _wrapped(" ".join(sentences))


def _label(row: MethodFilter) -> str:
    info, suffix = method_info(row.name), variant_suffix(row)
    return info.variant_label(suffix) if suffix else info.label


def short_section(boards: Sequence[StoredBoard]) -> str:
    """Return the sentences on all tasks as a list."""
    return "".join(_wrapped(f"- {text}", "  ") for text in in_short([board.result for board in boards]))


def budgets_table(boards: Sequence[StoredBoard]) -> str:
    """Return tasks × budgets: the method with the highest mean, its score and verdict, and how many are not worse."""
    rows = []
    for result in (board.result for board in boards):
        cells = {column_text(result, column): _leader_text(result, column) for column in columns_of(result)}
        rows.append({"task": f"[{task_of(result)}](#{task_of(result)})", **cells})
    return bare(pd.DataFrame(rows))


def _leader_text(result: BoardResult, column: Column) -> str:
    if column not in result.ranks:
        return str(Verdict.NONE)
    leader = next(entry for entry in result.contenders if entry.name == result.leaders[column])
    others = len(firsts(result, column)) - 1
    return f"*{leader.label}* {_cell(result, leader, column)}" + (f"; {others} not worse" if others > 0 else "")


def task_section(board: StoredBoard, results: Results) -> str:
    """Return heading, figure, sentences and table of a task, with the label of its data."""
    result, task = board.result, board.result.board.task
    label = results.label(task.stream.name, result.board.source)
    parts = [
        f"### {task.name}",
        *([f"**{label}**"] if label else []),
        f"![All methods on {task.name}](pictures/{board.experiment}_ranking.png)",
        _wrapped(f"{task.title}. {can_show(result)}".strip()),
        _wrapped(found(result)),
        method_table(result),
        f"[All tables of this task]({TABLES.format(task.name)})\n",
    ]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def method_table(result: BoardResult) -> str:
    """Return method × budget, the highest mean first; rows that are not tuned and references are the last ones."""
    ranked = sorted(ranked_entries(result), key=lambda entry: _order(result.mean(entry.name)[0]))
    lines = sorted(result.references, key=lambda entry: _order(result.line(entry.name)[0]))
    last, rows = column_text(result, PRIMARY), list[dict[str, Any]]()
    for entry in (*ranked, *(each for each in result.contenders if not each.is_ranked)):
        cells = {budget_text(budget): _marked(result, entry, budget) for budget in result.budgets}
        mean = f"{interval_text(*result.mean(entry.name))} {_symbol(result, entry, PRIMARY)}".strip()
        shares = (entry.kind or "–") if entry.is_ranked else rank_of(result, entry)
        rows.append(
            {"method": noted_label(entry), "shares": shares, **cells, last: _bold(result, entry, PRIMARY, mean)}
        )
    for entry in lines:
        rows.append({"method": entry.label, "shares": "reference", last: interval_text(*result.line(entry.name))})
    problems = (
        f"{each.label}: {result.problems[each.name]}" for each in result.board.entries if each.name in result.problems
    )
    return bare(Table("", "", "", pd.DataFrame(rows).fillna("–"), tuple(problems)))


def submitted_table(results: Results) -> str:
    """Return submitted method and task × budget, on the seeds of the submission; those not verified are last."""
    rows = []
    for submission in sorted(results.submissions, key=lambda each: each.verification is None):
        for result, entry in (
            (board.result, row) for board in submitted_boards(submission) for row in submitted_rows(board)
        ):
            cells = {budget_text(budget): _cell(result, entry, budget) for budget in result.budgets}
            mean = f"{interval_text(*result.mean(entry.name))} {_symbol(result, entry, PRIMARY)}".strip()
            name = f"[{entry.label}](../submissions/{submission.name})"
            about = {"seeds": seeds_text(result.board.seeds), "task": task_of(result)}
            state = submission.checked if submission.verification else f"**{NOT_VERIFIED}**"
            rows.append({"method": name, **about, **cells, column_text(result, PRIMARY): mean, "verified": state})
    return bare(Table("", "", "", pd.DataFrame(rows).fillna("–"))) if rows else "There are none yet.\n"


def _marked(result: BoardResult, entry: MethodRow, budget: float) -> str:
    return _bold(result, entry, budget, _cell(result, entry, budget))


def _bold(result: BoardResult, entry: MethodRow, column: Column, text: str) -> str:
    """Return a text in bold if the method is first in the column, or not worse than the first."""
    return f"**{text}**" if entry in firsts(result, column) else text


def _order(score: float) -> float:
    return math.inf if math.isnan(score) else -score


def _cell(result: BoardResult, entry: MethodRow, column: Column) -> str:
    return f"{score_text(result.mean(entry.name, column)[0])} {_symbol(result, entry, column)}".strip()


def _symbol(result: BoardResult, entry: MethodRow, column: Column) -> str:
    if isinstance(column, str):
        return LOOKS[result.verdict(entry.name, column)].text
    return ranking.symbol(result, entry, column)


def expectations_table(boards: Sequence[StoredBoard]) -> str:
    """Return what was expected beside what was found."""
    rows = expectations([board.result for board in boards])
    return bare(pd.DataFrame(rows)) if rows else "There are no verdicts yet.\n"


def values(results: Sequence[BoardResult]) -> dict[str, str]:
    """Return the numbers in the text of the page, by name."""
    comparison = load_protocol().comparison
    verdicts = [
        result.verdict(entry.name, budget)
        for result in results
        for entry in ranked_entries(result)
        for budget in result.budgets
    ]
    known = [verdict for verdict in verdicts if verdict != Verdict.NONE]
    choices = pd.concat([_tuned_choices(result) for result in results])
    real = {result.board.task.stream.name for result in results if result.board.source != "simulated"}
    excess = choices["excess"]
    edges = Counter(name for text in choices["at an edge"] if text != "–" for name in text.split(", "))
    simulations = [result for result in results if result.board.source == "simulated"]
    return {
        "seeds": str(len(results[0].board.seeds)),
        "data sets": f"{len(real)} data set{'s' * (len(real) != 1)}",
        "simulations": f"{len(simulations)} simulation{'s' * (len(simulations) != 1)}",
        "margin": percent(comparison.margin, 0),
        "undecided": f"{sum(verdict == Verdict.UNDECIDED for verdict in known):,} of {len(known):,}",
        "choices": f"{len(choices):,}",
        "edges": ", ".join(f"{name} in {count:,}" for name, count in edges.most_common()),
        "excess": f"{percent(excess.mean(), 1)} on average and {percent(excess.max(), 1)} at most",
    }


def _tuned_choices(result: BoardResult) -> pd.DataFrame:
    """Return the chosen configurations of tuned methods; `excess` is a share of what no communication gains."""
    rows, tuned = choice_rows(result), [entry.label for entry in ranked_entries(result)]
    rows = rows[rows["method"].isin(tuned)].dropna(subset="choosing").drop_duplicates(["method", "configuration"])
    gain = result.mean(NO_COMMUNICATION)[0] - random_score(result.board.scale)
    return rows.assign(excess=(rows["choosing"] - rows["reporting"]) / gain)


def _wrapped(text: str, indent: str = "") -> str:
    return fill(text, WIDTH, subsequent_indent=indent, break_on_hyphens=False) + "\n"
