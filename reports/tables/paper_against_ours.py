"""Every number and every direction that the paper states, ours beside it, and a verdict."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from reports.context import Context
from reports.directions import check_direction
from reports.experiment_files import datasets_of
from reports.group_totals import group_totals
from reports.labels import algorithm_label, dataset_label, threshold_text
from reports.paper import paper
from reports.results import Results
from reports.seeds import mean_interval
from reports.table import Table
from reports.verdicts import data_caveat, verdict_on_direction, verdict_on_number

ORDER = 10
METRICS = {"communication": "C_T", "normalised_reward": "normalised reward"}


def tables(results: Results, context: Context) -> list[Table]:
    """Return one table of directions, numbers, sizes, and the rows of Table 2; none if nothing there is about these."""
    kinds = {
        "Directions": _directions(results, context),
        "Numbers": _numbers(results, context),
        "Sizes": _sizes(context),
        "Table 2": _groups(results, context),
    }
    about = (*context.experiments, None)
    kept = {kind: [row for row in rows if row.pop("experiment") in about] for kind, rows in kinds.items()}
    counts = " ".join(f"{kind}: {_counts(rows)}." for kind, rows in kept.items() if rows)
    tolerance = paper()["tolerance"]
    caption = (
        f"{counts} A number is reproduced if it lies within our 95 % interval over seeds, or ours within "
        f"{tolerance:.0%} of it; a count must be equal. A direction is reproduced if the whole 95 % interval over "
        f"seeds lies on the paper's side; with one seed there is no interval, and only the side is told. Otherwise it "
        f"differs, or cannot be checked."
    )
    frame = pd.DataFrame([row for rows in kept.values() for row in rows])
    made = Table("paper_against_ours", "Paper against ours", caption, frame, context.labels(context.runs))
    return [] if frame.empty else [made]


def _counts(rows: Sequence[Mapping[str, Any]]) -> str:
    """Say how many rows have which verdict: 17 reproduced, 1 differs, 5 cannot be checked."""
    found = Counter(str(row["verdict"]).partition(" (")[0] for row in rows)
    words = {"reproduced": "reproduced", "differs": "differs" if found["differs"] == 1 else "differ"}
    words["cannot be checked"] = "cannot be checked"
    return ", ".join(f"{found[verdict]} {word}" for verdict, word in words.items() if found[verdict])


def _row(experiment: str | None, dataset: str, place: str, states: str, stated: Any) -> dict[str, Any]:
    empty = {"ours": math.nan, "ours_low": math.nan, "ours_high": math.nan, "seeds": None}
    about = {
        "experiment": experiment,
        "place": place,
        "data": dataset,
        "what the paper states": states,
        "paper": stated,
    }
    return {**about, **empty, "verdict": "", "remark": ""}


def _sizes(context: Context) -> Iterator[dict[str, Any]]:
    """The sizes of the data sets that the experiments of this report use, by their files or by their runs."""
    used = {*context.runs["dataset"], *(name for each in context.experiments for name in datasets_of(each))}
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
    for stated in paper()["numbers"]:
        setting = f"{algorithm_label(stated['algorithm'])} at γ={threshold_text(stated['threshold'])}"
        states = f"{METRICS[stated['metric']]} of {setting}"
        row = _row(stated["experiment"], dataset_label(stated["dataset"]), stated["place"], states, stated["value"])
        row["remark"] = stated.get("note", "")
        runs = _runs_at(results.runs, stated)
        if runs.empty:
            yield row | {"verdict": "cannot be checked (no run at this threshold)"}
            continue
        ours = mean_interval(runs[stated["metric"]])
        caveat = data_caveat(context.label(stated["dataset"], str(runs["source"].iloc[0])))
        verdict = verdict_on_number(stated["value"], ours, len(runs), caveat, tolerance=paper()["tolerance"])
        yield row | _measured(ours) | {"seeds": len(runs), "verdict": verdict}


def _groups(results: Results, context: Context) -> Iterator[dict[str, Any]]:
    """The rows of appendix Table 2."""
    stated = paper()["groups"]
    totals = group_totals(results, context, stated["dataset"])
    totals = totals[totals["algorithm"] == stated["algorithm"]]
    caveat = data_caveat(context.label(stated["dataset"], str(totals["source"].iloc[0]))) if len(totals) else ""
    for least, group, numbers in _group_rows(stated):
        for what, threshold, value in _group_numbers(stated, numbers):
            at = totals if threshold is None else totals[totals["threshold"] == threshold]
            at = at if least is None else at[at["least"] == least]
            shown = f"{what} of {group}" + (f" at γ={threshold_text(threshold)}" if threshold is not None else "")
            row = _row(stated["experiment"], dataset_label(stated["dataset"]), stated["place"], shown, value)
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
    for stated in paper()["directions"]:
        runs = results.runs[results.runs["experiment"] == stated["experiment"]]
        if "dataset" in stated:
            runs = runs[runs["dataset"] == stated["dataset"]]
        datasets = sorted({str(name).partition("-heterogeneous")[0] for name in runs["dataset"]})
        name = ", ".join(map(dataset_label, datasets)) or stated.get("dataset", "")
        row = _row(stated["experiment"], name, stated["place"], stated["says"], "stated")
        caveats = {data_caveat(context.label(*pair)) for pair in set(zip(runs["dataset"], runs["source"], strict=True))}
        finding = check_direction(stated, results, context)
        verdict = verdict_on_direction(finding, next(iter(sorted(caveats - {""}, reverse=True)), ""))
        measured = {"ours": finding.ours or math.nan, "seeds": finding.seeds or None}
        yield row | measured | {"verdict": verdict, "remark": finding.how}


def _runs_at(runs: pd.DataFrame, stated: Mapping[str, Any]) -> pd.DataFrame:
    for name in ("experiment", "dataset", "algorithm", "threshold"):
        runs = runs[runs[name] == stated[name]]
    return runs[runs["variant"] == ""]


def _measured(ours: tuple[float, float, float]) -> dict[str, float]:
    return dict(zip(("ours", "ours_low", "ours_high"), ours, strict=True))


def _group_rows(stated: Mapping[str, Any]) -> Iterator[tuple[int | None, str, Mapping[str, Any]]]:
    for row in stated["rows"]:
        yield row["least"], f"group {row['least']}–{row['least'] + 10}", row
    yield None, "all groups", stated["sum"]


def _group_numbers(stated: Mapping[str, Any], numbers: Mapping[str, Any]) -> Iterator[tuple[str, float | None, float]]:
    for what in ("users", "data"):
        yield what, None, numbers[what]
    for place, threshold in enumerate(stated["thresholds"]):
        for what in ("uploads", "reward"):
            yield what, float(threshold), numbers[what][place]
