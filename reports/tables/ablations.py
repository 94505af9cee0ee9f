"""Why an answer depends on how data are prepared: no communication against frequent communication, by stream."""

from collections.abc import Iterator
from typing import Any

import pandas as pd

from benchmark.statistics.paired import mean_interval
from reports.labels import algorithm_label, dataset_label, front_text
from reports.paper import paper
from reports.read.context import Context
from reports.read.results import Results
from reports.subjects import STUDIES
from reports.write.table import Table

ORDER = 16


def tables(results: Results, context: Context) -> list[Table]:
    """Return a table for each experiment that paper.toml declares as an ablation."""
    return [
        _table(experiment, results, context)
        for experiment in paper()["ablations"]["experiments"]
        if experiment in results.experiments()
    ]


def _table(experiment: str, results: Results, context: Context) -> Table:
    runs = results.runs[results.runs["experiment"] == experiment]
    caption = (
        "Normalised reward without communication and with the most frequent communication of each method, on data that "
        "differ in one property, and their difference, paired by seed: means with 95 % intervals."
    )
    order = {stream: number for number, stream in enumerate(runs["stream"].unique())}
    frame = pd.DataFrame(_rows(runs.sort_values("stream", key=lambda names: names.map(order), kind="stable")))
    title, labels = results.about(experiment).title, context.labels(runs)
    return Table(experiment, title, caption, frame, labels, (experiment,), subject=STUDIES)


def _rows(runs: pd.DataFrame) -> Iterator[dict[str, Any]]:
    for (stream, algorithm), part in runs.groupby(["stream", "algorithm"], sort=False):
        least, most = (part["threshold"].agg(end) for end in ("min", "max"))
        often, alone = (
            part[part["threshold"] == value].set_index("seed")["normalised_reward"] for value in (least, most)
        )
        difference = (alone - often).dropna()
        name = str(algorithm)
        row: dict[str, Any] = {"data": dataset_label(str(stream)), "algorithm": algorithm_label(name)}
        for column, values in ((front_text(name, least), often), (front_text(name, most), alone)):
            row |= _interval(column, values)
        yield row | _interval("difference", difference) | {"seeds": len(difference)}


def _interval(name: str, values: "pd.Series[float]") -> dict[str, float]:
    return dict(zip((name, f"{name}_low", f"{name}_high"), mean_interval(values), strict=True))
