"""What was planned and is not there: runs, seeds and whole experiments, by the profiles that the sweeps used."""

from collections import defaultdict
from typing import Any

import pandas as pd

from benchmark.experiment import experiment_names, load_experiment
from reports.context import Context
from reports.labels import algorithm_label, dataset_label, threshold_text
from reports.planned import Setting, planned_runs, seeds_text, threshold_key
from reports.results import Results
from reports.table import Table

ORDER = 90
MOST_SETTINGS = 6
"""Of one algorithm on one data set: more of them are counted, not listed."""

NOTHING = "nothing"
"""Stands in the column `missing` where all is there."""

NOT_KNOWN = "not known"
"""Begins what stands there where nobody can tell, such as of an experiment whose file is not shipped."""


def tables(results: Results, context: Context) -> list[Table]:
    """Return planned against finished runs, and the runs that failed, if there are any."""
    rows = [row for name in context.experiments for row in _rows(name, results)]
    caption = (
        "Runs that each profile plans which a sweep of the experiment used, and those finished. A sweep that was "
        "narrowed on the command line counts as its whole profile."
    )
    notes = list(context.absent)
    if results.superseded:
        notes.append(f"{results.superseded:,} finished runs are set aside: a later one has the same setting and seed.")
    made = [Table("missing", "What is missing", caption, pd.DataFrame(rows), tuple(notes))]
    if len(results.failed):
        caption = "Runs that ended with an error and were not finished since."
        made.append(Table("failed", "Runs that failed", caption, results.failed))
    return made


def _rows(name: str, results: Results) -> list[dict[str, Any]]:
    runs = results.runs[results.runs["experiment"] == name]
    thresholds = [threshold_key(float(each)) for each in runs["threshold"]]
    settings = zip(runs["dataset"], runs["algorithm"], thresholds, strict=True)
    done = set(zip(settings, runs["seed"], strict=True))
    profiles = sorted(set(results.sweeps.loc[results.sweeps["experiment"] == name, "profile"]) - {""})
    row: dict[str, Any] = {"experiment": name, "profile": "–", "planned": None, "finished": len(runs), "missing": "–"}
    if name not in experiment_names():
        return [row | {"missing": f"{NOT_KNOWN}: the file of this experiment is not part of the package"}]
    if not profiles:
        state = f"{NOT_KNOWN} which profile was meant" if len(runs) else "the whole experiment: not run"
        return [row | {"missing": state}]
    experiment = load_experiment(name)
    made = []
    for profile in profiles:
        if profile not in experiment.profiles:
            made.append(
                row | {"profile": profile, "missing": f"{NOT_KNOWN}: the experiment has no such profile any more"}
            )
            continue
        planned = set(planned_runs(experiment, profile))
        left = planned - done
        counts = {"profile": profile, "planned": len(planned), "finished": len(planned) - len(left)}
        made.append(row | counts | {"missing": _said(left, planned) or NOTHING})
    return made


def _said(left: set[tuple[Setting, int]], planned: set[tuple[Setting, int]]) -> str:
    """Say what is missing, by data set and algorithm."""
    seeds: dict[tuple[str, str], dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
    for (dataset, algorithm, threshold), seed in left:
        seeds[dataset, algorithm][threshold].add(seed)
    parts = []
    for (dataset, algorithm), by_threshold in sorted(seeds.items()):
        who = f"{algorithm_label(algorithm)} on {dataset_label(dataset)}"
        of_these = [each for each in planned if each[0][:2] == (dataset, algorithm)]
        count = sum(map(len, by_threshold.values()))
        if count == len(of_these):
            parts.append(f"{who}: all {count} runs")
            continue
        ordered = sorted(by_threshold.items(), key=lambda each: float(each[0]))
        listed = [
            f"{'at ' + threshold_text(float(threshold)) + ' ' if threshold != 'nan' else ''}seed {seeds_text(found)}"
            for threshold, found in ordered[:MOST_SETTINGS]
        ]
        more = f" and at {len(ordered) - MOST_SETTINGS} more thresholds" if len(ordered) > MOST_SETTINGS else ""
        parts.append(f"{who}: {count} run{'s' if count > 1 else ''} ({'; '.join(listed)}{more})")
    return ". ".join(parts)
