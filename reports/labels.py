"""The words and colours that are the same in every table, figure and page."""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

STAND_IN = "STAND-IN DATA (generated): no result on it is a finding"
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
"""For further variants of an algorithm: Paul Tol's muted colours, which colour-blind readers tell apart too."""


@dataclass(frozen=True)
class AlgorithmStyle:
    """How an algorithm is drawn, everywhere: a colour, and its mark in matplotlib's and in Plotly's words."""

    colour: str
    marker: str
    symbol: str


def data_label(dataset: str, source: str, manifest: Mapping[str, Any] | None = None) -> str:
    """Say what has to be known of the data wherever a result on them is shown; empty if official and complete.

    `manifest` is that of the prepared data set that the runs were made from, or None if it is not at hand.
    """
    if source == "stand-in":
        return STAND_IN
    if source in ("simulated", "imported"):
        return ""
    if manifest is None:
        return (
            "" if source == "official" else "UNVERIFIED COPY (mirror): its data set is not at hand to say what differs"
        )
    observed, published = manifest["counts"]["observed"], manifest["counts"]["published"] or {}
    differing = [
        f"{observed[what]:,} of {count:,} {what}" for what, count in published.items() if observed[what] != count
    ]
    kind = "RECONSTRUCTED DATA" if source == "mirror" else "CHANGED DATA"
    return f"{kind} ({', '.join(differing)})" if differing else ""


def dataset_label(name: str) -> str:
    """Return a data set's name as people write it."""
    return DATASETS.get(name, name)


def algorithm_label(name: str) -> str:
    """Return an algorithm's name as the paper writes it; of a user's own class its name, and where it is from."""
    module, colon, own = name.partition(":")
    return ALGORITHMS.get(name) or (f"{own} ({module})" if colon else name)


def algorithm_style(name: str) -> AlgorithmStyle:
    """Return the colour and the mark of an algorithm."""
    from benchmark.chart_views import run_colour  # imports MLflow, which takes seconds: not before it is needed

    marker, symbol = MARKERS.get(name) or FURTHER_MARKERS[sum(name.encode()) % len(FURTHER_MARKERS)]
    return AlgorithmStyle(run_colour(name), marker, symbol)


def curve_styles(algorithms: Sequence[str]) -> list[AlgorithmStyle]:
    """Return how the curves of a picture are drawn, by the algorithm of each.

    The first curve of an algorithm has its colour; where colour and mark are taken already, as for its further
    variants, the colour is another one.
    """
    further = itertools.cycle(VARIANT_COLOURS)
    styles: list[AlgorithmStyle] = []
    for style in map(algorithm_style, algorithms):
        styles.append(replace(style, colour=next(further)) if style in styles else style)
    return styles


def threshold_text(threshold: float) -> str:
    """Write a threshold as people would: ∞, 6,001, 1.01, 1e20; empty if there is none."""
    if math.isnan(threshold):
        return ""
    if math.isinf(threshold):
        return "∞"
    if threshold >= 1e6:
        return f"{threshold:.4g}".replace("e+0", "e").replace("e+", "e")
    rounded = round(threshold) if threshold >= 1000 or math.isclose(threshold, round(threshold)) else threshold
    return f"{rounded:,}" if isinstance(rounded, int) else f"{rounded:.4g}"
