"""Runs: a method with one setting on a stream with a seed; their keys, their expected time, and which are repeated.

Every plan is made of them: `plan.make_plan` for experiments, `board.play` for boards, `recommend.compare` for
comparisons.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import mean
from typing import TYPE_CHECKING, Any

from algorithms.hyperparameters import number_text
from algorithms.method import Front, MethodInfo
from algorithms.stream import StreamOutline
from benchmark.plan.experiment import OF_STREAM, combinations, spread
from benchmark.plan.method_names import (
    created,
    declared_by,
    hyper_parameters,
    make_method,
    method_info,
    parse_filter,
    source_of,
)
from benchmark.plan.own_modules import OwnSource, SourceFiles
from benchmark.plan.run_key import run_key
from benchmark.records.data_identity import split_by_code
from benchmark.records.record import MethodRecord, RunRecord, comparable, decoded, encoded
from data_pipelines.stream_spec import StreamSpec
from data_pipelines.support.messages import one_line
from data_pipelines.support.text import cut

if TYPE_CHECKING:
    from benchmark.execution.own_metrics import PlannedMetric

USUAL_STEPS = {"lastfm": 92_834, "delicious": 104_799, "movielens": 214_729}
MAX_TEXT = 120
"""Characters of the text of a setting."""

OVERHEAD = 1.2
"""The total time of a run, relative to the time of its kernels."""


@dataclass(frozen=True)
class Run:
    """One run of one experiment: everything needed to execute it, to name it and to find it again."""

    experiment: str
    stream: StreamSpec
    info: MethodInfo
    method: Any
    parameters: dict[str, Any]
    seed: int
    key: str
    code: str = ""
    """The hash of the source of a class that is not built in."""
    files: SourceFiles = field(default_factory=dict, repr=False)
    """The source of a class that is not built in, as its key covers it: workers execute it."""
    metrics: "tuple[PlannedMetric, ...]" = ()
    """The metrics of the user to compute; they are not part of its key."""

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
        """The exact value on the front of its method, such as γ or D, as text; empty if there is none."""
        value = self.parameters.get(self.front.parameter) if self.front else None
        return "" if value is None else number_text(value)

    @property
    def front_text(self) -> str:
        """That value for people, with its symbol, such as γ=5."""
        return front_text(self.front.symbol, self.parameters.get(self.front.parameter)) if self.front else ""

    @property
    def setting(self) -> str:
        """A name for all its seeds: method and threshold."""
        if self.front_text:
            return f"{self.info.name} {self.front_text}"
        return " ".join([self.info.name, *(f"{name}={value}" for name, value in self.parameters.items())])

    @property
    def name(self) -> str:
        """The name to display: method, threshold and seed."""
        return f"{self.setting} seed {self.seed}"


def front_text(symbol: str, value: Any) -> str:
    """Return a value on the front of a method with its symbol, such as γ=5; empty if there is none."""
    text = threshold_text(value) if isinstance(value, int | float) else "" if value is None else str(value)
    return cut(f"{symbol}={text}", MAX_TEXT) if text else ""


def threshold_text(threshold: float) -> str:
    """Return a threshold as readable text: ∞, 6,001, 1.01, 1e20; empty if there is none."""
    if math.isnan(threshold):
        return ""
    if math.isinf(threshold):
        return "∞"
    if threshold >= 1e6:
        return f"{threshold:.4g}".replace("e+0", "e").replace("e+", "e")
    rounded = round(threshold) if threshold >= 1000 or math.isclose(threshold, round(threshold)) else threshold
    return f"{rounded:,}" if isinstance(rounded, int) else f"{rounded:.4g}"


@dataclass(frozen=True)
class MethodSetting:
    """A method with one setting: all its hyper-parameters, and its source if it is not built in."""

    info: MethodInfo
    method: Any
    parameters: dict[str, Any]
    source: OwnSource | None

    @property
    def identity(self) -> str:
        """Its part of the keys of its runs: its name, with its source hash if it is not built in."""
        return f"{self.info.name}@{self.source.hash}" if self.source else self.info.name


def make_setting(
    name: str, parameters: dict[str, Any], stream: StreamSpec, sources: dict[str, OwnSource | None]
) -> MethodSetting:
    """Make a method for a stream; `sources` keeps the source of each method of a plan, which is read once."""
    if parameters.get("global_dim") == OF_STREAM:
        parameters = {**parameters, "global_dim": getattr(stream, "global_dim", None)}
    info, method = method_info(name), make_method(name, parameters)
    if name not in sources:
        sources[name] = source_of(info)
    return MethodSetting(info, method, {**parameters, **hyper_parameters(method)}, sources[name])


def settings_of(methods: Any, *, points: int | None = None) -> list[MethodSetting]:
    """Return all settings of methods that are given by name, or as classes or instances.

    A method is a name (`"async-linucb"`, `"async-linucb[gamma=[1,10,inf]]"`, `"module:Class"`), a class, or an
    instance. A name or a class without a value for its front runs through the grid that the method declares, or
    through `points` values of it.
    """
    listed = [methods] if isinstance(methods, str | type) or not isinstance(methods, Sequence) else list(methods)
    if not listed:
        raise ValueError("methods must have at least one method, got none")
    settings = [setting for method in listed for setting in _settings(method, points)]
    keys = [run_key("", each.identity, each.parameters, 0) for each in settings]
    for index, key in enumerate(keys):
        if key in keys[:index]:
            name, parameters = settings[index].info.name, settings[index].parameters
            raise ValueError(
                f"methods must be distinct, got {name} twice with {parameters or 'the same parameters'}; parameters "
                "are read from attributes with the names of the constructor's arguments"
            )
    for name in dict.fromkeys(each.info.name for each in settings):
        if len({each.identity for each in settings if each.info.name == name}) > 1:
            raise ValueError(f"methods must have distinct names, got two classes with the name {name!r}")
    return settings


def _settings(method: Any, points: int | None) -> list[MethodSetting]:
    if isinstance(method, str):
        algorithm = parse_filter(method)
        info, values = method_info(algorithm.name), dict(algorithm.values)
    else:
        info, values = declared_by(method if isinstance(method, type) else type(method)), {}
    front = info.front
    if front is not None and front.parameter not in values:
        values = {front.parameter: spread(front.grid, points or len(front.grid)), **values}
    is_instance = not isinstance(method, str | type)
    made = [method] if is_instance else [created(info, parameters) for parameters in combinations(values)]
    return [MethodSetting(info, each, hyper_parameters(each), source_of(info)) for each in made]


def make_run(
    experiment: str, stream: StreamSpec, seed: int, setting: MethodSetting, fingerprint: str | None = None
) -> Run:
    """Make one run; `fingerprint` is that of the stream, if it is already known."""
    info = setting.info
    key = run_key(
        fingerprint or stream.fingerprint(seed),
        setting.identity,
        setting.parameters,
        seed,
        version=info.version,
        added=info.added,
    )
    source = setting.source or OwnSource("")
    return Run(experiment, stream, info, setting.method, setting.parameters, seed, key, source.hash, source.files)


Skipped = dict[tuple[str, str], str]
"""For each stream and each method that is not run on it, the reason in one line."""


def runs_of(
    experiment: str,
    streams: Iterable[tuple[int, StreamSpec]],
    settings: Callable[[StreamSpec], Iterable[MethodSetting]],
) -> tuple[list[Run], Skipped]:
    """Return the runs of settings on streams, each with its seed, equal ones once; and which methods are not run."""
    runs: dict[str, Run] = {}
    skipped: Skipped = {}
    for seed, stream in streams:
        outline, fingerprint = outline_of(stream), stream.fingerprint(seed)
        for setting in settings(stream):
            if reason := reason_to_skip(setting.method, outline):
                skipped[stream.name, setting.info.name] = reason
            else:
                run = make_run(experiment, stream, seed, setting, fingerprint)
                runs.setdefault(run.key, run)
    return list(runs.values()), skipped


def outline_of(stream: StreamSpec) -> StreamOutline:
    """Return what is known about a stream before it is built."""
    steps, clients = (getattr(stream, size, None) for size in ("steps", "clients"))
    features = getattr(stream, "features", "words")
    has_held_out_users = features != "words"
    return StreamOutline(
        stream.name,
        stream.arms,
        stream.dimension,
        steps,
        clients,
        has_held_out_users,
        has_held_out_users and stream.has_ratings(),
        features == "profile",
    )


def reason_to_skip(algorithm: Any, stream: StreamOutline) -> str | None:
    """Return a one-line reason why a method is not run on a stream; `None` if it is."""
    skip = getattr(algorithm, "skip", None)
    reason = skip(stream) if callable(skip) else None
    return one_line(reason) if isinstance(reason, str) else None


def with_metrics(finished: Iterable[RunRecord], metrics: Collection[str]) -> list[RunRecord]:
    """Return the finished runs that have all of these metrics: those of an earlier version may lack one."""
    return [record for record in finished if {*metrics} <= record.metrics.keys()]


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


def expected_seconds(runs: Iterable[Run], finished: Sequence[RunRecord]) -> Mapping[str, float]:
    """Return the seconds of one core that each run is expected to take, by its key."""
    measured: dict[tuple[str, str], list[float]] = defaultdict(list)
    for record in finished:
        kind = (record.stream.name, record.method.name)
        measured[kind].append(record.metrics.get("kernel_seconds", 0.0))
    usual = {kind: mean(seconds) for kind, seconds in measured.items()}
    return {
        run.key: OVERHEAD * usual.get((run.stream.name, run.info.name), _by_steps(run))
        for run in {run.key: run for run in runs}.values()
    }


def _by_steps(run: Run) -> float:
    steps = getattr(run.stream, "steps", None) or USUAL_STEPS.get(run.stream.name, 100_000)
    return run.info.microseconds_per_step * steps / 1e6


def duration(seconds: float) -> str:
    """Format a duration for display: 40 s, 12 min, 3 h 5 min."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"


def repeated_sentences(remaining: Iterable[Run], finished: Iterable[RunRecord]) -> list[str]:
    """Return one sentence per method and earlier version of which runs will be repeated, with what changed since."""
    by_stream: dict[tuple[str, str, str], list[MethodRecord]] = defaultdict(list)
    for record in finished:
        by_stream[record.experiment, record.method.name, record.stream.fingerprint].append(record.method)
    counts: Counter[tuple[str, int]] = Counter()
    infos: dict[str, MethodInfo] = {}
    for run in remaining:
        if run.info.version > 1:
            infos[run.info.name] = run.info
            earlier = by_stream[run.experiment, run.info.name, run.fingerprint]
            counts.update({(run.info.name, each.version) for each in earlier if _is_earlier(each, run)})
    sentences = []
    for (name, version), count in sorted(counts.items()):
        info = infos[name]
        changes = info.changes_since(version)
        reason = f" because version {info.version} changed: {'; '.join(changes)}" if changes else ""
        runs = "1 finished run is" if count == 1 else f"{count:,} finished runs are"
        they = "it is" if count == 1 else "they are"
        sentences.append(f"{info.label}: {runs} of version {version}; {they} repeated{reason}")
    return sentences


def _is_earlier(method: MethodRecord, run: Run) -> bool:
    """Whether a recorded method is an earlier version with the same parameters, as far as it had them."""
    values = {name: comparable(decoded(encoded(value))) for name, value in run.parameters.items()}
    is_same = method.comparable_parameters.items() <= values.items()
    return is_same and method.version < run.info.version
