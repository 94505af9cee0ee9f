"""Every claim of paper.toml on every variant of its data, with our value and a verdict."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from benchmark.metrics import metric
from benchmark.plan.runs import threshold_text
from benchmark.protocol import load_protocol
from benchmark.statistics.intervals import mean_interval
from benchmark.statistics.verdicts import (
    ClaimVerdict,
    DirectionTest,
    verdict_on_count,
    verdict_on_number,
    verdicts_on_directions,
)
from data_pipelines.data_label import DataLabel
from reports.analysis.directions import ABOUT_DATA, Evidence, check_direction, used_settings
from reports.analysis.users import group_totals
from reports.labels import Methods, dataset_label
from reports.paper import PAPER, TunedSetting, paper, stream_of, tuned_experiment, tuned_settings, variant_labels
from reports.read.results import Results, datasets_of

STAND_IN, RECONSTRUCTED = "stand-in data", "reconstructed data"


def data_caveat(label: DataLabel) -> str:
    """Return what data with a label are, in lower case; empty for official and complete data."""
    return label.kind.lower() if label.kind else ""


DIRECTION, NUMBER, COUNT, TABLE_2 = "direction", "number", "count", "Table 2"
TUNED = "direction, α tuned"
KINDS = (DIRECTION, TUNED, NUMBER, COUNT, TABLE_2)


@dataclass(frozen=True)
class Judged:
    """One claim on one variant of its data.

    `claim` is the text of the claim, the same on all variants; `at` says at which regret, for a claim about several
    levels. `paper` is the number that the paper states. `ours` is a text; `interval` is our mean with its 95 %
    interval. `p` is the p value of a direction with Holm's correction. `is_at_edge` says that a tuned value is at the
    edge of its grid.
    """

    kind: str
    experiment: str | None
    place: str
    claim: str
    variant: str
    data: str
    at: str = ""
    paper: float | None = None
    ours: str = ""
    interval: tuple[float, float, float] | None = None
    seeds: int = 0
    p: float = math.nan
    verdict: ClaimVerdict = ClaimVerdict.NOT_CHECKABLE
    remark: str = ""
    caveat: str = ""
    is_at_edge: bool = False


def judged_claims(results: Results) -> list[Judged]:
    """Return all claims about the experiments of a report, judged once for all tables and figures."""
    if not results.judged:
        kinds = (
            _directions(results),
            _tuned_directions(results),
            _numbers(results),
            _counts(results),
        )
        experiments = (*results.scope, None)
        results.judged += [claim for kind in kinds for claim in kind if claim.experiment in experiments]
    return results.judged


def combined(verdicts: Iterable[ClaimVerdict]) -> ClaimVerdict:
    """Return the verdict on a claim about several levels: that of all levels, or undecided where they differ."""
    distinct = set(verdicts)
    return distinct.pop() if len(distinct) == 1 else ClaimVerdict.UNDECIDED


def caveat_of(results: Results, runs: pd.DataFrame) -> str:
    """Return the caveat of a verdict on these runs: the least reliable of their data."""
    pairs = set(zip(runs["dataset"], runs["source"], strict=True))
    caveats = {data_caveat(results.label(*pair)) for pair in pairs} - {""}
    return STAND_IN if STAND_IN in caveats else next(iter(sorted(caveats)), "")


def _variants(claim: Mapping[str, Any]) -> Iterator[tuple[str, str | None]]:
    """Yield the variants on which a claim is judged, each with its stream."""
    if "dataset" not in claim:
        yield PAPER, claim.get("stream")
        return
    for variant in claim.get("variants", variant_labels()):
        stream = stream_of(claim["dataset"], variant)
        if stream is not None:
            yield variant, stream


def _levels(claim: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if claim["test"] != "equal_regret":
        yield "", claim
        return
    for above in load_protocol().paper.above_least_regret:
        yield f"{above:.0%} above the least regret", {**claim, "above": above}


Tested = tuple[Mapping[str, Any], Judged, Evidence]
"""A claim, its row without a verdict, and the result of its test."""


def _directions(results: Results) -> list[Judged]:
    """Test all directions, then judge them together."""
    rows: list[Tested] = []
    for claim in paper()["directions"]:
        for variant, stream in _variants(claim):
            runs = results.runs_of(claim["experiment"], stream)
            data = dataset_label(stream) if stream else "Simulation, heterogeneous clients"
            caveat = caveat_of(results, runs)
            for at, level in _levels(claim):
                row = Judged(DIRECTION, claim["experiment"], claim["place"], claim["says"], variant, data, at)
                rows.append((claim, replace(row, caveat=caveat), check_direction(level, runs, results)))
    return _judged_together(rows)


def _tuned_directions(results: Results) -> list[Judged]:
    """Test the directions about real data with a tuned α, then judge them together; none if it has not been tuned."""
    if results.tuning.empty or tuned_experiment() not in results.scope:
        return []
    settings, methods = tuned_settings(results.tuning), results.methods
    rows: list[Tested] = []
    for claim in paper()["directions"]:
        if claim["test"] in ABOUT_DATA or stream_of(claim.get("dataset", "")) not in datasets_of(tuned_experiment()):
            continue
        for variant, stream in _variants(claim):
            used = _used(claim, [setting for setting in settings if setting.stream == stream], methods)
            missing = next((setting for setting in used if setting.missing), None)
            runs = pd.concat([results.tuning[:0], *(setting.runs for setting in used if setting.runs is not None)])
            found = check_direction(claim, runs, results)
            if missing is not None:
                where = _at(missing.algorithm, missing.threshold, methods)
                found = Evidence(why_not=f"{where}: {missing.missing}")
            texts = (f"{each.alpha_text} at {methods.front_text(each.algorithm, each.threshold)}" for each in used)
            found = replace(found, method=f"{found.method}; α: {', '.join(texts)}") if found.values else found
            row = Judged(
                TUNED, claim["experiment"], claim["place"], claim["says"], variant, dataset_label(stream or "")
            )
            is_at_edge = any(setting.is_at_edge for setting in used) and bool(found.values)
            rows.append((claim, replace(row, caveat=caveat_of(results, runs), is_at_edge=is_at_edge), found))
    return _judged_together(rows)


def _used(claim: Mapping[str, Any], settings: Sequence[TunedSetting], methods: Methods) -> list[TunedSetting]:
    """Return the settings that a claim compares."""
    pairs = [(setting.algorithm, setting.threshold, "") for setting in settings]
    frame = pd.DataFrame(pairs, columns=["algorithm", "threshold", "variant"])
    return [settings[number] for number in used_settings(claim, frame, methods).index]


def _at(algorithm: str, threshold: float, methods: Methods) -> str:
    return f"{methods.label(algorithm)} at {methods.front_text(algorithm, threshold)}"


def _judged_together(rows: Sequence[Tested]) -> list[Judged]:
    """Judge directions with Holm's correction for their number."""
    tested = {
        str(number): evidence.values
        for number, (claim, row, evidence) in enumerate(rows)
        if evidence.values and row.caveat != STAND_IN and "undetermined" not in claim
    }
    rules = load_protocol().paper
    tests = verdicts_on_directions(tested, level=rules.level, min_seeds=rules.min_seeds)
    return [_direction(*row, tests.get(str(number))) for number, row in enumerate(rows)]


def _direction(claim: Mapping[str, Any], row: Judged, evidence: Evidence, test: DirectionTest | None) -> Judged:
    remark = "; ".join(text for text in (evidence.why_not, evidence.method) if text)
    row = replace(row, ours=evidence.ours, seeds=evidence.seeds, remark=remark)
    if row.caveat == STAND_IN:
        return replace(row, remark=STAND_IN)
    if "undetermined" in claim and evidence.values:
        return replace(row, verdict=ClaimVerdict.NOT_DETERMINED, remark=f"{claim['undetermined']}; {remark}")
    verdict, p = test or (evidence.verdict, math.nan)
    if verdict is None:
        return row
    needed = load_protocol().paper.min_seeds
    if verdict == ClaimVerdict.UNDECIDED and evidence.values and evidence.seeds < needed:
        remark = f"fewer than {needed} seeds; {remark}"
    return replace(row, p=p, verdict=verdict, remark=remark)


def _numbers(results: Results) -> Iterator[Judged]:
    for claim in paper()["numbers"]:
        stream = stream_of(claim["dataset"])
        setting = _at(claim["algorithm"], claim["threshold"], results.methods)
        text = f"{metric(claim['metric']).short_name} of {setting}"
        data = dataset_label(stream or claim["dataset"])
        row = Judged(NUMBER, claim["experiment"], claim["place"], text, PAPER, data, paper=claim["value"])
        runs = results.runs_of(claim["experiment"], stream)
        runs = runs[(runs["algorithm"] == claim["algorithm"]) & (runs["threshold"] == claim["threshold"])]
        runs = runs[runs["variant"] == ""]
        margin = margin_of(claim["metric"], claim["value"])
        yield judged_number(row, runs[claim["metric"]], margin, caveat_of(results, runs), claim.get("note", ""))


def margin_of(name: str, stated: float) -> float:
    """Return the margin around a number that the paper states: a share of a communication, or of (reward − 1)."""
    rules = load_protocol().paper
    if metric(name).by_chance is None:
        return rules.communication_margin * abs(stated)
    return rules.reward_margin * abs(stated - 1)


def judged_number(row: Judged, values: "pd.Series[float]", margin: float, caveat: str, note: str = "") -> Judged:
    """Judge a number by our values, one per seed."""
    if values.empty:
        return replace(row, remark="no run at this threshold")
    row = replace(row, interval=mean_interval(values), seeds=len(values), caveat=caveat, remark=note)
    if caveat == STAND_IN:
        return replace(row, remark=STAND_IN)
    assert row.paper is not None
    rules = load_protocol().paper
    verdict = verdict_on_number(
        row.paper,
        values,
        margin,
        inside_confidence=rules.inside_confidence,
        outside_confidence=rules.outside_confidence,
        min_seeds=rules.min_seeds,
    )
    if verdict == ClaimVerdict.UNDECIDED and len(values) < rules.min_seeds:
        note = f"fewer than {rules.min_seeds} seeds; {note}".removesuffix("; ")
    return replace(row, verdict=verdict, remark=note)


def _counts(results: Results) -> Iterator[Judged]:
    """Yield the sizes of the data sets that the experiments of this report use, by their files or their runs."""
    used = {*results.all_runs["dataset"], *(name for experiment in results.scope for name in datasets_of(experiment))}
    for size in paper()["sizes"]:
        dataset = stream_of(size["dataset"], size["variant"])
        if dataset is None or dataset not in used:
            continue
        row = Judged(COUNT, None, size["place"], size["what"], size["variant"], dataset_label(dataset))
        row = replace(row, paper=size["value"], remark=size.get("note", ""))
        manifest = results.manifests.get(dataset)
        if manifest is None:
            yield replace(row, remark="data missing")
            continue
        ours = int(manifest["counts"]["observed"][size["what"]])
        caveat = data_caveat(results.label(dataset, str(manifest["source"])))
        yield judged_count(replace(row, caveat=caveat), ours)


def judged_count(row: Judged, ours: int) -> Judged:
    """Judge an exact count; a count of reconstructed data that differs says nothing about the paper."""
    assert row.paper is not None
    verdict = verdict_on_count(int(row.paper), ours)
    is_rebuilt = row.caveat == RECONSTRUCTED and verdict == ClaimVerdict.DIFFERENT
    if row.caveat == STAND_IN or is_rebuilt:
        verdict = ClaimVerdict.NOT_CHECKABLE
    return replace(row, ours=f"{ours:,}", interval=(float(ours), math.nan, math.nan), verdict=verdict)


ARMS = 25
"""Arms per pool in the paper: a group's random choice earns its data divided by this."""


def judged_cells(results: Results) -> list[Judged]:
    """Return users, data, uploads and normalised reward of each group; none if the report is not about the study."""
    table = paper()["groups"]
    stream = stream_of(table["dataset"])
    if table["experiment"] not in results.scope or stream is None:
        return []
    totals = group_totals(results, stream)
    totals = totals[totals["algorithm"] == table["algorithm"]]
    caveat = caveat_of(results, totals)
    first = Judged(TABLE_2, table["experiment"], table["place"], "", PAPER, dataset_label(stream), caveat=caveat)
    groups = [*table["rows"], {"least": None, **table["sum"]}]
    return [cell for group in groups for cell in _cells(first, totals, group, table["thresholds"])]


def _cells(first: Judged, totals: pd.DataFrame, group: Mapping[str, Any], thresholds: list[float]) -> Iterator[Judged]:
    least = group["least"]
    name = "all groups" if least is None else f"group {least}–{least + 10}"
    ours = totals if least is None else totals[totals["least"] == least]
    for what, column in (("users", "users"), ("data", "interactions")):
        row = replace(first, claim=f"{what} of {name}", paper=group[what])
        one_run = ours[ours["run_id"] == ours["run_id"].min()]  # the same in every run
        no_run = replace(row, remark="no run, or no data of this group")
        yield judged_count(row, int(one_run[column].sum())) if len(one_run) else no_run
    for number, threshold in enumerate(thresholds):
        at = ours[ours["threshold"] == float(threshold)]
        by_seed = at.groupby("seed")[["uploads", "reward", "interactions"]].sum()
        normalised = by_seed["reward"] / (by_seed["interactions"] / ARMS)
        stated = group["reward"][number] / (group["data"] / ARMS)
        cells = {"uploads": (group["uploads"][number], by_seed["uploads"]), "normalised_reward": (stated, normalised)}
        for shown, (value, values) in cells.items():
            text = f"{shown.replace('_', ' ')} of {name} at γ={threshold_text(float(threshold))}"
            row = replace(first, claim=text, paper=value)
            yield judged_number(row, values, margin_of(shown, value), first.caveat)
