"""The paper's claims and numbers, read from paper.toml; and the settings of its methods with a tuned α.

The value of α is chosen on the seeds for choosing, and reported on all other seeds.
"""

import math
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from benchmark.plan.experiment import load_experiment
from benchmark.protocol import load_protocol
from benchmark.statistics.selection import Choice, Pass, edges, results_by_seed, select

FILE = Path(__file__).with_name("paper.toml")
PAPER = "paper"
"""The name of the first variant: the data as the authors prepared them."""

EDGE = "†"
"""The mark of a choice at the edge of the grid."""


@cache
def paper() -> dict[str, Any]:
    """Return variants, sizes, numbers, groups (Table 2) and directions."""
    return tomllib.loads(FILE.read_text(encoding="utf-8"))


def variant_labels() -> dict[str, str]:
    """Return the labels of the variants on which claims are judged, by name."""
    return {variant["name"]: variant["label"] for variant in paper()["variants"]}


def stream_of(dataset: str, variant: str = PAPER) -> str | None:
    """Return the stream of one of the paper's data sets in a variant; None if it has none."""
    streams = next(each["streams"] for each in paper()["variants"] if each["name"] == variant)
    stream = streams.get(dataset)
    return None if stream is None else str(stream)


def tuned_experiment() -> str:
    """Return the name of the experiment in which α is tuned."""
    return str(paper()["tuned"]["experiment"])


@cache
def grid_of(method: str) -> tuple[float, ...]:
    """Return the values among which α is chosen for a method."""
    entries = load_experiment(tuned_experiment()).algorithms
    return next(tuple(map(float, entry.parameters["alpha"])) for entry in entries if entry.name == method)


@cache
def choosing_seeds() -> tuple[int, ...]:
    """Return the seeds on which α is chosen."""
    profiles, purpose = load_experiment(tuned_experiment()).profiles.values(), load_protocol().seeds.purpose
    return tuple(seed for profile in profiles for seed in profile.seed_list() if purpose(seed) == "choose")


@dataclass(frozen=True)
class TunedSetting:
    """A method at a threshold of its front on a stream, with the chosen α.

    Attributes:
        alpha: the chosen value; NaN if runs are missing.
        is_at_edge: whether it is the lowest or highest value of the grid, so that a better one might lie beyond.
        score: its mean normalised reward on the seeds for choosing.
        runs: its runs on report seeds.
        missing: the missing runs in words; empty if there are none.
    """

    stream: str
    algorithm: str
    threshold: float
    alpha: float = math.nan
    is_at_edge: bool = False
    score: float = math.nan
    runs: pd.DataFrame | None = None
    missing: str = ""

    @property
    def alpha_text(self) -> str:
        """The chosen value, with a mark at the edge of the grid."""
        return f"{self.alpha:g}{EDGE if self.is_at_edge else ''}"


def tuned_settings(runs: pd.DataFrame) -> list[TunedSetting]:
    """Choose α for each method, threshold and stream of the runs of the experiment in which it is tuned."""
    groups = runs.assign(variant="").groupby(["stream", "algorithm", "threshold"], sort=False)
    return [_tuned(part) for _, part in groups]


def _tuned(runs: pd.DataFrame) -> TunedSetting:
    stream, method = (str(runs[column].iloc[0]) for column in ("stream", "algorithm"))
    threshold, grid = float(runs["threshold"].iloc[0]), grid_of(method)
    choosing, reporting = load_protocol().seeds.split(runs)
    choice, missing = choose_alpha(choosing, grid, choosing_seeds())
    if choice is None:
        return TunedSetting(stream, method, threshold, missing=missing)
    alpha = float(choice.configuration)
    chosen = reporting[[value == alpha for value in _alphas(reporting)]]
    missing = "" if len(chosen) else f"no run with the chosen α={alpha:g} on a report seed"
    is_at_edge = bool(edges(choice, {str(value): {"alpha": value} for value in grid}, {"alpha": grid}))
    return TunedSetting(stream, method, threshold, alpha, is_at_edge, choice.score, chosen, missing)


def choose_alpha(runs: pd.DataFrame, grid: Sequence[float], seeds: Sequence[int]) -> tuple[Choice | None, str]:
    """Return the α with the best mean normalised reward of one setting; or None, and which runs are missing.

    Raises ValueError for runs on any seed that is not for choosing.
    """
    table = runs[["seed"]].assign(configuration=[*map(str, _alphas(runs))])
    table = table.assign(score=runs["normalised_reward"], communication=runs["communication"])
    results = results_by_seed(table.drop_duplicates(["configuration", "seed"], keep="last"))
    selection = select([str(value) for value in grid], results, {math.inf: math.inf}, [Pass(tuple(seeds), keep=1)])
    if selection.pending:
        (name, seed), count = selection.pending[0], len(selection.pending)
        number = "1 run" if count == 1 else f"{count} runs"
        return None, f"{number} on seeds for choosing missing, such as α={float(name):g} on seed {seed}"
    choice = selection.choices[math.inf]
    return choice, "" if choice else "no valid run on the seeds for choosing"


def _alphas(runs: pd.DataFrame) -> list[float]:
    return [float(configuration["alpha"]) for configuration in runs["configuration"]]
