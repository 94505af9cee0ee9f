"""Missing runs: those that the sweeps planned, but that are not finished."""

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence, Set
from typing import Any

import pandas as pd

from benchmark.plan.experiment import experiment_names
from benchmark.records.sweep_plan import PlannedSetting, SweepPlan
from benchmark.results.frames import describe, differing_names, threshold_text, without_front
from reports.labels import Methods, dataset_label, seeds_text
from reports.read.context import Context
from reports.read.experiment_files import datasets_of
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
"""Prefix of the column `missing` when no sweep recorded a plan."""

PlannedRun = tuple[PlannedSetting, int]
"""A setting and a seed."""


def tables(results: Results, context: Context) -> list[Table]:
    """Return the numbers of planned and finished runs, and the runs that failed, if any."""
    rows = [row for name in context.experiments for row in _rows(name, results)]
    caption = (
        "Planned and finished runs of each profile that a sweep of the experiment used, as its sweeps recorded them."
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
    """Return a sentence for each stream and each method that the sweeps skipped on it."""
    skipped = [
        f"{name}: {results.methods.label(algorithm)} on {dataset_label(dataset)} is skipped: {reason}."
        for name in experiments
        for plan in results.plans.get(name, {}).values()
        for (dataset, algorithm), reason in plan.skipped.items()
    ]
    return list(dict.fromkeys(skipped))


def _rows(name: str, results: Results) -> list[dict[str, Any]]:
    runs = next((runs for runs in (results.runs, results.tuning) if name in {*runs["experiment"]}), results.runs)
    runs = runs[runs["experiment"] == name]
    row: dict[str, Any] = {"experiment": name, "profile": "–", "planned": None, "finished": len(runs), "missing": "–"}
    if name in {*results.board_runs["experiment"]}:
        is_complete = name in {board.experiment for board in results.boards}
        finished = int((results.board_runs["experiment"] == name).sum())
        state = NOTHING if is_complete else f"{UNKNOWN}: the board is not complete; run `fedbandit board` again"
        return [row | {"finished": finished, "missing": state}]
    plans = results.plans.get(name, {})
    if not plans:
        return [row | {"missing": f"{UNKNOWN}: no plan is recorded" if len(runs) else "experiment not run"}]
    rows, keys = [], {*runs["key"]}
    for profile, plan in plans.items():
        missing = {run for run, key in plan.runs.items() if key not in keys}
        counts = {"profile": profile, "planned": len(plan.runs), "finished": len(plan.runs) - len(missing)}
        absent = [f"{dataset_label(each)}: the data set was not prepared" for each in _absent(name, plan)]
        text = ". ".join(filter(None, (_summary(missing, _variants(plan.runs), results.methods), *absent)))
        rows.append(row | counts | {"missing": text or NOTHING})
    return rows


def _absent(experiment: str, plan: SweepPlan) -> list[str]:
    """Return the data sets of an experiment that were not prepared; a plan has those of all experiments in a sweep."""
    is_shipped = experiment in experiment_names()
    return [name for name in plan.absent if not is_shipped or name in datasets_of(experiment)]


def _variants(runs: Mapping[PlannedRun, str]) -> dict[PlannedRun, str]:
    """Describe how each planned run differs from the others of its algorithm and data set, apart from its front."""
    settings = {setting: without_front(dict(setting.values), setting.front_parameter) for setting, _ in runs}
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = defaultdict(list)
    for setting, values in settings.items():
        groups[setting.dataset, setting.algorithm].append(values)
    names = {group: differing_names(members) for group, members in groups.items()}
    texts = {
        setting: describe(values, names[setting.dataset, setting.algorithm]) for setting, values in settings.items()
    }
    return {(setting, seed): texts[setting] for setting, seed in runs}


def _threshold(setting: PlannedSetting) -> float:
    try:
        number = float(setting.front)
    except ValueError:
        return NO_THRESHOLD
    return NO_THRESHOLD if math.isnan(number) else number


def _summary(missing: Set[PlannedRun], planned: Mapping[PlannedRun, str], methods: Methods) -> str:
    """List the missing runs by data set, algorithm and variant."""
    planned_counts = Counter((run[0].dataset, run[0].algorithm, variant) for run, variant in planned.items())
    seeds_of: dict[tuple[str, str, str], dict[float, set[int]]] = defaultdict(lambda: defaultdict(set))
    for run in missing:
        setting, seed = run
        seeds_of[setting.dataset, setting.algorithm, planned[run]][_threshold(setting)].add(seed)
    parts = []
    for method, by_threshold in sorted(seeds_of.items()):
        dataset, algorithm, variant = method
        name = f"{methods.label(algorithm)} on {dataset_label(dataset)}{f' with {variant}' if variant else ''}"
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
