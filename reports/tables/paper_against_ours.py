"""All numbers and directions that the paper states, with ours and a verdict."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from reports.analysis.directions import check_direction
from reports.analysis.group_totals import group_totals
from reports.analysis.seeds import mean_interval
from reports.analysis.verdicts import (
    OUR_PREPARATION,
    data_caveat,
    result_caveat,
    verdict_on_direction,
    verdict_on_number,
)
from reports.drawing.labels import algorithm_label, dataset_label, front_text, threshold_text
from reports.paper import paper
from reports.read.context import Context
from reports.read.experiment_files import datasets_of
from reports.read.results import Results
from reports.subjects import PAPER
from reports.write.table import Table

ORDER = 10
METRICS = {"communication": "C_T", "normalised_reward": "normalised reward"}


def tables(results: Results, context: Context) -> list[Table]:
    """Return one table of directions, numbers, sizes and Table 2; none if none concerns these experiments."""
    kinds = {
        "Directions": _directions(results, context),
        "Numbers": _numbers(results, context),
        "Sizes": _sizes(context),
        "Table 2": _groups(results, context),
    }
    experiments = (*context.experiments, None)
    rows_of = {kind: [row for row in rows if row.pop("experiment") in experiments] for kind, rows in kinds.items()}
    counts = " ".join(f"{kind}: {_counts(rows)}." for kind, rows in rows_of.items() if rows)
    tolerance = paper()["tolerance"]
    caption = (
        f"{counts} A number is reproduced if it lies within our 95 % interval over seeds, or if our mean is within "
        f"{tolerance:.0%} of it; a count must be equal. A direction is reproduced if the 95 % interval over seeds lies "
        f"entirely on the side that the paper claims, and differs if it lies entirely on the other side; with one "
        f"seed, the sign decides. Otherwise it cannot be checked."
    )
    frame = pd.DataFrame([row for rows in rows_of.values() for row in rows])
    if not frame.empty and frame["verdict"].str.contains(OUR_PREPARATION).any():
        caption += f" {OUR_PREPARATION.capitalize()}: the paper derived its events and features differently."
    if frame.empty:
        return []
    return [Table("paper_against_ours", PAPER.title, caption, frame, context.labels(context.runs), subject=PAPER)]


def _counts(rows: Sequence[Mapping[str, Any]]) -> str:
    """Count the rows by verdict: 17 reproduced, 1 differs, 5 cannot be checked."""
    counts = Counter(str(row["verdict"]).partition(" (")[0] for row in rows)
    words = {"reproduced": "reproduced", "differs": "differs" if counts["differs"] == 1 else "differ"}
    words["cannot be checked"] = "cannot be checked"
    return ", ".join(f"{counts[verdict]} {word}" for verdict, word in words.items() if counts[verdict])


def _row(experiment: str | None, dataset: str, place: str, claim: str, value: Any) -> dict[str, Any]:
    empty = {"ours": math.nan, "ours_low": math.nan, "ours_high": math.nan, "seeds": None}
    stated = {"experiment": experiment, "place": place, "data": dataset, "claim": claim, "paper": value}
    return {**stated, **empty, "verdict": "", "remark": ""}


def _sizes(context: Context) -> Iterator[dict[str, Any]]:
    """Yield the sizes of the data sets that the experiments of this report use, by their files or their runs."""
    used = {*context.runs["dataset"], *(name for experiment in context.experiments for name in datasets_of(experiment))}
    for size in paper()["sizes"]:
        dataset = size["dataset"]
        if dataset not in used:
            continue
        row = _row(None, dataset_label(dataset), size["place"], size["what"], size["value"])
        manifest = context.manifests.get(dataset)
        row["remark"] = size.get("note", "")
        if manifest is None:
            yield row | {"verdict": "cannot be checked (data missing)"}
            continue
        ours = manifest["counts"]["observed"][size["what"]]
        caveat = data_caveat(context.label(dataset, str(manifest["source"])))
        verdict = verdict_on_number(size["value"], (ours, math.nan, math.nan), None, caveat, tolerance=0)
        yield row | {"ours": f"{ours:,}", "verdict": verdict}


def _numbers(results: Results, context: Context) -> Iterator[dict[str, Any]]:
    for claim in paper()["numbers"]:
        setting = f"{algorithm_label(claim['algorithm'])} at {front_text(claim['algorithm'], claim['threshold'])}"
        text = f"{METRICS[claim['metric']]} of {setting}"
        row = _row(claim["experiment"], dataset_label(claim["dataset"]), claim["place"], text, claim["value"])
        row["remark"] = claim.get("note", "")
        runs = _runs_at(results.runs, claim)
        if runs.empty:
            yield row | {"verdict": "cannot be checked (no run at this threshold)"}
            continue
        ours = mean_interval(runs[claim["metric"]])
        caveat = _caveat(context, claim["dataset"], str(runs["source"].iloc[0]))
        verdict = verdict_on_number(claim["value"], ours, len(runs), caveat, tolerance=paper()["tolerance"])
        yield row | _measured(ours) | {"seeds": len(runs), "verdict": verdict}


def _groups(results: Results, context: Context) -> Iterator[dict[str, Any]]:
    """Yield the rows of appendix Table 2."""
    table = paper()["groups"]
    totals = group_totals(results, context, table["dataset"])
    totals = totals[totals["algorithm"] == table["algorithm"]]
    caveat = _caveat(context, table["dataset"], str(totals["source"].iloc[0])) if len(totals) else ""
    for least, group, numbers in _group_rows(table):
        for what, threshold, value in _group_numbers(table, numbers):
            at = totals if threshold is None else totals[totals["threshold"] == threshold]
            at = at if least is None else at[at["least"] == least]
            claim = f"{what} of {group}" + (f" at γ={threshold_text(threshold)}" if threshold is not None else "")
            row = _row(table["experiment"], dataset_label(table["dataset"]), table["place"], claim, value)
            if at.empty:
                yield row | {"verdict": "cannot be checked (no data, or no run at this threshold)"}
                continue
            column = {"data": "interactions"}.get(what, what)
            by_seed = at.groupby(["threshold", "seed"])[column].sum()
            if threshold is None:  # users and data are the same in every run
                ours = (float(by_seed.iloc[0]), math.nan, math.nan)
                verdict = verdict_on_number(value, ours, None, caveat, tolerance=0)
                yield row | {"ours": f"{int(ours[0]):,}", "verdict": verdict}
                continue
            ours = mean_interval(by_seed)
            verdict = verdict_on_number(value, ours, len(by_seed), caveat, tolerance=paper()["tolerance"])
            yield row | _measured(ours) | {"seeds": len(by_seed), "verdict": verdict}


def _directions(results: Results, context: Context) -> Iterator[dict[str, Any]]:
    for claim in paper()["directions"]:
        runs = results.runs[results.runs["experiment"] == claim["experiment"]]
        if "dataset" in claim:
            runs = runs[runs["dataset"] == claim["dataset"]]
        datasets = sorted({str(name).partition("-heterogeneous")[0] for name in runs["dataset"]})
        name = ", ".join(map(dataset_label, datasets)) or claim.get("dataset", "")
        row = _row(claim["experiment"], name, claim["place"], claim["says"], "stated")
        caveats = {_caveat(context, *pair) for pair in set(zip(runs["dataset"], runs["source"], strict=True))}
        evidence = check_direction(claim, results, context)
        verdict = verdict_on_direction(evidence, next(iter(sorted(caveats - {""}, reverse=True)), ""))
        ours = {"ours": evidence.ours or math.nan, "seeds": evidence.seeds or None}
        yield row | ours | {"verdict": verdict, "remark": evidence.method}


def _caveat(context: Context, dataset: str, source: str) -> str:
    return result_caveat(
        context.label(dataset, source), prepared_differently=dataset in paper()["prepared_differently"]
    )


def _runs_at(runs: pd.DataFrame, claim: Mapping[str, Any]) -> pd.DataFrame:
    for name in ("experiment", "dataset", "algorithm", "threshold"):
        runs = runs[runs[name] == claim[name]]
    return runs[runs["variant"] == ""]


def _measured(ours: tuple[float, float, float]) -> dict[str, float]:
    return dict(zip(("ours", "ours_low", "ours_high"), ours, strict=True))


def _group_rows(table: Mapping[str, Any]) -> Iterator[tuple[int | None, str, Mapping[str, Any]]]:
    for row in table["rows"]:
        yield row["least"], f"group {row['least']}–{row['least'] + 10}", row
    yield None, "all groups", table["sum"]


def _group_numbers(table: Mapping[str, Any], numbers: Mapping[str, Any]) -> Iterator[tuple[str, float | None, float]]:
    for what in ("users", "data"):
        yield what, None, numbers[what]
    for column, threshold in enumerate(table["thresholds"]):
        for what in ("uploads", "reward"):
            yield what, float(threshold), numbers[what][column]
