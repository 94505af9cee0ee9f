"""The summary that `fedbandit run` prints at the end, and the list that `--dry-run` prints instead."""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from benchmark.method_card import is_rule
from benchmark.plan.estimate import duration, expected_seconds
from benchmark.plan.plan import Plan, Run, prepared_of
from benchmark.records.data_identity import describe_data, left_out_sentences, split_by_data
from benchmark.records.record import SIZES, RunRecord
from benchmark.records.store import Store
from benchmark.records.tracking import sqlite_file
from benchmark.terminal.budget_table import budget_lines, generated_in
from benchmark.terminal.text import BOLD, RED, WIDTH, YELLOW, coloured, number_of, wrapped
from data_pipelines.data_label import grouped_labels
from data_pipelines.support.secrets import without_user

if TYPE_CHECKING:
    import pandas as pd

    from benchmark.session import Failure


MAX_NAMES = 3
"""Experiments that the command for a report names; for more, it is the report on all."""


def print_summary(
    store: Store,
    plan: Plan,
    finished: Sequence[RunRecord],
    failures: Sequence["Failure"],
) -> None:
    """Print one table (methods × budgets), the failures, where the results are, and how to view and report them."""
    print()
    records = _planned_records(plan, finished)
    for experiment in plan.experiments:
        count = sum(record.experiment == experiment.name for record in records)
        text = f"{experiment.name}  {experiment.title}  ({number_of(count, 'run')} finished)"
        print(coloured(wrapped(text), BOLD))
    studies = {experiment.name for experiment in plan.experiments if experiment.effects_of}
    tuned = {experiment.name for experiment in plan.experiments if experiment.is_tuned}  # see the report
    compared = [record for record in records if record.purpose == "report" and record.experiment not in studies | tuned]
    lines = _table_lines(compared)
    print("\n".join(["", *lines, ""] if lines else []))
    for line in (*data_lines(plan.runs), *runs_on_other_data(plan.runs, finished)):
        print(coloured(wrapped(line), YELLOW))
    for line in failure_lines(failures):
        print(coloured(wrapped(line), RED))
    file = sqlite_file(store.uri)
    print(f"results  {without_user(store.uri)}" + (f"\n         {file.parent / 'mlartifacts'}" if file else ""))
    names = [experiment.name for experiment in plan.experiments]
    chart = f"    (its chart: fedbandit ui {names[0]})" if len(names) == 1 else ""
    link = store.known_link()
    print(f"view     fedbandit ui{chart}" + (f"\n         {link}" if link else ""))
    print(" ".join(["report   fedbandit report", *(names if len(names) <= MAX_NAMES else [])]))


def _planned_records(plan: Plan, finished: Sequence[RunRecord]) -> list[RunRecord]:
    """Return the records of planned runs, in the order of the plan."""
    by_key = {(record.experiment, record.key): record for record in finished}
    return [by_key[run.experiment, run.key] for run in plan.runs if (run.experiment, run.key) in by_key]


def _table_lines(records: Sequence[RunRecord]) -> list[str]:
    """Return the table of settings on each stream; an experiment that repeats runs of another one adds nothing.

    References and baselines are not ranked, so they are left out unless there is nothing else.
    """
    distinct: dict[str, RunRecord] = {}
    for record in records:
        distinct.setdefault(record.key, record)
    named = sorted(named_streams([*distinct.values()]), key=lambda record: numbers_by_size(record.stream.name))
    ranked = [record for record in named if record.method.card.role == "contender"]
    rules = [record for record in named if is_rule(record.method.card.role, record.method.parameters)]
    return budget_lines(_settings(ranked or named), rules=_settings(rules), generated=generated_in(named))


def _settings(records: Sequence[RunRecord]) -> "pd.DataFrame":
    from benchmark.answers.tables import run_table, setting_table

    return setting_table(run_table(records))


def named_streams(records: Sequence[RunRecord]) -> list[RunRecord]:
    """Return the records with the options of their streams in the names: other pools are never in one table."""
    scalings: dict[str, set[Any]] = defaultdict(set)
    for record in records:
        scalings[record.stream.name].add(record.stream.options.get("scaling"))
    named = []
    for record in records:
        stream = record.stream
        hidden = {*SIZES} | ({"scaling"} if len(scalings[stream.name]) == 1 else set())
        options = [f"{name}={value}" for name, value in sorted(stream.options.items()) if name not in hidden]
        is_plain = stream.is_simulated or not options
        name = stream.name if is_plain else f"{stream.name} ({', '.join(options)})"
        named.append(replace(record, stream=replace(stream, name=name)))
    return named


def failure_lines(failures: Sequence["Failure"]) -> list[str]:
    """Return a line per failure; failures with the same error share one."""
    by_error: dict[str, list[Failure]] = defaultdict(list)
    for failure in failures:
        by_error[failure.error].append(failure)
    return [
        f"FAILED {group[0]}" + (f" (and {number_of(len(group) - 1, 'other run')} with this error)" * (len(group) > 1))
        for group in by_error.values()
    ]


def data_lines(runs: Sequence[Run]) -> list[str]:
    """Return a line per label of data that are generated or differ from the published ones."""
    streams = {run.stream.name: run.stream for run in runs}
    return [*grouped_labels((name, streams[name].data_label()) for name in sorted(streams))]


def runs_on_other_data(runs: Sequence[Run], finished: Sequence[RunRecord]) -> list[str]:
    """Return a line per data set about finished runs of these experiments on other versions of the data."""
    prepared = prepared_of(runs)
    records = [record for record in finished if record.stream.name in prepared]
    _, others = split_by_data(records, prepared)
    return left_out_sentences(((record.stream.name, describe_data(record), 1) for record in others), prepared)


def numbers_by_size(text: str) -> list[tuple[int, str]]:
    """Return a key that sorts `-4` before `-12`."""
    return [(int(part), "") if part.isdigit() else (0, part) for part in re.split(r"(\d+)", text)]


def print_dry_run(runs: Sequence[Run], remaining: Sequence[Run], finished: Sequence[RunRecord], jobs: int) -> None:
    """List the settings with the number of seeds to do, and estimate the time."""
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
        f"about {duration(seconds)} with {jobs} job{'s' * (jobs > 1)}"
    )
