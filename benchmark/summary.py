"""What `fedbandit run` says at the end, and what `--dry-run` says instead."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import nan
from statistics import mean

from benchmark.algorithm_names import GRID_OFFSETS
from benchmark.estimate import duration, expected_seconds
from benchmark.experiment import Experiment
from benchmark.finished import FinishedRun
from benchmark.plan import Run
from benchmark.store import Store
from benchmark.tracking import sqlite_file
from data_pipelines.secrets import without_user


def print_summary(
    store: Store,
    experiments: Sequence[Experiment],
    runs: Sequence[Run],
    finished: Sequence[FinishedRun],
    failures: Sequence[str],
) -> None:
    """Print the best of each algorithm, the failures, where the records are, and how to look at and report them."""
    print()
    done = {(each.experiment, each.key): each.metrics for each in finished}
    for experiment in experiments:
        own = [run for run in runs if run.experiment == experiment.name]
        measured = [(run, done[run.experiment, run.key]) for run in own if (run.experiment, run.key) in done]
        print(f"{experiment.name}  {experiment.title}  ({len(measured)} runs finished)")
        for line in best_lines(measured):
            print(f"  {line}")
    for dataset in sorted({run.source.name for run in runs if run.source.source == "stand-in"}):
        print(f"{dataset} is a STAND-IN, generated data: no result on it is a finding")
    for failure in failures:
        print(f"FAILED {failure}")
    file = sqlite_file(store.uri)
    print(f"\nrecords  {without_user(store.uri)}" + (f", {file.parent / 'mlartifacts'}" if file else ""))
    last = experiments[-1].name
    link = store.known_link(last)
    print(f"look     fedbandit ui {last}" + (f", or on its pages: {link}" if link else ""))
    print("report   fedbandit report: the paper's figures and tables, how we compare, one page")


def best_lines(measured: Sequence[tuple[Run, Mapping[str, float]]]) -> list[str]:
    """Return a line for each stream and algorithm: its best setting, by mean over seeds."""
    groups: dict[tuple[str, str], list[tuple[Run, Mapping[str, float]]]] = defaultdict(list)
    for run, metrics in measured:
        groups[run.source.name, run.algorithm_name].append((run, metrics))
    lines = []
    for (dataset, algorithm), same in sorted(groups.items(), key=lambda group: _numbers_by_size(group[0][0])):
        # The regret of a simulation is exact; on real data the usual figure is normalised reward.
        metric, sign = ("regret", -1) if dataset.startswith("simulated") else ("normalised_reward", 1)
        settings: dict[str, list[Mapping[str, float]]] = defaultdict(list)
        names = settings_of([run for run, _ in same])
        for (_, metrics), name in zip(same, names, strict=True):
            settings[name].append(metrics)
        means = {name: mean(each.get(metric, nan) for each in found) for name, found in settings.items()}
        best = max(means, key=lambda name: sign * means[name])
        communication = mean(each.get("communication", nan) for each in settings[best])
        seeds = len(settings[best])
        lines.append(
            f"{dataset:<28} {algorithm:<26} best {metric.replace('_', ' ')} {_short(means[best])}"
            f"{f' at {best}' if best else ''}, communication {communication:,.0f} ({seeds} seed{'s' * (seeds > 1)})"
        )
    return lines


def settings_of(runs: Sequence[Run]) -> list[str]:
    """Name each run of an algorithm on a stream by its threshold and by what else differs between them."""
    everything = [{**dict(run.source.settings), **run.parameters} for run in runs]
    for each in everything:  # γ_U and γ_D tell settings apart only where they are not simply γ
        for name in ("gamma_upload", "gamma_download"):
            if each.get(name) == each.get("gamma"):
                each.pop(name, None)
    names = {name for each in everything for name in each} - {*GRID_OFFSETS}
    values = {name: {str(each.get(name)) for each in everything} for name in names}
    differing = sorted(name for name, found in values.items() if len(found) > 1)
    found = []
    for run, each in zip(runs, everything, strict=True):
        threshold = [f"threshold {float(run.threshold):g}"] if run.threshold else []
        found.append(", ".join([*threshold, *(f"{name}={each.get(name)}" for name in differing)]))
    return found


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _numbers_by_size(text: str) -> list[tuple[int, str]]:
    """Sort `-4` before `-12`."""
    return [(int(part), "") if part.isdigit() else (0, part) for part in re.split(r"(\d+)", text)]


def print_dry_run(runs: Sequence[Run], todo: Sequence[Run], finished: Sequence[FinishedRun], jobs: int) -> None:
    """List the settings, how many of their seeds are done, and estimate the time for the rest."""
    open_runs = {(run.experiment, run.key) for run in todo}
    settings: dict[tuple[str, str, str], list[Run]] = defaultdict(list)
    for run in runs:
        settings[run.experiment, run.source.name, run.setting].append(run)
    for (experiment, stream, setting), same in settings.items():
        left = sum((run.experiment, run.key) in open_runs for run in same)
        state = "done" if not left else "to do" if left == len(same) else f"{left} to do"
        seeds = len({run.seed for run in same})
        variants = f", {len(same) // seeds} variants" if len(same) > seeds else ""
        many = f"{seeds} seeds" if seeds > 1 else f"seed {same[0].seed}"
        print(f"{state:<9} {experiment:<18} {stream:<28} {setting}, {many}{variants}")
    seconds = sum(expected_seconds(todo, finished).values()) / jobs
    print(
        f"\n{len(runs):,} runs, {len(runs) - len(todo):,} done, {len(todo):,} to do: "
        f"about {duration(seconds)} on {jobs} jobs"
    )
