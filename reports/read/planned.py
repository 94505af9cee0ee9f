"""The runs that an experiment's profile plans, without reading any data, and the recorded runs that match them."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from inspect import Parameter, signature
from typing import Any

import pandas as pd

from benchmark.plan.algorithm_names import declaration_of, number_text
from benchmark.plan.experiment import AlgorithmEntry, Experiment, expanded
from benchmark.plan.plan import outline_of, reason_to_skip, stream_settings, with_all_parameters
from data_pipelines.streams.simulated import simulation_fingerprint, simulation_name
from reports.read.run_table import number

Options = tuple[tuple[str, str], ...]
"""Names and values, sorted by name; the values are texts from `comparable`."""

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
        """The value on the front of its method, such as γ or D; NaN without one."""
        front = declaration_of(self.algorithm).front
        return number(dict(self.parameters).get(front.parameter) if front else None)


def planned_runs(experiment: Experiment, profile: str) -> dict[PlannedRun, str]:
    """Return every run that a profile plans, and how its variant differs from the others of its algorithm."""
    plan = experiment.profile(profile)
    options: dict[PlannedRun, dict[str, str]] = {}
    for stream in experiment.streams:
        for settings, global_dim in stream_settings(stream):
            dataset = stream.dataset or simulation_name(str(stream.simulated), global_dim)
            for entry in experiment.algorithms:
                for parameters in expanded(entry.parameters, plan, entry.front):
                    algorithm, complete = with_all_parameters(entry.name, parameters, global_dim)
                    if reason_to_skip(algorithm, outline_of(dataset, settings)):
                        continue
                    for seed in plan.seed_list():
                        run = _planned(dataset, entry.name, complete, settings, seed, is_simulated=not stream.dataset)
                        stream_options = dict(run.stream) or _texts(settings)
                        options.setdefault(run, {**stream_options, **_without_thresholds(entry, _texts(complete))})
    return _variants(options)


def skipped_methods(experiment: Experiment, profile: str) -> dict[tuple[str, str], str]:
    """Return, for each stream and method that does not take part in it, the reason in one line."""
    plan = experiment.profile(profile)
    reasons: dict[tuple[str, str], str] = {}
    for stream in experiment.streams:
        for settings, global_dim in stream_settings(stream):
            dataset = stream.dataset or simulation_name(str(stream.simulated), global_dim)
            for entry in experiment.algorithms:
                for parameters in expanded(entry.parameters, plan, entry.front):
                    algorithm, _ = with_all_parameters(entry.name, parameters, global_dim)
                    if reason := reason_to_skip(algorithm, outline_of(dataset, settings)):
                        reasons[dataset, entry.name] = reason
    return reasons


def recorded_as(planned: Iterable[PlannedRun], runs: pd.DataFrame) -> Iterator[PlannedRun]:
    """Yield the planned run that each recorded run matches; for an unplanned run, a placeholder that matches none."""
    planned = list(planned)
    names = {(run.dataset, run.algorithm): [name for name, _ in run.parameters] for run in planned}
    dimensions = {run.dataset: set[str]() for run in planned}
    for run in planned:
        dimensions[run.dataset].add(dict(run.stream).get("dimension", ANY_OTHER))
    columns = ["dataset", "algorithm", "configuration", "source", "fingerprint", "seed"]
    for dataset, algorithm, configuration, source, fingerprint, seed in runs[columns].itertuples(index=False):
        if (dataset, algorithm) not in names:
            continue
        values = {**_defaults(algorithm), **configuration}
        parameters = tuple((name, comparable(values.get(name, ""))) for name in names[dataset, algorithm])
        if source == "simulated":
            yield PlannedRun(dataset, algorithm, parameters, (), fingerprint, seed)
            continue
        settings = {name: configuration.get(name, configuration.get(f"stream_{name}")) for name in STREAM_SETTINGS}
        if settings["dimension"] not in dimensions[dataset]:
            settings["dimension"] = ANY_OTHER
        yield PlannedRun(dataset, algorithm, parameters, _of_data_set(settings), "", seed)


def comparable(text: str) -> str:
    """Return a value in a form that can be compared: grids and records may differ in the last bits of a number."""
    try:
        return f"{float(text):.10g}"
    except ValueError:
        return text


def _planned(
    dataset: str,
    algorithm: str,
    parameters: Mapping[str, Any],
    settings: Mapping[str, Any],
    seed: int,
    *,
    is_simulated: bool,
) -> PlannedRun:
    options = tuple(sorted(_texts(parameters).items()))
    if is_simulated:
        return PlannedRun(dataset, algorithm, options, (), simulation_fingerprint(seed=seed, **settings), seed)
    return PlannedRun(dataset, algorithm, options, _of_data_set(settings), "", seed)


def _of_data_set(settings: Mapping[str, Any]) -> Options:
    """Return the settings of a stream of a data set; settings that an old record lacks have their defaults."""
    recorded = {name: value for name, value in settings.items() if value is not None}
    complete = {"dimension": ANY_OTHER, "positive": "anywhere", **recorded}
    return tuple(sorted(_texts(complete).items()))


def _texts(values: Mapping[str, Any]) -> dict[str, str]:
    return {name: comparable(number_text(value)) for name, value in values.items()}


def _without_thresholds(entry: AlgorithmEntry, parameters: Mapping[str, str]) -> dict[str, str]:
    """Leave out the value on the front; γ_U and γ_D make a variant only if they differ from γ."""
    return {
        name: value
        for name, value in parameters.items()
        if not (entry.front and name == entry.front.parameter)
        and not (name in ("gamma_upload", "gamma_download") and value == parameters.get("gamma"))
    }


def _variants(options_of: Mapping[PlannedRun, Mapping[str, str]]) -> dict[PlannedRun, str]:
    values: dict[tuple[str, str], dict[str, set[str]]] = {}
    for run, options in options_of.items():
        values_by_name = values.setdefault((run.dataset, run.algorithm), {})
        for name, value in options.items():
            values_by_name.setdefault(name, set()).add(value)
    variants = {}
    for run, options in options_of.items():
        differences = {name for name, distinct in values[run.dataset, run.algorithm].items() if len(distinct) > 1}
        variants[run] = ", ".join(f"{name}={options[name]}" for name in sorted(differences) if name in options)
    return variants


def _defaults(algorithm: str) -> dict[str, str]:
    """Return the defaults of an algorithm: runs recorded before a parameter was added have its default."""
    parameters = signature(declaration_of(algorithm).method).parameters
    return {
        name: number_text(parameter.default)
        for name, parameter in parameters.items()
        if parameter.default is not Parameter.empty
    }
