"""Results of a board of the full size: all methods on all tasks. One task is made up; the others have its numbers."""

from dataclasses import replace
from functools import cache

from benchmark.board.task import experiment_name, load_task, task_names
from reports.figures import board as board_figures
from reports.figures import decisions, ranking
from reports.read.boards import StoredBoard
from reports.read.results import Results
from reports.tables import board as board_tables
from reports.write.figure import Figure
from reports.write.table import Table
from tests.reports.made_up_boards import made_up_stored, results_of

PLAYED = "simulated-clusters"


@cache
def big_results() -> Results:
    """Return the results of all tasks of the protocol."""
    stored = made_up_stored(PLAYED)
    return replace(results_of(stored), boards=tuple(_with_task(stored, name) for name in task_names()))


def tables_and_figures(results: Results) -> tuple[list[Table], list[Figure]]:
    """Return those of the boards, as a report has them."""
    modules = (board_figures, ranking, decisions)
    return board_tables.tables(results), [figure for module in modules for figure in module.figures(results)]


def _with_task(stored: StoredBoard, name: str) -> StoredBoard:
    result, task = stored.result, load_task(name)
    copy = replace(stored, experiment=experiment_name(task, result.board.protocol))
    vars(copy)["result"] = replace(result, board=replace(result.board, task=task))
    return copy
