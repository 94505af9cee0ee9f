"""Settings with a tuned α: its value is chosen on the seeds for choosing, and reported on all other seeds."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import pandas as pd

from benchmark.plan.experiment import load_experiment
from benchmark.protocol import load_protocol
from benchmark.statistics.selection import Choice, Pass, Result, edges, select
from reports.paper import paper

PARAMETER, SYMBOL = "alpha", "α"
EDGE = "†"
"""The mark of a choice at the edge of the grid."""

Grid = tuple[float, ...]
NO_LIMIT = math.inf


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
    stream, algorithm = (str(runs[column].iloc[0]) for column in ("stream", "algorithm"))
    threshold = float(runs["threshold"].iloc[0])
    grid, seeds = grid_of(algorithm), choosing_seeds()
    alphas = pd.Series(alphas_of(runs), index=runs.index)
    choosing, reporting = load_protocol().seeds.split(runs)
    choice, missing = choose_alpha(choosing, grid, seeds)
    if choice is None:
        return TunedSetting(stream, algorithm, threshold, missing=missing)
    alpha = float(choice.configuration)
    chosen = reporting[alphas[reporting.index] == alpha]
    missing = "" if len(chosen) else f"no run with the chosen {SYMBOL}={alpha:g} on a report seed"
    values = {str(value): {PARAMETER: value} for value in grid}
    is_at_edge = bool(edges(choice, values, {PARAMETER: grid}))
    return TunedSetting(stream, algorithm, threshold, alpha, is_at_edge, choice.score, chosen, missing)


def choose_alpha(runs: pd.DataFrame, grid: Grid, seeds: Sequence[int]) -> tuple[Choice | None, str]:
    """Return the α with the best mean normalised reward of one setting; or None, and which runs are missing.

    Raises ValueError for runs on any seed that is not for choosing.
    """
    results: dict[int, dict[str, Result]] = {}
    columns = (runs["seed"], alphas_of(runs), runs["normalised_reward"], runs["communication"])
    for seed, alpha, score, communication in zip(*columns, strict=True):
        results.setdefault(int(seed), {})[str(alpha)] = Result(float(score), float(communication))
    selection = select([str(value) for value in grid], results, {NO_LIMIT: NO_LIMIT}, [Pass(tuple(seeds), keep=1)])
    if selection.pending:
        name, seed = selection.pending[0]
        count = len(selection.pending)
        runs_text = "1 run" if count == 1 else f"{count} runs"
        return None, f"{runs_text} on seeds for choosing missing, such as {SYMBOL}={float(name):g} on seed {seed}"
    choice = selection.choices[NO_LIMIT]
    return choice, "" if choice else "no valid run on the seeds for choosing"


def alphas_of(runs: pd.DataFrame) -> list[float]:
    """Return α of each run."""
    return [float(configuration[PARAMETER]) for configuration in runs["configuration"]]


@cache
def grid_of(algorithm: str) -> Grid:
    """Return the values among which α is chosen for a method."""
    entries = load_experiment(tuned_experiment()).algorithms
    return next(tuple(map(float, entry.parameters[PARAMETER])) for entry in entries if entry.name == algorithm)


@cache
def choosing_seeds() -> tuple[int, ...]:
    """Return the seeds on which α is chosen."""
    profiles, purpose = load_experiment(tuned_experiment()).profiles.values(), load_protocol().seeds.purpose
    return tuple(seed for profile in profiles for seed in profile.seed_list() if purpose(seed) == "choose")


def tuned_experiment() -> str:
    """Return the name of the experiment in which α is tuned."""
    return str(paper()["tuned"]["experiment"])
