"""The file of a bundle: a zip with a card, records of runs, their metrics, rows of boards, and the source of methods.

The same runs and card give the same bytes: it has no times, no paths and no ids of a store, and numbers have ten
digits. It is read in memory, within limits, and reading it executes nothing.
"""

import hashlib
import io
import json
import re
import tomllib
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Annotated, Any

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import Field, ValidationError

from benchmark.board.document import from_json
from benchmark.board.task import Task
from benchmark.plan.method_names import method_info
from benchmark.plan.own_modules import hash_of
from benchmark.plan.run_key import run_key
from benchmark.protocol import load_protocol
from benchmark.records.record import RunRecord, comparable
from benchmark.records.tags import COMMIT, RECORD
from data_pipelines.fetch.archive import Archive
from data_pipelines.stream_spec import (
    CLIENT_DISTRIBUTION,
    StreamSpec,
    Strict,
    dataset_spec,
    simulated_spec,
)
from data_pipelines.support.messages import described, one_line

FORMAT = 1
ABOUT, CARD, RUNS, METRICS, BOARDS = "bundle.json", "card.toml", "runs.json", "metrics.parquet", "boards.json"
TIMES = ("microseconds_per_step", "kernel_seconds", "cpu_seconds")
MACHINE = "fedbandit.machine"
FIRST_DAY = (1980, 1, 1, 0, 0, 0)
SOURCE = re.compile(r"source/([0-9a-f]{16})/((?:[A-Za-z_]\w{0,99}/){0,9}[A-Za-z_]\w{0,99})\.py", re.ASCII)

# A bundle comes from a stranger: what is unpacked is limited, also where a few bytes stand for many.
MAX_FILE, MAX_MEMBER, MAX_SOURCE, MAX_CARD = 50_000_000, 100_000_000, 1_000_000, 20_000
MAX_SOURCES, MAX_RUNS, MAX_METRICS = 100, 100_000, 200

Text = Annotated[str, Field(max_length=2000)]


class Card(Strict):
    """What only people know about a method and its results."""

    name: Text = ""
    authors: Annotated[list[Text], Field(default_factory=list, max_length=100)]
    reference: Text = ""
    licence: Text = ""
    deviations: Text = ""

    @classmethod
    def read(cls, content: bytes, name: str) -> "Card":
        """Read a card; one that is not valid raises ValueError with one line."""
        try:
            if len(content) > MAX_CARD:
                raise ValueError(f"it is larger than {MAX_CARD:,} bytes")
            return cls.model_validate(tomllib.loads(content.decode()))
        except ValidationError as error:
            raise ValueError(one_line(f"{name}: {described(error)}")) from None
        except (ValueError, RecursionError) as error:
            raise ValueError(one_line(f"{name} is not a valid card: {error}")) from None


EMPTY_CARD = """# Who made this method, and what a reader must know.
name = ""  # of the method, for people
authors = []  # such as ["Ada Lovelace", "Alan Turing"]
reference = ""  # the paper or page that describes it
licence = ""  # of the source, such as "MIT"
deviations = ""  # how it differs from the reference; "none" if it does not
"""


@dataclass(frozen=True)
class Source:
    """The source of a class: `module:Class`, the files of its modules, and the names of those that it imports."""

    reference: str
    files: Mapping[str, bytes]
    """By their path from the folder from which they are imported."""

    helpers: Sequence[str]

    @property
    def hash(self) -> str:
        """The hash that is part of the keys of its runs."""
        contents = {_module(path): content for path, content in self.files.items()}
        return hash_of(self.reference.partition(":")[0], contents, self.helpers)


def _module(path: str) -> str:
    return ".".join(PurePosixPath(path).with_suffix("").parts).removesuffix(".__init__")


@dataclass(frozen=True)
class Bundle:
    """Runs with all that is needed to execute them again.

    Args:
        runs: their records; ids and folders of the store are empty, and times are left out.
        card: the file that the user filled in.
        sources: the source of the classes that are not built in, by its hash.
        boards: the documents of boards, see `board/document.py`, by experiment: the rows of these methods, of the
            reference and of the baseline.
    """

    runs: Sequence[RunRecord]
    card: bytes = EMPTY_CARD.encode()
    sources: Mapping[str, Source] = field(default_factory=dict)
    boards: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def to_bytes(self) -> bytes:
        """Return the file."""
        members = {CARD: self.card, RUNS: self._records(), METRICS: self._metrics(), BOARDS: self._boards()}
        for code, source in self.sources.items():
            members |= {f"source/{code}/{path}": content for path, content in source.files.items()}
        protocol = load_protocol()
        about = {
            "format": FORMAT,
            "protocol": {"version": protocol.version, "fingerprint": protocol.fingerprint},
            "sha256": {name: hashlib.sha256(content).hexdigest() for name, content in members.items()},
        }
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as file:
            for name, content in {ABOUT: _json(about), **dict(sorted(members.items()))}.items():
                info = zipfile.ZipInfo(name, FIRST_DAY)
                info.compress_type, info.create_system, info.external_attr = zipfile.ZIP_DEFLATED, 3, 0o644 << 16
                file.writestr(info, content, compresslevel=9)
        return buffer.getvalue()

    def _records(self) -> bytes:
        """Return the records; texts that many of them share are listed once."""
        texts: dict[str, int] = {}
        rows = []
        for run in self.runs:
            content = json.loads(run.to_json())
            shared = [texts.setdefault(content[name], len(texts)) for name in ("method", "stream", "provenance")]
            rows.append([run.experiment, run.key, run.seed, run.choices, *shared])
        sources = {code: [source.reference, list(source.helpers)] for code, source in self.sources.items()}
        return _json({"texts": list(texts), "runs": rows, "sources": sources})

    def _boards(self) -> bytes:
        """Return the documents of boards in their own order: of equal configurations, the first one is chosen."""
        return json.dumps(self.boards, separators=(",", ":"), ensure_ascii=False).encode()

    def _metrics(self) -> bytes:
        names = sorted({name for run in self.runs for name in run.metrics})
        table = pa.table({name: pa.array([run.metrics.get(name) for run in self.runs], pa.float64()) for name in names})
        buffer = io.BytesIO()
        pq.write_table(table, buffer, compression="zstd", use_dictionary=False, write_statistics=False)
        return buffer.getvalue()


def portable(record: RunRecord) -> RunRecord:
    """Return a record without what differs between two machines or folders that computed the same."""
    kept = {name: text for name, text in record.provenance.items() if name not in (COMMIT, MACHINE)}
    left_out = {*TIMES, *record.own_metrics}  # their source is not in a bundle
    metrics = {name: comparable(value) for name, value in record.metrics.items() if name not in left_out}
    return RunRecord(
        "",
        record.key,
        record.experiment,
        record.seed,
        record.stream,
        record.method,
        metrics,
        kept,
        choices=record.choices,
    )


DAMAGED = (ValueError, KeyError, TypeError, AttributeError, IndexError, OverflowError, OSError, RecursionError)
"""What reading a damaged file can raise; an OSError is one of pyarrow."""


def read_bundle(path: Path) -> Bundle:
    """Read a bundle; one that is damaged, changed, too large or of another protocol raises ValueError with one line."""
    try:
        size = path.stat().st_size
    except OSError as error:
        raise ValueError(one_line(f"{path} cannot be read: {error.strerror}")) from None
    if size > MAX_FILE:
        raise ValueError(one_line(f"{path} must have at most {MAX_FILE:,} bytes, got {size:,}"))
    with Archive(path, {ABOUT: MAX_CARD}) as archive:
        about = _parsed(path, ABOUT, archive.read(ABOUT))
    try:
        version, protocol, hashes = about["format"], about["protocol"], about["sha256"]
        names, ours = [str(name) for name in hashes], load_protocol()
        if version != FORMAT:
            raise ValueError(f"format must be {FORMAT}, got {version!r}")
        if protocol["fingerprint"] != ours.fingerprint:
            raise ValueError(f"it is of version {protocol['version']} of the protocol, expected {ours.version} as here")
        of_sources = [name for name in names if SOURCE.fullmatch(name)]
        if {*names} - {*of_sources} != {CARD, RUNS, METRICS, BOARDS} or len(of_sources) > MAX_SOURCES:
            raise ValueError(f"members must be those of a bundle, got {', '.join(names)}")
        limits = dict.fromkeys(names, MAX_MEMBER) | dict.fromkeys(of_sources, MAX_SOURCE) | {CARD: MAX_CARD}
        with Archive(path, limits, hashes) as archive:
            members = {name: archive.read(name) for name in names}
        return _bundle(path, members, of_sources)
    except (*DAMAGED, pa.ArrowException) as error:
        raise ValueError(one_line(f"{path.name} is not a valid bundle: {_reason(error)}")) from None


def _bundle(path: Path, members: Mapping[str, bytes], of_sources: Sequence[str]) -> Bundle:
    Card.read(members[CARD], CARD)
    content = _parsed(path, RUNS, members[RUNS])
    files: dict[str, dict[str, bytes]] = {code: {} for code in content["sources"]}
    for name in of_sources:
        _, code, file = name.split("/", 2)
        files[code][file] = members[name]
    sources = {code: Source(text, files[code], names) for code, (text, names) in content["sources"].items()}
    for code, source in sources.items():
        if source.hash != code:
            raise ValueError(f"the source of {source.reference} has the hash {source.hash}, expected {code}")
    metrics, texts, runs = _metric_rows(members[METRICS]), content["texts"], []
    for (experiment, key, seed, choices, *shared), values in zip(content["runs"], metrics, strict=True):
        method, stream, provenance = (texts[number] for number in shared)
        parts = {"key": key, "seed": seed, "choices": choices, "method": method, "stream": stream}
        tag = json.dumps({**parts, "provenance": provenance})
        runs.append(RunRecord.from_mlflow({RECORD: tag}, values, run_id="", experiment=str(experiment)))
    bundle = Bundle(runs, members[CARD], sources, _parsed(path, BOARDS, members[BOARDS]))
    check(bundle)
    return bundle


def _metric_rows(content: bytes) -> list[dict[str, float]]:
    """Read a table of numbers. Texts are refused before anything is unpacked: few bytes can stand for many."""
    file = pq.ParquetFile(io.BytesIO(content))
    schema, count = file.schema_arrow, file.metadata.num_rows
    if len(schema) > MAX_METRICS or any(each.type != pa.float64() for each in schema) or count > MAX_RUNS:
        raise ValueError(f"{METRICS} must have numbers only, of at most {MAX_RUNS:,} runs, got {count:,}")
    rows = file.read(use_threads=False).to_pylist()
    return [{name: value for name, value in row.items() if value is not None} for row in rows]


def check(bundle: Bundle) -> None:
    """Check that every key follows from its record, and the boards from the records."""
    _check_keys(bundle)
    for experiment, document in bundle.boards.items():
        _check_board(experiment, document, {run.key: run for run in bundle.runs if run.experiment == experiment})


def _check_board(experiment: str, document: Mapping[str, Any], records: Mapping[str, RunRecord]) -> None:
    """Check that a run of a board has the configuration, the seed and the stream for which the board counts it."""
    board, outcomes = from_json(json.dumps(document), records)
    for (name, seed), outcome in outcomes.items():
        if outcome.key not in records:
            continue
        run, (method, parameters) = records[outcome.key], board.parameters.get(name, ("", {}))
        is_as_named = (run.seed, run.method.name) == (seed, method) and _has_stream_of(run, board.task)
        values = run.method.parameters
        if not is_as_named or any(comparable(values.get(key)) != comparable(parameters[key]) for key in parameters):
            raise ValueError(f"{experiment}: the run {outcome.key[:12]} is not {name} with seed {seed} on its task")


def _has_stream_of(run: RunRecord, task: Task) -> bool:
    """Whether a run has the stream of a task; a record also has what the task leaves to the prepared data."""
    options, settings = run.stream.options, task.stream.settings()
    is_same = all(options.get(name) == value for name, value in settings.items() if value is not None)
    return is_same and options.keys() == settings.keys() and run.stream.name == task.stream.name


def _check_keys(bundle: Bundle) -> None:
    """Check that every key follows from the record: the method with its source and parameters, the stream and seed."""
    for run in bundle.runs:
        method, code = run.method, run.method.code
        if code and code not in bundle.sources:
            raise ValueError(f"the source {code} of {method.name} is missing")
        info = method.info if code else method_info(method.name)
        identity = f"{method.name}@{code}" if code else method.name
        version, added = (method.version, {}) if code else (info.version, info.added)
        if version != method.version:
            raise ValueError(f"{method.name} has version {method.version}, expected {version} as here")
        key = run_key(run.stream.fingerprint, identity, method.parameters, run.seed, version=version, added=added)
        if key != run.key:
            raise ValueError(f"the key {run.key[:12]} of a run of {method.name} does not follow from its record")


def spec_of(run: RunRecord) -> StreamSpec:
    """Return the specification of the stream of a run."""
    options = {**run.stream.options}
    if run.stream.is_simulated:
        return simulated_spec(options.pop(CLIENT_DISTRIBUTION), **options)
    return dataset_spec(dataset=run.stream.name, **options)


def differences(runs: Sequence[RunRecord], ours: Mapping[str, str]) -> list[str]:
    """Return a line for each version, and for the processor, that these runs had and this machine has not."""
    pairs = {(name, text) for run in runs for name, text in run.provenance.items() if ours.get(name, text) != text}
    return [
        f"{name.removeprefix('fedbandit.')}: {text[:60]} in the bundle, {ours[name][:60]} here"
        for name, text in sorted(pairs)
    ]


def _parsed(path: Path, name: str, content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ValueError(one_line(f"{name} in {path.name} is not valid JSON: {error}")) from None


def _json(content: object) -> bytes:
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def _reason(error: BaseException) -> str:
    return str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
