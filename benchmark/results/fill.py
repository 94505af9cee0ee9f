"""Add the values of a metric of the user to finished runs, from their stored steps: no method is executed."""

import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from algorithms.stream import trace_of
from algorithms.trace import Counts, Trace
from benchmark.bundles.bundle import spec_of
from benchmark.execution.own_metrics import PlannedMetric, metric_line
from benchmark.records.artifacts import CLIENTS, CURVE, content_of, files_of
from benchmark.records.record import RunRecord
from benchmark.records.store import Store
from benchmark.records.tracking import single_writer_lock
from benchmark.ui.pages import update_pages
from data_pipelines import EventStream
from data_pipelines.support.messages import one_line
from data_pipelines.support.progress import progress
from data_pipelines.support.text import number_of

NOT_STORED = "their steps are not stored, as on seeds that choose settings"
OTHER_DATA = "the stream of {} is another one now: its data or its generator have changed"


@dataclass(frozen=True)
class Filled:
    """What was done: the number of runs with a new value, and one line per reason why others have none."""

    count: int
    left_out: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()


@dataclass
class _Reasons:
    """The runs without a value, by reason."""

    runs: dict[str, list[RunRecord]] = field(default_factory=dict)

    def add(self, reason: str, *runs: RunRecord) -> None:
        self.runs.setdefault(reason, []).extend(runs)


def to_fill(planned: PlannedMetric, runs: Iterable[RunRecord]) -> list[RunRecord]:
    """Return the finished runs that this source of a metric has not measured."""
    return [run for run in runs if run.status == "FINISHED" and not planned.is_in(run)]


def fill(planned: PlannedMetric, runs: Sequence[RunRecord], store: Store) -> Filled:
    """Compute a metric of finished runs and record it, run by run; what was done is kept if it is interrupted.

    Runs keep their keys and everything else. Streams are built again, each once, if they are the same as then.
    """
    left = to_fill(planned, runs)
    skipped, errors, undefined, count = _Reasons(), _Reasons(), _Reasons(), 0
    in_order = sorted(left, key=lambda run: (run.stream.name, run.seed, run.stream.fingerprint))
    with single_writer_lock(store.uri), progress("filling", len(left), unit="runs") as reporter:
        for _, same in groupby(in_order, key=lambda run: run.stream.fingerprint):
            of_stream = [*same]
            has_steps = [run for run in of_stream if CURVE in files_of(run.seed)]
            skipped.add(NOT_STORED, *(run for run in of_stream if run not in has_steps))
            stream = _stream(has_steps[0]) if has_steps else ""
            for run in has_steps:
                reporter.update(1)
                if isinstance(stream, str):
                    skipped.add(stream, run)
                elif (trace := stored_trace(store, run, stream)) is None:
                    skipped.add(NOT_STORED, run)
                else:
                    try:
                        value = planned.value(trace, stream)
                    except ValueError as error:
                        errors.add(str(error), run)
                        continue
                    store.add_metric(run, planned, value)
                    count += 1
                    if not np.isfinite(value):
                        undefined.add(f"it is {value}, so it is not recorded", run)
        update_pages(store, sorted({run.experiment for run in runs}))
    lines = [f"{number_of(len(each), 'run')} left out: {reason}" for reason, each in skipped.runs.items() if each]
    return Filled(count, (*lines, *_lines(planned, undefined)), tuple(_lines(planned, errors)))


def _lines(planned: PlannedMetric, reasons: _Reasons) -> list[str]:
    return [
        one_line(metric_line(planned.name, reason, [f"{run.name} on {run.stream.name}" for run in runs]))
        for reason, runs in reasons.runs.items()
    ]


def _stream(run: RunRecord) -> EventStream | str:
    """Return the stream of a run, built again; a line if it is not the same any more."""
    try:
        spec = spec_of(run).bound()
        if spec.fingerprint(run.seed) != run.stream.fingerprint:
            return OTHER_DATA.format(run.stream.name)
        return spec.build(run.seed)
    except ValueError as error:  # such as missing data, or a stream that was given in memory
        return one_line(f"the stream of {run.stream.name} cannot be built again: {error}")


class StoredTrace(Trace):
    """A trace as it was stored: a field that is not stored raises an AttributeError with one line."""

    def __getattr__(self, name: str) -> Any:
        """Say that a field is not stored."""
        raise AttributeError(f"{name} is not stored with a run of this method; only new runs can have this metric")


def stored_trace(store: Store, run: RunRecord, stream: EventStream) -> Trace | None:
    """Return the trace of a finished run from its files, as its execution returned it; None without them."""
    place = (store, run.experiment, run.run_id, run.artifact_uri)
    try:
        steps, clients = (_columns(content_of(*place, name)) for name in (CURVE, CLIENTS))
        choices = steps["choice"].astype(np.int32)
        by_step, by_client = _counts(steps, steps), _counts(clients, steps)
        trace = trace_of(stream, choices, by_step, by_client)
    except (OSError, ValueError, KeyError, IndexError, pa.ArrowException):
        return None
    missing = {name for name, counts in zip(Counts._fields, by_step, strict=True) if not len(counts)}
    hidden = (
        missing | {f"client_{name}" for name in missing} | ({"unsettled"} if run.metrics.get("am_unsettled") else set())
    )
    if not hidden:
        return trace
    shown = object.__new__(StoredTrace)
    vars(shown).update({name: value for name, value in vars(trace).items() if name not in hidden})
    return shown


def _columns(content: bytes) -> dict[str, NDArray[Any]]:
    table = pq.read_table(io.BytesIO(content), use_threads=False)
    return {name: table.column(name).to_numpy() for name in table.column_names}


def _counts(columns: dict[str, NDArray[Any]], steps: dict[str, NDArray[Any]]) -> Counts:
    """Return counts; those of needed numbers follow if all transfers have one size, and are empty otherwise."""
    counts = {name: columns[name].astype(np.int64) for name in Counts._fields if name in columns}
    for way, sent in (("up", "uploads"), ("down", "downloads")):
        size = _size(steps[sent], steps[f"numbers_{way}"])
        needed = counts[f"needed_{way}"]
        counts[f"needed_numbers_{way}"] = needed[:0] if size is None else needed * size
    return Counts(**counts)


def _size(transfers: NDArray[Any], numbers: NDArray[Any]) -> int | None:
    """Return how many numbers each transfer moves; None if that differs."""
    total = int(transfers.sum())
    size = int(numbers.sum()) // total if total else 0
    return size if np.array_equal(transfers * np.int64(size), numbers) else None
