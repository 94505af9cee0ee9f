"""Figures a, b, d, e, f and any experiment with thresholds: communication against regret, or normalised reward."""

import math
from collections.abc import Collection

import pandas as pd

from benchmark.metrics import objective
from benchmark.results.frames import over_seeds
from benchmark.statistics.intervals import MIN_SEEDS_FOR_INTERVAL, number_of_seeds
from reports.drawing.figure import Figure, make_figure
from reports.drawing.front import Front, Stated, plan_front
from reports.drawing.front_picture import draw_front
from reports.drawing.front_plot import budget_points, phone_notes, plot_front
from reports.drawing.labels import dataset_label, front_text
from reports.drawing.reference_lines import are_lines
from reports.paper import paper, stream_of
from reports.read.context import Context
from reports.read.experiment_files import effects_of, stream_in_name
from reports.read.results import Results
from reports.read.variants import without_threshold
from reports.subjects import FRONTS, STUDIES, Subject

NOT_A_FRONT = frozenset({"user_groups"})
"""Its runs are the same as those of figures d to f."""

ORDER = 10


def figures(results: Results, context: Context) -> list[Figure]:
    """Return a front for each experiment and data set."""
    names = {objective([source]).name for source in results.runs["source"].unique()}
    rows = over_seeds(results.runs, ["communication", *sorted(names)])
    all_figures = []
    for (experiment, stream), part in rows.groupby(["experiment", "stream"]):
        by_threshold = paper()["by_threshold"]["experiments"]
        if experiment in (*has_own_table_only(), *by_threshold) or part["global_dim"].notna().all():
            continue
        runs = results.runs[(results.runs["experiment"] == experiment) & (results.runs["stream"] == stream)]
        streams = rows.loc[rows["experiment"] == experiment, "stream"]
        references = references_on(results.runs, runs, part)
        clients = float(runs["clients"].mean())
        title = title_of(results.about(str(experiment)).title, str(stream), streams)
        figure = front_of(
            str(experiment), str(stream), title, part, context, without_threshold(runs), streams, clients, references
        )
        all_figures.append(figure)
    return all_figures


def has_own_table_only() -> frozenset[str]:
    """Return the experiments without fronts and curves over time: their tables and pictures show all of them."""
    return NOT_A_FRONT | {*paper()["ablations"]["experiments"]}


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
    return STUDIES if effects_of(experiment) else FRONTS


def front_of(
    experiment: str,
    stream: str,
    title: str,
    rows: pd.DataFrame,
    context: Context,
    joined: Collection[str],
    streams: "pd.Series[str]",
    clients: float,
    references: pd.DataFrame,
) -> Figure:
    """Return the front on one of an experiment's streams; all variants of an algorithm in `joined` are one curve."""
    metric = objective(rows["source"])
    stated = stated_points(experiment, stream, metric.name)
    clients = clients if clients > 0 else math.nan
    front = plan_front(rows, metric, joined=joined, references=references, stated=stated, clients=clients)
    labels = context.labels(rows)
    is_named = stream_in_name(experiment, stream, streams)
    budget = {} if math.isnan(clients) else {"budget": budget_points(front)}
    return make_figure(
        f"{experiment}_{stream}" if is_named else experiment,
        title,
        front_caption(front, rows, _label_meaning(rows)),
        lambda: draw_front(front, labels),
        plot_front(front),
        short_caption=short_caption(front, rows),
        on_page={"phone": phone_notes(front), "stream": stream, **budget},
        labels=labels,
        experiments=[experiment],
        subject=subject_of(experiment),
        data=rows,
    )


def title_of(title: str, stream: str, streams: "pd.Series[str]") -> str:
    """Return the title of the figure of an experiment of this title on one stream, without naming the data twice."""
    label = dataset_label(stream)
    if streams.nunique() == 1 and not title.endswith(label.partition(",")[0]):
        return title
    first, colon, subject = title.rpartition(": ")
    return f"{first}{colon}{label}" if label.startswith(subject) else f"{title}, {label}"


def stated_points(experiment: str, stream: str, metric: str) -> list[Stated]:
    """Return the points that the paper states for a figure, on its own preparation of the data."""
    values: dict[tuple[str, float], dict[str, float]] = {}
    for number in paper()["numbers"]:
        if number["experiment"] == experiment and stream_of(number["dataset"]) == stream:
            setting = (str(number["algorithm"]), float(number["threshold"]))
            values.setdefault(setting, {})[number["metric"]] = float(number["value"])
    return [
        Stated(each["communication"], each[metric], f"paper, {front_text(*setting)}")
        for setting, each in values.items()
        if {"communication", metric} <= {*each}
    ]


def _label_meaning(rows: pd.DataFrame) -> str:
    meaning = "the threshold (see the legend)"
    has_settings = bool((rows["threshold"].isna() & (rows["variant"] != "")).any())
    return f"{meaning} or, without a threshold, the values of the parameters" if has_settings else meaning


def front_caption(front: Front, rows: pd.DataFrame, label_meaning: str) -> str:
    """Return the caption: metric, meaning of the labels, seeds, and labels that do not fit."""
    description = front.metric.description
    text = f"{description[:1].upper()}{description[1:]} against communication at the end of a run"
    parts = [f"{text}; {front.metric.direction}." if front.metric.direction else f"{text}."]
    parts.append(
        f"Labels are {label_meaning}, for at most six marks of a curve; hover over a mark of the interactive plot."
    )
    parts.append("The stairs are the best value within each budget of communication.")
    if front.stated:
        parts.append("Hollow diamonds are numbers that the paper states.")
    if front.axis.zero is not None:
        parts.append("Runs without communication are plotted in the separate strip at 0.")
    parts.append(seeds_sentence(rows["seeds"]))
    if front.references:
        parts.append("Dashed lines: references, which read item ids or all rewards; they are not ranked.")
    parts += _exceptions(front)
    if front.left_out:
        parts.append(f"Labels omitted for lack of space: {', '.join(front.left_out)}.")
    return " ".join(parts)


def short_caption(front: Front, rows: pd.DataFrame) -> str:
    """Return the caption on the page, where the section explains the marks of all fronts once."""
    direction = front.metric.direction
    value = f"{front.metric.label[:1].upper()}{front.metric.label[1:]}" + (f": {direction}. " if direction else ". ")
    return " ".join([value + seeds_sentence(rows["seeds"]), *_exceptions(front)])


def _exceptions(front: Front) -> list[str]:
    parts = [f"Outside the plot: {', '.join(front.outside)}."] if front.outside else []
    return [*parts, "Intervals that extend beyond the plot are clipped."] if front.cut_intervals else parts


def seeds_sentence(seeds: "pd.Series[int]") -> str:
    """Return a sentence on the number of seeds and the intervals."""
    least, most = int(seeds.min()), int(seeds.max())
    if most == 1:
        return "A single seed, so no intervals."
    number = number_of_seeds(seeds)
    if most < MIN_SEEDS_FOR_INTERVAL:
        return f"Means over {number}; with fewer than {MIN_SEEDS_FOR_INTERVAL} there are no intervals."
    few = f" (omitted below {MIN_SEEDS_FOR_INTERVAL} seeds)." if least < MIN_SEEDS_FOR_INTERVAL else "."
    return f"Means over {number} with 95 % Student t intervals{few}"
