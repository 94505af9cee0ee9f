"""`fedbandit compare` on a terminal: options, progress, one table, the best setting, exit code."""

import argparse
import sys

from benchmark.plan.options import parse_seeds
from benchmark.recommend.compare import compare, seed_list
from benchmark.recommend.data import data_from
from benchmark.recommend.methods import candidates_of
from benchmark.records.store import Store
from benchmark.results.budget import as_budget
from benchmark.results.results import Results
from benchmark.terminal.budget_table import budget_lines, generated_in
from benchmark.terminal.import_command import import_options
from benchmark.terminal.sweep_display import SweepDisplay
from benchmark.terminal.text import RED, YELLOW, coloured, number_of, wrapped

INTERRUPTED = 130


def compare_command(arguments: argparse.Namespace) -> int:
    """Compare methods on a data set; return the exit code."""
    _check(arguments)
    budget = as_budget(arguments.budget)
    seeds = seed_list(parse_seeds(arguments.seeds))
    candidates_of(arguments.methods, points=arguments.points)  # bad methods are refused before a file is imported
    spec = data_from(arguments.dataset, import_options(arguments))
    try:
        comparison = compare(
            arguments.methods,
            spec,
            seeds,
            budget,
            arguments.jobs,
            Store(),
            points=arguments.points,
            observer=SweepDisplay(),
        )
    except KeyboardInterrupt:
        print("Interrupted. Finished runs are saved; run the same command again to continue.", file=sys.stderr)
        return INTERRUPTED
    print_comparison(comparison, f"compare-{spec.name}")
    return 1 if comparison.failures else 0


def print_comparison(comparison: Results, experiment: str) -> None:
    """Print the table, the best setting within the budget, failures and the next steps."""
    print("\n".join(["", *budget_lines(comparison.summary(), generated=generated_in(comparison.records)), ""]))
    for note in comparison.notes:
        print(coloured(wrapped(note), YELLOW))
    for failure, count in _counted(comparison.failures).items():
        print(coloured(wrapped(f"FAILED {failure}{count}"), RED))
    if comparison.records:
        print(wrapped(f"best     {comparison.best()}", " " * 9))
    print(f"view     fedbandit ui    (its chart: fedbandit ui {experiment})")
    print(f"report   fedbandit report {experiment}")
    print(f"export   fedbandit export {experiment} --out runs.csv")


def _counted(failures: tuple[str, ...]) -> dict[str, str]:
    """Return the first failure of each error, and how many others have it."""
    by_error: dict[str, list[str]] = {}
    for failure in failures:
        by_error.setdefault(failure.partition(": ")[2], []).append(failure)
    return {
        group[0]: f" (and {number_of(len(group) - 1, 'other run')} with this error)" if len(group) > 1 else ""
        for group in by_error.values()
    }


def _check(arguments: argparse.Namespace) -> None:
    for option in ("jobs", "points"):
        value = getattr(arguments, option)
        if value is not None and value < (2 if option == "points" else 1):
            raise ValueError(f"--{option} must be at least {2 if option == 'points' else 1}, got {value}")
