"""The options of a sweep: which experiments, which of their runs, and how a user writes them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from benchmark.plan.experiment import MAX_SEEDS, Experiment, experiment_names, load_experiment
from benchmark.plan.method_names import MethodFilter
from data_pipelines.support.messages import unknown_name

SEED = re.compile(r"[0-9]{1,18}")


@dataclass(frozen=True)
class RunOptions:
    """Which runs of the experiments to plan. An empty filter keeps everything."""

    profile: str = "quick"
    methods: tuple[MethodFilter, ...] = ()
    datasets: tuple[str, ...] = ()
    seeds: tuple[int, ...] = ()


def find_experiments(names: Sequence[str], profile: str | None = None) -> list[Experiment]:
    """Load experiments by name, pattern or path; without names, all experiments that are shipped.

    Given a profile, those that do not have it are left out, unless they are named or none has it.
    """
    shipped = experiment_names()
    selection: list[str] = []
    for name in names or ["*"]:
        matches = [candidate for candidate in shipped if fnmatchcase(candidate, name)]
        if not matches and not name.endswith(".toml"):
            files = [path.name for path in Path.cwd().glob("*.toml") if path.stem == name]
            raise _missing_suffix(name, files[0]) if files else unknown_name("experiment", name, shipped)
        selection += matches or [name]
    experiments = {name: load_experiment(name) for name in dict.fromkeys(selection)}
    found = [*experiments.values()]
    left_out = without_profile(found, profile, names) if profile is not None else []
    return [experiment for experiment in found if experiment not in left_out]


def without_profile(experiments: Sequence[Experiment], profile: str, names: Sequence[str]) -> list[Experiment]:
    """Return the experiments that do not have a profile, except those that are named; none if no experiment has it."""
    if not any(profile in experiment.profiles for experiment in experiments):
        return []
    named = {Path(name).stem if name.endswith(".toml") else name for name in names}
    return [each for each in experiments if profile not in each.profiles and each.name not in named]


def parse_seeds(text: str) -> tuple[int, ...]:
    """Read `3` (the first three), `0,5` or `0-9`."""
    seeds: dict[int, None] = {}
    count = int(text) if SEED.fullmatch(text) else None
    parts = text.split(",") if count is None else [f"0-{count - 1}"] if count else []
    for part in parts:
        first, dash, last = (piece.strip() for piece in part.partition("-"))
        if not SEED.fullmatch(first) or (dash and not SEED.fullmatch(last)):
            raise _wrong_seeds(text)
        interval = range(int(first), int(last if dash else first) + 1)
        if not interval or len(interval) + len(seeds) > MAX_SEEDS:
            raise _wrong_seeds(text)
        seeds.update(dict.fromkeys(interval))
    if not seeds:
        raise _wrong_seeds(text)
    return tuple(seeds)


def _missing_suffix(name: str, file: str) -> ValueError:
    return ValueError(f"unknown experiment {name!r}; did you mean the file {file}?")


def _wrong_seeds(text: str) -> ValueError:
    return ValueError(
        f"--seeds must be a number of seeds (3), a list (0,5) or a range (0-9, or 5-5 for one seed), "
        f"at most {MAX_SEEDS:,} seeds, got {text[:100]!r}"
    )
