"""Run experiments and record every run in MLflow; finished runs are skipped.

Examples:
  fedbandit run                                all experiments, profile quick
  fedbandit run fig_a fig_d --profile paper    two figures, full grids, 10 seeds
  fedbandit run fig_d --method "async-linucb[gamma=5]" --seeds 0,1
  fedbandit run fig_d --method my_module:MyMethod
                                               your class and the others
  fedbandit run fig_d --metric my_module:MY_METRIC
                                               a further metric of your own
  fedbandit run fig_d --on purchases.csv       the methods of fig_d on your data
  fedbandit run --dry-run                      list the runs, estimate the time
  fedbandit run --executor dask --scheduler tcp://10.0.0.1:8786

Records are written to mlflow.db and mlartifacts/ in the working directory, or
to the store at MLFLOW_TRACKING_URI.

The exit code is 0 if all runs are finished, 1 if runs failed or data sets are
missing, 2 for bad input or an error that ends the sweep (such as a full disk),
130 after Ctrl-C. Run the same command again to continue.
"""

import argparse
import re
import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from benchmark.commands import (
    add_executor_options,
    add_method_option,
    add_metric_option,
    check_executor,
    executor_of,
    interrupted,
    jobs_of,
)
from data_pipelines.support.text import BOLD, RED, WIDTH, YELLOW, coloured, number_of, wrapped

if TYPE_CHECKING:
    from benchmark.plan.experiment import Experiment
    from benchmark.plan.plan import Plan
    from benchmark.plan.runs import Run
    from benchmark.records.record import RunRecord
    from benchmark.records.store import Store
    from data_pipelines.data_label import DataLabel

ORDER = 6

MAX_NAMES = 3
"""Experiments that have a table, and are named; of more, the summary has sentences, and the report is that on all."""

MAX_LINES = 24
"""Lines of a summary of many experiments, and an empty one."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "experiments",
        nargs="*",
        metavar="EXPERIMENT",
        help="names, patterns or TOML files (default: all built-in experiments)",
    )
    parser.add_argument("--profile", default="quick", help="quick (default) or paper")
    add_method_option(
        parser,
        "run only this method: NAME, or NAME[KEY=VALUE,…] with these values; module:Class adds your own (repeatable)",
    )
    add_metric_option(parser)
    parser.add_argument(
        "--dataset",
        action="append",
        default=[],
        metavar="NAME",
        help="run only on this data set or simulated stream (repeatable)",
    )
    parser.add_argument(
        "--on",
        metavar="DATA",
        help="replace the data set: a prepared one, a CSV or Parquet file, or module:NAME",
    )
    parser.add_argument("--seeds", metavar="SEEDS", help="number of seeds (3), a list (0,5) or a range (0-9)")
    add_executor_options(parser)
    parser.add_argument("--dry-run", action="store_true", help="list the runs without running them")


def run(arguments: argparse.Namespace) -> int:
    """Plan, execute the unfinished runs, print a summary, and return the exit code."""
    from benchmark import session
    from benchmark.execution.own_metrics import find_metrics
    from benchmark.observer import SweepDisplay
    from benchmark.plan.method_names import parse_filter
    from benchmark.plan.plan import RunOptions, find_experiments, make_plan, parse_seeds, without_profile
    from benchmark.plan.runs import repeated_sentences, unfinished, with_metrics
    from benchmark.records.reader import finished_runs, something_is_running
    from benchmark.records.store import Store
    from benchmark.ui.pages import are_current

    check_executor(arguments)
    own_metrics = find_metrics(arguments.metric)
    experiments = find_experiments(arguments.experiments)
    if left_out := without_profile(experiments, arguments.profile, arguments.experiments):
        text = ", ".join(experiment.name for experiment in left_out)
        print(wrapped(f"LEFT OUT (no profile {arguments.profile}): {text}"), file=sys.stderr)
        experiments = [experiment for experiment in experiments if experiment not in left_out]
    if arguments.on is not None:
        experiments = on_data(experiments, arguments.on)
    options = RunOptions(
        profile=arguments.profile,
        methods=tuple(parse_filter(text) for text in arguments.method),
        datasets=tuple(arguments.dataset),
        seeds=parse_seeds(arguments.seeds) if arguments.seeds is not None else (),
    )
    plan = replace(make_plan(experiments, options), own_metrics=own_metrics)
    store = Store()
    names = sorted(experiment.name for experiment in plan.experiments)
    stored = finished_runs(store, session.experiments_to_read(plan))  # read once
    finished = [record for record in stored if record.experiment in names]
    remaining = unfinished(plan.runs, with_metrics(finished, plan.metrics))
    for notice in (*plan.notices, *repeated_sentences(remaining, finished)):
        print(wrapped(notice), file=sys.stderr)
    if arguments.dry_run:
        print_dry_run(plan.runs, remaining, finished, jobs_of(arguments))
        return 0 if plan.runs and not plan.missing else 1
    if not plan.runs:
        reason = "none of the requested data sets has been prepared" if plan.missing else "see above"
        print(f"Nothing to run: {reason}.", file=sys.stderr)
        return 1
    is_done = not remaining and all(each.is_in(record) for each in own_metrics for record in finished)
    if is_done and not something_is_running(store, names) and are_current(store, names, finished):
        print(f"{number_of(len(plan.runs), 'run')}, all finished. Nothing to do.")
        print_summary(store, plan, finished, failures=())
        return 1 if plan.missing else 0
    display = SweepDisplay()
    with executor_of(arguments, display.note) as executor:
        result = session.run(plan, store, executor, display, stored)
    if result.interrupted:
        return interrupted()
    print_summary(store, plan, [*finished, *result.finished], result.failed, result.metric_errors)
    return 1 if result.failed or result.metric_errors or plan.missing else 0


def on_data(experiments: "Sequence[Experiment]", data: str) -> "list[Experiment]":
    """Return the experiments with one other data set, each under a name of its own."""
    from benchmark.plan.experiment import StreamEntry
    from benchmark.recommend.data import data_from

    spec = data_from(data)
    entry = StreamEntry.model_validate(spec.model_dump(exclude_none=True))
    return [
        experiment.model_copy(
            update={
                "name": f"{experiment.name}-on-{spec.name}",
                "title": f"{experiment.title}, on {spec.name}",
                "stream_entries": [entry],
                "effects_of": [],
            }
        )
        for experiment in experiments
    ]


def print_summary(
    store: "Store",
    plan: "Plan",
    finished: "Sequence[RunRecord]",
    failures: "Sequence[RunRecord]",
    metric_errors: Sequence[str] = (),
) -> None:
    """Print what was found, the failures, where the results are, and how to view and report them.

    A few experiments have a table (methods × budgets), many a sentence for each data set.
    """
    from benchmark.records.tracking import sqlite_file
    from benchmark.session import failure_lines
    from data_pipelines.support.secrets import without_user

    print()
    by_key = {(record.experiment, record.key): record for record in finished}
    records = [by_key[run.experiment, run.key] for run in plan.runs if (run.experiment, run.key) in by_key]
    is_short = len(plan.experiments) > MAX_NAMES
    if is_short:
        print(coloured(f"{number_of(len(records), 'run')} of {len(plan.experiments)} experiments are finished.", BOLD))
    for experiment in () if is_short else plan.experiments:
        count = sum(record.experiment == experiment.name for record in records)
        text = f"{experiment.name}  {experiment.title}  ({number_of(count, 'run')} finished)"
        print(coloured(wrapped(text), BOLD))
    shown = {experiment.name for experiment in plan.experiments if experiment.is_compared}
    compared = [record for record in records if record.purpose == "report" and record.experiment in shown]
    warnings = [line for line in data_lines(plan.runs) if line.is_warning]
    after = [coloured(wrapped(line), YELLOW) for line in (*warnings, *runs_on_other_data(plan.runs, finished))]
    after += [coloured(wrapped(f"FAILED {line}"), RED) for line in (*failure_lines(failures), *metric_errors)]
    file, link = sqlite_file(store.uri), store.known_link()
    artifacts = [f"         {file.parent / 'mlartifacts'}"] if file and not is_short else []
    names = [experiment.name for experiment in plan.experiments]
    chart = f"    (its chart: fedbandit ui {names[0]})" if len(names) == 1 else ""
    after += [f"results  {without_user(store.uri)}", *artifacts]
    after += [f"view     fedbandit ui{chart}", *([f"         {link}"] if link else [])]
    after += [" ".join(["report   fedbandit report", *([] if is_short else names)])]
    room = MAX_LINES - 3 - _height(after)
    lines = short_lines(compared, room) if is_short else table_lines(compared)
    print("\n".join(["", *lines, "", *after] if lines else ["", *after]))


def table_lines(records: "Sequence[RunRecord]") -> list[str]:
    """Return the table of settings on each stream; an experiment that repeats runs of another one adds nothing.

    References and baselines are not ranked, so they are left out unless there is nothing else.
    """
    from benchmark.results.budget import budget_lines, generated_in
    from benchmark.results.frames import run_frame, setting_frame

    named = by_stream(records)
    ranked = [record for record in named if record.method.info.role == "contender"]
    rules = [record for record in named if record.method.info.is_rule(record.method.parameters)]
    settings = setting_frame(run_frame(ranked or named))
    return budget_lines(settings, rules=setting_frame(run_frame(rules)), generated=generated_in(named))


def short_lines(records: "Sequence[RunRecord]", room: int) -> list[str]:
    """Return a sentence for each data set, the one on the stream with most methods; those on simulations come last.

    Generated data have none. What does not fit in `room` lines is in the report.
    """
    from benchmark.protocol import load_protocol
    from benchmark.results.budget import FOUND_HEADER, finding_lines, generated_in
    from benchmark.results.frames import run_frame, setting_frame
    from benchmark.statistics.verdicts import no_statement

    methods: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for record in records:
        if record.method.info.role == "contender":
            subject = record.experiment if record.stream.source == "simulated" else record.stream.name
            methods[subject][stream_label(record)].add(record.method.name)
    named = by_stream(records)
    chosen = [max(streams, key=lambda name: len(streams[name])) for streams in methods.values()]
    kept = [record for record in named if record.stream.name in {*chosen} - generated_in(named)]
    kept.sort(key=lambda record: (record.stream.source == "simulated", chosen.index(record.stream.name)))
    settings = setting_frame(run_frame([record for record in kept if record.method.info.role == "contender"]))
    rules = [record for record in kept if record.method.info.is_rule(record.method.parameters)]
    sentences = finding_lines(settings, setting_frame(run_frame(rules)))
    needed = load_protocol().comparison.min_report_seeds
    few = settings.loc[settings["seeds"] < needed, "seeds"]
    lines = [FOUND_HEADER, *([] if few.empty else [no_statement(few, needed)])]
    room -= _height(lines) + 1
    for number, sentence in enumerate(sentences):
        room -= _height([sentence])
        if room < 0:
            return [*lines, f"… and {len(sentences) - number} more, with variants and studies, in the report"]
        lines.append(sentence)
    return [*lines, "Variants of the data and studies are in the report"] if sentences else []


def _height(texts: "Sequence[str]") -> int:
    """Return the number of lines."""
    return "\n".join(texts).count("\n") + 1


def stream_label(record: "RunRecord") -> str:
    """Return the name of the stream of a record, with the options that make it another task."""
    from benchmark.records.record import stream_name

    return stream_name(record.stream)


def by_stream(records: "Sequence[RunRecord]") -> "list[RunRecord]":
    """Return each run once, under the name of its stream, in the order of these names."""
    distinct: dict[str, RunRecord] = {}
    for record in records:
        distinct.setdefault(record.key, record)
    named = [replace(record, stream=replace(record.stream, name=stream_label(record))) for record in distinct.values()]
    return sorted(named, key=lambda record: numbers_by_size(record.stream.name))


def data_lines(runs: "Sequence[Run]") -> "list[DataLabel]":
    """Return a line per label of data that are generated or differ from the published ones."""
    from benchmark.records.record import dataset_label
    from data_pipelines.data_label import grouped_labels

    streams = {run.stream.name: run.stream for run in runs}
    return grouped_labels((dataset_label(name), streams[name].data_label()) for name in sorted(streams))


def runs_on_other_data(runs: "Sequence[Run]", finished: "Sequence[RunRecord]") -> list[str]:
    """Return a line per data set about finished runs of these experiments on other versions of the data."""
    from benchmark.plan.runs import prepared_of
    from benchmark.records.data_identity import describe_data, left_out_sentences, split_by_data

    prepared = prepared_of(runs)
    records = [record for record in finished if record.stream.name in prepared]
    _, others = split_by_data(records, prepared)
    return left_out_sentences(((record.stream.name, describe_data(record), 1) for record in others), prepared)


def numbers_by_size(text: str) -> list[tuple[int, str]]:
    """Return a key that sorts `-4` before `-12`."""
    return [(int(part), "") if part.isdigit() else (0, part) for part in re.split(r"(\d+)", text)]


def print_dry_run(
    runs: "Sequence[Run]", remaining: "Sequence[Run]", finished: "Sequence[RunRecord]", jobs: int
) -> None:
    """List the settings with the number of seeds to do, and estimate the time."""
    from benchmark.plan.runs import duration, expected_seconds

    keys = {(run.experiment, run.key) for run in remaining}
    settings: dict[tuple[str, str, str], list[Run]] = defaultdict(list)
    for run in runs:
        settings[run.experiment, run.stream.name, run.setting].append(run)
    widths = [max(map(len, names), default=0) for names in list(zip(*settings, strict=True))[:2]]
    for (experiment, stream, setting), group in settings.items():
        count = sum((run.experiment, run.key) in keys for run in group)
        state = "done" if not count else "to do" if count == len(group) else f"{count} to do"
        seeds = len({run.seed for run in group})
        variants = f", {len(group) // seeds} parameter combinations" if len(group) > seeds else ""
        seeds_text = f"{seeds} seeds" if seeds > 1 else f"seed {group[0].seed}"
        text = f"{state:<9} {experiment:<{widths[0]}} {stream:<{widths[1]}} {setting}, {seeds_text}{variants}"
        print(text if len(text) <= WIDTH else wrapped(text, " " * 10))
    for line in (*data_lines(runs), *runs_on_other_data(runs, finished)):
        print(wrapped(line))
    seconds = sum(expected_seconds(remaining, finished).values()) / jobs
    print(
        f"\n{number_of(len(runs), 'run')}: {len(runs) - len(remaining):,} done, {len(remaining):,} to do, "
        f"about {duration(seconds)} with {number_of(jobs, 'job')}"
    )
