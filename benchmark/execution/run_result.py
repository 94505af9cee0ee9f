"""The result of a run: final metrics, short curves and files, or an error."""

import hashlib
import inspect
import io
import os
import pickle
import platform
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from algorithms import Trace
from benchmark.execution.compilation import compile_once, running_time
from benchmark.execution.limits import Guard, unlimited
from benchmark.execution.own_metrics import PlannedMetric, measured
from benchmark.execution.replay import replay_method
from benchmark.execution.sent_modules import importable
from benchmark.metrics import OwnMetrics, curves_of, metric_values
from benchmark.plan.own_modules import SourceFiles
from benchmark.records.artifacts import CLIENTS, CURVE, curve, files_of
from benchmark.records.provenance import provenance
from benchmark.records.record import CHOICES
from data_pipelines import EventStream
from data_pipelines.support.messages import error_text


@dataclass(frozen=True)
class RunResult:
    """The result of one run; `error` is not empty if it failed. `started` and `ended` are seconds since the epoch."""

    started: float
    ended: float
    host: str
    metrics: dict[str, float] = field(default_factory=dict)
    curves: dict[str, list[tuple[int, float]]] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    facts: dict[str, str] = field(default_factory=dict)
    error: str = ""
    details: str = ""
    provenance: Mapping[str, str] | None = None
    """The versions of the code, as reported by the process that ran it."""
    own_metrics: OwnMetrics = field(default_factory=dict)
    """The metrics of the user that were computed."""
    metric_problems: Mapping[str, str] = field(default_factory=dict)
    """Why metrics of the user have no value, by name."""


def packed(method: Any) -> bytes:
    """Pickle a method for a worker; a class of a notebook or script is sent with its code.

    As bytes, an error in unpacking fails the run and not the worker.
    """
    try:
        pickled: bytes = cloudpickle.dumps(method)
        return pickled
    except (Exception, SystemExit, GeneratorExit) as error:  # a user's class may raise anything
        raise ValueError(f"the method could not be sent to a worker: {error_text(error)}") from None


def execute(
    open_stream: Callable[[], EventStream],
    files: SourceFiles,
    method: bytes,
    seed: int,
    metrics: Sequence[PlannedMetric] = (),
    guard: Guard = unlimited,
) -> RunResult:
    """Run a pickled method in a worker, with the source of its class from these files; any exception fails the run."""
    try:
        stream = open_stream()
    except BaseException as error:
        return failed_result(f"the stream could not be built: {error_text(error)}")
    with importable(files):
        try:
            unpacked = pickle.loads(method)
        except BaseException as error:  # a user's module may end with SystemExit, too
            return failed_result(f"the worker could not load the method: {error_text(error)}")
        return run_method(stream, unpacked, seed, metrics, guard)


def run_method(
    stream: EventStream, method: Any, seed: int, metrics: Sequence[PlannedMetric] = (), guard: Guard = unlimited
) -> RunResult:
    """Run a method over a stream and measure it, also by metrics of the user; any exception becomes a failed result."""
    started, clock = time.time(), time.perf_counter()
    try:
        compile_once(method)
        _ = stream.client_numbers
        kernel, cpu = running_time()
        with guard():
            trace = replay_method(method, stream, seed)
            seconds, cpu_seconds = (now - before for now, before in zip(running_time(), (kernel, cpu), strict=True))
            own = measured(metrics, trace, stream)
        times = {"kernel_seconds": seconds, "cpu_seconds": cpu_seconds}
        times["microseconds_per_step"] = seconds / stream.steps * 1e6
        values = metric_values(trace, stream, times)
        curves = {name: curve(per_step) for name, per_step in curves_of(trace, stream.source).items()}
        files = {name: FILES[name](trace, stream) for name in files_of(seed)}
        ended = started + time.perf_counter() - clock  # even if the system time is changed meanwhile
        facts = {
            "steps": str(stream.steps),
            "clients": str(len(stream.client_ids)),
            "arms": str(stream.arms),
            "dimension": str(stream.dimension),
            "worker": f"{platform.node()}:{os.getpid()}",
            CHOICES: hash_of(trace.choices),
        }
        return RunResult(
            started,
            ended,
            platform.node(),
            values | own.values,
            curves,
            files,
            facts,
            provenance=provenance(),
            own_metrics=own.own,
            metric_problems=own.problems,
        )
    except BaseException as error:  # also SystemExit, KeyboardInterrupt and GeneratorExit: workers ignore Ctrl-C
        return failed_result(f"{error_text(error)}{_where(error, method)}", started, time.perf_counter() - clock)


def hash_of(choices: NDArray[Any]) -> str:
    """Hash the position of the chosen arm at each step."""
    return hashlib.sha256(choices.astype("<i4").tobytes()).hexdigest()


def failed_result(error: str, started: float | None = None, seconds: float = 0.0) -> RunResult:
    """Return the result of a run that failed; inside an `except` block, its details are the traceback."""
    started = time.time() if started is None else started
    details = traceback.format_exc() if sys.exc_info()[0] else error
    return RunResult(started, started + seconds, platform.node(), error=error, details=details, provenance=provenance())


def _where(error: BaseException, method: Any) -> str:
    """Return the line of the method's own file in which the error occurred; empty if it occurred elsewhere."""
    file = inspect.getsourcefile(type(method)) if type(method).__module__ in sys.modules else None
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    return f" ({Path(file).name}, line {lines[-1]})" if file and lines else ""


def full_curve(trace: Trace, stream: EventStream) -> bytes:
    """Return every step as Parquet: the choice, its reward and regret, and the transfers and numbers it moved."""
    return _parquet(
        {
            "choice": trace.choices.astype(np.int16 if trace.choices.max() < 1 << 15 else np.int32),
            "reward": trace.rewards,
            "regret": trace.regret,
            "uploads": trace.uploads.astype(np.int32),
            "downloads": trace.downloads.astype(np.int32),
            "numbers_up": trace.numbers_up,
            "numbers_down": trace.numbers_down,
            "needed_up": trace.needed_up.astype(np.int32),
            "needed_down": trace.needed_down.astype(np.int32),
        }
    )


def client_totals(trace: Trace, stream: EventStream) -> bytes:
    """Return the totals per client as Parquet."""
    worth = {}
    if stream.values is not None:
        worth["value"] = np.bincount(stream.client_numbers, weights=trace.rewards * stream.values)
    return _parquet(
        {
            "client": trace.client_ids,
            "reward": trace.client_rewards,
            **worth,
            "uploads": trace.client_uploads,
            "downloads": trace.client_downloads,
            "numbers_up": trace.client_numbers_up,
            "numbers_down": trace.client_numbers_down,
            "needed_up": trace.client_needed_up,
            "needed_down": trace.client_needed_down,
        }
    )


FILES = {CURVE: full_curve, CLIENTS: client_totals}


def _parquet(columns: dict[str, NDArray[Any]]) -> bytes:
    buffer = io.BytesIO()
    # A dictionary makes counts small, as they repeat; for real numbers it would only take time.
    counts = [name for name, column in columns.items() if column.dtype.kind == "i"]
    pq.write_table(
        pa.table(columns),
        buffer,
        compression="zstd",
        write_statistics=False,
        use_dictionary=counts,
        write_page_checksum=True,
    )
    return buffer.getvalue()
