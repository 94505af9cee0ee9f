"""Appendix Table 1: the bounds as formulas, and their values for each stream's N, T and d next to our measurements."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd

from benchmark.results.frames import over_seeds, threshold_text
from reports.labels import Methods, dataset_label
from reports.read.context import Context
from reports.read.results import Results
from reports.subjects import BOUNDS as SUBJECT
from reports.write.table import Table, with_cut_intervals

ORDER = 30
Formula = Callable[[float, float, float], float]


@dataclass(frozen=True)
class Bound:
    """One row of the paper's table; formulas take N, T and d. C_T has one bound for uniform clients, one for others."""

    algorithm: str
    threshold: str
    regret: str
    uniform: str
    non_uniform: str
    threshold_at: Formula
    regret_at: Formula
    uniform_at: Formula
    non_uniform_at: Formula


def _async(threshold: str, at: Formula, regret_power: float, regret: str, spent: str, spent_at: Formula) -> Bound:
    return Bound("async-linucb", threshold, regret, spent, spent, at, _regret(regret_power), spent_at, spent_at)


def _regret(power: float) -> Formula:
    return lambda N, T, d: N**power * d * math.sqrt(T) * math.log(T)


def _spent(power: float) -> Formula:
    return lambda N, T, d: N**power * d * math.log(T)


PLAIN, QUARTER, HALF = "d √T log T", "N^(1/4) d √T log T", "N^(1/2) d √T log T"
BOUNDS = (
    _async("γ = 1", lambda N, T, d: 1.0, 0, PLAIN, "N T", lambda N, T, d: N * T),
    _async("γ = exp(1/N)", lambda N, T, d: math.exp(1 / N), 0, PLAIN, "N^2 d log T", _spent(2)),
    _async("γ = exp(N^(-1/2))", lambda N, T, d: math.exp(N**-0.5), 0.25, QUARTER, "N^(3/2) d log T", _spent(1.5)),
    _async("γ = ∞", lambda N, T, d: math.inf, 0.5, HALF, "0", lambda N, T, d: 0.0),
    Bound(
        "sync-linucb",
        "D = T / (N^2 d log T)",
        PLAIN,
        "N^(3/2) d log T",
        "N^2 d log T",
        lambda N, T, d: T / (N**2 * d * math.log(T)),
        _regret(0),
        _spent(1.5),
        _spent(2),
    ),
    Bound(
        "sync-linucb",
        "D = T / (N^(3/2) d log T)",
        QUARTER,
        "N^(5/4) d log T",
        "N^(7/4) d log T",
        lambda N, T, d: T / (N**1.5 * d * math.log(T)),
        _regret(0.25),
        _spent(1.25),
        _spent(1.75),
    ),
)


def tables(results: Results, context: Context) -> list[Table]:
    """Return the paper's table, and one for each stream with runs of γ=1 or Sync-LinUCB."""
    all_tables = [_symbolic(results.methods)]
    for (experiment, stream, source), runs in results.runs.groupby(["experiment", "stream", "source"]):
        is_swept = (runs["algorithm"] == "sync-linucb") | (
            (runs["algorithm"] == "async-linucb") & (runs["threshold"] == 1)
        )
        if is_swept.any():
            names = str(experiment), str(stream), str(source)
            all_tables.append(_measured(*names, runs, context, results.methods))
    return all_tables


def _symbolic(methods: Methods) -> Table:
    rows = [
        {
            "algorithm": methods.label(bound.algorithm),
            "threshold": bound.threshold,
            "regret R_T": bound.regret,
            "C_T, uniform clients": bound.uniform,
            "C_T, non-uniform clients": bound.non_uniform,
        }
        for bound in BOUNDS
    ]
    caption = "The paper's upper bounds for regret and communication at different thresholds, up to constant factors."
    return Table("bounds", "Appendix Table 1: upper bounds", caption, pd.DataFrame(rows), subject=SUBJECT)


def _measured(
    experiment: str, stream: str, source: str, runs: pd.DataFrame, context: Context, methods: Methods
) -> Table:
    N, T, d = (int(runs[name].max()) for name in ("clients", "steps", "dimension"))
    means = over_seeds(runs[runs["variant"] == ""], ["regret", "communication"])
    is_uniform = stream == "simulated-uniform"
    rows = []
    for bound in BOUNDS:
        threshold = bound.threshold_at(N, T, d)
        row: dict[str, object] = {
            "algorithm": methods.label(bound.algorithm),
            "threshold in the bound": f"{bound.threshold} = {threshold_text(threshold)}"
            if threshold not in (1, math.inf)
            else bound.threshold,
            "regret bound": bound.regret_at(N, T, d),
            "C_T bound": (bound.uniform_at if is_uniform else bound.non_uniform_at)(N, T, d),
        }
        nearest = nearest_setting(means[means["algorithm"] == bound.algorithm], threshold)
        if nearest is not None:
            ends = [f"{name}{end}" for name in ("regret", "communication") for end in ("", "_low", "_high")]
            row |= {"nearest threshold": nearest["threshold"], "seeds": int(nearest["seeds"])}
            row |= {name: nearest[name] for name in ends}
        rows.append(row)
    label = context.label(str(runs["dataset"].iloc[0]), source)
    notes: list[str] = [label] if label else []
    if len([row for row in rows if "seeds" in row]) < len(rows):
        notes.append("–: no run at or near that threshold.")
    table = Table(
        f"bounds_{experiment}_{stream}",
        f"Bounds and measurements: {dataset_label(stream)}" + (f" – {label}" if label else ""),
        f"The bounds of appendix Table 1 for N={N:,}, T={T:,}, d={d}, without constant factors, so only orders of "
        f"magnitude can be compared ({'uniform' if is_uniform else 'non-uniform'} clients; N is the number of clients "
        f"that appear). The measured regret and C_T at the nearest threshold are shown alongside: means over seeds "
        f"with 95 % intervals.",
        pd.DataFrame(rows),
        tuple(notes),
        (experiment,),
        SUBJECT,
    )
    return with_cut_intervals(table, "communication")


def nearest_setting(means: pd.DataFrame, threshold: float) -> "pd.Series[float] | None":
    """Return the setting with the nearest threshold, by log(γ-1) or log D; γ=1 and γ=∞ match only themselves."""
    if threshold == 1 or math.isinf(threshold):
        exact = means[means["threshold"] == threshold]
        return None if exact.empty else exact.iloc[0]
    offset = 1.0 if threshold > 1 and (means["algorithm"] == "async-linucb").all() else 0.0
    near = means[(means["threshold"] > offset) & (means["threshold"] < math.inf)]
    if near.empty:
        return None
    distances = [abs(math.log(other - offset) - math.log(threshold - offset)) for other in near["threshold"]]
    return near.iloc[distances.index(min(distances))]
