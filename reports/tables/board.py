"""The tables of the boards: scores and ranks, choices, pairs, users, sensitivity, and a summary over all tasks."""

from typing import Any

import pandas as pd

from benchmark.board.task import board_fingerprint
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
from reports.read.results import Results
from reports.subjects import BOARD
from reports.write.table import Table, make_table

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
    return Table("board_summary", "Board: all tasks", caption, frame, _notes(boards[0]), names, subject=BOARD)


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
    return [_table(board, results, *part) for part in parts if len(part[-1])]


def _table(board: StoredBoard, results: Results, suffix: str, what: str, caption: str, frame: pd.DataFrame) -> Table:
    data = board.result.board
    label = results.label(data.task.stream.name, data.source)
    name, title = f"{board.experiment}{suffix}", f"Board {data.task.name}: {what}"
    about: dict[str, Any] = {"experiments": (board.experiment,), "subject": BOARD}
    return make_table(name, title, caption, frame, _notes(board), label=label, **about)


def _notes(board: StoredBoard) -> tuple[str, ...]:
    data = board.result.board
    fingerprint = board_fingerprint(data.task, data.protocol)[:12]
    version = f"Protocol version {data.protocol.version}, task and protocol {fingerprint}."
    return (*board.warning, version)
