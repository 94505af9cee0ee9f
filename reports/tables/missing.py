"""Missing runs: those that the sweeps planned, but that are not finished."""

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import pandas as pd

from benchmark.plan.runs import threshold_text
from benchmark.records.sweep_plan import SweepPlan
from benchmark.results.frames import describe, differing_names, without_front
from reports.labels import Methods, dataset_label, seeds_text
from reports.read.results import Results, datasets_of
from reports.subjects import MISSING
from reports.write.table import Table

ORDER = 90
MAX_SETTINGS = 6
"""Settings that are listed per method and data set; further ones are only counted."""

NOTHING = "nothing"
"""The column `missing` if all planned runs are finished."""

NO_THRESHOLD = -1.0
"""The threshold of methods without one: thresholds are not negative."""

UNKNOWN = "unknown"
"""Prefix of the column `missing` when no sweep recorded a plan."""


def tables(results: Results) -> list[Table]:
    """Return the numbers of planned and finished runs, and the runs that failed, if any."""
    rows = [row for name in results.scope for row in _rows(name, results)]
    has_gaps, frame = any(row["has_gaps"] for row in rows), pd.DataFrame(rows).drop(columns="has_gaps", errors="ignore")
    caption = (
        "Planned and finished runs of each profile that a sweep of the experiment used, as its sweeps recorded them."
    )
    notes = [*results.left_out_sentences(), *results.absent, *_skipped_sentences(results.scope, results)]
    if results.superseded:
        notes.append(
            f"{results.superseded:,} finished runs are ignored because newer runs have the same configuration and seed."
        )
    all_tables = [Table("missing", MISSING.title, caption, frame, tuple(notes), subject=MISSING, has_gaps=has_gaps)]
    if len(results.failed):
        caption = "Runs that failed and have not been completed since."
        all_tables.append(Table("failed", "Runs that failed", caption, results.failed, subject=MISSING, has_gaps=True))
    return all_tables


def _skipped_sentences(experiments: Sequence[str], results: Results) -> list[str]:
    """Return a sentence for each stream and each method that the sweeps skipped on it."""
    skipped = [
        f"{name}: {results.methods.label(method)} on {dataset_label(dataset)} is skipped: {reason}."
        for name in experiments
        for plan in results.plans.get(name, {}).values()
        for (dataset, method), reason in plan.skipped.items()
    ]
    return list(dict.fromkeys(skipped))


def _rows(name: str, results: Results) -> list[dict[str, Any]]:
    """Return the rows of an experiment; `has_gaps` marks those whose plan is not complete."""
    runs, board_runs, tuning = (
        frame[frame["experiment"] == name] for frame in (results.runs, results.board_runs, results.tuning)
    )
    runs = runs if len(runs) else tuning
    row: dict[str, Any] = {"experiment": name, "profile": "–", "planned": None, "finished": len(runs), "missing": "–"}
    row["has_gaps"] = False
    if len(board_runs):
        is_complete = name in {board.experiment for board in results.boards}
        state = NOTHING if is_complete else f"{UNKNOWN}: the board is not complete; run `fedbandit board` again"
        return [row | {"finished": len(board_runs), "missing": state}]
    plans = results.plans.get(name, {})
    if not plans:
        return [row | {"missing": f"{UNKNOWN}: no plan is recorded" if len(runs) else "experiment not run"}]
    rows, keys = [], {*runs["key"]}
    streams = datasets_of(name)  # a plan has the absent data sets of all experiments in a sweep
    for profile, plan in plans.items():
        finished = sum(key in keys for key in plan.runs.values())
        absent = [each for each in plan.absent if not streams or each in streams]
        texts = [*_missing_texts(plan, keys, results.methods)]
        texts += [f"{dataset_label(each)}: the data set was not prepared" for each in absent]
        counts = {"profile": profile, "planned": len(plan.runs), "finished": finished}
        rows.append(row | counts | {"missing": ". ".join(texts) or NOTHING, "has_gaps": bool(texts)})
    return rows


def _missing_texts(plan: SweepPlan, finished: Collection[str], methods: Methods) -> Iterator[str]:
    """Yield which planned runs of each method are missing, by data set and by settings other than its front."""
    rows = [
        {
            "dataset": setting.dataset,
            "method": setting.algorithm,
            "threshold": setting.front,
            "seed": seed,
            "is_missing": key not in finished,
            "values": without_front(dict(setting.values), setting.front_parameter),
        }
        for (setting, seed), key in plan.runs.items()
    ]
    planned = pd.DataFrame(rows, columns=["dataset", "method", "threshold", "seed", "is_missing", "values"])
    planned["threshold"] = pd.to_numeric(planned["threshold"], errors="coerce").fillna(NO_THRESHOLD)
    for (dataset, method), part in planned.groupby(["dataset", "method"]):
        names = differing_names(part["values"])
        variants = [describe(values, names) for values in part["values"]]
        for variant, runs in part.groupby(variants):
            missing = runs[runs["is_missing"]]
            if len(missing):
                name = f"{methods.label(str(method))} on {dataset_label(str(dataset))}"
                name += f" with {variant}" if variant else ""
                yield f"{name}: {_runs_text(missing) if len(missing) < len(runs) else f'all {len(runs)} runs'}"


def _runs_text(runs: pd.DataFrame) -> str:
    """Return the number of runs, and their thresholds and seeds."""
    settings = [
        ("" if threshold == NO_THRESHOLD else f"at {threshold_text(float(str(threshold)))} ")
        + f"seed {seeds_text(part['seed'])}"
        for threshold, part in runs.groupby("threshold")
    ]
    more = f" and at {len(settings) - MAX_SETTINGS} more thresholds" if len(settings) > MAX_SETTINGS else ""
    return f"{len(runs)} run{'s' if len(runs) > 1 else ''} ({'; '.join(settings[:MAX_SETTINGS])}{more})"
