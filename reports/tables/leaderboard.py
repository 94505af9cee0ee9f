"""A leaderboard of all algorithms, your own included: the highest reward for the least communication."""

from typing import Any

import pandas as pd

from benchmark.metrics import Metric, objective
from reports.analysis.leaderboard import Contender, compare_pairs, contenders
from reports.drawing.labels import dataset_label, seeds_text
from reports.paper import paper
from reports.read.context import Context
from reports.read.experiment_files import effects_of
from reports.read.methods import method
from reports.read.results import Results
from reports.subjects import LEADERBOARD
from reports.write.table import Table

ORDER = 20


def tables(results: Results, context: Context) -> list[Table]:
    """Return, for each stream of an experiment with several algorithms, a ranking and the comparison of pairs.

    Baselines and references are not ranked. Studies have none: their variants do not compete, and have their own table.
    """
    all_tables = []
    for (experiment, stream, source), runs in results.runs.groupby(["experiment", "stream", "source"]):
        if effects_of(str(experiment)) or experiment in paper()["ablations"]["experiments"]:
            continue
        metric = objective([str(source)])
        runs = runs[[method(str(name)).role == "contender" for name in runs["algorithm"]]]
        competitors = contenders(runs.dropna(subset=[metric.name, "communication"]), metric)
        if len(competitors) > 1:
            label = context.label(str(runs["dataset"].iloc[0]), str(source))
            all_tables += _tables(str(experiment), str(stream), label, metric, competitors)
    return all_tables


def _tables(experiment: str, dataset: str, label: str, metric: Metric, competitors: list[Contender]) -> list[Table]:
    name = f"leaderboard_{experiment}_{dataset}"
    title = f"{experiment}, {dataset_label(dataset)}" + (f" – {label}" if label else "")
    notes: tuple[str, ...] = (label,) if label else ()
    low, high = competitors[0].low, competitors[0].high
    goal = f"{metric.label} ({metric.direction})" if metric.better == "lower" else metric.label
    factor = "1/0.95 times" if metric.better == "lower" else "95 % of"
    level = f"{factor} its own best {metric.label}"
    caption = (
        f"Ranked by the average height of the front. For each communication budget, the front is the best {goal} "
        f"of any setting within that budget. It is averaged over log10(1 + C_T) from {low:.2f} to {high:.2f}, the "
        f"budgets within which every algorithm has a setting (1 + C_T, because γ=∞ has C_T = 0). Best: the setting "
        f"with the best mean over seeds. A setting is a threshold or, for an algorithm without one, the values of its "
        f"parameters. Last column: the smallest C_T with which an algorithm reaches {level}, geometric mean over seeds "
        f"of 1 + C_T. 95 % Student t intervals over seeds."
    )
    for contender in competitors:
        if contender.left_out:
            seeds = seeds_text(contender.left_out)
            notes += (f"{contender.name}: seed {seeds} excluded because runs are missing for some settings.",)
    pairs = compare_pairs(competitors)
    is_comparable = any(pair["seeds"] > 1 for pair in pairs)
    too_few = () if is_comparable else ("No paired comparison: the algorithms share fewer than two seeds.",)
    frame = _ranking(competitors, metric)
    ranking = Table(
        name, f"Leaderboard: {title}", caption, frame, (*notes, *too_few), (experiment,), subject=LEADERBOARD
    )
    if not is_comparable:
        return [ranking]
    caption = (
        f"Differences in average height of the front ({goal}) on common seeds; positive values favour the first "
        "algorithm. Mean, 95 % interval, and p of a paired t test with Holm's correction for the number of pairs."
    )
    frame = pd.DataFrame(pairs)
    comparison = Table(
        f"{name}_pairs", f"Paired comparison: {title}", caption, frame, notes, (experiment,), subject=LEADERBOARD
    )
    return [ranking, comparison]


def _ranking(competitors: list[Contender], metric: Metric) -> pd.DataFrame:
    rows: list[dict[str, Any]] = []
    for rank, contender in enumerate(sorted(competitors, key=lambda contender: -contender.area[0]), start=1):
        row = {"rank": rank, "algorithm": contender.name}
        row |= {"settings": contender.settings, "seeds": len(contender.areas)}
        columns = (
            ("front", contender.area, metric.sign),
            ("best", contender.best, metric.sign),
            ("C_T for 95 %", contender.communication_for_95, 1),
        )
        for column, (mean, low, high), factor in columns:
            ends = (low, high) if factor > 0 else (factor * high, factor * low)
            row |= {column: factor * mean, f"{column}_low": ends[0], f"{column}_high": ends[1]}
        row["best setting"] = contender.best_setting
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
