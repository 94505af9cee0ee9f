"""From experiments and options to a plan: the list of runs."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property
from inspect import Parameter, signature
from itertools import product
from typing import Any

from algorithms.hyperparameters import number_text
from algorithms.method import Front, MethodInfo
from algorithms.stream import StreamOutline
from benchmark.plan.experiment import (
    GRID,
    OF_STREAM,
    Experiment,
    ExperimentInfo,
    MethodEntry,
    Profile,
    StreamEntry,
    expanded,
)
from benchmark.plan.method_names import (
    MethodFilter,
    hyper_parameters,
    identified_files,
    identity,
    make_method,
    method_info,
    source_hash,
)
from benchmark.plan.options import RunOptions
from benchmark.plan.own_modules import SourceFiles
from benchmark.plan.run_key import run_key
from benchmark.records.data_identity import split_by_code
from benchmark.records.record import RunRecord
from data_pipelines.data_set import data_set_names
from data_pipelines.prepare.prepared import NotPreparedError, data_folder, prepared_names
from data_pipelines.stream_spec import StreamSpec
from data_pipelines.support.messages import did_you_mean, one_line, unknown_name


@dataclass(frozen=True)
class Run:
    """One run of one experiment: everything needed to execute it, to name it and to find it again."""

    experiment: str
    stream: StreamSpec
    algorithm_name: str
    algorithm: Any
    parameters: dict[str, Any]
    seed: int
    key: str
    info: MethodInfo
    code: str = ""
    """The hash of the source of a class that is not built in."""
    files: SourceFiles = field(default_factory=dict, repr=False)
    """The source of a class that is not built in, as its key covers it: workers execute it."""

    @property
    def front(self) -> Front | None:
        """The parameter that a grid of its method varies."""
        return self.info.front

    @cached_property
    def fingerprint(self) -> str:
        """The fingerprint of its stream."""
        return self.stream.fingerprint(self.seed)

    @property
    def threshold(self) -> str:
        """The value on the front of its method, such as γ or D, as text; empty if there is none."""
        value = self.parameters.get(self.front.parameter) if self.front else None
        return "" if value is None else number_text(value)

    @property
    def front_text(self) -> str:
        """That value with its symbol, such as γ=5."""
        return f"{self.front.symbol}={_short(self.threshold)}" if self.front and self.threshold else ""

    @property
    def setting(self) -> str:
        """A name for all its seeds: method and threshold."""
        if self.front_text:
            return f"{self.algorithm_name} {self.front_text}"
        return " ".join([self.algorithm_name, *(f"{name}={value}" for name, value in self.parameters.items())])

    @property
    def name(self) -> str:
        """The name to display: method, threshold and seed."""
        return f"{self.setting} seed {self.seed}"


@dataclass(frozen=True)
class Plan:
    """The runs of a sweep.

    Args:
        experiments: those that have runs.
        profile: the name of the profile that the runs are from.
        runs: all runs, finished ones included, each (experiment, key) once.
        missing: for each data set that is not prepared, one line on how to prepare it.
        skipped: for each stream and each method that is not run on it, the reason in one line.
        left_out: the same as `missing`, for streams that are optional.
        notes: sentences on what the filters or the values of the profile leave out, and on defaults that are used.
        fallbacks: the experiments that use another data set instead of their own, each with the notice to show.
    """

    experiments: tuple[ExperimentInfo, ...] = ()
    profile: str = "quick"
    runs: tuple[Run, ...] = ()
    missing: Mapping[str, str] = field(default_factory=dict)
    skipped: Mapping[tuple[str, str], str] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    fallbacks: tuple[tuple[str, str], ...] = ()


def make_plan(experiments: Iterable[Experiment], options: RunOptions | None = None) -> Plan:
    """Expand experiments into runs."""
    options = options or RunOptions()
    experiments = list(experiments)
    _check_filters(experiments, options)
    runs: dict[tuple[str, str], Run] = {}
    missing: dict[str, str] = {}
    left_out: dict[str, str] = {}
    skipped: dict[tuple[str, str], str] = {}
    identities: dict[str, str] = {}
    notes = [*_left_out_by_filters(experiments, options)]
    for experiment in experiments:
        profile = experiment.profile(options.profile)
        own = {each.name: _own_values(each, experiment, options) for each in options.algorithms if each.is_own}
        notes += _without_values(experiment, options, own)
        notes += _at_defaults(experiment, options, own)
        for entry, part in experiment.parts(profile):
            entries = list(_entries(experiment, part, options.algorithms, own))
            selection = _selected(entry, options.datasets)
            absent = left_out if entry.optional else missing
            bound = [stream for stream in (bound_or_missing(each, absent) for each in selection) if stream is not None]
            for seed, stream in product(options.seeds or profile.seed_list(), bound):
                for name, parameters in entries:
                    run = make_run(experiment.name, stream, seed, name, parameters, identities)
                    if reason := reason_to_skip(run.algorithm, outline_of(stream)):
                        skipped[stream.name, name] = reason
                    else:
                        runs.setdefault((run.experiment, run.key), run)
    used = {experiment for experiment, _ in runs}
    labels = {experiment.name: experiment.fallback_labels for experiment in experiments}
    streams = dict.fromkeys((run.experiment, run.stream.name) for run in runs.values())
    return Plan(
        tuple(experiment.info for experiment in experiments if experiment.name in used),
        options.profile,
        tuple(runs.values()),
        missing,
        skipped,
        left_out,
        tuple(notes),
        tuple((experiment, labels[experiment][name]) for experiment, name in streams if name in labels[experiment]),
    )


def outline_of(stream: StreamSpec) -> StreamOutline:
    """Return what is known about a stream before it is built."""
    steps, clients = (getattr(stream, size, None) for size in ("steps", "clients"))
    return StreamOutline(stream.name, stream.arms, stream.dimension, steps, clients)


def reason_to_skip(algorithm: Any, stream: StreamOutline) -> str | None:
    """Return a one-line reason why a method is not run on a stream; `None` if it is."""
    skip = getattr(algorithm, "skip", None)
    reason = skip(stream) if callable(skip) else None
    return one_line(reason) if isinstance(reason, str) else None


def _short(number: str) -> str:
    try:
        return f"{float(number):g}"
    except ValueError:  # one value per client, or a front that is not a number
        return number


def unfinished(runs: Iterable[Run], finished: Sequence[RunRecord]) -> list[Run]:
    """Return the runs that no finished run equals.

    Finished runs by earlier code do not count, although they have the same key if the user's class is again as it was:
    no result includes them. Recording them again takes no time, because their results are copied.
    """
    newest, _ = split_by_code(finished)
    done = {(record.experiment, record.key, record.method.code) for record in newest}
    return [run for run in runs if (run.experiment, run.key, run.code) not in done]


def prepared_of(runs: Iterable[Run]) -> dict[str, str]:
    """Return the fingerprints of the prepared data behind runs, by data set."""
    return {run.stream.name: prepared for run in runs if (prepared := run.stream.prepared())}


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
    for algorithm in options.algorithms:
        if not algorithm.is_own and algorithm.name not in used:
            raise unknown_name("method of these experiments", algorithm.name, used)


def make_run(
    experiment: str,
    stream: StreamSpec,
    seed: int,
    name: str,
    parameters: dict[str, Any],
    identities: dict[str, str],
) -> Run:
    """Make one run; `identities` caches the identity of each method of this plan."""
    algorithm, complete = with_all_parameters(name, parameters, stream)
    if name not in identities:
        identities[name] = identity(name)
    info = method_info(name)
    key = run_key(
        stream.fingerprint(seed),
        identities[name],
        complete,
        seed,
        version=info.version,
        added=info.added,
    )
    code, files = source_hash(identities[name]), identified_files(identities[name])
    return Run(experiment, stream, name, algorithm, complete, seed, key, info, code, files)


def with_all_parameters(name: str, parameters: dict[str, Any], stream: StreamSpec) -> tuple[Any, dict[str, Any]]:
    """Make a method for a stream; return it and all its parameters, including those left at their defaults."""
    if parameters.get("global_dim") == OF_STREAM:
        parameters = {**parameters, "global_dim": getattr(stream, "global_dim", None)}
    algorithm = make_method(name, parameters)
    return algorithm, {**parameters, **hyper_parameters(algorithm)}


def bound_or_missing(stream: StreamSpec, missing: dict[str, str]) -> StreamSpec | None:
    """Bind a stream to the prepared data; None, with a line in `missing`, if there are none."""
    try:
        return stream.bound()
    except NotPreparedError as error:
        missing[stream.name] = _missing_message(stream.name, error.reason)
        return None


def _missing_message(name: str, reason: str) -> str:
    """Return how to get a data set; one that is neither in the catalogue nor prepared may be misspelt."""
    reason = f"{reason} (searched {data_folder().resolve()})"
    if name in data_set_names():
        options = "with --mirror DIR_OR_URL for a copy or --stand-in for generated data"
        return f"{reason}; run `fedbandit data {name}`, {options}"
    hint = did_you_mean(name, sorted({*data_set_names(), *prepared_names()}))
    return f"{reason}{hint}; for your own data, run `fedbandit data import --name {name} --interactions FILE`"


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


def _own_values(algorithm: MethodFilter, experiment: Experiment, options: RunOptions) -> dict[str, Any]:
    """Return the values of a class that is not built in: those given, and `grid` for its front.

    If the profile has no values of its front, it is run with its default.
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
    return dict(algorithm.values)


def _at_defaults(experiment: Experiment, options: RunOptions, own: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Yield a sentence on each class that is run with the default of its front."""
    for name, values in own.items():
        front = method_info(name).front
        if front is not None and front.parameter not in values:
            yield (
                f"{experiment.name}: {name} is run with its default {front.parameter}, because profile "
                f"{options.profile} has no values of it"
            )


def _left_out_by_filters(experiments: Sequence[Experiment], options: RunOptions) -> Iterator[str]:
    """Yield a sentence on the experiments of which a filter keeps nothing, although it does of others."""
    names = [
        experiment.name
        for experiment in experiments
        if not any(_selected(entry, options.datasets) for entry in experiment.stream_entries)
    ]
    if names:
        yield f"LEFT OUT (no stream {' or '.join(options.datasets)}): {', '.join(names)}"
    named = {algorithm.name for algorithm in options.algorithms}
    if named and not any(algorithm.is_own for algorithm in options.algorithms):
        names = [each.name for each in experiments if named.isdisjoint(entry.name for entry in each.algorithms)]
        if names:
            yield f"LEFT OUT (no method {' or '.join(sorted(named))}): {', '.join(names)}"


def _without_values(experiment: Experiment, options: RunOptions, own: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Yield a sentence on each method that has no values on streams: if it is named, or if it is not run at all."""
    streams: dict[str, list[str]] = {}
    methods = {entry.name for entry in experiment.algorithms} | {*own}
    named = {algorithm.name for algorithm in options.algorithms} & methods if options.algorithms else methods
    run_somewhere: set[str] = set()
    for entry, part in experiment.parts(experiment.profile(options.profile)):
        if selection := _selected(entry, options.datasets):
            run_here = {name for name, _ in _entries(experiment, part, options.algorithms, own)}
            run_somewhere |= run_here
            for name in sorted(named - run_here):
                streams.setdefault(name, []).extend(stream.name for stream in selection)
    for name, without in streams.items():
        if options.algorithms or name not in run_somewhere:
            front = method_info(name).front
            values = f"values of {front.parameter}" if front else "values"
            where = ", ".join(dict.fromkeys(without))
            yield f"{experiment.name}: {name} is not run on {where}: it has no {values} there"


def _entries(
    experiment: Experiment,
    profile: Profile,
    filters: Sequence[MethodFilter],
    own: Mapping[str, Mapping[str, Any]],
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
    for name, own_values in own.items():
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
