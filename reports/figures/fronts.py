"""Figures a, b, d, e, f and any experiment with thresholds: communication against regret, or normalised reward."""

from collections.abc import Collection

import pandas as pd

from benchmark.metrics import objective
from reports.analysis.seeds import over_seeds
from reports.drawing.figure import Figure, make_figure
from reports.drawing.front import Front, plan_front
from reports.drawing.front_picture import draw_front
from reports.drawing.front_plot import plot_front
from reports.drawing.labels import dataset_label
from reports.drawing.reference_lines import are_lines
from reports.read.context import Context
from reports.read.experiment_files import effects_of, experiment_title
from reports.read.results import Results
from reports.read.variants import without_threshold
from reports.subjects import FIGURES, STUDIES, Subject

NOT_A_FRONT = frozenset({"user_groups"})
"""Its runs are the same as those of figures d to f."""

ORDER = 10


def figures(results: Results, context: Context) -> list[Figure]:
    """Return a front for each experiment and data set."""
    names = {objective([source]).name for source in results.runs["source"].unique()}
    rows = over_seeds(results.runs, ["communication", *sorted(names)])
    all_figures = []
    for (experiment, dataset), part in rows.groupby(["experiment", "dataset"]):
        if experiment in NOT_A_FRONT or part["global_dim"].notna().all():
            continue
        runs = results.runs[(results.runs["experiment"] == experiment) & (results.runs["dataset"] == dataset)]
        joined = without_threshold(runs)
        several = rows.loc[rows["experiment"] == experiment, "dataset"].nunique() > 1
        references = references_on(results.runs, runs, part)
        figure = front_of(str(experiment), str(dataset), part, context, joined, references, several=several)
        all_figures.append(figure)
    return all_figures


def references_on(all_runs: pd.DataFrame, runs: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """Return the references that other experiments ran on the same streams, as rows of `over_seeds`.

    The streams of a figure with several kinds of streams differ, so it has none.
    """
    streams = {*runs["fingerprint"]}
    if len(streams) > runs["seed"].nunique():
        return rows[:0]
    others = all_runs[all_runs["fingerprint"].isin(streams) & (all_runs["experiment"] != runs["experiment"].iloc[0])]
    others = others[are_lines(others)].drop_duplicates(["algorithm", "configuration", "seed"])
    families = rows.loc[are_lines(rows), "family"]
    further = others[~others["family"].isin(families)].assign(experiment=runs["experiment"].iloc[0])
    return over_seeds(further, [name for name in map(str, rows) if f"{name}_low" in rows])


def subject_of(experiment: str) -> Subject:
    """Return the section of an experiment's figures."""
    return STUDIES if effects_of(experiment) else FIGURES


def front_of(
    experiment: str,
    dataset: str,
    rows: pd.DataFrame,
    context: Context,
    joined: Collection[str],
    references: pd.DataFrame,
    *,
    several: bool,
) -> Figure:
    """Return the front of one experiment on one data set; all variants of an algorithm in `joined` are one curve."""
    front = plan_front(rows, objective(rows["source"]), joined=joined, references=references)
    labels = context.labels(rows)
    title = experiment_title(experiment) + (f", {dataset_label(dataset)}" if several else "")
    return make_figure(
        f"{experiment}_{dataset}" if several else experiment,
        title,
        front_caption(front, rows, _label_meaning(rows)),
        lambda: draw_front(front, labels),
        plot_front(front),
        labels=labels,
        experiments=[experiment],
        subject=subject_of(experiment),
        data=rows,
    )


def _label_meaning(rows: pd.DataFrame) -> str:
    meaning = "the threshold (see the legend)"
    has_settings = bool((rows["threshold"].isna() & (rows["variant"] != "")).any())
    return f"{meaning} or, without a threshold, the values of the parameters" if has_settings else meaning


def front_caption(front: Front, rows: pd.DataFrame, label_meaning: str) -> str:
    """Return the caption: metric, meaning of the labels, seeds, and labels that do not fit."""
    description = front.metric.description
    text = f"{description[:1].upper()}{description[1:]} against communication at the end of a run"
    parts = [f"{text}; {front.metric.direction}." if front.metric.direction else f"{text}."]
    parts.append(f"Each mark is labelled with {label_meaning}; in the interactive plot, hover over it.")
    if front.axis.zero is not None:
        parts.append("Runs without communication are plotted in the separate strip at 0.")
    parts.append(seeds_sentence(rows["seeds"]))
    if front.references:
        parts.append("Dashed lines: references, which read item ids or all rewards; they are not ranked.")
    if front.outside:
        parts.append(f"Outside the plot: {', '.join(front.outside)}.")
    if front.cut_intervals:
        parts.append("Intervals that extend beyond the plot are clipped.")
    if front.left_out:
        parts.append(f"Labels omitted for lack of space: {', '.join(front.left_out)}.")
    return " ".join(parts)


def seeds_sentence(seeds: "pd.Series[int]") -> str:
    """Return a sentence on the number of seeds and the intervals."""
    least, most = int(seeds.min()), int(seeds.max())
    if most == 1:
        return "A single seed, so no intervals."
    number = f"{most} seeds" if least == most else f"{least} to {most} seeds"
    return f"Means over {number} with 95 % Student t intervals" + (
        " (omitted where there is only one seed)." if least == 1 else "."
    )
