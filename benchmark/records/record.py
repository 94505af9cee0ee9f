"""The record of a run: the same class is written and read; and the names of its stream.

MLflow's parameters, tags and metrics are for people, and for searching. Only one tag is read back, `fedbandit.record`:
JSON with the stream, the method and the provenance, in which every value keeps its type.
"""

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from algorithms.hyperparameters import number_text
from algorithms.method import MethodInfo
from benchmark.metrics import SIMULATED, OwnMetrics, own_metrics_from_json, own_metrics_to_json
from benchmark.records.tags import ERROR, OWN_METRICS, PARENT, RECORD
from data_pipelines.data_set import stream_label

if TYPE_CHECKING:
    from benchmark.execution.run_result import RunResult
    from benchmark.plan.runs import Run

SIZES = ("steps", "clients", "arms", "dimension")

MAX_TAG = 8000
"""Characters: MLflow refuses longer tags, or cuts them."""
MAX_VALUES = (1000, 100, 0)
"""Characters of one value in the tag; each limit applies if the tag would still be too long with the one before it.
The last one means a single hash of all hyper-parameters but that of the front."""
HASHED = "sha256"
OTHERS = "other parameters"
CHOICES = "choices"
"""The hash of the chosen arms, in the facts of a result."""
CODE_VERSION = "code version"
"""The code in a configuration; no parameter has this name, because it has a space."""


class Configuration(dict[str, Any]):
    """Everything that determines a result, except the seed: a dictionary that never changes, and can be sorted."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        super().__init__(sorted(values.items()))
        self._hash = hash(tuple(self.items()))

    def __hash__(self) -> int:  # type: ignore[override]
        """Hash names and values."""
        return self._hash

    def __lt__(self, other: "Configuration") -> bool:
        """Sort by names and values, numbers before texts."""
        return _sort_key(self) < _sort_key(other)

    def without(self, *names: str) -> "Configuration":
        """Return the same configuration without some values."""
        return Configuration({name: value for name, value in self.items() if name not in names})


def _sort_key(values: Mapping[str, Any]) -> list[tuple[str, bool, float, str]]:
    numbers = {name: value for name, value in values.items() if isinstance(value, int | float)}
    return [(name, name not in numbers, numbers.get(name, 0.0), str(value)) for name, value in values.items()]


@dataclass(frozen=True)
class StreamRecord:
    """The stream of a run.

    Args:
        name: the name of the data set or simulation.
        source: the source of the data, such as `official` or `simulated`.
        fingerprint: the fingerprint of the stream.
        prepared: fingerprint of the prepared data behind it; empty for simulations.
        options: its specification, each value with its type.
        sizes: its numbers of steps, clients, arms and features; empty if the run failed.
    """

    name: str
    source: str
    fingerprint: str = ""
    prepared: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    sizes: Mapping[str, int] = field(default_factory=dict)

    @property
    def is_simulated(self) -> bool:
        """Whether the stream is simulated; its options then determine its data."""
        return self.source == SIMULATED

    @cached_property
    def comparable_options(self) -> dict[str, Any]:
        """Its options and sizes as `stream_NAME`, with values that can be compared.

        In simulations, the number of clients that appear depends on the seed; it is left out.
        """
        values = {name: value for name, value in self.options.items() if name not in SIZES}
        values |= {name: self.size(name) for name in SIZES if self.size(name) >= 0}
        if self.is_simulated:
            values.pop("clients", None)
        return {f"stream_{name}": comparable(value) for name, value in values.items()}

    def size(self, name: str) -> int:
        """Return a size; failed runs have it only as an option; -1 if it is unknown."""
        value = self.sizes.get(name, self.options.get(name))
        return value if isinstance(value, int) else -1


@dataclass(frozen=True)
class MethodRecord:
    """The method of a run.

    Args:
        info: its name, label and style, and the parameter of its front.
        version: the version of the method.
        parameters: all hyper-parameters, each with its type; sequences are tuples.
        code: the hash of the source of a class that is not built in; empty for built-in methods.
    """

    info: MethodInfo
    version: int = 1
    parameters: Mapping[str, Any] = field(default_factory=dict)
    code: str = ""

    @property
    def name(self) -> str:
        """Its name in experiments."""
        return self.info.name

    @property
    def code_version(self) -> str:
        """The code that was executed: equal texts mean equal code."""
        return f"code {self.code}" if self.code else f"version {self.version}"

    @cached_property
    def comparable_parameters(self) -> dict[str, Any]:
        """All hyper-parameters, with values that can be compared."""
        return {name: comparable(value) for name, value in self.parameters.items()}

    @property
    def front_value(self) -> Any:
        """The value of the hyper-parameter that its front varies, such as `gamma`; None without one."""
        return self.parameters.get(self.info.parameter)

    @property
    def front_number(self) -> float:
        """The front value as it is displayed and compared; NaN if it is not a number, such as one value per client."""
        value = self.front_value
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return float(comparable(value)) if is_number else math.nan


@dataclass(frozen=True)
class RunRecord:
    """One recorded run.

    Args:
        run_id: the id of the run in MLflow.
        key: its key, see `plan/run_key.py`.
        experiment: the name of its experiment.
        seed: the seed of the stream and of the method.
        stream: its stream.
        method: its method with all hyper-parameters.
        metrics: final values by name.
        provenance: versions, commit and machine, by tag.
        status: FINISHED, FAILED, RUNNING or KILLED.
        name: a name for people.
        error: its error in one line, if it failed.
        ended: its end in milliseconds since the epoch, or its start if it has not ended.
        artifact_uri: the folder of its files.
        parent: the id of the run that it is nested below.
        choices: the hash of the chosen arms; empty if it was recorded before there was one.
        own_metrics: the metrics of the user that it has been measured by; their values are among its `metrics`.
    """

    run_id: str
    key: str
    experiment: str
    seed: int
    stream: StreamRecord
    method: MethodRecord
    metrics: Mapping[str, float] = field(default_factory=dict)
    provenance: Mapping[str, str] = field(default_factory=dict)
    status: str = "FINISHED"
    name: str = ""
    error: str = ""
    ended: int = 0
    artifact_uri: str = ""
    parent: str = ""
    choices: str = ""
    own_metrics: OwnMetrics = field(default_factory=dict)

    @property
    def purpose(self) -> str:
        """`choose` for seeds on which settings are chosen, otherwise `report`, by the shipped protocol."""
        from benchmark.protocol import load_protocol

        return load_protocol().seeds.purpose(self.seed)

    @cached_property
    def configuration(self) -> Configuration:
        """Everything but the seed: hyper-parameters, options and sizes of the stream as `stream_NAME`, and the code.

        Version 1 of a method is left out, so that configurations of earlier records stay the same.
        """
        method = self.method
        code = {CODE_VERSION: method.code_version} if method.code or method.version > 1 else {}
        return Configuration(method.comparable_parameters | self.stream.comparable_options | code)

    def to_mlflow(self) -> tuple[dict[str, str], dict[str, str]]:
        """Return the parameters that the MLflow UI shows, searches and groups by, and the tags with the record."""
        texts = {name: number_text(value) for name, value in self.method.parameters.items()}
        texts |= {name: str(value) for name, value in self.stream.sizes.items()}
        options = self.stream.options.items()
        texts |= {f"stream_{name}": number_text(value) for name, value in options if name not in self.stream.sizes}
        front = "" if self.method.front_value is None else number_text(self.method.front_value)
        identity = {"algorithm": self.method.name, "threshold": front, "dataset": self.stream.name}
        tags = (self.to_json(limit) for limit in (None, *MAX_VALUES))
        tag = next(text for text in tags if len(text) <= MAX_TAG)
        own = {OWN_METRICS: own_metrics_to_json(self.own_metrics)} if self.own_metrics else {}
        return {**texts, **identity, "seed": str(self.seed)}, {RECORD: tag, **own}

    def to_json(self, max_value: int | None = None) -> str:
        """Return the record as JSON, without its metrics; values longer than a limit are replaced by their hash."""
        method, stream = self.method, self.stream
        parameters = {name: encoded(value, max_value) for name, value in method.parameters.items()}
        if max_value == 0:
            others = sorted((name, encoded(value)) for name, value in method.parameters.items())
            front = {method.info.parameter: encoded(method.front_value, 100)} if method.info.parameter else {}
            parameters = {**front, OTHERS: encoded(others, 0)}
        options = {name: encoded(value, max_value) for name, value in stream.options.items()}
        code = {"code": method.code} if method.code else {}
        parts = {
            "method": {"card": method.info.to_json(), "version": method.version, "parameters": parameters, **code},
            "stream": {**asdict(replace(stream, options={})), "options": options},
            "provenance": dict(self.provenance),
        }
        # Each part is a separate text, so that thousands of runs with the same method or stream decode it once.
        identity = {"key": self.key, "seed": self.seed, **({"choices": self.choices} if self.choices else {})}
        return _json({**identity, **{name: _json(part) for name, part in parts.items()}})

    @classmethod
    def from_mlflow(cls, tags: Mapping[str, str], metrics: Mapping[str, float], **about: Any) -> "RunRecord":
        """Return the record of a run in MLflow, given its final metrics; `about` are fields such as `run_id`."""
        content = json.loads(tags[RECORD])
        return cls(
            key=content["key"],
            seed=content["seed"],
            method=_method_of(content["method"]),
            stream=_stream_of(content["stream"]),
            provenance=_provenance_of(content["provenance"]),
            choices=content.get("choices", ""),
            metrics=metrics,
            error=tags.get(ERROR, ""),
            parent=tags.get(PARENT, ""),
            own_metrics=_own_metrics_of(tags[OWN_METRICS]) if OWN_METRICS in tags else {},
            **about,
        )


@dataclass(frozen=True)
class StoredRun:
    """A run in a store, of any kind: fields of a `RunRecord`, with some of its tags and final metrics."""

    run_id: str
    experiment: str
    status: str
    ended: int
    artifact_uri: str
    name: str
    tags: Mapping[str, str]
    metrics: Mapping[str, float]


def record_of(run: "Run", result: "RunResult", provenance: Mapping[str, str] | None = None) -> RunRecord:
    """Return the record of a planned run and its result: the one place where they are turned into a record."""
    stream = run.stream
    sizes = {name: int(result.facts[name]) for name in SIZES if name in result.facts}
    return RunRecord(
        run_id="",
        key=run.key,
        experiment=run.experiment,
        seed=run.seed,
        stream=StreamRecord(
            stream.name, stream.source, run.fingerprint, stream.prepared() or "", stream.settings(), sizes
        ),
        method=MethodRecord(run.info.as_recorded(), run.info.version, dict(run.parameters), run.code),
        metrics=result.metrics,
        provenance=dict(provenance or result.provenance or {}),
        status="FAILED" if result.error else "FINISHED",
        name=run.name,
        error=result.error,
        choices=result.facts.get(CHOICES, ""),
        own_metrics=result.own_metrics,
    )


def encoded(value: Any, max_length: int | None = None) -> Any:
    """Return a value for JSON that `decoded` turns back; one longer than the limit becomes its hash."""
    if max_length is not None and len(text := json.dumps(encoded(value))) > max_length:
        return {HASHED: hashlib.sha256(text.encode()).hexdigest()}
    if hasattr(value, "tolist"):  # a NumPy array or number
        value = value.tolist()
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": str(value)}
    if value is None or isinstance(value, bool | int | str):
        return value
    return [encoded(element) for element in value] if isinstance(value, list | tuple) else {"text": str(value)}


def decoded(content: Any) -> Any:
    """Return the value that was encoded; sequences become tuples, objects their texts, and hashes `sha256:…`."""
    if isinstance(content, list):
        return tuple(decoded(element) for element in content)
    if not isinstance(content, dict):
        return content
    if "float" in content:
        return float(content["float"])
    return content["text"] if "text" in content else f"{HASHED}:{content[HASHED]}"


def comparable(value: Any) -> Any:
    """Return a value that can be compared: the last bits of a number differ between grids and recorded texts."""
    if isinstance(value, float):
        return _comparable_number(value)
    return tuple(comparable(element) for element in value) if isinstance(value, list | tuple) else value


@lru_cache(maxsize=65_536)
def _comparable_number(value: float) -> float:
    return float(f"{value:.10g}")


def _json(content: Any) -> str:
    return json.dumps(content, allow_nan=False, separators=(",", ":"))


@lru_cache(maxsize=4096)
def _method_of(text: str) -> MethodRecord:
    fields = json.loads(text)
    parameters = {name: decoded(value) for name, value in fields["parameters"].items()}
    return MethodRecord(MethodInfo.from_json(fields["card"]), fields["version"], parameters, fields.get("code", ""))


@lru_cache(maxsize=4096)
def _stream_of(text: str) -> StreamRecord:
    fields = json.loads(text)
    return StreamRecord(**{**fields, "options": {name: decoded(value) for name, value in fields["options"].items()}})


_provenance_of = lru_cache(maxsize=256)(json.loads)
_own_metrics_of = lru_cache(maxsize=256)(own_metrics_from_json)

TASKS = {
    ("negatives", "popularity"): ("matched", "popularity-matched pools"),
    ("pools", "rated"): ("rated", "rated items only"),
    ("repeats", "once"): ("once", "each pair once"),
}
"""Options of a stream that make it another task: how they are written in its name, and for people."""


def stream_name(stream: StreamRecord) -> str:
    """Return the name of a stream: its data set, and options with which it is another task, such as lastfm-matched.

    Streams of different names are never in one curve, one ranking or one mean.
    """
    suffixes = (suffix for (name, value), (suffix, _) in TASKS.items() if stream.options.get(name) == value)
    return "-".join([stream.name, *suffixes])


def dataset_label(name: str) -> str:
    """Return a readable name of a data set or of a stream, with the options that make it another task."""
    label = stream_label(name)
    for suffix, task in TASKS.values():
        if label == name and name.endswith(f"-{suffix}"):
            return f"{dataset_label(name.removesuffix(f'-{suffix}'))}, {task}"
    return label
