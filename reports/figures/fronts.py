"""Figures a, b, d, e, f and any experiment with thresholds: communication against regret, or normalised reward."""

from collections.abc import Collection

import pandas as pd

from reports.context import Context
from reports.experiment_files import experiment_title
from reports.figure import Figure, make_figure
from reports.front import Front, plan_front
from reports.front_picture import draw_front
from reports.front_plot import plot_front
from reports.labels import dataset_label
from reports.results import Results
from reports.seeds import over_seeds
from reports.variants import without_threshold

NOT_A_FRONT = frozenset({"user_groups"})
"""Its runs are those of figures d to f over again."""

ORDER = 10


def figures(results: Results, context: Context) -> list[Figure]:
    """Return a front for each experiment and data set."""
    rows = over_seeds(results.runs, ["communication", "regret", "normalised_reward"])
    made = []
    for (experiment, dataset), same in rows.groupby(["experiment", "dataset"]):
        if experiment in NOT_A_FRONT or same["global_dim"].notna().all():
            continue
        runs = results.runs[(results.runs["experiment"] == experiment) & (results.runs["dataset"] == dataset)]
        joined = without_threshold(runs)
        several = rows.loc[rows["experiment"] == experiment, "dataset"].nunique() > 1
        made.append(front_of(str(experiment), str(dataset), same, context, joined, several=several))
    return made


def front_of(
    experiment: str, dataset: str, rows: pd.DataFrame, context: Context, joined: Collection[str], *, several: bool
) -> Figure:
    """Return the front of one experiment on one data set; variants of algorithms in `joined` are one curve."""
    metric = "regret" if (rows["source"] == "simulated").all() else "normalised_reward"
    front = plan_front(rows, metric, joined=joined)
    labels = context.labels(rows)
    title = experiment_title(experiment) + (f", {dataset_label(dataset)}" if several else "")
    return make_figure(
        f"{experiment}_{dataset}" if several else experiment,
        title,
        front_caption(front, rows, _beside(rows)),
        lambda: draw_front(front, labels),
        plot_front(front),
        labels=labels,
        experiments=[experiment],
        data=rows,
    )


def _beside(rows: pd.DataFrame) -> str:
    said = "its threshold, as the legend names it"
    has_settings = bool((rows["threshold"].isna() & (rows["variant"] != "")).any())
    return f"{said}; without a threshold, the values of its parameters" if has_settings else said


def front_caption(front: Front, rows: pd.DataFrame, beside: str) -> str:
    """Say what is drawn, over how many seeds, and what found no room."""
    better = "lower is better" if front.metric == "regret" else "higher is better"
    what = "Cumulative regret" if front.metric == "regret" else "Reward, divided by that of a random choice,"
    where = "beside each mark, or when the pointer is over it"
    parts = [f"{what} against communication at the end of a run ({better}); {where}, {beside}."]
    if front.axis.zero is not None:
        parts.append("Runs without any communication stand in the strip marked 0.")
    parts.append(seeds_sentence(rows["seeds"]))
    if front.cut_intervals:
        parts.append("Intervals that leave the frame are cut.")
    if front.left_out:
        parts.append(f"No room for the labels of: {', '.join(front.left_out)}.")
    return " ".join(parts)


def seeds_sentence(seeds: "pd.Series[int]") -> str:
    """Say how many seeds the means are over."""
    least, most = int(seeds.min()), int(seeds.max())
    if most == 1:
        return "One seed: no intervals."
    number = f"{most} seeds" if least == most else f"{least} to {most} seeds"
    return f"Means over {number} with 95 % Student t intervals" + (" (none from one seed)." if least == 1 else ".")
