"""From experiments, a profile and filters to the list of runs."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from benchmark.algorithm_names import (
    GRID_OFFSETS,
    AlgorithmFilter,
    find_algorithm,
    hyper_parameters,
    identity,
    make_algorithm,
    number_text,
    parameter_names,
)
from benchmark.experiment import GRID, OF_STREAM, AlgorithmEntry, Experiment, Profile, Stream, expanded
from benchmark.nearest import unknown
from benchmark.run_key import run_key
from benchmark.stream_source import StreamSource, prepared_source, simulated_source
from data_pipelines.prepared import DEFAULT_DIMENSION, NotPreparedError, data_folder

SYMBOLS = {"gamma": "γ", "threshold": "D"}


@dataclass(frozen=True)
class Run:
    """One run of one experiment: all it takes to do it, to name it and to find it again."""

    experiment: str
    source: StreamSource
    algorithm_name: str
    algorithm: Any
    parameters: dict[str, Any]
    seed: int
    key: str

    @property
    def threshold(self) -> str:
        """γ or D as text; empty where there is none."""
        for parameter in GRID_OFFSETS:
            if self.parameters.get(parameter) is not None:
                return number_text(self.parameters[parameter])
        return ""

    @property
    def setting(self) -> str:
        """A name for all its seeds: algorithm and threshold."""
        symbols = [symbol for name, symbol in SYMBOLS.items() if self.parameters.get(name) is not None]
        if symbols:
            return f"{self.algorithm_name} {symbols[0]}={float(self.threshold):g}"
        return " ".join([self.algorithm_name, *(f"{name}={value}" for name, value in self.parameters.items())])

    @property
    def name(self) -> str:
        """A name for people: algorithm, threshold and seed."""
        return f"{self.setting} seed {self.seed}"


@dataclass(frozen=True)
class Wanted:
    """What the command line asks for; empty means everything."""

    profile: str = "quick"
    algorithms: tuple[AlgorithmFilter, ...] = ()
    datasets: tuple[str, ...] = ()
    seeds: tuple[int, ...] = ()


@dataclass
class Plan:
    """The runs, and the data sets that are missing, each with one line on the ways on."""

    runs: list[Run] = field(default_factory=list)
    missing: dict[str, str] = field(default_factory=dict)


def make_plan(experiments: Iterable[Experiment], wanted: Wanted) -> Plan:
    """Expand experiments into runs, each (experiment, key) once."""
    plan, seen = Plan(), set[tuple[str, str]]()
    experiments = list(experiments)
    _check_filters(experiments, wanted)
    identities: dict[str, str] = {}
    for experiment in experiments:
        profile = experiment.profile(wanted.profile)
        entries = list(_entries(experiment, profile, wanted.algorithms))
        for stream in experiment.streams:
            for seed in wanted.seeds or profile.seed_list():
                for source, global_dim in _sources(stream, seed, wanted.datasets, plan.missing):
                    for name, parameters in entries:
                        run = _run(experiment.name, source, global_dim, name, parameters, identities)
                        if (run.experiment, run.key) not in seen:
                            seen.add((run.experiment, run.key))
                            plan.runs.append(run)
    return plan


def stream_names(experiment: Experiment) -> list[str]:
    """Return the names by which `--dataset` knows the streams of an experiment."""
    from data_pipelines.simulated import simulation_name

    names = []
    for stream in experiment.streams:
        if stream.dataset is not None:
            names.append(stream.dataset)
        else:
            dims: Sequence[int | None] = stream.global_dim or [None]
            names += [simulation_name(str(stream.simulated), each) for each in dims]
    return names


def _check_filters(experiments: Sequence[Experiment], wanted: Wanted) -> None:
    """A filter that can never match is a mistake that somebody wants to know of."""
    streams = {name for experiment in experiments for name in stream_names(experiment)}
    for given in wanted.datasets:
        if not any(fnmatchcase(name, given) for name in streams):
            raise unknown("dataset", given, streams)
    used = {entry.name for experiment in experiments for entry in experiment.algorithms}
    for each in wanted.algorithms:
        if not each.is_own and each.name not in used:
            raise unknown("algorithm of these experiments", each.name, used)


def _run(
    experiment: str,
    source: StreamSource,
    global_dim: int | None,
    name: str,
    parameters: dict[str, Any],
    identities: dict[str, str],
) -> Run:
    """Make one run; `identities` remembers what was found out about each algorithm of this plan."""
    if parameters.get("global_dim") == OF_STREAM:
        parameters = {**parameters, "global_dim": global_dim}
    algorithm = make_algorithm(name, parameters)
    complete = {**parameters, **hyper_parameters(algorithm)}
    if name not in identities:
        identities[name] = identity(name)
    key = run_key(source.fingerprint, identities[name], complete, source.seed)
    return Run(experiment, source, name, algorithm, complete, source.seed, key)


def _sources(
    stream: Stream, seed: int, wanted: Sequence[str], missing: dict[str, str]
) -> Iterator[tuple[StreamSource, int | None]]:
    if stream.dataset is not None:
        if not _is_wanted(stream.dataset, wanted):
            return
        settings: dict[str, Any] = {"arms": stream.arms, "scaling": stream.scaling, "dimension": stream.dimension}
        if stream.positive != "anywhere":
            settings["positive"] = stream.positive
        try:
            yield prepared_source(stream.dataset, settings, seed, Path(data_folder()).resolve()), None
        except NotPreparedError as error:
            name = stream.dataset
            missing[name] = (
                f"{str(error).partition('; run:')[0]} (looked in {data_folder().resolve()}); ways on: "
                f"fedbandit data {name} [--mirror DIR_OR_URL], or generated data: fedbandit data {name} --stand-in"
            )
        return
    dims: Sequence[int | None] = stream.global_dim or [None]
    for global_dim in dims:
        settings = {
            "steps": stream.steps,
            "clients": stream.clients,
            "arms": stream.arms,
            "dimension": stream.dimension or DEFAULT_DIMENSION,
            "client_distribution": stream.simulated,
            "global_dim": global_dim,
            "noise": stream.noise,
            "table": stream.table,
        }
        source = simulated_source(settings, seed)
        if _is_wanted(source.name, wanted):
            yield source, global_dim


def _is_wanted(name: str, wanted: Sequence[str]) -> bool:
    return not wanted or any(fnmatchcase(name, each) for each in wanted)


def _entries(
    experiment: Experiment, profile: Profile, filters: Sequence[AlgorithmFilter]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each algorithm with its values: those of the experiment, as far as filters let them through.

    A filter by name keeps that algorithm and replaces the values it gives. A class that is not built in is added
    to the others: it is there to be compared with them.
    """
    by_name = [each for each in filters if not each.is_own]
    for entry in experiment.algorithms:
        for one in by_name or [AlgorithmFilter(entry.name, {})]:
            if one.name == entry.name:
                values = {name: _snapped(name, given, entry, profile) for name, given in one.values.items()}
                for parameters in expanded({**entry.parameters, **values}, profile):
                    yield entry.name, parameters
    for own in filters:
        if own.is_own:
            allowed = parameter_names(find_algorithm(own.name))
            grids = {name: GRID for name in GRID_OFFSETS if name in allowed}
            for parameters in expanded({**grids, **own.values}, profile):
                yield own.name, parameters


def _snapped(name: str, given: Sequence[Any], entry: AlgorithmEntry, profile: Profile) -> list[Any]:
    """Take a number that was typed as it is shown for the one of the grid that it shows."""
    grid = {value for each in expanded(entry.parameters, profile) if isinstance(value := each.get(name), float)}
    return [
        next((each for each in grid if isinstance(one, float) and math.isclose(each, one, rel_tol=1e-5)), one)
        for one in given
    ]
