"""The tables of the boards: scores and ranks, choices, pairs, users, sensitivity, and a summary over all tasks."""

import pandas as pd

from benchmark.board.task import board_fingerprint
from benchmark.statistics.budgets import full_transfer
from reports.analysis.board import (
    choice_rows,
    pair_rows,
    primary_text,
    score_rows,
    sensitivity_rows,
    summary_rows,
    user_rows,
)
from reports.read.boards import StoredBoard, by_protocol
from reports.read.context import Context
from reports.read.results import Results
from reports.subjects import BOARD
from reports.write.table import Table

ORDER = 5
SCORE = {
    "reward": "normalised reward (reward divided by that of random choice on the same pools)",
    "regret": "1 − regret / regret of random choice",
}


def tables(results: Results, context: Context) -> list[Table]:
    """Return the summary over all tasks, and the tables of each board."""
    if not results.boards:
        return []
    shipped = by_protocol(results.boards)
    all_tables = [_summary(shipped)] if shipped else []
    for board in results.boards:
        all_tables += _tables(board, results, context)
    return all_tables


def _summary(boards: list[StoredBoard]) -> Table:
    caption = (
        "Each method on each task, at each budget (full transfers per client), and the mean over the budgets 2, 10, "
        "100 and 1,000: the verdict, compared with tuned “no communication”, and the mean score. Rank: from the "
        "verdicts on all pairs in the last column; equivalent methods share one. Over: by what factor the mean "
        "communication on the report seeds exceeds the budget, which limits the mean on the choosing seeds."
    )
    frame = summary_rows([board.result for board in boards])
    names = tuple(board.experiment for board in boards)
    return Table("board_summary", "Board: all tasks", caption, frame, _notes(boards[0]), names, subject=BOARD)


def _tables(board: StoredBoard, results: Results, context: Context) -> list[Table]:
    result = board.result
    task, seeds, numbers = result.board.task, len(result.board.seeds), full_transfer(result.board.dimension)
    mean = primary_text(result.board.protocol.budgets.primary)
    confidence = f"{result.board.protocol.comparison.confidence:.0%}"
    scores = (
        f"{task.description} Score: {SCORE[result.board.scale]}, mean over {seeds} report seeds with 95 % Student t "
        f"intervals, at each budget (full transfers per client; one is {numbers:,} numbers), and their "
        f"{mean}, by which methods are ranked. A method without a configuration within a budget is scored as random "
        f"choice there. Notes name the reference lines that a method is below in the {mean}, by a paired 95 % interval."
    ).strip()
    choices = (
        "The configuration chosen for each budget, and its mean score on the choosing seeds (choosing) and on the "
        "report seeds (reporting). Values of α and λ at an edge of their grid are marked. Overruns: report seeds on "
        "which a configuration exceeds its budget, which limits the mean on the choosing seeds; over: by what "
        "factor the mean on the report seeds exceeds it. Difference to tuned “no "
        f"communication” with simultaneous {confidence} bands over all pairs and budgets. Against own end: compared "
        "with the method's own choice at budget 0."
    )
    pairs = f"Every two methods: mean paired difference (first − second) with simultaneous {confidence} bands."
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
        ("_pairs", "pairs of methods", pairs, pair_rows(result)),
        ("_users", "users by activity", users, user_rows(board, results, context)),
        ("_sensitivity", "sensitivity to α and λ", sensitivity, sensitivity_rows(result)),
    ]
    return [_table(board, context, *part) for part in parts if len(part[-1])]


def _table(board: StoredBoard, context: Context, suffix: str, what: str, caption: str, frame: pd.DataFrame) -> Table:
    data = board.result.board
    label = context.label(data.task.stream.name, data.source)
    title = f"Board {data.task.name}: {what}" + (f" – {label}" if label else "")
    notes = (*((label,) if label else ()), *_notes(board))
    return Table(f"{board.experiment}{suffix}", title, caption, frame, notes, (board.experiment,), subject=BOARD)


def _notes(board: StoredBoard) -> tuple[str, ...]:
    data = board.result.board
    fingerprint = board_fingerprint(data.task, data.protocol)[:12]
    version = f"Protocol version {data.protocol.version}, task and protocol {fingerprint}."
    return (*board.warning, version)
