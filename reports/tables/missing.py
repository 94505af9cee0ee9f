"""Missing runs: those that the profiles of the sweeps plan, but that are not finished."""

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence, Set
from typing import Any

import pandas as pd

from benchmark.plan.experiment import experiment_names, load_experiment
from benchmark.results.frames import threshold_text
from reports.labels import algorithm_label, dataset_label, seeds_text
from reports.read.context import Context
from reports.read.planned import PlannedRun, planned_runs, recorded_as, skipped_methods
from reports.read.results import Results
from reports.subjects import MISSING
from reports.write.table import Table

ORDER = 90
MAX_SETTINGS = 6
"""Settings that are listed per algorithm and data set; further ones are only counted."""

NOTHING = "nothing"
"""The column `missing` if all planned runs are finished."""

NO_THRESHOLD = -1.0
"""The threshold of algorithms without one: thresholds are not negative, and NaN does not equal itself."""

UNKNOWN = "unknown"
"""Prefix of the column `missing` when the plan is unknown, such as that of an experiment that is not shipped."""


def tables(results: Results, context: Context) -> list[Table]:
    """Return the numbers of planned and finished runs, and the runs that failed, if any."""
    rows = [row for name in context.experiments for row in _rows(name, results)]
    caption = (
        "Planned and finished runs of each profile that a sweep of the experiment used. A sweep that was "
        "restricted on the command line is compared with its complete profile."
    )
    notes = [*results.left_out_sentences(), *context.absent, *_skipped_sentences(context.experiments, results)]
    if results.superseded:
        notes.append(
            f"{results.superseded:,} finished runs are ignored because newer runs have the same configuration and seed."
        )
    all_tables = [Table("missing", MISSING.title, caption, pd.DataFrame(rows), tuple(notes), subject=MISSING)]
    if len(results.failed):
        caption = "Runs that failed and have not been completed since."
        all_tables.append(Table("failed", "Runs that failed", caption, results.failed, subject=MISSING))
    return all_tables


def _skipped_sentences(experiments: Sequence[str], results: Results) -> list[str]:
    """Return a sentence for each stream of the profiles that were run and each method that is not run on it."""
    sentences = []
    for name in experiments:
        for profile in _profiles(name, results):
            if name in experiment_names() and profile in load_experiment(name).profiles:
                for (dataset, algorithm), reason in skipped_methods(load_experiment(name), profile).items():
                    skipped = f"{algorithm_label(algorithm)} on {dataset_label(dataset)}"
                    sentences.append(f"{name}: {skipped} is skipped: {reason}.")
    return list(dict.fromkeys(sentences))


def _profiles(name: str, results: Results) -> list[str]:
    """Return the profiles that the sweeps of an experiment used."""
    return sorted(set(results.sweeps.loc[results.sweeps["experiment"] == name, "profile"]) - {""})


def _rows(name: str, results: Results) -> list[dict[str, Any]]:
    runs = next((runs for runs in (results.runs, results.tuning) if name in {*runs["experiment"]}), results.runs)
    runs = runs[runs["experiment"] == name]
    profiles = _profiles(name, results)
    row: dict[str, Any] = {"experiment": name, "profile": "–", "planned": None, "finished": len(runs), "missing": "–"}
    if name in {*results.board_runs["experiment"]}:
        is_complete = name in {board.experiment for board in results.boards}
        finished = int((results.board_runs["experiment"] == name).sum())
        state = NOTHING if is_complete else f"{UNKNOWN}: the board is not complete; run `fedbandit board` again"
        return [row | {"finished": finished, "missing": state}]
    if name not in experiment_names():
        return [row | {"missing": f"{UNKNOWN}: this experiment is not part of the package"}]
    if not profiles:
        state = f"{UNKNOWN}: no profile is recorded" if len(runs) else "experiment not run"
        return [row | {"missing": state}]
    experiment = load_experiment(name)
    rows = []
    for profile in profiles:
        if profile not in experiment.profiles:
            rows.append(row | {"profile": profile, "missing": f"{UNKNOWN}: the experiment no longer has this profile"})
            continue
        planned = planned_runs(experiment, profile, {*runs["dataset"]})
        missing = planned.keys() - set(recorded_as(planned, runs))
        counts = {"profile": profile, "planned": len(planned), "finished": len(planned) - len(missing)}
        rows.append(row | counts | {"missing": _summary(missing, planned) or NOTHING})
    return rows


def _summary(missing: Set[PlannedRun], planned: Mapping[PlannedRun, str]) -> str:
    """List the missing runs by data set, algorithm and variant."""
    planned_counts = Counter((run.dataset, run.algorithm, variant) for run, variant in planned.items())
    seeds_of: dict[tuple[str, str, str], dict[float, set[int]]] = defaultdict(lambda: defaultdict(set))
    for run in missing:
        threshold = NO_THRESHOLD if math.isnan(run.threshold) else run.threshold
        seeds_of[run.dataset, run.algorithm, planned[run]][threshold].add(run.seed)
    parts = []
    for method, by_threshold in sorted(seeds_of.items()):
        dataset, algorithm, variant = method
        name = f"{algorithm_label(algorithm)} on {dataset_label(dataset)}{f' with {variant}' if variant else ''}"
        count = sum(map(len, by_threshold.values()))
        if count == planned_counts[method]:
            parts.append(f"{name}: all {count} runs")
            continue
        thresholds = sorted(by_threshold.items())
        settings = [
            f"{f'at {threshold_text(threshold)} ' if threshold != NO_THRESHOLD else ''}seed {seeds_text(seeds)}"
            for threshold, seeds in thresholds[:MAX_SETTINGS]
        ]
        more = f" and at {len(thresholds) - MAX_SETTINGS} more thresholds" if len(thresholds) > MAX_SETTINGS else ""
        parts.append(f"{name}: {count} run{'s' if count > 1 else ''} ({'; '.join(settings)}{more})")
    return ". ".join(parts)
