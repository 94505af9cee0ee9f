"""Names, texts and colours shared by all tables, figures and the page."""

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

ALGORITHMS = {
    "async-linucb": "Async-LinUCB",
    "async-linucb-am": "Async-LinUCB-AM",
    "sync-linucb": "Sync-LinUCB",
    "random": "Random choice",
}
DATASETS = {"lastfm": "LastFM", "delicious": "Delicious", "movielens": "MovieLens"}
MARKERS = {
    "async-linucb": ("*", "star"),
    "async-linucb-am": ("s", "square"),
    "sync-linucb": ("^", "triangle-up"),
    "random": ("x", "x"),
}
FURTHER_MARKERS = (("o", "circle"), ("D", "diamond"), ("v", "triangle-down"), ("P", "cross"))
VARIANT_COLOURS = ("#882255", "#999933", "#aa4499", "#117733", "#cc6677", "#ddcc77", "#332288", "#44aa99")
"""For further variants of an algorithm: Paul Tol's muted colours, which colour-blind readers can distinguish."""


@dataclass(frozen=True)
class AlgorithmStyle:
    """The look of an algorithm in all figures: its colour, and the names of its mark in matplotlib and Plotly."""

    colour: str
    marker: str
    symbol: str


def dataset_label(name: str) -> str:
    """Return the usual spelling of a data set's name."""
    return DATASETS.get(name, name)


def algorithm_label(name: str) -> str:
    """Return an algorithm's name as the paper spells it; for a user's own class, its name and module."""
    module, colon, class_name = name.partition(":")
    return ALGORITHMS.get(name) or (f"{class_name} ({module})" if colon else name)


def algorithm_style(name: str) -> AlgorithmStyle:
    """Return the colour and the mark of an algorithm."""
    from benchmark.ui.chart import run_colour  # imports MLflow, which takes seconds: only when needed

    marker, symbol = MARKERS.get(name) or FURTHER_MARKERS[sum(name.encode()) % len(FURTHER_MARKERS)]
    return AlgorithmStyle(run_colour(name), marker, symbol)


def curve_styles(algorithms: Sequence[str]) -> list[AlgorithmStyle]:
    """Return the styles of the curves of a picture, given the algorithm of each.

    The first curve of an algorithm has its colour; if colour and mark are already in use, as for its further variants,
    the colour is another one.
    """
    further = itertools.cycle(VARIANT_COLOURS)
    styles: list[AlgorithmStyle] = []
    for style in map(algorithm_style, algorithms):
        styles.append(replace(style, colour=next(further)) if style in styles else style)
    return styles


def threshold_text(threshold: float) -> str:
    """Return a threshold as readable text: ∞, 6,001, 1.01, 1e20; empty if there is none."""
    if math.isnan(threshold):
        return ""
    if math.isinf(threshold):
        return "∞"
    if threshold >= 1e6:
        return f"{threshold:.4g}".replace("e+0", "e").replace("e+", "e")
    rounded = round(threshold) if threshold >= 1000 or math.isclose(threshold, round(threshold)) else threshold
    return f"{rounded:,}" if isinstance(rounded, int) else f"{rounded:.4g}"


def seeds_text(seeds: Iterable[int]) -> str:
    """Return a short list of seeds, three or more in a row as a range: 0–3, 7, 8."""
    parts: list[str] = []
    run: list[int] = []
    for seed in [*sorted(set(seeds)), None]:
        if run and seed != run[-1] + 1:
            parts += [f"{run[0]}–{run[-1]}"] if len(run) > 2 else map(str, run)
            run = []
        if seed is not None:
            run.append(seed)
    return ", ".join(parts)
