"""The commands of `fedbandit`, one module each, and what several of them share: options, executors, interruptions."""

import argparse
import math
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmark.execution.limits import Limits
    from benchmark.execution.sweep import Executor

INTERRUPTED = 130
"""The exit code after Ctrl-C."""


def add_method_option(parser: argparse.ArgumentParser, text: str) -> None:
    """Declare `--method`, with the alias `--algorithm`."""
    parser.add_argument("--method", "--algorithm", action="append", default=[], metavar="METHOD", help=text)


def add_metric_option(parser: argparse.ArgumentParser) -> None:
    """Declare `--metric`."""
    text = "also compute this metric: module:NAME for your own, or an installed one by name (repeatable)"
    parser.add_argument("--metric", action="append", default=[], metavar="METRIC", help=text)


def add_jobs_option(parser: argparse.ArgumentParser) -> None:
    """Declare `--jobs`."""
    parser.add_argument("--jobs", type=int, metavar="N", help="number of processes (default: all cores)")


def add_executor_options(parser: argparse.ArgumentParser) -> None:
    """Declare where runs are executed."""
    parser.add_argument(
        "--executor",
        choices=("local", "dask"),
        default="local",
        help="run in local processes or on a Dask cluster (default: local)",
    )
    parser.add_argument(
        "--scheduler", metavar="ADDRESS", help="address of the Dask scheduler, such as tcp://10.0.0.1:8786"
    )
    add_jobs_option(parser)
    parser.add_argument("--run-timeout", metavar="SECONDS", help="a run that takes longer fails, and the others go on")
    parser.add_argument(
        "--memory-limit", metavar="GIB", help="a run whose process uses more GiB of memory fails (default: no limit)"
    )


def limits_of(arguments: argparse.Namespace) -> "Limits":
    """Return the limits of a run that the user asks for."""
    from benchmark.execution.limits import Limits

    return Limits(*(_limit(arguments, option) for option in ("run-timeout", "memory-limit")))


def _limit(arguments: argparse.Namespace, option: str) -> float:
    text = getattr(arguments, option.replace("-", "_"))
    if text is None:
        return math.inf
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise ValueError(f"--{option} must be a number above 0, got {text!r}")
    return value


def check_minimum(arguments: argparse.Namespace, **minima: int) -> None:
    """Refuse options with a value below their minimum."""
    for option, minimum in minima.items():
        if (value := getattr(arguments, option)) is not None and value < minimum:
            raise ValueError(f"--{option} must be an integer from {minimum}, got {value}")


def check_executor(arguments: argparse.Namespace) -> None:
    """Refuse options of the executor that contradict each other."""
    check_minimum(arguments, jobs=1)
    limits_of(arguments)
    is_dask = arguments.executor == "dask"
    if is_dask and not arguments.scheduler:
        raise ValueError("--executor dask requires --scheduler ADDRESS, such as tcp://10.0.0.1:8786")
    if not is_dask and arguments.scheduler:
        raise ValueError(f"--scheduler must only be used with --executor dask, got {arguments.scheduler!r}")
    if is_dask and arguments.jobs:
        raise ValueError("--jobs must only be used with --executor local; a Dask cluster has its own number of workers")


def executor_of(arguments: argparse.Namespace, note: Callable[[str], None]) -> "Executor":
    """Return the executor that the user asks for."""
    if arguments.executor == "dask":
        from benchmark.execution.dask_cluster import DaskExecutor

        return DaskExecutor(arguments.scheduler, note, limits=limits_of(arguments))
    from benchmark.execution.local import LocalExecutor

    return LocalExecutor(arguments.jobs, limits_of(arguments))


def jobs_of(arguments: argparse.Namespace) -> int:
    """Return the number of processes."""
    from benchmark.execution.local import usable_cores

    return arguments.jobs or usable_cores()


def interrupted() -> int:
    """Print how to continue after Ctrl-C, and return the exit code."""
    print("Interrupted. Finished runs are saved; run the same command again to continue.", file=sys.stderr)
    return INTERRUPTED
