"""The settings and seeds that an experiment's profile plans, without touching any data."""

from collections.abc import Iterable, Iterator
from itertools import pairwise

from benchmark.algorithm_names import GRID_OFFSETS
from benchmark.experiment import Experiment, expanded
from benchmark.plan import stream_names

Setting = tuple[str, str, str]
"""Data set, algorithm, and threshold as text with ten digits: grids and records may differ in the last bits."""


def planned_runs(experiment: Experiment, profile: str) -> Iterator[tuple[Setting, int]]:
    """Yield the setting and the seed of every run that a profile plans."""
    plan = experiment.profile(profile)
    for entry in experiment.algorithms:
        for parameters in expanded(entry.parameters, plan):
            values = [parameters[name] for name in GRID_OFFSETS if parameters.get(name) is not None]
            threshold = threshold_key(float(values[0])) if values else threshold_key(float("nan"))
            for dataset in stream_names(experiment):
                for seed in plan.seed_list():
                    yield (dataset, entry.name, threshold), seed


def threshold_key(threshold: float) -> str:
    """Return a threshold as it is compared."""
    return f"{threshold:.10g}"


def seeds_text(seeds: Iterable[int]) -> str:
    """Write seeds briefly: 0–3, 7."""
    ordered = sorted(set(seeds))
    starts = [ordered[0], *(b for a, b in pairwise(ordered) if b > a + 1)]
    ends = [*(a for a, b in pairwise(ordered) if b > a + 1), ordered[-1]]
    return ", ".join(f"{a}" if a == b else f"{a}–{b}" for a, b in zip(starts, ends, strict=True))
