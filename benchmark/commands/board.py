"""Compare all methods, tuned in the same way, to find out which one to use.

Examples:
  fedbandit board --quick                 a first look at one task, a minute
  fedbandit board lastfm-matched          one task by the protocol
  fedbandit board                         all tasks
  fedbandit board --dry-run               number of runs and estimated time
  fedbandit board simulated-uniform --method my_module:MyMethod
                                          your class beside the others
  fedbandit board lastfm-matched --method "async-linucb[alpha=0.3]"
                                          a value that is fixed, not tuned

Each method is tuned on the seeds for choosing, for each budget of communication
per client. The chosen configurations are then run on the report seeds and
compared; docs/protocol.md has the rules. Runs are recorded in MLflow, one
experiment per task, and finished runs are not repeated. `fedbandit report`
builds figures and tables of the boards.

The exit code is 0 if all tasks are complete, 1 if runs failed or data sets are
missing, 2 for bad input or a fatal error, 130 after Ctrl-C. Run the
same command again to continue.
"""

import argparse
import math
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from benchmark.commands import (
    add_executor_options,
    add_method_option,
    check_executor,
    check_minimum,
    executor_of,
    interrupted,
    jobs_of,
)
from benchmark.observer import SweepDisplay
from data_pipelines.support.messages import matching_names
from data_pipelines.support.text import WIDTH, cut, number_of, wrapped

if TYPE_CHECKING:
    from benchmark.board.board import Board
    from benchmark.board.play import Estimate
    from benchmark.board.result import BoardResult
    from benchmark.board.task import Task
    from benchmark.execution.run_result import RunResult
    from benchmark.plan.runs import Run

NAME_WIDTH, CELL_WIDTH = 26, 9
MARKS = {"better": "+", "worse": "-", "equivalent": "=", "identical": "=", "undecided": "?"}
LEGEND = "compared with tuned no communication: + better, - worse, = equivalent, ? undecided"
OVER = "!"
"""In a cell: the mean over the report seeds exceeds the budget; a note on the row has the factor."""

SCORES = {
    "reward": "normalised reward (random choice: 1)",
    "regret": "1 - regret / regret of random choice",
}
MIN_SECONDS = 10.0
"""Seconds of run time after which the time left for all boards is estimated."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("tasks", nargs="*", metavar="TASK", help="names or patterns (default: all tasks)")
    add_method_option(
        parser,
        "only this method and the reference; NAME[KEY=VALUE,…] adds a row that is not tuned, module:Class your own "
        "class (repeatable)",
    )
    parser.add_argument("--quick", action="store_true", help="one task, few seeds and configurations, no verdicts")
    parser.add_argument("--fixed", action="store_true", help="also run each method with the paper's α and λ, not tuned")
    parser.add_argument(
        "--configurations", type=int, metavar="N", help="at most N configurations per method, instead of 144"
    )
    parser.add_argument("--seeds", metavar="SEEDS", help="report seeds: a number (20), a list (0,5) or a range (0-9)")
    add_executor_options(parser)
    parser.add_argument("--dry-run", action="store_true", help="print the number of runs and the estimated time")


def run(arguments: argparse.Namespace) -> int:
    """Play the boards, print their tables, and return the exit code."""
    from benchmark.board.board import NOT_THE_PROTOCOL
    from benchmark.board.play import estimate
    from benchmark.board.task import experiment_name
    from benchmark.records.reader import finished_runs
    from benchmark.records.store import Store

    check_executor(arguments)
    check_minimum(arguments, configurations=1)
    boards, missing = plan_boards(arguments)
    for message in missing:
        print(wrapped(f"MISSING: {message}"), file=sys.stderr)
    if arguments.quick and boards and len(arguments.tasks) > 1:
        print(f"--quick plays one task, {boards[0].task.name}; the others are left out", file=sys.stderr)
    for line in tuning_lines(boards):
        print(wrapped(line), file=sys.stderr)
    if arguments.quick and boards:
        print(f"{NOT_THE_PROTOCOL}.")
    store = Store()
    estimates = [
        estimate(board, finished_runs(store, [experiment_name(board.task, board.protocol)])) for board in boards
    ]
    if arguments.dry_run:
        print_estimates(boards, estimates, jobs_of(arguments))
        return 1 if missing else 0
    if not boards:
        return 1
    from benchmark.board.play import play

    display, results = BoardDisplay([each.seconds for each in estimates]), []
    with executor_of(arguments, display.note) as executor:
        for board in boards:
            result = play(board, store, executor, display)
            display.board_done()
            if result.is_interrupted:
                return interrupted()
            results.append(result)
            print("\n".join(["", *board_lines(result)]), flush=True)
    print("\n".join(["", *summary_lines(results)]))
    if arguments.quick:
        print(f"{NOT_THE_PROTOCOL}.\nThe protocol: fedbandit board {boards[0].task.name}")
    print("report   fedbandit report 'board_*' (figures, tables, HTML page)")
    has_failed = any(
        result.problems or any(outcome.error for outcome in result.outcomes.values()) for result in results
    )
    return 1 if missing or has_failed else 0


def plan_boards(arguments: argparse.Namespace) -> "tuple[list[Board], list[str]]":
    """Plan the boards of the tasks whose data are prepared; return them, and a line per task that is skipped.

    With `--quick`, the first of them is enough, and tasks are skipped only if there is none.
    """
    from benchmark.board.board import QUICK_CONFIGURATIONS, QUICK_PASSES, QUICK_SEEDS, plan_board
    from benchmark.board.entries import with_fixed
    from benchmark.plan.method_names import parse_filter
    from benchmark.plan.plan import bound_or_missing, parse_seeds
    from benchmark.protocol import load_protocol
    from data_pipelines.stream_spec import SimulatedSpec

    protocol, configurations = load_protocol(), arguments.configurations
    seeds = parse_seeds(arguments.seeds) if arguments.seeds is not None else None
    if arguments.quick:
        protocol, seeds = protocol.smaller(QUICK_PASSES), seeds or QUICK_SEEDS
        configurations = configurations or QUICK_CONFIGURATIONS
    filters = tuple(parse_filter(text) for text in arguments.method)
    boards: list[Board] = []
    missing: list[str] = []
    for task in find_tasks(arguments.tasks):
        reasons: dict[str, str] = {}
        if bound_or_missing(task.stream, reasons) is None:
            missing.append(f"task {task.name} is skipped: {next(iter(reasons.values()))}")
            continue
        methods = filters
        if arguments.fixed:
            methods = tuple(with_fixed(filters, protocol, is_simulated=isinstance(task.stream, SimulatedSpec)))
        boards.append(plan_board(task, methods, protocol, seeds=seeds, max_configurations=configurations))
        if arguments.quick:
            return boards, []
    return boards, missing


def find_tasks(names: Sequence[str]) -> "list[Task]":
    """Return tasks by name or pattern; without names, all tasks."""
    from benchmark.board.task import load_task, task_names

    return [load_task(name) for name in matching_names("task", names, task_names())]


def tuning_lines(boards: "Sequence[Board]") -> list[str]:
    """Return a line for each method that is tuned over fewer configurations than the others, and what to do."""
    notes = [(entry, note) for board in boards for entry in board.entries if (note := board.tuning_note(entry))]
    return list(dict.fromkeys(f"{entry.label}: {note}; declare `tuning` to add some" for entry, note in notes))


def print_estimates(boards: "Sequence[Board]", estimates: "Sequence[Estimate]", jobs: int) -> None:
    """Print the runs of each board, and how long all of them take."""
    from benchmark.plan.runs import duration

    for board, each in zip(boards, estimates, strict=True):
        rows = f"{sum(entry.is_contender for entry in board.entries)} methods"
        time = f"at most {each.to_do:,} to do, {duration(each.seconds / jobs)}" if each.to_do else "complete"
        print(f"{board.task.name:<24} {rows}, {each.done:,} runs done, {time}")
    runs, seconds = sum(each.to_do for each in estimates), sum(each.seconds for each in estimates) / jobs
    print(f"\nat most {runs:,} runs to do, {duration(seconds)} with {number_of(jobs, 'job')}")


class BoardDisplay(SweepDisplay):
    """Shows one sweep after the other, and the time left for all boards.

    `seconds` are those that each board is expected to take at most.
    """

    def __init__(self, seconds: Sequence[float]) -> None:
        super().__init__()
        self._boards = list(seconds)
        self._seconds_done = self._wall = 0.0
        self._started = 0.0

    def started(self, runs: int, skipped: int, seconds: float) -> None:
        """Start the display of a sweep, and print the time left for all boards if it is known."""
        from benchmark.plan.runs import duration

        if (left := self.seconds_of_boards()) is not None:
            self.note(f"at most {duration(left)} left")
        self._started = time.monotonic()
        super().started(runs, skipped, seconds)

    def run_done(self, run: "Run", result: "RunResult", seconds: float, *, is_reused: bool) -> None:
        """Count one more run."""
        self._seconds_done += 0.0 if is_reused else seconds
        if self._boards:
            self._boards[0] = max(0.0, self._boards[0] - seconds)
        super().run_done(run, result, seconds, is_reused=is_reused)

    def ended(self) -> None:
        """Show the last state of a sweep."""
        self._wall += time.monotonic() - self._started
        super().ended()

    def board_done(self) -> None:
        """Drop the remaining expected time of a board that is done."""
        self._boards = self._boards[1:]

    def seconds_of_boards(self) -> float | None:
        """Return the time left for all boards, at the speed so far; None before it is known."""
        is_known = self._seconds_done and self._wall > MIN_SECONDS
        return sum(self._boards) * self._wall / self._seconds_done if is_known else None


def board_lines(result: "BoardResult") -> list[str]:
    """Return the lines of a task: scores and verdicts, ranks, reference lines, and notes on rows."""
    board = result.board
    lines = [f"{board.task.name}: {board.task.title}"[:WIDTH]]
    seeds = number_of(len(board.seeds), "report seed")
    lines += [f"{SCORES[board.scale]}, mean of {seeds}", f"{'transfers per client':<{NAME_WIDTH}}{_heads(result)}"]
    for entry in result.contenders:
        cells = [_cell(result, entry.name, budget) for budget in result.budgets]
        lines.append((_name(entry.label) + "".join(cells)).rstrip())
    lines += [
        f"{_name(entry.label)}{_number(result.line(entry.name)[0]):>{CELL_WIDTH - 1}}" for entry in result.references
    ]
    if label := board.task.stream.bound().data_label() if board.source != "simulated" else "":
        lines += wrapped(label).splitlines()
    lines += _verdict_lines(result)
    if any(_is_over(result, entry.name, budget) for entry in result.contenders for budget in result.budgets):
        lines.append(f"{OVER} over its budget on the report seeds")
    for entry in board.entries:
        if entry.is_contender and (notes := result.notes(entry)):
            lines += wrapped(f"{entry.label}: {'; '.join(notes)}").splitlines()
    return lines


def summary_lines(results: "Sequence[BoardResult]") -> list[str]:
    """Return one line per task: the ranks of its methods."""
    lines = ["ranks by the mean score at 2, 10, 100 and 1,000 transfers per client"]
    for result in results:
        ranks = "" if _is_open(result) else _ranks(result)
        lines += wrapped(f"{result.board.task.name}: {ranks or 'no verdicts'}").splitlines()
    return lines


def _verdict_lines(result: "BoardResult") -> list[str]:
    needed = result.board.protocol.comparison.min_report_seeds
    if _is_open(result):
        return [f"No verdicts: they need at least {needed} report seeds, got {len(result.board.seeds)}."]
    if result.comparisons.empty:
        return ["No verdicts: the reference method has no scores."]
    return [*wrapped(LEGEND).splitlines(), *wrapped(f"rank: {_ranks(result)}").splitlines()]


def _ranks(result: "BoardResult") -> str:
    from benchmark.statistics.verdicts import rank_text

    labels = {entry.name: entry.label for entry in result.contenders}
    return ", ".join(f"{labels[name]} {rank_text(rank)}" for name, rank in result.ranks.items())


def _is_open(result: "BoardResult") -> bool:
    return len(result.board.seeds) < result.board.protocol.comparison.min_report_seeds


def _heads(result: "BoardResult") -> str:
    texts = ["unlimited" if math.isinf(budget) else f"{budget:,.0f} " for budget in result.budgets]
    return "".join(f"{text:>{CELL_WIDTH}}" for text in texts)


def _cell(result: "BoardResult", name: str, budget: float) -> str:
    if result.choice(name, budget) is None:
        return f"{'none ':>{CELL_WIDTH}}"
    mark = MARKS.get(result.verdict(name, budget), " ")
    mark += OVER if _is_over(result, name, budget) else ""
    return f"{_number(result.mean(name, budget)[0]) + mark:>{CELL_WIDTH}}"


def _is_over(result: "BoardResult", name: str, budget: float) -> bool:
    return result.overruns(name, budget).factor is not None


def _number(value: float) -> str:
    return "failed" if math.isnan(value) else f"{value:.3f}"


def _name(label: str) -> str:
    return cut(label, NAME_WIDTH - 1).ljust(NAME_WIDTH)
