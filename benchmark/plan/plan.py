"""From experiments and options to a plan: the list of runs."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import partial
from inspect import Parameter, signature
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmark.plan.experiment import (
    GRID,
    MAX_SEEDS,
    QUICK,
    Experiment,
    ExperimentInfo,
    MethodEntry,
    Profile,
    StreamEntry,
    expanded,
    experiment_names,
    load_experiment,
)
from benchmark.plan.method_names import MethodFilter, method_info
from benchmark.plan.own_modules import OwnSource
from benchmark.plan.runs import MethodSetting, Run, Skipped, make_setting, runs_of
from data_pipelines.data_set import data_set_names
from data_pipelines.prepare.prepared import NotPreparedError, data_folder, prepared_names
from data_pipelines.stream_spec import StreamSpec
from data_pipelines.support.messages import did_you_mean, unknown_name

if TYPE_CHECKING:
    from benchmark.execution.own_metrics import PlannedMetric

OwnValues = Sequence[tuple[str, Mapping[str, Any]]]
"""Classes that are not built in, by their names, each with its values; one class may occur with several."""

SEED = re.compile(r"[0-9]{1,18}")


@dataclass(frozen=True)
class RunOptions:
    """Which runs of the experiments to plan. An empty filter keeps everything."""

    profile: str = QUICK
    methods: tuple[MethodFilter, ...] = ()
    datasets: tuple[str, ...] = ()
    seeds: tuple[int, ...] = ()


def find_experiments(names: Sequence[str]) -> list[Experiment]:
    """Load experiments by name, pattern or path; without names, all experiments that are shipped."""
    shipped = experiment_names()
    selection: list[str] = []
    for name in names or ["*"]:
        matches = [candidate for candidate in shipped if fnmatchcase(candidate, name)]
        if not matches and not name.endswith(".toml"):
            files = [path.name for path in Path.cwd().glob("*.toml") if path.stem == name]
            if files:
                raise ValueError(f"unknown experiment {name!r}; did you mean the file {files[0]}?")
            raise unknown_name("experiment", name, shipped)
        selection += matches or [name]
    return [load_experiment(name) for name in dict.fromkeys(selection)]


def without_profile(experiments: Sequence[Experiment], profile: str, names: Sequence[str]) -> list[Experiment]:
    """Return the experiments that do not have a profile, except those that are named; none if no experiment has it."""
    if not any(profile in experiment.profiles for experiment in experiments):
        return []
    named = {Path(name).stem if name.endswith(".toml") else name for name in names}
    return [each for each in experiments if profile not in each.profiles and each.name not in named]


def parse_seeds(text: str, start: int = 0) -> tuple[int, ...]:
    """Read `3` (the first three from `start` on), `0,5` or `0-9`."""
    wrong = ValueError(
        f"--seeds must be a number of seeds (3), a list (0,5) or a range (0-9, or 5-5 for one seed), "
        f"at most {MAX_SEEDS:,} seeds, got {text[:100]!r}"
    )
    seeds: dict[int, None] = {}
    count = int(text) if SEED.fullmatch(text) else None
    parts = text.split(",") if count is None else [f"{start}-{start + count - 1}"] if count else []
    for part in parts:
        first, dash, last = (piece.strip() for piece in part.partition("-"))
        if not SEED.fullmatch(first) or (dash and not SEED.fullmatch(last)):
            raise wrong
        interval = range(int(first), int(last if dash else first) + 1)
        if not interval or len(interval) + len(seeds) > MAX_SEEDS:
            raise wrong
        seeds.update(dict.fromkeys(interval))
    if not seeds:
        raise wrong
    return tuple(seeds)


@dataclass(frozen=True)
class Plan:
    """The runs of a sweep.

    Args:
        experiments: those that have runs.
        profile: the name of the profile that the runs are from.
        runs: all runs, finished ones included, each (experiment, key) once.
        missing: for each data set that is not prepared, one line on how to prepare it.
        skipped: for each stream and each method that is not run on it, the reason in one line.
        notices: sentences for the user on what differs from the experiment files: what filters, values of the profile,
            missing data or methods leave out, and which defaults and other data sets are used.
        metrics: the metrics that its results are compared by: a finished run without one of them is executed again.
        own_metrics: the metrics of the user to compute; finished runs keep the values they have.
    """

    experiments: tuple[ExperimentInfo, ...] = ()
    profile: str = QUICK
    runs: tuple[Run, ...] = ()
    missing: Mapping[str, str] = field(default_factory=dict)
    skipped: Mapping[tuple[str, str], str] = field(default_factory=dict)
    notices: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()
    own_metrics: "tuple[PlannedMetric, ...]" = ()


def make_plan(experiments: Iterable[Experiment], options: RunOptions | None = None) -> Plan:
    """Expand experiments into runs."""
    options = options or RunOptions()
    experiments = list(experiments)
    _check_filters(experiments, options)
    runs: dict[tuple[str, str], Run] = {}
    missing: dict[str, str] = {}
    left_out: dict[str, str] = {}
    skipped: Skipped = {}
    sources: dict[str, OwnSource | None] = {}
    notices, fallbacks = [*_left_out_by_filters(experiments, options)], dict[str, None]()
    for experiment in experiments:
        profile = experiment.profile(options.profile)
        own = [(each.name, _own_values(each, experiment, options, notices)) for each in options.methods if each.is_own]
        notices += _without_values(experiment, options, own)
        for entry, part in experiment.parts(profile):
            entries = list(_entries(experiment, part, options.methods, own))
            selection = _selected(entry, options.datasets)
            absent = left_out if entry.optional else missing
            bound = [stream for stream in (bound_or_missing(each, absent) for each in selection) if stream is not None]
            for seeds, chosen in _with_seeds(entries, profile, options.seeds):
                settings = partial(_settings, chosen, sources)
                found, not_run = runs_of(experiment.name, product(seeds, bound), settings)
                skipped |= not_run
                for run in found:
                    runs.setdefault((run.experiment, run.key), run)
                    if label := experiment.fallback_labels.get(run.stream.name):
                        fallbacks[f"{experiment.name}: {label}"] = None
    used = {experiment for experiment, _ in runs}
    notices += [
        *fallbacks,
        *(f"MISSING: {message}" for message in missing.values()),
        *(f"LEFT OUT (optional): {message}" for message in left_out.values()),
        *(f"SKIPPED: {method} on {stream}: {reason}" for (stream, method), reason in skipped.items()),
    ]
    infos = tuple(experiment.info for experiment in experiments if experiment.name in used)
    return Plan(infos, options.profile, tuple(runs.values()), missing, skipped, tuple(dict.fromkeys(notices)))


Setting = tuple[str, dict[str, Any]]
"""A method and its values."""


def _with_seeds(
    entries: Sequence[Setting], profile: Profile, seeds: Sequence[int]
) -> Iterator[tuple[Sequence[int], list[Setting]]]:
    """Yield seeds and the settings that are run on them: those given, or those of the profile."""
    more = None if seeds else profile.more
    usual = [entry for entry in entries if more is None or not more.concern(*entry)]
    yield seeds or profile.seed_list(), usual
    yield profile.more_seeds(), [entry for entry in entries if entry not in usual]


def _settings(
    entries: Sequence[Setting], sources: dict[str, OwnSource | None], stream: StreamSpec
) -> list[MethodSetting]:
    return [make_setting(name, parameters, stream, sources) for name, parameters in entries]


def stream_names(experiment: Experiment) -> list[str]:
    """Return the names of an experiment's streams, as `--dataset` takes them."""
    return [stream.name for stream in experiment.streams] + [*experiment.fallback_labels]


def _check_filters(experiments: Sequence[Experiment], options: RunOptions) -> None:
    """A filter that can never match is a mistake, and is reported as an error."""
    streams = {name for experiment in experiments for name in stream_names(experiment)}
    for pattern in options.datasets:
        if not any(fnmatchcase(name, pattern) for name in streams):
            raise unknown_name("dataset", pattern, streams)
    used = {entry.name for experiment in experiments for entry in experiment.algorithms}
    for algorithm in options.methods:
        if not algorithm.is_own and algorithm.name not in used:
            raise unknown_name("method of these experiments", algorithm.name, used)


def bound_or_missing(stream: StreamSpec, missing: dict[str, str]) -> StreamSpec | None:
    """Bind a stream to the prepared data; None, with a line in `missing` on how to get them, if there are none."""
    try:
        return stream.bound()
    except NotPreparedError as error:
        name, reason = stream.name, f"{error.reason} (searched {data_folder().resolve()})"
    if name in data_set_names():
        advice = f"run `fedbandit data {name}`, with --mirror DIR_OR_URL for a copy or --stand-in for generated data"
    else:  # it may be misspelt
        reason += did_you_mean(name, sorted({*data_set_names(), *prepared_names()}))
        advice = f"for your own data, run `fedbandit data import --name {name} --interactions FILE`"
    missing[name] = f"{reason}; {advice}"
    return None


def _selected(entry: StreamEntry, patterns: Sequence[str]) -> list[StreamSpec]:
    """Return the streams of an entry that fit `--dataset`; a fallback also fits by the name of what it replaces."""
    streams = entry.available()
    is_fallback = streams != entry.streams
    return [
        stream
        for stream in streams
        if any(_matches(name, patterns) for name in (entry.names if is_fallback else {stream.name}))
    ]


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)


def _own_values(
    algorithm: MethodFilter, experiment: Experiment, options: RunOptions, notices: list[str]
) -> dict[str, Any]:
    """Return the values of a class that is not built in: those given, and `grid` for its front.

    If the profile has no values of its front, it is run with its default, and `notices` get a sentence on that.
    """
    info = method_info(algorithm.name)
    front = info.front
    if front is None or front.parameter in algorithm.values:
        return dict(algorithm.values)
    parts = experiment.parts(experiment.profile(options.profile))
    if any(part.thresholds(front) for _, part in parts):
        return {front.parameter: GRID, **algorithm.values}
    if signature(info.method).parameters[front.parameter].default is Parameter.empty:
        raise ValueError(
            f"profile {options.profile} of {experiment.name} has no values of {front.parameter}, and {algorithm.name} "
            f'has no default; give some: --method "{algorithm.name}[{front.parameter}=[1,10]]"'
        )
    notices.append(
        f"{experiment.name}: {algorithm.name} is run with its default {front.parameter}, because profile "
        f"{options.profile} has no values of it"
    )
    return dict(algorithm.values)


def _left_out_by_filters(experiments: Sequence[Experiment], options: RunOptions) -> Iterator[str]:
    """Yield a sentence on the experiments of which a filter keeps nothing, although it does of others."""
    names = [
        experiment.name
        for experiment in experiments
        if not any(_selected(entry, options.datasets) for entry in experiment.stream_entries)
    ]
    if names:
        yield f"LEFT OUT (no stream {' or '.join(options.datasets)}): {', '.join(names)}"
    named = {algorithm.name for algorithm in options.methods}
    if named and not any(algorithm.is_own for algorithm in options.methods):
        names = [each.name for each in experiments if named.isdisjoint(entry.name for entry in each.algorithms)]
        if names:
            yield f"LEFT OUT (no method {' or '.join(sorted(named))}): {', '.join(names)}"


def _without_values(experiment: Experiment, options: RunOptions, own: OwnValues) -> Iterator[str]:
    """Yield a sentence on each method that has no values on streams: if it is named, or if it is not run at all."""
    streams: dict[str, list[str]] = {}
    methods = {entry.name for entry in experiment.algorithms} | {name for name, _ in own}
    named = {algorithm.name for algorithm in options.methods} & methods if options.methods else methods
    run_somewhere: set[str] = set()
    for entry, part in experiment.parts(experiment.profile(options.profile)):
        if selection := _selected(entry, options.datasets):
            run_here = {name for name, _ in _entries(experiment, part, options.methods, own)}
            run_somewhere |= run_here
            for name in sorted(named - run_here):
                streams.setdefault(name, []).extend(stream.name for stream in selection)
    for name, without in streams.items():
        if options.methods or name not in run_somewhere:
            front = method_info(name).front
            values = f"values of {front.parameter}" if front else "values"
            where = ", ".join(dict.fromkeys(without))
            yield f"{experiment.name}: {name} is not run on {where}: it has no {values} there"


def _entries(
    experiment: Experiment,
    profile: Profile,
    filters: Sequence[MethodFilter],
    own: OwnValues,
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each method of the experiment with its values, after the filters.

    A filter by name keeps that algorithm and replaces the values it gives. A class that is not built in is added
    to the others, so that it can be compared with them; `own` are the values of these classes.
    """
    by_name = [algorithm for algorithm in filters if not algorithm.is_own]
    for entry in experiment.algorithms:
        for algorithm in by_name or [MethodFilter(entry.name, {})]:
            if algorithm.name == entry.name:
                values = {name: _snapped(name, numbers, entry, profile) for name, numbers in algorithm.values.items()}
                for parameters in expanded({**entry.parameters, **values}, profile, entry.front):
                    yield entry.name, parameters
    for name, own_values in own:
        for parameters in expanded(own_values, profile, method_info(name).front):
            yield name, parameters


def _snapped(name: str, values: Sequence[Any], entry: MethodEntry, profile: Profile) -> list[Any]:
    """Replace numbers typed with the precision of our output by the exact numbers of the grid."""
    grid = {
        number
        for parameters in expanded(entry.parameters, profile, entry.front)
        if isinstance(number := parameters.get(name), float)
    }
    return [
        next((exact for exact in grid if isinstance(value, float) and math.isclose(exact, value, rel_tol=1e-5)), value)
        for value in values
    ]
