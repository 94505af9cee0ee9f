"""The summary that `fedbandit run` prints at the end, and the list that `--dry-run` prints instead."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import nan
from statistics import mean

from benchmark.metrics import objective
from benchmark.plan.estimate import duration, expected_seconds
from benchmark.plan.plan import Plan, Run, prepared_of
from benchmark.records.data_identity import describe_data, left_out_sentences, split_by_data
from benchmark.records.record import RunRecord
from benchmark.records.store import Store
from benchmark.records.tracking import sqlite_file
from benchmark.ui.first_look import first_to_show
from data_pipelines.support.secrets import without_user

CHOSEN_HERE = "chosen on these seeds, see fedbandit board"
"""Said of every best setting: it looks better than it is."""


def print_summary(store: Store, plan: Plan, finished: Sequence[RunRecord], failures: Sequence[object]) -> None:
    """Print the best setting per algorithm, the failures, where the results are, and how to view and report them."""
    print()
    metrics_of = {(record.experiment, record.key): record.metrics for record in finished}
    for experiment in plan.experiments:
        runs = [run for run in plan.runs if run.experiment == experiment.name]
        finished_runs = [
            (run, metrics_of[experiment.name, run.key]) for run in runs if (experiment.name, run.key) in metrics_of
        ]
        print(f"{experiment.name}  {experiment.title}  ({len(finished_runs)} runs finished)")
        for line in best_lines(finished_runs):
            print(f"  {line}")
    for line in (*data_lines(plan.runs), *runs_on_other_data(plan.runs, finished)):
        print(line)
    for failure in failures:
        print(f"FAILED {failure}")
    file = sqlite_file(store.uri)
    print(f"\nresults  {without_user(store.uri)}" + (f", {file.parent / 'mlartifacts'}" if file else ""))
    name = first_to_show([experiment.name for experiment in plan.experiments])
    link = store.known_link(name)
    print(f"view     fedbandit ui {name}" + (f" (or {link})" if link else ""))
    print("report   fedbandit report (figures, tables, comparison with the paper, HTML page)")


def data_lines(runs: Sequence[Run]) -> list[str]:
    """Return a line per data set that is generated or differs from the published one."""
    streams = {run.stream.name: run.stream for run in runs}
    labels = {name: streams[name].data_label() for name in sorted(streams)}
    return [f"{name}: {label}" for name, label in labels.items() if label]


def runs_on_other_data(runs: Sequence[Run], finished: Sequence[RunRecord]) -> list[str]:
    """Return a line per data set about finished runs of these experiments on other versions of the data."""
    prepared = prepared_of(runs)
    records = [record for record in finished if record.stream.name in prepared]
    _, others = split_by_data(records, prepared)
    return left_out_sentences(((record.stream.name, describe_data(record), 1) for record in others), prepared)


def best_lines(measured: Sequence[tuple[Run, Mapping[str, float]]]) -> list[str]:
    """Return a line per stream and algorithm: its best setting, by mean over seeds."""
    groups: dict[tuple[str, str], list[tuple[Run, Mapping[str, float]]]] = defaultdict(list)
    for run, metrics in measured:
        groups[run.stream.name, run.algorithm_name].append((run, metrics))
    lines = []
    for (dataset, algorithm), results in sorted(groups.items(), key=lambda group: _numbers_by_size(group[0][0])):
        metric = objective(run.stream.source for run, _ in results)
        settings: dict[str, list[Mapping[str, float]]] = defaultdict(list)
        names = settings_of([run for run, _ in results])
        for (_, metrics), name in zip(results, names, strict=True):
            settings[name].append(metrics)
        means = {name: mean(metrics.get(metric.name, nan) for metrics in seeds) for name, seeds in settings.items()}
        best = max(means, key=lambda name: metric.sign * means[name])
        communication = mean(metrics.get("communication", nan) for metrics in settings[best])
        count = len(settings[best])
        lines.append(
            f"{dataset:<28} {algorithm:<26} best {metric.label} {_short(means[best])}"
            f"{f' at {best}' if best else ''}, {communication:,.0f} transfers ({count} seed{'s' * (count > 1)}); "
            f"{CHOSEN_HERE}"
        )
    return lines


def settings_of(runs: Sequence[Run]) -> list[str]:
    """Name each run of an algorithm on a stream by its threshold and by everything else that differs between them."""
    parameters_of = [{**run.stream.settings(), **run.parameters} for run in runs]
    for parameters in parameters_of:  # γ_U and γ_D are left out where they are simply γ
        for name in ("gamma_upload", "gamma_download"):
            if parameters.get(name) == parameters.get("gamma"):
                parameters.pop(name, None)
    fronts = {run.front.parameter for run in runs if run.front}
    names = {name for parameters in parameters_of for name in parameters} - fronts
    values = {name: {str(parameters.get(name)) for parameters in parameters_of} for name in names}
    differing = sorted(name for name, texts in values.items() if len(texts) > 1)
    settings = []
    for run, parameters in zip(runs, parameters_of, strict=True):
        threshold = [run.front_text] if run.front_text else []
        settings.append(", ".join([*threshold, *(f"{name}={parameters.get(name)}" for name in differing)]))
    return settings


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _numbers_by_size(text: str) -> list[tuple[int, str]]:
    """Sort `-4` before `-12`."""
    return [(int(part), "") if part.isdigit() else (0, part) for part in re.split(r"(\d+)", text)]


def print_dry_run(runs: Sequence[Run], remaining: Sequence[Run], finished: Sequence[RunRecord], jobs: int) -> None:
    """List the settings with the number of seeds to do, and estimate the time."""
    keys = {(run.experiment, run.key) for run in remaining}
    settings: dict[tuple[str, str, str], list[Run]] = defaultdict(list)
    for run in runs:
        settings[run.experiment, run.stream.name, run.setting].append(run)
    for (experiment, stream, setting), group in settings.items():
        count = sum((run.experiment, run.key) in keys for run in group)
        state = "done" if not count else "to do" if count == len(group) else f"{count} to do"
        seeds = len({run.seed for run in group})
        variants = f", {len(group) // seeds} parameter combinations" if len(group) > seeds else ""
        seeds_text = f"{seeds} seeds" if seeds > 1 else f"seed {group[0].seed}"
        print(f"{state:<9} {experiment:<18} {stream:<28} {setting}, {seeds_text}{variants}")
    for line in (*data_lines(runs), *runs_on_other_data(runs, finished)):
        print(line)
    seconds = sum(expected_seconds(remaining, finished).values()) / jobs
    print(
        f"\n{len(runs):,} runs: {len(runs) - len(remaining):,} done, {len(remaining):,} to do, "
        f"about {duration(seconds)} with {jobs} job{'s' * (jobs > 1)}"
    )
