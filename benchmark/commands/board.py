"""Compare all methods, tuned in the same way, to find out which one to use.

Examples:
  fedbandit board --quick                 a first look at one task, a minute
  fedbandit board lastfm-once --seeds 10  one task, ten seeds: verdicts
  fedbandit board mine.toml --quick       a task of your own
  fedbandit board --report                all tasks by the protocol
  fedbandit board --dry-run               number of runs and estimated time
  fedbandit board lastfm-once --latex > lastfm.tex
                                          the scores as a table for a paper
  fedbandit board simulated-uniform --method my_module:MyMethod
                                          your class beside the others
  fedbandit board lastfm-once --method "async-linucb[alpha=0.3]"
                                          a value that is fixed, not tuned
  fedbandit board lastfm-once --method "async-linucb[welcome=true]"
                                          a variant that the method declares

Each method is tuned on the seeds for choosing, for each budget of needed
messages per decision. The chosen configurations are then run on other seeds and
compared; docs/protocol.md has the rules. Only --report plays the report seeds
of the protocol; every other board is a try, on seeds of its own. Runs are
recorded in MLflow, one experiment per task, and finished runs are not repeated.
--quick plays a few usual methods and those that you name with --method.
`fedbandit report` builds figures and tables of the boards. With --latex, the
scores of each task are printed as a table for a paper (method × budget, mean ±
half-width, the highest means in bold); a complete board plays nothing new.

The exit code is 0 if all tasks are complete, 1 if runs failed or data sets are
missing, 2 for bad input or a fatal error, 130 after Ctrl-C. Run the
same command again to continue.
"""

import argparse
import math
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING

from benchmark.commands import (
    add_executor_options,
    add_method_option,
    add_metric_option,
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
    from benchmark.board.entries import MethodRow
    from benchmark.board.play import Estimate
    from benchmark.board.result import BoardResult
    from benchmark.board.task import Task
    from benchmark.execution.run_result import RunResult
    from benchmark.plan.runs import Run
    from benchmark.protocol import BenchmarkProtocol

ORDER = 4

NAME_WIDTH, CELL_WIDTH = 26, 9
AMOUNT_NAME_WIDTH, AMOUNT_WIDTHS = 23, (10, 9, 10, 9, 8)
"""Of the tables by budget: name; score, choosing, per decision, per client, sent; the rank takes the rest."""

MARKS = {"better": "+", "worse": "-", "equivalent": "=", "identical": "=", "undecided": "?"}
LEGEND = "compared with tuned no communication: + better, - worse, = equivalent, ? undecided"
OVER = "!"
"""In a cell: the mean over the report seeds exceeds the budget; a note on the row has the factor."""

ALONE = "alone"
"""In a cell: no configuration stays within the budget, so the method is scored as tuned no communication."""

ALONE_LEGEND = f"{ALONE}: no configuration within the budget, scored as tuned no communication"
DECLARED = ", declared"
AMOUNTS_LEGEND = (
    "choosing: the mean on the seeds for choosing; per decision and per client: needed full messages {V, b}; sent: all "
    "transfers per client, as the paper counts them"
)

SCORES = {
    "reward": "normalised reward (random choice: 1)",
    "regret": "1 - regret / regret of random choice",
}
MIN_SECONDS = 10.0
"""Seconds of run time after which the time left for all boards is estimated."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "tasks", nargs="*", metavar="TASK", help="names, patterns or TOML files (default: all built-in tasks)"
    )
    add_method_option(
        parser,
        "only this method and the reference; NAME[KEY=VALUE,…] adds a declared variant of it, or else a row that is "
        "not tuned; module:Class your own class (repeatable)",
    )
    add_metric_option(parser)
    parser.add_argument(
        "--quick",
        action="store_true",
        help="one task, usual methods and those named, few seeds and configurations, no verdicts",
    )
    parser.add_argument("--fixed", action="store_true", help="also run each method with the paper's α and λ, not tuned")
    parser.add_argument(
        "--configurations", type=int, metavar="N", help="at most N configurations per method, instead of 144"
    )
    parser.add_argument("--seeds", metavar="SEEDS", help="a try on fewer seeds: a number (10), a list or a range")
    parser.add_argument("--report", action="store_true", help="play the report seeds of the protocol")
    add_executor_options(parser)
    parser.add_argument("--dry-run", action="store_true", help="print the number of runs and the estimated time")
    parser.add_argument("--latex", action="store_true", help="print the scores as tables for a paper, and nothing else")


def run(arguments: argparse.Namespace) -> int:
    """Play the boards, print their tables, and return the exit code."""
    from benchmark.board.board import NOT_THE_PROTOCOL
    from benchmark.board.play import estimate
    from benchmark.board.task import experiment_name
    from benchmark.execution.own_metrics import find_metrics
    from benchmark.records.reader import finished_runs
    from benchmark.records.store import Store

    check_executor(arguments)
    check_minimum(arguments, configurations=1)
    own_metrics = find_metrics(arguments.metric)
    if arguments.report and (arguments.quick or arguments.seeds is not None):
        raise ValueError("--report must not be combined with --quick or --seeds: it plays the seeds of the protocol")
    boards, missing = plan_boards(arguments)
    for message in missing:
        print(wrapped(f"MISSING: {message}"), file=sys.stderr)
    if arguments.quick and boards and len(arguments.tasks) > 1:
        print(f"--quick plays one task, {boards[0].task.name}; the others are left out", file=sys.stderr)
    for line in tuning_lines(boards):
        print(wrapped(line), file=sys.stderr)
    if arguments.quick and boards and not arguments.latex:
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
            result = play(board, store, executor, display, with_facts=True, metrics=own_metrics)
            display.board_done()
            if result.is_interrupted:
                return interrupted()
            results.append(result)
            print(_paper_scores(result) if arguments.latex else "\n".join(["", *board_lines(result)]), flush=True)
    if not arguments.latex:
        _print_summary(results, arguments.tasks, is_quick=arguments.quick)
    has_failed = any(
        result.problems or result.metric_errors or any(outcome.error for outcome in result.outcomes.values())
        for result in results
    )
    return 1 if missing or has_failed else 0


def _print_summary(results: "Sequence[BoardResult]", names: Sequence[str], *, is_quick: bool) -> None:
    """Print the ranks of all tasks, and what to do next."""
    from benchmark.board.board import NOT_THE_PROTOCOL
    from benchmark.board.entries import others_text

    print("\n".join(["", *summary_lines(results)]))
    if is_quick:
        board = results[0].board
        task = next((name for name in names if Path(name).stem == board.task.name), board.task.name)
        print(f"{NOT_THE_PROTOCOL}.\nThe protocol: fedbandit board {task}")
        if others := others_text({entry.method for entry in board.entries}):
            print(wrapped(others))
    print("report   fedbandit report 'board_*' (figures, tables, HTML page)")


def _paper_scores(result: "BoardResult") -> str:
    from reports.tables.board import paper_scores

    return paper_scores(result, result.board.task.stream.bound().data_label())


def plan_boards(arguments: argparse.Namespace) -> "tuple[list[Board], list[str]]":
    """Plan the boards of the tasks whose data are prepared; return them, and a line per task that is skipped.

    With `--quick`, the first of them is enough, and tasks are skipped only if there is none.
    """
    from benchmark.board.board import plan_board
    from benchmark.board.entries import with_fixed, with_usual
    from benchmark.plan.method_names import parse_filter
    from benchmark.plan.plan import bound_or_missing
    from benchmark.protocol import load_protocol
    from data_pipelines.stream_spec import SimulatedSpec

    protocol, configurations = load_protocol(), arguments.configurations
    seeds = seeds_of(arguments, protocol)
    filters = tuple(parse_filter(text) for text in arguments.method)
    if arguments.quick:
        configurations = configurations or protocol.quick.configurations
        filters = tuple(with_usual(filters))
        protocol = protocol.smaller([(protocol.quick.choosing_seeds, 1)])
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


def seeds_of(arguments: argparse.Namespace, protocol: "BenchmarkProtocol") -> tuple[int, ...]:
    """Return the seeds to report on: those of the protocol with --report only, otherwise seeds for a try."""
    from benchmark.plan.plan import parse_seeds

    reporting, trying = protocol.seeds.reporting.seeds, protocol.seeds.trying.seeds
    if arguments.report:
        return reporting
    if arguments.seeds is None:
        return trying[: protocol.quick.report_seeds] if arguments.quick else trying
    seeds = parse_seeds(arguments.seeds, start=trying[0])
    if taken := sorted({*seeds} & {*reporting}):
        raise ValueError(
            f"--seeds must be outside {reporting[0]} to {reporting[-1]}, which --report plays for the full board, "
            f"got {taken[0]}"
        )
    return seeds


def find_tasks(names: Sequence[str]) -> "list[Task]":
    """Return tasks by name, pattern or TOML file; without names, all built-in ones.

    A retired task is found by its whole name only.
    """
    from benchmark.board.task import load_task, own_task, task_names
    from benchmark.protocol import load_protocol

    retired = [name for name in names if name in load_protocol().retired]
    files = [name for name in names if name.endswith(".toml")]
    others = [name for name in names if name not in (*retired, *files)]
    ranked = matching_names("task", others, task_names()) if others or not names else []
    built_in = [load_task(name) for name in (*ranked, *dict.fromkeys(retired))]
    own = [own_task(Path(name)) for name in dict.fromkeys(files)]
    if len({task.name for task in own}) < len(own):
        raise ValueError(f"files of tasks must have distinct names, got {', '.join(files)}")
    return built_in + own


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
    """Return the lines of a task: scores and verdicts, reference lines, a table for each budget, and notes on rows."""
    board = result.board
    lines = [f"{board.task.name}: {board.task.title}"[:WIDTH]]
    if board.retired:
        lines += wrapped(f"retired in version {board.protocol.version}, not ranked: {board.retired}").splitlines()
    lines += wrapped(f"{SCORES[board.scale]}, {_seeds_text(board)}").splitlines()
    if best := result.best:
        lines += [f"{label} earns more than every method" for label in result.below(best)]
    lines.append(f"{'messages per decision':<{NAME_WIDTH}}{_heads(result)}")
    for entry in result.contenders:
        cells = [_cell(result, entry.name, budget) for budget in result.budgets]
        lines += _row(entry.label, "".join(cells), NAME_WIDTH)
    for entry in result.references:
        lines += _row(entry.label, f"{_number(result.line(entry.name)[0]):>{CELL_WIDTH - 1}}", NAME_WIDTH)
    lines += result.facts_lines()
    if label := board.task.stream.bound().data_label():
        lines += wrapped(label).splitlines()
    lines += _legend_lines(result)
    for budget in result.budgets if result.contenders else ():
        lines += ["", *_amount_lines(result, budget)]
    lines += wrapped(AMOUNTS_LEGEND).splitlines() if result.contenders else []
    if result.ranks:
        lines += wrapped(f"rank: {_ranks(result)}").splitlines()
    for entry in board.entries:
        if entry.is_contender and (notes := [*result.notes(entry), *_edge_notes(result, entry)]):
            lines += wrapped(f"{entry.label}: {'; '.join(notes)}").splitlines()
    return lines


def summary_lines(results: "Sequence[BoardResult]") -> list[str]:
    """Return one line per task: the ranks of its methods."""
    budgets = results[0].board.protocol.budgets.primary if results else []
    texts = ", ".join(map(_budget_text, budgets))
    lines = [f"ranks by the mean score at {texts} messages per decision"]
    for result in results:
        reason = "retired, not ranked" if result.board.retired else "no verdicts"
        lines += wrapped(f"{result.board.task.name}: {_ranks(result) or reason}").splitlines()
    return lines


def _seeds_text(board: "Board") -> str:
    seeds, reporting = board.seeds, board.protocol.seeds.reporting
    text = f"mean of {number_of(len(seeds), 'seed')}"
    if seeds == reporting.seeds:
        return text
    return f"{text}: a try, as only seeds {reporting.first} to {reporting.last} (--report) are those of the protocol"


def _legend_lines(result: "BoardResult") -> list[str]:
    """Return what marks mean, or why there are no verdicts."""
    needed, got = result.board.protocol.comparison.min_report_seeds, len(result.board.seeds)
    if got < needed:
        lines = [f"No verdicts: they need at least {needed} seeds, got {got}."]
    elif result.comparisons.empty:
        lines = ["No verdicts: the reference method has no scores."]
    else:
        lines = wrapped(LEGEND).splitlines()
    pairs = [(entry.name, budget) for entry in result.contenders for budget in result.budgets]
    if any(result.choice(*pair) is None for pair in pairs):
        lines += wrapped(ALONE_LEGEND).splitlines()
    return (
        [*lines, f"{OVER} over its budget on these seeds"] if any(_is_over(result, *pair) for pair in pairs) else lines
    )


def _amount_lines(result: "BoardResult", budget: float) -> list[str]:
    """Return the table of a budget: score, mean on the choosing seeds, communication and rank of each method."""
    per_client = f" ({result.board.per_client(budget):.3g} per client)" if 0 < budget < math.inf else ""
    limit = {0.0: "no messages", math.inf: "unlimited"}.get(budget, f"at most {budget:g} messages per decision")
    heads = ("score ", "choosing", "/decision", "/client", "sent")
    lines = [limit + per_client, " " * AMOUNT_NAME_WIDTH + _columns(heads) + "  rank"]
    for entry in result.contenders:
        choice, mark = result.choice(entry.name, budget), MARKS.get(result.verdict(entry.name, budget), " ")
        score = f"{_number(result.mean(entry.name, budget)[0])}{mark}"
        if choice is None:
            lines += _amount_row(entry, _columns((score,)) + f"  none: {ALONE}")
            continue
        needed = result.needed(choice.configuration)
        over = OVER if _is_over(result, entry.name, budget) else ""
        amounts = (
            f"{needed:.3g}{over}",
            f"{result.board.per_client(needed):.3g}",
            _sent(result.sent(choice.configuration)),
        )
        rank = result.ranks.get(budget, {}).get(entry.name, "")
        lines += _amount_row(entry, _columns((score, _number(choice.score), *amounts)) + f"  {rank}")
    return lines


def _columns(cells: Sequence[str]) -> str:
    return "".join(f"{cell:>{width}}" for cell, width in zip(cells, AMOUNT_WIDTHS, strict=False))


def _sent(transfers: float) -> str:
    return f"{transfers:,.0f}" if transfers >= 100 else f"{transfers:.3g}"


def _amount_row(entry: "MethodRow", cells: str) -> list[str]:
    """Return the lines of a row; its name says where the class declares its communication."""
    return _row(entry.label, cells, AMOUNT_NAME_WIDTH, "" if entry.is_measured else DECLARED)


def _row(label: str, cells: str, width: int, ending: str = "") -> list[str]:
    """Return the lines of a row: its name, on several lines if it is long, and its cells behind the last of them."""
    *first, last = wrap(label, width - 1, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
    name = cut(last, width - 1 - len(ending)) + ending
    return [*(cut(line, width - 1) for line in first), f"{name:<{width}}{cells}".rstrip()]


def _edge_notes(result: "BoardResult", entry: "MethodRow") -> list[str]:
    """Return the parameters whose chosen values are at an edge of their grid, with the budgets."""
    budgets: dict[str, list[str]] = {}
    for budget in result.budgets if entry.name in result.selections else ():
        for parameter in result.edges(entry.name, budget):
            budgets.setdefault(parameter, []).append(_budget_text(budget))
    return [f"{name} at an edge of its grid at {', '.join(texts)}" for name, texts in budgets.items()]


def _ranks(result: "BoardResult") -> str:
    from benchmark.statistics.comparison import PRIMARY
    from benchmark.statistics.verdicts import rank_text

    labels = {entry.name: entry.label for entry in result.contenders}
    return "; ".join(f"{labels[name]} {rank_text(result.rank(name))}" for name in result.ranks.get(PRIMARY, {}))


def _budget_text(budget: float) -> str:
    return "unlimited" if math.isinf(budget) else f"{budget:g}"


def _heads(result: "BoardResult") -> str:
    texts = [_budget_text(budget) if math.isinf(budget) else f"{_budget_text(budget)} " for budget in result.budgets]
    return "".join(f"{text:>{CELL_WIDTH}}" for text in texts)


def _cell(result: "BoardResult", name: str, budget: float) -> str:
    if result.choice(name, budget) is None:
        return f"{ALONE + ' ':>{CELL_WIDTH}}"
    mark = MARKS.get(result.verdict(name, budget), " ")
    mark += OVER if _is_over(result, name, budget) else ""
    return f"{_number(result.mean(name, budget)[0]) + mark:>{CELL_WIDTH}}"


def _is_over(result: "BoardResult", name: str, budget: float) -> bool:
    return result.overruns(name, budget).factor is not None


def _number(value: float) -> str:
    return "failed" if math.isnan(value) else f"{value:.3f}"
