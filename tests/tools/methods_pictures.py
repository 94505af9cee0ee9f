"""The pictures of docs/methods.md, from runs on simulated tasks of the board, which need no data: `make docs`.

`front_NAME.png` shows a method among the others; the page shows `method_NAME_*.png` in the section of the method NAME.
"""

import io
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache
from multiprocessing import get_context
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
from tqdm import tqdm

from algorithms import FCLUB, AsyncLinUCB, PrivateFedLinUCB, RandomChoice
from algorithms.hyperparameters import number_text
from algorithms.method import MethodInfo
from algorithms.registry import built_in_methods
from benchmark.board.task import load_task
from benchmark.charts.chart import (
    CONTRASTS,
    FAINT,
    Axis,
    Chart,
    Label,
    Level,
    Panel,
    Series,
    at_zero,
    communication_axis,
    log_span,
    numbers,
    span,
)
from benchmark.charts.with_matplotlib import picture_files
from benchmark.execution.replay import replay
from benchmark.statistics.budgets import regret_score
from benchmark.styles import style
from data_pipelines import EventStream
from data_pipelines.support.files import write_whole
from tests.tools.small_pictures import small

SEEDS = (300, 301, 302)
SPREAD, UNIFORM, CLUSTERS = "simulated-spread", "simulated-uniform", "simulated-clusters"
PERIODS = (3_000, 10_000)
EPSILONS = (0.5, 1, 2, 4, 8, 16, 64, math.inf)
NO_NOISE = 256
"""Where the logarithmic axis has ε = ∞."""

ALONE = AsyncLinUCB(gamma=math.inf)
"""Every client learns alone."""

DISTANCES = (0.2, 0.5, 1, 2)
SCORE = "score: 1 − regret / regret of random choice"
BEHIND = "#cdd2d8"
"""The colour of the other methods, lighter than any style."""


class Point(NamedTuple):
    """The result of a run, or the mean of several."""

    needed: float
    score: float


Points = Mapping[Any, Point]
"""Means over the seeds, by method."""


def write_pictures(folder: Path) -> list[str]:
    """Run the methods, write the pictures into a folder, and return their names."""
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as pool:
        clusters = pool.map(clusters_by_step, DISTANCES)
        charts = [
            *front_charts(mean_points(pool, SPREAD, [each for info in contenders() for each in front_of(info)])),
            epsilon_chart(mean_points(pool, UNIFORM, [ALONE, *private_methods().values()])),
            clusters_chart([*clusters]),
        ]
    for chart in charts:
        write_whole(folder / f"{chart.name}.png", small(io.BytesIO(picture_files(chart)[".png"])))
    return [chart.name for chart in charts]


def contenders() -> list[MethodInfo]:
    """Return the methods of the page."""
    return [info for info in built_in_methods().values() if info.role == "contender"]


def front_of(info: MethodInfo) -> list[Any]:
    """Return a method at each value of its front, with the defaults of its other parameters."""
    return [info.method(**{info.parameter: value}) for value in info.front.grid] if info.front else []


def private_methods() -> dict[tuple[int, float], PrivateFedLinUCB]:
    """Return the private method by period and ε."""
    return {
        (period, epsilon): PrivateFedLinUCB(period=period, epsilon=epsilon)
        for period in PERIODS
        for epsilon in EPSILONS
    }


def mean_points(pool: ProcessPoolExecutor, task: str, methods: Sequence[Any]) -> Points:
    """Run methods on a task with all seeds, show the time left, and return the means."""
    jobs = [(task, seed, method) for seed in SEEDS for method in methods]
    runs = [*tqdm(pool.map(run, *zip(*jobs, strict=True)), task, len(jobs))]
    by_method = {method: runs[start :: len(methods)] for start, method in enumerate(methods)}
    return {method: Point(*map(fmean, zip(*points, strict=True))) for method, points in by_method.items()}


def run(task: str, seed: int, method: Any) -> Point:
    """Run a method once."""
    stream, random_regret = stream_of(task, seed)
    trace = replay(method, stream, seed)
    return Point(trace.needed, regret_score(trace.regret.sum(), random_regret))


@lru_cache(maxsize=2)
def stream_of(task: str, seed: int) -> tuple[EventStream, float]:
    """Return a stream, and the regret of random choice on it."""
    stream = load_task(task).stream.build(seed)
    return stream, float(replay(RandomChoice(), stream, seed).regret.sum())


def clusters_by_step(distance: float) -> list[int]:
    """Return the number of clusters at each step with this distance."""
    stream, _ = stream_of(CLUSTERS, SEEDS[0])
    clusters = FCLUB(gamma=10, distance=distance).start(stream, SEEDS[0])
    clusters.advance()
    return clusters.clusters_by_step.tolist()  # type: ignore[attr-defined]


def front_charts(points: Points) -> Iterator[Chart]:
    """Return a chart for each method: score against needed transfers, with the other methods behind it."""
    x = communication_axis([point.needed for point in points.values()], "needed transfers")
    y = Axis(SCORE, span([point.score for point in points.values()]))
    for info in contenders():
        behind = [front_series(other, points, x, BEHIND) for other in contenders() if other != info]
        look = style(info.style)
        front = front_series(info, points, x, look.colour, info.label, look.marker)
        labels = [
            Label(front.x[place], front.y[place], f"{info.symbol} = {end_text(value)}", look.colour, info.label)
            for place, value in zip((0, -1), info.ends, strict=True)
        ]
        panel = Panel(x, y, (*behind, front), tuple(labels))
        yield Chart(f"front_{info.name}", f"{info.label} among the other methods", "", (panel,))


def end_text(value: float) -> str:
    """Return a value of a front as figures write it."""
    return number_text(value).replace("inf", "∞")


def front_series(
    info: MethodInfo, points: Points, x: Axis, colour: str, label: str = "the other methods", marker: str = ""
) -> Series:
    """Return the front of a method: thin without a marker."""
    front = [points[method] for method in front_of(info)]
    needed, scores = at_zero(x, [point.needed for point in front]), numbers([point.score for point in front])
    return Series(needed, scores, colour, label, marker, "-", width=1.8 if marker else 0.9, size=7.0)


def epsilon_chart(points: Points) -> Chart:
    """Return the score of the private method against ε for each period, and that of learning alone."""
    positions = [min(epsilon, NO_NOISE) for epsilon in EPSILONS]
    ticks = [(place, end_text(epsilon)) for place, epsilon in zip(positions, EPSILONS, strict=True)]
    methods = private_methods()
    curves = [
        Series(
            numbers(positions),
            numbers([points[methods[period, epsilon]].score for epsilon in EPSILONS]),
            colour,
            f"exchange every {period:,} steps",
            marker,
            "-",
            width=1.8,
        )
        for period, colour, marker in zip(PERIODS, CONTRASTS[1:], "os", strict=False)
    ]
    alone = Level(points[ALONE].score, FAINT, "every client alone")
    scores = [score for curve in curves for score in curve.y]
    x = Axis("ε (less privacy to the right; ∞: no noise)", log_span(positions), True, tuple(ticks))
    panel = Panel(x, Axis(SCORE, span([*scores, alone.value])), (*curves, alone))
    return Chart("method_private-fed-linucb_epsilon", "Private-FedLinUCB: the price of privacy", "", (panel,))


def clusters_chart(clusters: Sequence[Sequence[int]]) -> Chart:
    """Return the number of clusters over the steps for each distance, and the true one; wide ones are behind others."""
    curves = []
    for distance, counts, colour, width in zip(DISTANCES, clusters, CONTRASTS[1:], (6, 4.4, 2.8, 1.2), strict=False):
        steps = np.flatnonzero(np.diff(counts, prepend=0, append=0))  # where the number changes, and the end
        heights = [counts[min(step, len(counts) - 1)] for step in steps]
        curves.append(
            Series(numbers(steps + 1), numbers(heights), colour, f"distance {distance:g}", "", "steps", width=width)
        )
    true_number = Level(load_task(CLUSTERS).stream.clusters, FAINT, "true number of clusters")
    x = Axis("step", (1, 1.1 * len(clusters[0])), True)
    y = Axis("number of clusters", log_span([1, *(count for counts in clusters for count in counts)]), True)
    panel = Panel(x, y, (*curves, true_number))
    return Chart("method_fclub_clusters", "FCLUB: number of clusters over time", "", (panel,))
