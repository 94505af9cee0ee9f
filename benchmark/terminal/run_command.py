"""`fedbandit run` on a terminal: options, plan, sweep, summary, exit code."""

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from benchmark.plan.algorithm_names import parse_filter
from benchmark.plan.experiment import Experiment, StreamEntry
from benchmark.plan.options import RunOptions, find_experiments, parse_seeds, without_profile
from benchmark.plan.plan import Plan, fallback_notices, make_plan, unfinished
from benchmark.plan.repeated import repeated_sentences
from benchmark.recommend.data import data_from
from benchmark.records.reader import finished_runs, something_is_running
from benchmark.records.record import RunRecord
from benchmark.records.store import Store
from benchmark.terminal.summary import print_dry_run, print_summary
from benchmark.terminal.text import number_of, wrapped
from benchmark.ui.pages import are_current

if TYPE_CHECKING:
    from benchmark.execution.executors import Executor
    from benchmark.session import Failure, SweepResult

INTERRUPTED = 130


def run_command(arguments: argparse.Namespace) -> int:
    """Execute the requested runs that are not finished; return the exit code."""
    check_executor(arguments)
    experiments = find_experiments(arguments.experiments)
    if left_out := without_profile(experiments, arguments.profile, arguments.experiments):
        text = ", ".join(experiment.name for experiment in left_out)
        print(wrapped(f"LEFT OUT (no profile {arguments.profile}): {text}"), file=sys.stderr)
        experiments = [experiment for experiment in experiments if experiment not in left_out]
    if arguments.on is not None:
        experiments = on_data(experiments, arguments.on)
    plan = make_plan(experiments, options_of(arguments))
    for note in plan.notes:
        print(wrapped(note), file=sys.stderr)
    for experiment, label in fallback_notices(plan):
        print(wrapped(f"{experiment}: {label}"), file=sys.stderr)
    for message in plan.missing.values():
        print(wrapped(f"MISSING: {message}"), file=sys.stderr)
    for message in plan.left_out.values():
        print(wrapped(f"LEFT OUT (optional): {message}"), file=sys.stderr)
    for (stream, method), reason in plan.skipped.items():
        print(wrapped(f"SKIPPED: {method} on {stream}: {reason}"), file=sys.stderr)
    store = Store()
    names = sorted(experiment.name for experiment in plan.experiments)
    finished = finished_runs(store, names)
    remaining = unfinished(plan.runs, finished)
    for sentence in repeated_sentences(remaining, finished):
        print(wrapped(sentence), file=sys.stderr)
    if arguments.dry_run:
        print_dry_run(plan.runs, remaining, finished, jobs_of(arguments))
        return 0 if plan.runs and not plan.missing else 1
    if not plan.runs:
        reason = "none of the requested data sets has been prepared" if plan.missing else "see above"
        print(f"Nothing to run: {reason}.", file=sys.stderr)
        return 1
    if not remaining and not something_is_running(store, names) and are_current(store, names, finished):
        print(f"{number_of(len(plan.runs), 'run')}, all finished. Nothing to do.")
        return _summarise(store, plan, finished, failures=())
    result = _sweep(plan, store, arguments)
    if result.interrupted:
        print("Interrupted. Finished runs are saved; run the same command again to continue.", file=sys.stderr)
        return INTERRUPTED
    records = {record.run_id: record for record in (*finished, *result.skipped, *result.finished)}
    return _summarise(store, plan, list(records.values()), result.failed)


def on_data(experiments: Sequence[Experiment], data: str) -> list[Experiment]:
    """Return the experiments with one other data set, each under a name of its own; equal ones become one."""
    spec = data_from(data)
    moved: dict[str, Experiment] = {}
    for experiment in experiments:
        fields = {name: getattr(experiment, name) for name in type(experiment).model_fields}
        fields |= {"name": f"{experiment.name}-on-{spec.name}", "title": f"{experiment.title}, on {spec.name}"}
        fields |= {"stream_entries": [StreamEntry.model_construct(streams=[spec])], "effects_of": []}
        moved[experiment.name] = Experiment.model_construct(**fields)
    return list(moved.values())


def options_of(arguments: argparse.Namespace) -> RunOptions:
    """Read the filters."""
    return RunOptions(
        profile=arguments.profile,
        algorithms=tuple(parse_filter(text) for text in arguments.algorithm),
        datasets=tuple(arguments.dataset),
        seeds=parse_seeds(arguments.seeds) if arguments.seeds is not None else (),
    )


@contextmanager
def executor_of(arguments: argparse.Namespace, note: Callable[[str], None]) -> "Iterator[Executor]":
    """Open the executor that the user asks for."""
    if arguments.executor == "dask":
        from benchmark.execution.dask_cluster import DaskExecutor

        with DaskExecutor(arguments.scheduler, note) as cluster:
            yield cluster
    else:
        from benchmark.execution.local import LocalExecutor

        with LocalExecutor(arguments.jobs) as processes:
            yield processes


def _sweep(plan: Plan, store: Store, arguments: argparse.Namespace) -> "SweepResult":
    from benchmark import session
    from benchmark.terminal.sweep_display import SweepDisplay

    display = SweepDisplay()
    with executor_of(arguments, display.note) as executor:
        return session.run(plan, store, executor, display)


def _summarise(store: Store, plan: Plan, finished: list[RunRecord], failures: "tuple[Failure, ...]") -> int:
    print_summary(store, plan, finished, failures)
    return 1 if failures or plan.missing else 0


def check_executor(arguments: argparse.Namespace) -> None:
    """Refuse options that contradict each other."""
    is_dask = arguments.executor == "dask"
    if arguments.jobs is not None and arguments.jobs < 1:
        raise ValueError(f"--jobs must be a positive integer, got {arguments.jobs}")
    if is_dask and not arguments.scheduler:
        raise ValueError("--executor dask requires --scheduler ADDRESS, such as tcp://10.0.0.1:8786")
    if not is_dask and arguments.scheduler:
        raise ValueError(f"--scheduler must only be used with --executor dask, got {arguments.scheduler!r}")
    if is_dask and arguments.jobs:
        raise ValueError("--jobs must only be used with --executor local; a Dask cluster has its own number of workers")


def jobs_of(arguments: argparse.Namespace) -> int:
    """Return the number of processes."""
    from benchmark.execution.executors import usable_cores

    return arguments.jobs or usable_cores()
