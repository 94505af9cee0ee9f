"""The runs that an experiment's profile plans, without reading any data, and the recorded runs that match them."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from inspect import Parameter, signature
from itertools import product
from math import nan
from typing import Any

import pandas as pd

from benchmark.plan.experiment import Experiment, MethodEntry, Profile, expanded
from benchmark.plan.method_names import method_info
from benchmark.plan.runs import outline_of, reason_to_skip, with_all_parameters
from benchmark.records.record import comparable
from benchmark.results.frames import describe, differing_names
from data_pipelines.stream_spec import DatasetSpec, StreamSpec

Options = tuple[tuple[str, Any], ...]
"""Names and values, sorted by name; the values are from `comparable`."""

STREAM_SETTINGS = {name: field.default for name, field in DatasetSpec.model_fields.items() if name != "dataset"}
"""The settings of a stream that is made from a data set, with their defaults."""

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
        """The value on the front of its method, such as γ or D; NaN without one."""
        front = method_info(self.algorithm).front
        value = dict(self.parameters).get(front.parameter) if front else None
        return float(value) if isinstance(value, int | float) else nan


def planned_runs(experiment: Experiment, profile: str, recorded: Collection[str] = ()) -> dict[PlannedRun, str]:
    """Return every run that a profile plans, and how its variant differs from the others of its algorithm.

    `recorded` are the data sets with recorded runs: an entry's fallback is planned if it was used instead.
    """
    plan = experiment.profile(profile)
    options: dict[PlannedRun, dict[str, Any]] = {}
    for stream, entry, parameters in _settings(experiment, plan, recorded):
        algorithm, complete = with_all_parameters(entry.name, parameters, stream)
        if reason_to_skip(algorithm, outline_of(stream)):
            continue
        for seed in plan.seed_list():
            run = _planned(stream, entry.name, complete, seed)
            stream_options = dict(run.stream) or _comparable(stream.settings())
            options.setdefault(run, {**stream_options, **_without_thresholds(entry, _comparable(complete))})
    return _variants(options)


def skipped_methods(experiment: Experiment, profile: str) -> dict[tuple[str, str], str]:
    """Return, for each stream and each method that is not run on it, the reason in one line."""
    plan = experiment.profile(profile)
    reasons: dict[tuple[str, str], str] = {}
    for stream, entry, parameters in _settings(experiment, plan):
        algorithm, _ = with_all_parameters(entry.name, parameters, stream)
        if reason := reason_to_skip(algorithm, outline_of(stream)):
            reasons[stream.name, entry.name] = reason
    return reasons


def _settings(
    experiment: Experiment, plan: Profile, recorded: Collection[str] | None = None
) -> Iterator[tuple[StreamSpec, MethodEntry, dict[str, Any]]]:
    """Yield every stream with every method and every combination of values that is run on it.

    Given the data sets with recorded runs, fallbacks take the place of streams that they replaced.
    """
    for entries, part in experiment.parts(plan):
        streams = entries.streams if recorded is None else entries.used_by(recorded)
        for stream, entry in product(streams, experiment.algorithms):
            for parameters in expanded(entry.parameters, part, entry.front):
                yield stream, entry, parameters


def recorded_as(planned: Iterable[PlannedRun], runs: pd.DataFrame) -> Iterator[PlannedRun]:
    """Yield the planned run that each recorded run matches; for an unplanned run, a placeholder that matches none."""
    planned = list(planned)
    names = {(run.dataset, run.algorithm): [name for name, _ in run.parameters] for run in planned}
    defaults = {algorithm: _defaults(algorithm) for _, algorithm in names}
    dimensions = {run.dataset: set[Any]() for run in planned}
    for run in planned:
        dimensions[run.dataset].add(dict(run.stream).get("dimension", ANY_OTHER))
    columns = ["dataset", "algorithm", "configuration", "source", "fingerprint", "seed"]
    for dataset, algorithm, configuration, source, fingerprint, seed in runs[columns].itertuples(index=False):
        if (dataset, algorithm) not in names:
            continue
        values = {**defaults[algorithm], **configuration}
        parameters = tuple((name, values.get(name)) for name in names[dataset, algorithm])
        if source == "simulated":
            yield PlannedRun(dataset, algorithm, parameters, (), fingerprint, seed)
            continue
        settings = {name: configuration.get(f"stream_{name}") for name in STREAM_SETTINGS}
        if settings["dimension"] not in dimensions[dataset]:
            settings["dimension"] = ANY_OTHER
        yield PlannedRun(dataset, algorithm, parameters, _of_data_set(settings), "", seed)


def _planned(
    stream: StreamSpec,
    algorithm: str,
    parameters: Mapping[str, Any],
    seed: int,
) -> PlannedRun:
    options = tuple(sorted(_comparable(parameters).items()))
    if isinstance(stream, DatasetSpec):
        return PlannedRun(stream.name, algorithm, options, _of_data_set(stream.settings()), "", seed)
    return PlannedRun(stream.name, algorithm, options, (), stream.fingerprint(seed), seed)


def _of_data_set(settings: Mapping[str, Any]) -> Options:
    """Return the settings of a stream of a data set; settings that an old record lacks have their defaults."""
    recorded = {name: value for name, value in settings.items() if value is not None}
    complete = {**STREAM_SETTINGS, "dimension": ANY_OTHER, **recorded}
    return tuple(sorted(_comparable(complete).items()))


def _comparable(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: comparable(value) for name, value in values.items()}


def _without_thresholds(entry: MethodEntry, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out the value on the front; γ_U and γ_D make a variant only if they differ from γ."""
    return {
        name: value
        for name, value in parameters.items()
        if not (entry.front and name == entry.front.parameter)
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
    parameters = signature(method_info(algorithm).method).parameters
    return {
        name: comparable(parameter.default)
        for name, parameter in parameters.items()
        if parameter.default is not Parameter.empty
    }
