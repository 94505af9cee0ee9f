"""Appendix Table 1: the bounds as formulas, and their values for each stream's N, T and d next to our measurements."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import pandas as pd

from benchmark.plan.runs import threshold_text
from benchmark.results.frames import over_seeds
from reports.labels import dataset_label
from reports.read.results import Results
from reports.subjects import BOUNDS as SUBJECT
from reports.write.table import Table, make_table

ORDER = 30
ASYNC, SYNC = "async-linucb", "sync-linucb"


class Bound(NamedTuple):
    """One row of the paper's table: a threshold, as text and as a function of N, T and d, and powers of N.

    The regret has the power times d √T log T; C_T, for uniform clients and for others, has the power times d log T.
    As a power, `ALWAYS` stands for N T in all, `NEVER` for 0 in all.
    """

    method: str
    threshold: str
    threshold_at: Callable[[float, float, float], float]
    regret: str
    uniform: str
    non_uniform: str


ALWAYS, NEVER = "always", "never"
BOUNDS = (
    Bound(ASYNC, "γ = 1", lambda N, T, d: 1.0, "0", ALWAYS, ALWAYS),
    Bound(ASYNC, "γ = exp(1/N)", lambda N, T, d: math.exp(1 / N), "0", "2", "2"),
    Bound(ASYNC, "γ = exp(N^(-1/2))", lambda N, T, d: math.exp(N**-0.5), "1/4", "3/2", "3/2"),
    Bound(ASYNC, "γ = ∞", lambda N, T, d: math.inf, "1/2", NEVER, NEVER),
    Bound(SYNC, "D = T / (N^2 d log T)", lambda N, T, d: T / (N**2 * d * math.log(T)), "0", "3/2", "2"),
    Bound(SYNC, "D = T / (N^(3/2) d log T)", lambda N, T, d: T / (N**1.5 * d * math.log(T)), "1/4", "5/4", "7/4"),
)


def _formula(power: str, rest: str) -> str:
    """Return a formula as text, without N^0."""
    if power in (ALWAYS, NEVER):
        return "N T" if power == ALWAYS else "0"
    return (f"N^({power}) " if "/" in power else f"N^{power} " * (power != "0")) + rest


def _spent(power: str, N: float, T: float, d: float) -> float:
    if power in (ALWAYS, NEVER):
        return N * T if power == ALWAYS else 0.0
    return float(N ** float(Fraction(power)) * d * math.log(T))


def tables(results: Results) -> list[Table]:
    """Return the paper's table, and one for each stream with runs of γ=1 or Sync-LinUCB."""
    all_tables = [_symbolic(results)]
    for _, runs in results.runs.groupby(["experiment", "stream", "source"]):
        is_swept = (runs["algorithm"] == SYNC) | ((runs["algorithm"] == ASYNC) & (runs["threshold"] == 1))
        if is_swept.any():
            all_tables.append(_measured(runs, results))
    return all_tables


def _symbolic(results: Results) -> Table:
    rows = [
        {
            "algorithm": results.methods.label(bound.method),
            "threshold": bound.threshold,
            "regret R_T": _formula(bound.regret, "d √T log T"),
            "C_T, uniform clients": _formula(bound.uniform, "d log T"),
            "C_T, non-uniform clients": _formula(bound.non_uniform, "d log T"),
        }
        for bound in BOUNDS
    ]
    caption = "The paper's upper bounds for regret and communication at different thresholds, up to constant factors."
    return Table("bounds", "Appendix Table 1: upper bounds", caption, pd.DataFrame(rows), subject=SUBJECT)


def _measured(runs: pd.DataFrame, results: Results) -> Table:
    experiment, stream, dataset, source = (
        str(runs[name].iloc[0]) for name in ("experiment", "stream", "dataset", "source")
    )
    N, T, d = (int(runs[name].max()) for name in ("clients", "steps", "dimension"))
    means = over_seeds(runs[runs["variant"] == ""], ["regret", "communication"])
    is_uniform = stream == "simulated-uniform"
    rows = []
    for bound in BOUNDS:
        threshold = bound.threshold_at(N, T, d)
        value = "" if threshold in (1, math.inf) else f" = {threshold_text(threshold)}"
        row: dict[str, object] = {
            "algorithm": results.methods.label(bound.method),
            "threshold in the bound": f"{bound.threshold}{value}",
            "regret bound": N ** float(Fraction(bound.regret)) * d * math.sqrt(T) * math.log(T),
            "C_T bound": _spent(bound.uniform if is_uniform else bound.non_uniform, N, T, d),
        }
        nearest = nearest_setting(means[means["algorithm"] == bound.method], threshold)
        if nearest is not None:
            ends = [f"{name}{end}" for name in ("regret", "communication") for end in ("", "_low", "_high")]
            row |= {"nearest threshold": nearest["threshold"], "seeds": int(nearest["seeds"])}
            row |= {name: nearest[name] for name in ends}
        rows.append(row)
    clients = "uniform" if is_uniform else "non-uniform"
    caption = (
        f"The bounds of appendix Table 1 for N={N:,}, T={T:,}, d={d}, without constant factors, so only orders of "
        f"magnitude can be compared ({clients} clients; N is the number of clients that appear). The measured regret "
        f"and C_T at the nearest threshold are shown alongside: means over seeds with 95 % intervals."
    )
    return make_table(
        f"bounds_{experiment}_{stream}",
        f"Bounds and measurements: {dataset_label(stream)}",
        caption,
        pd.DataFrame(rows),
        [] if all("seeds" in row for row in rows) else ["–: no run at or near that threshold."],
        label=results.label(dataset, source),
        counts=["communication"],
        experiments=(experiment,),
        subject=SUBJECT,
    )


def nearest_setting(means: pd.DataFrame, threshold: float) -> "pd.Series[float] | None":
    """Return the setting with the nearest threshold, by log(γ-1) or log D; γ=1 and γ=∞ match only themselves."""
    if threshold == 1 or math.isinf(threshold):
        exact = means[means["threshold"] == threshold]
        return None if exact.empty else exact.iloc[0]
    offset = 1.0 if threshold > 1 and (means["algorithm"] == ASYNC).all() else 0.0
    near = means[(means["threshold"] > offset) & (means["threshold"] < math.inf)]
    if near.empty:
        return None
    distances = [abs(math.log(other - offset) - math.log(threshold - offset)) for other in near["threshold"]]
    return near.iloc[distances.index(min(distances))]
