"""The curves of a setting over time, averaged over its seeds: a small table, and a picture that MLflow previews."""

import io
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmark.metrics import CURVE_SUFFIX, curve_names, curves_to_show, metric
from benchmark.statistics.intervals import t_quantile

TABLE, PICTURE = "curve.csv", "curve.png"
MIN_SEEDS_FOR_BAND = 3
SIZE, DOTS_PER_INCH = (8.0, 3.2), 80

Curve = NDArray[np.float64]
"""Two rows: steps, and the sums up to and including them."""

Curves = Mapping[str, Curve]
"""The curves of a run, by name."""

Bands = dict[str, tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]]
"""Steps, means, and the ends of the 95 % intervals, by metric."""


def as_curves(points: Mapping[str, Sequence[tuple[int, float]]]) -> Curves:
    """Return the recorded points of a run's curves as arrays."""
    return {name: np.array(sorted(curve), dtype=np.float64).reshape(-1, 2).T for name, curve in points.items()}


def mean_curves(runs: Sequence[Curves]) -> Bands:
    """Average the curves of runs at the steps that all of them have; a curve that a run lacks is left out."""
    bands: Bands = {}
    for name in [name for name in curve_names() if runs and all(name in run for run in runs)]:
        curves = [run[name] for run in runs]
        steps = curves[0][0]
        for curve in curves[1:]:
            steps = np.intersect1d(steps, curve[0])
        values = np.array([curve[1][np.isin(curve[0], steps)] for curve in curves])
        mean = values.mean(axis=0)
        half = np.full(len(steps), np.nan)
        if len(runs) >= MIN_SEEDS_FOR_BAND:
            half = t_quantile(len(runs) - 1) * values.std(axis=0, ddof=1) / len(runs) ** 0.5
        bands[name.removesuffix(CURVE_SUFFIX)] = (steps, mean, mean - half, mean + half)
    return bands


def curve_files(runs: Sequence[Curves], title: str, colour: str) -> dict[str, bytes]:
    """Return the table and the picture of a setting; nothing without curves."""
    bands = {name: band for name, band in mean_curves(runs).items() if len(band[0])}
    if not bands:
        return {}
    names = [name.removesuffix(CURVE_SUFFIX) for name in curves_to_show([name + CURVE_SUFFIX for name in bands])]
    drawn = {name: bands[name] for name in names}
    return {TABLE: table(bands).encode(), PICTURE: picture(drawn, title, colour)}


def table(bands: Bands) -> str:
    """Return CSV with one row per step: means, and the ends of their intervals (empty with fewer than three seeds)."""
    import pandas as pd

    columns = []
    for name, (steps, *series) in bands.items():
        named = zip((name, f"{name}_low", f"{name}_high"), series, strict=True)
        columns.append(pd.DataFrame(dict(named), index=pd.Index(steps.astype(np.int64), name="step")))
    text: str = pd.concat(columns, axis=1).to_csv(lineterminator="\n", float_format="%.10g")
    return text


def picture(bands: Bands, title: str, colour: str) -> bytes:
    """Draw each curve with its band."""
    figure = _figure(tuple(bands))
    figure.texts[0].set_text(title)
    for axes, (steps, mean, low, high) in zip(figure.axes, bands.values(), strict=True):
        for artist in (*axes.lines, *axes.collections):
            artist.remove()
        axes.plot(steps, mean, color=colour)
        if np.isfinite(low).all():
            axes.fill_between(steps, low, high, color=colour, alpha=0.25, linewidth=0)
        axes.relim()
        axes.autoscale()
    buffer = io.BytesIO()
    figure.canvas.print_png(buffer)
    return buffer.getvalue()


@lru_cache(maxsize=4)
def _figure(names: tuple[str, ...]) -> Any:
    """Return a figure with empty axes for these metrics; it is drawn into again and again, which saves time."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=SIZE, dpi=DOTS_PER_INCH)
    FigureCanvasAgg(figure)
    figure.subplots_adjust(left=0.1, right=0.98, bottom=0.16, top=0.86, wspace=0.3)
    figure.text(0.5, 0.92, "", ha="center", fontsize=10)
    for axes, name in zip(figure.subplots(1, len(names), squeeze=False)[0], names, strict=True):
        axes.set_xlabel("step")
        axes.set_ylabel(metric(name).plain_axis_label())
        axes.grid(alpha=0.3)
    return figure
