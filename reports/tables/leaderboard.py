"""A leaderboard of any algorithms, one's own included: who earns most for how little communication."""

from typing import Any

import pandas as pd

from reports.context import Context
from reports.experiment_files import effects_of
from reports.labels import dataset_label
from reports.leaderboard import Contender, compare_pairs, contenders
from reports.results import Results
from reports.table import Table

ORDER = 20


def tables(results: Results, context: Context) -> list[Table]:
    """Return, for each stream of an experiment with several algorithms, a ranking and the comparison of pairs.

    Studies have none: their variants are no contenders, and have a table of their own.
    """
    made = []
    for (experiment, dataset, source), runs in results.runs.groupby(["experiment", "dataset", "source"]):
        if effects_of(str(experiment)):
            continue
        metric = "regret" if source == "simulated" else "normalised_reward"
        measured = runs.dropna(subset=[metric, "communication"])
        found = contenders(measured, metric)
        if len(found) > 1:
            label = context.label(str(dataset), str(source))
            made += _tables(str(experiment), str(dataset), label, metric, found)
    return made


def _tables(experiment: str, dataset: str, label: str, metric: str, found: list[Contender]) -> list[Table]:
    name = f"leaderboard_{experiment}_{dataset}"
    title = f"{experiment}, {dataset_label(dataset)}" + (f" – {label}" if label else "")
    notes: tuple[str, ...] = (label,) if label else ()
    low, high = found[0].low, found[0].high
    what = "regret (less is better)" if metric == "regret" else "normalised reward"
    near = "1/0.95 times the least regret" if metric == "regret" else "95 % of the best reward"
    caption = (
        f"Ranked by the mean height of the front: the best {what} that settings with at most x transfers reach, "
        f"averaged over log10(1 + C_T) from {low:.2f} to {high:.2f}, the range in which every algorithm has a setting "
        f"(1 + C_T, so that γ=∞ with C_T = 0 has its place). Best: the setting with the best mean over seeds. A "
        f"setting is a threshold, or without one the values of the algorithm's parameters. Last column: the least C_T "
        f"that reaches {near}, of the algorithm itself, geometric mean over seeds of 1 + C_T. "
        f"95 % Student t intervals over seeds."
    )
    for each in found:
        if each.left_out:
            seeds = ", ".join(map(str, each.left_out))
            notes += (f"{each.name}: left out for want of some of its settings: seed {seeds}.",)
    ranking = Table(name, f"Leaderboard: {title}", caption, _ranking(found, metric), notes, (experiment,))
    pairs = compare_pairs(found)
    if all(pair["seeds"] < 2 for pair in pairs):
        said = "Algorithms cannot be compared over seeds: they have fewer than two seeds in common."
        return [Table(name, ranking.title, caption, ranking.frame, (*notes, said), (experiment,))]
    caption = (
        f"Differences in mean height of the front ({what}) on the seeds that both have; above zero: the first is "
        "better. Mean, 95 % interval, and p of a paired t test, corrected after Holm for the number of pairs here."
    )
    compared = Table(f"{name}_pairs", f"Paired comparison: {title}", caption, pd.DataFrame(pairs), notes, (experiment,))
    return [ranking, compared]


def _ranking(found: list[Contender], metric: str) -> pd.DataFrame:
    sign = -1 if metric == "regret" else 1
    ordered = sorted(found, key=lambda each: -each.area[0])
    rows: list[dict[str, Any]] = []
    for rank, each in enumerate(ordered, start=1):
        row = {"rank": rank, "algorithm": each.name, "settings": each.settings, "seeds": len(each.areas)}
        columns = (("front", each.area, sign), ("best", each.best, sign), ("C_T for 95 %", each.enough, 1))
        for column, (mean, low, high), turn in columns:
            ends = (low, high) if turn > 0 else (turn * high, turn * low)
            row |= {column: turn * mean, f"{column}_low": ends[0], f"{column}_high": ends[1]}
        row["best setting"] = each.best_setting
        rows.append(row)
    order = [
        "rank",
        "algorithm",
        "settings",
        "seeds",
        "front",
        "front_low",
        "front_high",
        "best",
        "best_low",
        "best_high",
    ]
    last = ["best setting", *(f"C_T for 95 %{end}" for end in ("", "_low", "_high"))]
    return pd.DataFrame(rows)[[*order, *last]]
