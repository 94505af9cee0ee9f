"""The runs that an experiment's profile plans, without reading any data, and the recorded runs that match them."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from inspect import Parameter, signature
from math import nan
from typing import Any

import pandas as pd

from benchmark.plan.algorithm_names import GRID_OFFSETS, find_algorithm
from benchmark.plan.experiment import Experiment, expanded
from benchmark.plan.plan import stream_settings, with_all_parameters
from benchmark.records.record import comparable
from data_pipelines.streams.simulated import simulation_fingerprint, simulation_name
from reports.read.differences import describe, differing_names

Options = tuple[tuple[str, Any], ...]
"""Names and values, sorted by name; the values are from `comparable`."""

STREAM_SETTINGS = ("arms", "dimension", "scaling", "positive")
"""The settings of a stream that is made from a data set."""

ANY_OTHER = ""
"""As a dimension: all prepared components, whatever their number."""


@dataclass(frozen=True)
class PlannedRun:
    """The full configuration of a run, without the data themselves.

    `parameters` are all hyper-parameters of the algorithm. `stream` are the settings of a stream that is made from a
    data set; a simulated stream has its `fingerprint` instead, which follows from its settings.
    """

    dataset: str
    algorithm: str
    parameters: Options
    stream: Options
    fingerprint: str
    seed: int

    @property
    def threshold(self) -> float:
        """γ or D; NaN without one."""
        values = dict(self.parameters)
        value = next((values[name] for name in GRID_OFFSETS if values.get(name) is not None), None)
        return float(value) if isinstance(value, int | float) else nan


def planned_runs(experiment: Experiment, profile: str) -> dict[PlannedRun, str]:
    """Return every run that a profile plans, and how its variant differs from the others of its algorithm."""
    plan = experiment.profile(profile)
    options: dict[PlannedRun, dict[str, Any]] = {}
    for stream in experiment.streams:
        for settings, global_dim in stream_settings(stream):
            dataset = stream.dataset or simulation_name(str(stream.simulated), global_dim)
            for entry in experiment.algorithms:
                for parameters in expanded(entry.parameters, plan):
                    _, complete = with_all_parameters(entry.name, parameters, global_dim)
                    for seed in plan.seed_list():
                        run = _planned(dataset, entry.name, complete, settings, seed, is_simulated=not stream.dataset)
                        stream_options = dict(run.stream) or _comparable(settings)
                        options.setdefault(run, {**stream_options, **_without_thresholds(_comparable(complete))})
    return _variants(options)


def recorded_as(planned: Iterable[PlannedRun], runs: pd.DataFrame) -> Iterator[PlannedRun]:
    """Yield the planned run that each recorded run matches; for an unplanned run, a placeholder that matches none."""
    planned = list(planned)
    names = {(run.dataset, run.algorithm): [name for name, _ in run.parameters] for run in planned}
    dimensions = {run.dataset: set[Any]() for run in planned}
    for run in planned:
        dimensions[run.dataset].add(dict(run.stream).get("dimension", ANY_OTHER))
    columns = ["dataset", "algorithm", "configuration", "source", "fingerprint", "seed"]
    for dataset, algorithm, configuration, source, fingerprint, seed in runs[columns].itertuples(index=False):
        if (dataset, algorithm) not in names:
            continue
        values = {**_defaults(algorithm), **configuration}
        parameters = tuple((name, values.get(name)) for name in names[dataset, algorithm])
        if source == "simulated":
            yield PlannedRun(dataset, algorithm, parameters, (), fingerprint, seed)
            continue
        settings = {name: configuration.get(f"stream_{name}") for name in STREAM_SETTINGS}
        if settings["dimension"] not in dimensions[dataset]:
            settings["dimension"] = ANY_OTHER
        yield PlannedRun(dataset, algorithm, parameters, _of_data_set(settings), "", seed)


def _planned(
    dataset: str,
    algorithm: str,
    parameters: Mapping[str, Any],
    settings: Mapping[str, Any],
    seed: int,
    *,
    is_simulated: bool,
) -> PlannedRun:
    options = tuple(sorted(_comparable(parameters).items()))
    if is_simulated:
        return PlannedRun(dataset, algorithm, options, (), simulation_fingerprint(seed=seed, **settings), seed)
    return PlannedRun(dataset, algorithm, options, _of_data_set(settings), "", seed)


def _of_data_set(settings: Mapping[str, Any]) -> Options:
    """Return the settings of a stream of a data set; settings that an old record lacks have their defaults."""
    recorded = {name: value for name, value in settings.items() if value is not None}
    complete = {"dimension": ANY_OTHER, "positive": "anywhere", **recorded}
    return tuple(sorted(_comparable(complete).items()))


def _comparable(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: comparable(value) for name, value in values.items()}


def _without_thresholds(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out the values of grids; γ_U and γ_D make a variant only if they differ from γ."""
    return {
        name: value
        for name, value in parameters.items()
        if name not in GRID_OFFSETS
        and not (name in ("gamma_upload", "gamma_download") and value == parameters.get("gamma"))
    }


def _variants(options_of: Mapping[PlannedRun, Mapping[str, Any]]) -> dict[PlannedRun, str]:
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for run, options in options_of.items():
        groups.setdefault((run.dataset, run.algorithm), []).append(options)
    names = {group: differing_names(members) for group, members in groups.items()}
    return {run: describe(options, names[run.dataset, run.algorithm]) for run, options in options_of.items()}


def _defaults(algorithm: str) -> dict[str, Any]:
    """Return the defaults of an algorithm: runs recorded before a parameter was added have its default."""
    parameters = signature(find_algorithm(algorithm)).parameters
    return {
        name: comparable(parameter.default)
        for name, parameter in parameters.items()
        if parameter.default is not Parameter.empty
    }
