"""The tables of the boards: scores and ranks, choices, pairs, users, sensitivity, and a summary over all tasks."""

import math
from typing import Any

import pandas as pd

from benchmark.board.board import Board
from benchmark.board.entries import MethodRow
from benchmark.board.result import BoardResult
from benchmark.board.task import board_fingerprint, experiment_name
from reports.analysis.board import (
    NONE,
    budget_text,
    choice_rows,
    columns_of,
    factor_over,
    pair_rows,
    primary_text,
    score_rows,
    score_text,
    sensitivity_rows,
    summary_rows,
    user_rows,
)
from reports.figures.board import OVER
from reports.labels import seeds_line
from reports.read.boards import StoredBoard, by_protocol, warning_of
from reports.read.results import Results
from reports.subjects import BOARD
from reports.write.table import Table, make_table, paper_table

ORDER = 5
SCORE = {
    "reward": "normalised reward (reward divided by that of random choice on the same pools)",
    "regret": "1 − regret / regret of random choice",
}


def tables(results: Results) -> list[Table]:
    """Return the summary over all tasks, and the tables of each board."""
    if not results.boards:
        return []
    shipped = by_protocol(results.boards)
    all_tables = [_summary(shipped)] if shipped else []
    for board in results.boards:
        all_tables += _tables(board, results)
    return all_tables


def _summary(boards: list[StoredBoard]) -> Table:
    caption = (
        "Each method on each task, at each budget (needed full messages per decision), and in the last column the "
        "mean over some of the budgets: the verdict, compared with tuned “no communication”, and the mean score. Rank: "
        "1 for the highest mean in the last column and all that are not worse; the others are ordered by their mean, "
        "without a claim. Over: by what factor the mean "
        "communication on the report seeds exceeds the budget, which limits the mean on the choosing seeds."
    )
    frame = summary_rows([board.result for board in boards])
    names = tuple(board.experiment for board in boards)
    return Table(
        "board_summary", "Board: all tasks", caption, frame, _notes(boards[0].result.board), names, subject=BOARD
    )


def _tables(board: StoredBoard, results: Results) -> list[Table]:
    result = board.result
    task, seeds = result.board.task, len(result.board.seeds)
    mean = primary_text(result.board.protocol.budgets.primary)
    confidence = f"{result.board.protocol.comparison.confidence:.0%}"
    scores = (
        f"{task.description} Score: {SCORE[result.board.scale]}, mean over {seeds} report seeds with 95 % Student t "
        "intervals, at each budget (needed full messages {V, b} per decision), and their "
        f"{mean}, by which methods are ranked. A method without a configuration within a budget is scored as tuned “no "
        f"communication” there. Notes name the reference lines that a method is below in the {mean}, by a paired 95 % "
        "interval."
    ).strip()
    choices = (
        "The configuration chosen for each budget, and its mean score on the choosing seeds (choosing) and on the "
        "report seeds (reporting). Values of α and λ at an edge of their grid are marked. Overruns: report seeds on "
        "which a configuration exceeds its budget, which limits the mean on the choosing seeds; over: by what "
        "factor the mean on the report seeds exceeds it. Difference to tuned “no "
        f"communication” with simultaneous {confidence} bands over all comparisons of the task. Against own end: "
        "compared with the method's own choice at budget 0. Messages are needed full messages {V, b} on the report "
        "seeds; sent: all transfers, as the paper counts them."
    )
    pairs = (
        "Each method (first) and the one with the highest mean (second): mean paired difference with simultaneous "
        f"{confidence} bands."
    )
    first = result.board.protocol.seeds.choosing.first
    sensitivity = (
        f"Scores on choosing seed {first}, on which every configuration is run: for each α and λ, the best value "
        f"of the front within each budget, {mean}."
    )
    users = (
        "Shares of users whose mean reward over the report seeds is better, worse and equal, compared with tuned “no "
        "communication”, by activity (number of interactions). For all users, the difference in normalised reward "
        "with a 95 % bootstrap interval over users and seeds."
    )
    parts = [
        ("", "scores and ranks", scores, score_rows(result)),
        ("_choices", "chosen configurations", choices, choice_rows(result)),
        ("_pairs", "differences to the highest mean", pairs, pair_rows(result)),
        ("_users", "users by activity", users, user_rows(board, results)),
        ("_sensitivity", "sensitivity to α and λ", sensitivity, sensitivity_rows(result)),
    ]
    label = results.label(task.stream.name, result.board.source)
    about: dict[str, Any] = {"label": label, "experiments": (board.experiment,), "subject": BOARD}
    return [
        make_table(
            f"{board.experiment}{suffix}",
            f"Board {task.name}: {what}",
            caption,
            frame,
            _notes(result.board),
            paper="" if suffix else paper_scores(result, label),
            **about,
        )
        for suffix, what, caption, frame in parts
        if len(frame)
    ]


def paper_scores(result: BoardResult, label: str) -> str:
    """Return the scores of a board in LaTeX for a paper: method × budget, mean ± half-width, the best in bold.

    `label` is that of the data.
    """
    board, rows = result.board, result.contenders
    cells = {"method": [entry.label for entry in rows]}
    best = {"method": [False] * len(rows)}
    for column, head in zip(columns_of(result), [*map(budget_text, result.budgets), "mean"], strict=True):
        means = {entry.name: result.mean(entry.name, column)[0] for entry in rows if _has_score(result, entry, column)}
        highest = score_text(max(means.values(), default=math.nan))
        cells[head] = [_paper_cell(result, entry, column) for entry in rows]
        best[head] = [entry.name in means and score_text(means[entry.name]) == highest for entry in rows]
    caption = (
        f"{board.task.title} (task {board.task.name}): {SCORE[board.scale]}, at each budget (needed full messages "
        "{V, b} per decision)."
    )
    titled = f"{caption} {label}." if label else caption
    name = experiment_name(board.task, board.protocol)
    return paper_table(name, titled, pd.DataFrame(cells), pd.DataFrame(best), " ".join(_paper_note(result)))


def _has_score(result: BoardResult, entry: MethodRow, column: float | str) -> bool:
    """Whether a row has a mean of its own at a budget, and not that of tuned "no communication"."""
    has_choice = isinstance(column, str) or result.choice(entry.name, column) is not None
    return has_choice and math.isfinite(result.mean(entry.name, column)[0])


def _paper_cell(result: BoardResult, entry: MethodRow, column: float | str) -> str:
    if not isinstance(column, str) and result.choice(entry.name, column) is None:
        return NONE.replace(" ", "\n")
    mean, low, high = result.mean(entry.name, column)
    over = "" if factor_over(result, entry, column) is None else OVER
    text = f"{_number(mean)}{over}"
    return text if math.isnan(low) else f"{text}\n±{(high - low) / 2:.3f}"


def _number(score: float) -> str:
    return score_text(score).replace("-", "−")


def _paper_note(result: BoardResult) -> list[str]:
    """Return the sentences of the note: what numbers and marks mean, and what readers must know about the rows."""
    board, columns = result.board, [(entry, budget) for entry in result.contenders for budget in result.budgets]
    needed, primary = board.protocol.comparison.min_report_seeds, map(budget_text, board.protocol.budgets.primary)
    sentences = [
        f"Mean ± half-width of the 95 % Student t interval over {seeds_line(board.seeds)}.",
        f"Last column: mean over the budgets {', '.join(primary)}.",
        "Bold: the highest mean of each column, and all with the same digits; this is no verdict.",
    ]
    if any(factor_over(result, *pair) is not None for pair in columns):
        sentences.append(f"{OVER}: over the budget on these seeds.")
    if any(result.choice(entry.name, budget) is None for entry, budget in columns):
        sentences.append(f"{NONE}: no configuration within the budget, scored as tuned no communication.")
    if not board.has_enough_seeds:
        sentences.append(f"No verdicts: they need at least {needed} seeds.")
    if board.retired:
        sentences.append(f"Retired, not ranked: {board.retired}.")
    sentences += _tuning_sentences(result)
    if lines := [f"{entry.label} {_number(result.line(entry.name)[0])}" for entry in result.references]:
        sentences.append(f"Reference lines: {'; '.join(lines)}.")
    if result.best and (above := result.below(result.best)):
        sentences.append(f"More than every method: {'; '.join(above)}.")
    return [*sentences, *(f"{note.rstrip('.')}." for note in _notes(board))]


def _tuning_sentences(result: BoardResult) -> list[str]:
    """Return the remarks on how methods were tuned, or why they have no scores, each with its methods."""
    board = result.board
    methods = [entry for entry in board.entries if entry.is_contender]
    labels: dict[str, list[str]] = {}
    for entry in methods:
        for note in filter(None, (*entry.notes, board.tuning_note(entry), result.problems.get(entry.name))):
            labels.setdefault(note, []).append(entry.label)
    return [
        f"{note}: {'all methods' if len(named) == len(methods) else ', '.join(named)}."
        for note, named in labels.items()
    ]


def _notes(board: Board) -> tuple[str, ...]:
    fingerprint = board_fingerprint(board.task, board.protocol)[:12]
    return (*warning_of(board), f"Protocol version {board.protocol.version}, task and protocol {fingerprint}.")
