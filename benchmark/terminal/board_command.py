"""`fedbandit board` on a terminal: options, boards, tables, exit code."""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from benchmark.board.board import Board, plan_board
from benchmark.board.divisions import NOT_THE_PROTOCOL, QUICK_CONFIGURATIONS, QUICK_SEEDS, quick, with_fixed
from benchmark.board.estimate import Estimate, estimate
from benchmark.board.task import Task, experiment_name, load_task, task_names
from benchmark.plan.algorithm_names import AlgorithmFilter, parse_filter
from benchmark.plan.estimate import duration
from benchmark.plan.options import parse_seeds
from benchmark.plan.plan import bound_or_missing
from benchmark.plan.unknown_name import unknown_name
from benchmark.protocol import BenchmarkProtocol, load_protocol
from benchmark.records.reader import finished_runs
from benchmark.records.store import Store
from benchmark.terminal.board_display import BoardDisplay
from benchmark.terminal.board_table import board_lines, summary_lines
from benchmark.terminal.run_command import INTERRUPTED, check_executor, executor_of, jobs_of
from benchmark.terminal.text import wrapped
from data_pipelines.stream_spec import SimulatedSpec


@dataclass(frozen=True)
class BoardOptions:
    """The user's options."""

    methods: tuple[AlgorithmFilter, ...]
    protocol: BenchmarkProtocol
    seeds: tuple[int, ...] | None
    max_configurations: int | None
    has_fixed: bool


def board_command(arguments: argparse.Namespace) -> int:
    """Run the requested boards; return the exit code."""
    check_executor(arguments)
    options = options_of(arguments)
    boards, missing = plan_boards(find_tasks(arguments.tasks), options, only_first=arguments.quick)
    for message in missing:
        print(f"MISSING: {message}", file=sys.stderr)
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
    elif boards:
        return _play(boards, estimates, store, arguments, is_incomplete=bool(missing))
    return 1 if missing else 0


def options_of(arguments: argparse.Namespace) -> BoardOptions:
    """Read the options."""
    if arguments.configurations is not None and arguments.configurations < 1:
        raise ValueError(f"--configurations must be a positive integer, got {arguments.configurations}")
    protocol = load_protocol()
    seeds = parse_seeds(arguments.seeds) if arguments.seeds is not None else None
    configurations = arguments.configurations
    if arguments.quick:
        protocol, seeds, configurations = quick(protocol), seeds or QUICK_SEEDS, configurations or QUICK_CONFIGURATIONS
    methods = tuple(parse_filter(text) for text in arguments.algorithm)
    return BoardOptions(methods, protocol, seeds, configurations, arguments.fixed)


def find_tasks(names: Sequence[str]) -> list[Task]:
    """Return tasks by name or pattern; without names, all tasks."""
    known = task_names()
    selection: list[str] = [] if names else known
    for name in names:
        matches = [candidate for candidate in known if fnmatchcase(candidate, name)]
        if not matches:
            raise unknown_name("task", name, known)
        selection += matches
    return [load_task(name) for name in dict.fromkeys(selection)]


def plan_boards(
    tasks: Sequence[Task], options: BoardOptions, *, only_first: bool = False
) -> tuple[list[Board], list[str]]:
    """Plan the boards of the tasks whose data are prepared; return them, and a line per task that is skipped.

    With `only_first`, the first of them is enough, and tasks are skipped only if there is none.
    """
    boards: list[Board] = []
    missing: dict[str, str] = {}
    for task in tasks:
        reasons: dict[str, str] = {}
        if bound_or_missing(task.stream, reasons) is None:
            missing[task.name] = f"task {task.name} is skipped: {next(iter(reasons.values()))}"
            continue
        boards.append(_planned(task, options))
        if only_first:
            return boards, []
    return boards, list(missing.values())


def _planned(task: Task, options: BoardOptions) -> Board:
    methods, is_simulated = options.methods, isinstance(task.stream, SimulatedSpec)
    if options.has_fixed:
        methods = tuple(with_fixed(methods, options.protocol, is_simulated=is_simulated))
    return plan_board(
        task, methods, options.protocol, seeds=options.seeds, max_configurations=options.max_configurations
    )


def tuning_lines(boards: Sequence[Board]) -> list[str]:
    """Return a line for each method that is tuned over fewer configurations than the others, and what to do."""
    notes = [(entry, note) for board in boards for entry in board.entries if (note := board.tuning_note(entry))]
    return list(dict.fromkeys(f"{entry.label}: {note}; declare `tuning` to add some" for entry, note in notes))


def print_estimates(boards: Sequence[Board], estimates: Sequence[Estimate], jobs: int) -> None:
    """Print the runs of each board, and how long all of them take."""
    for board, each in zip(boards, estimates, strict=True):
        rows = f"{sum(entry.is_contender for entry in board.entries)} methods"
        time = f"at most {each.to_do:,} to do, {duration(each.seconds / jobs)}" if each.to_do else "complete"
        print(f"{board.task.name:<24} {rows}, {each.done:,} runs done, {time}")
    runs, seconds = sum(each.to_do for each in estimates), sum(each.seconds for each in estimates) / jobs
    print(f"\nat most {runs:,} runs to do, {duration(seconds)} with {jobs} job{'s' * (jobs > 1)}")


def _play(
    boards: Sequence[Board],
    estimates: Sequence[Estimate],
    store: Store,
    arguments: argparse.Namespace,
    *,
    is_incomplete: bool,
) -> int:
    from benchmark.board.play import play

    display, results = BoardDisplay([each.seconds for each in estimates]), []
    with executor_of(arguments, display.note) as executor:
        for board in boards:
            result = play(board, store, executor, display)
            display.board_done()
            if result.is_interrupted:
                print("Interrupted. Finished runs are saved; run the same command again to continue.", file=sys.stderr)
                return INTERRUPTED
            results.append(result)
            print("\n".join(["", *board_lines(result)]), flush=True)
    print("\n".join(["", *summary_lines(results)]))
    if arguments.quick:
        print(f"{NOT_THE_PROTOCOL}.\nThe protocol: fedbandit board {boards[0].task.name}")
    print("report   fedbandit report 'board_*' (figures, tables, HTML page)")
    has_failed = any(
        result.problems or any(outcome.error for outcome in result.outcomes.values()) for result in results
    )
    return 1 if is_incomplete or has_failed else 0
