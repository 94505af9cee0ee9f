"""Runs: a method with one setting on a stream with a seed; their keys, their expected time, and which are repeated.

Every plan is made of them: `plan.make_plan` for experiments, `board.play` for boards, `recommend.compare` for
comparisons.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import mean
from typing import Any

from algorithms.hyperparameters import number_text
from algorithms.method import Front, MethodInfo
from algorithms.stream import StreamOutline
from benchmark.plan.experiment import OF_STREAM
from benchmark.plan.method_names import (
    hyper_parameters,
    identified_files,
    identity,
    make_method,
    method_info,
    source_hash,
)
from benchmark.plan.own_modules import SourceFiles
from benchmark.plan.run_key import run_key
from benchmark.records.data_identity import split_by_code
from benchmark.records.record import MethodRecord, RunRecord, comparable, decoded, encoded
from data_pipelines.stream_spec import StreamSpec
from data_pipelines.support.messages import one_line

USUAL_STEPS = {"lastfm": 92_834, "delicious": 104_799, "movielens": 214_729}
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
            return f"{self.info.name} {self.front_text}"
        return " ".join([self.info.name, *(f"{name}={value}" for name, value in self.parameters.items())])

    @property
    def name(self) -> str:
        """The name to display: method, threshold and seed."""
        return f"{self.setting} seed {self.seed}"


def _short(number: str) -> str:
    try:
        return f"{float(number):g}"
    except ValueError:  # one value per client, or a front that is not a number
        return number


@dataclass(frozen=True)
class MethodSetting:
    """A method with one setting: all its hyper-parameters; `identity` is its part of the keys of its runs."""

    info: MethodInfo
    method: Any
    parameters: dict[str, Any]
    identity: str


def make_setting(
    name: str, parameters: dict[str, Any], stream: StreamSpec, identities: dict[str, str]
) -> MethodSetting:
    """Make a method for a stream; `identities` caches the identity of each method of a plan."""
    method, complete = with_all_parameters(name, parameters, stream)
    if name not in identities:
        identities[name] = identity(name)
    return MethodSetting(method_info(name), method, complete, identities[name])


def with_all_parameters(name: str, parameters: dict[str, Any], stream: StreamSpec) -> tuple[Any, dict[str, Any]]:
    """Make a method for a stream; return it and all its parameters, including those left at their defaults."""
    if parameters.get("global_dim") == OF_STREAM:
        parameters = {**parameters, "global_dim": getattr(stream, "global_dim", None)}
    method = make_method(name, parameters)
    return method, {**parameters, **hyper_parameters(method)}


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
    code, files = source_hash(setting.identity), identified_files(setting.identity)
    return Run(experiment, stream, info, setting.method, setting.parameters, seed, key, code, files)


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
    return StreamOutline(stream.name, stream.arms, stream.dimension, steps, clients)


def reason_to_skip(algorithm: Any, stream: StreamOutline) -> str | None:
    """Return a one-line reason why a method is not run on a stream; `None` if it is."""
    skip = getattr(algorithm, "skip", None)
    reason = skip(stream) if callable(skip) else None
    return one_line(reason) if isinstance(reason, str) else None


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
