"""Figures a and b: communication of the synchronous over the asynchronous method at equal regret, by clients."""

from typing import Any

import numpy as np
import pandas as pd

from benchmark.statistics.equal_regret import EqualRegret, at_equal_regret
from reports.analysis.directions import paired_fronts
from reports.labels import algorithm_label, dataset_label
from reports.paper import paper
from reports.read.context import Context
from reports.read.results import Results
from reports.subjects import PAPER
from reports.write.table import Table

ORDER = 14
KNOWN, ALL = "2 per known client", "2N"


def tables(results: Results, context: Context) -> list[Table]:
    """Return one table; none without runs of both methods."""
    stated = paper()["equal_regret"]
    first, second = stated["synchronous"], stated["asynchronous"]
    rows: list[dict[str, Any]] = []
    for experiment in stated["experiments"]:
        for stream, runs in results.runs[results.runs["experiment"] == experiment].groupby("stream", sort=False):
            for charge in (KNOWN, ALL):
                fronts = paired_fronts(_charged(runs, first, results) if charge == ALL else runs, first, second)
                levels = at_equal_regret(*fronts) if fronts[0] else []
                rows += [{"clients": dataset_label(str(stream)), "charge": charge, **_row(level)} for level in levels]
    if not rows:
        return []
    names = [algorithm_label(name) for name in (first, second)]
    caption = (
        f"C_T of {names[0]} over C_T of {names[1]} at regrets of a given share above the least regret of both: "
        f"geometric mean over seeds with a 95 % interval; below 1, {names[0]} needs less. log C_T is interpolated "
        "between undominated settings. Charge: the transfers of one synchronisation, 2 per client known at that time "
        "(ours) or 2N, with N the number of clients that appear in the stream. Synchronisations are counted from the "
        "recorded uploads of each client. Last columns: seeds on which only one of the methods reaches this regret."
    )
    experiments = tuple(name for name in stated["experiments"] if name in set(results.runs["experiment"]))
    title = "Communication at equal regret"
    return [Table("equal_regret", title, caption, pd.DataFrame(rows), (), experiments, subject=PAPER)]


def _row(level: EqualRegret) -> dict[str, Any]:
    ratio = dict(zip(("ratio", "ratio_low", "ratio_high"), level.ratio(), strict=True))
    seeds = int(np.isfinite(level.log_ratios).sum())
    only = {"only the first": level.only_first, "only the second": level.only_second}
    return {"above the least": f"{level.above:.0%}", **ratio, "seeds": seeds, **only}


def _charged(runs: pd.DataFrame, synchronous: str, results: Results) -> pd.DataFrame:
    """Return the runs with 2N transfers for each synchronisation; runs without client totals are left out."""
    is_sync = runs["algorithm"] == synchronous
    counts = [results.synchronisations(str(run_id)) for run_id in runs.loc[is_sync, "run_id"]]
    transfers = pd.Series(counts, index=runs.index[is_sync], dtype=float) * 2 * runs.loc[is_sync, "clients"]
    communication = transfers.reindex(runs.index).where(is_sync, runs["communication"])
    return runs.assign(communication=communication).dropna(subset=["communication"])
