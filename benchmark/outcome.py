"""What a run hands back: final metrics, short curves and files, or the error it ended with."""

import inspect
import io
import math
import os
import platform
import sys
import time
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from algorithms import Trace
from benchmark.replay import replay
from data_pipelines import EventStream

CURVE_POINTS = 100


@dataclass(frozen=True)
class Outcome:
    """One run, done or failed (`error`). Times are in seconds since the epoch, and in seconds."""

    started: float
    ended: float
    host: str
    metrics: dict[str, float] = field(default_factory=dict)
    curves: dict[str, list[tuple[int, float]]] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    facts: dict[str, str] = field(default_factory=dict)
    error: str = ""
    details: str = ""


def carry_out(stream: EventStream, algorithm: Any, seed: int) -> Outcome:
    """Run an algorithm over a stream; whatever goes wrong inside becomes a failed outcome."""
    started, begun = time.time(), time.perf_counter()
    try:
        _ = stream.client_numbers
        kernel, cpu = time.perf_counter(), time.thread_time()
        trace = replay(algorithm, stream, seed)
        seconds, cpu_seconds = time.perf_counter() - kernel, time.thread_time() - cpu
        metrics = {**final_metrics(trace, stream, seconds), "cpu_seconds": cpu_seconds}
        curves = {
            "reward_curve": curve(trace.rewards),
            "communication_curve": curve(trace.uploads + trace.downloads),
        }
        files = {"curve.parquet": full_curve(trace), "clients.parquet": client_totals(trace)}
        ended = started + time.perf_counter() - begun  # whatever becomes of the clock meanwhile
        return Outcome(started, ended, platform.node(), metrics, curves, files, stream_facts(stream))
    except Exception as error:
        text = f"{type(error).__name__}: {error}{_where(error, algorithm)}"
        ended = started + time.perf_counter() - begun
        return Outcome(started, ended, platform.node(), error=text, details=traceback.format_exc())


def _where(error: Exception, algorithm: Any) -> str:
    """Say at which line of the algorithm's own file it went wrong, if it did there."""
    file = inspect.getsourcefile(type(algorithm)) if type(algorithm).__module__ in sys.modules else None
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    return f" ({Path(file).name}, line {lines[-1]})" if file and lines else ""


def final_metrics(trace: Trace, stream: EventStream, seconds: float) -> dict[str, float]:
    """Return the final numbers of a run; normalised reward where no payoff is negative, as in real data."""
    reward = float(trace.rewards.sum())
    by_chance = float(stream.rewards.sum()) / stream.arms if stream.rewards.min() >= 0 else 0.0
    metrics = {
        "reward": reward,
        "normalised_reward": reward / by_chance if by_chance else float("nan"),
        "regret": float(trace.regret.sum()),
        "uploads": float(trace.uploads.sum()),
        "downloads": float(trace.downloads.sum()),
        "communication": float(trace.communication),
        "log10_communication": math.log10(1 + trace.communication),  # MLflow's scatter has no logarithmic axis
        "scalars_moved": float(trace.scalars_moved),
        "am_unsettled": float(trace.am_unsettled),
        "microseconds_per_step": seconds / stream.steps * 1e6,
        "kernel_seconds": seconds,
    }
    return {name: value for name, value in metrics.items() if np.isfinite(value)}


def stream_facts(stream: EventStream) -> dict[str, str]:
    """Return the sizes of a stream, and the process that ran it."""
    return {
        "steps": str(stream.steps),
        "clients": str(len(stream.client_ids)),
        "arms": str(stream.arms),
        "dimension": str(stream.dimension),
        "worker": f"{platform.node()}:{os.getpid()}",
    }


def curve(per_step: NDArray[Any]) -> list[tuple[int, float]]:
    """Return about 100 points (t, sum up to and including step t) of a per-step series, the last one included."""
    total = np.cumsum(per_step)
    steps = np.unique(np.linspace(1, len(total), min(CURVE_POINTS, len(total))).round().astype(np.int64))
    return [(int(t), float(total[t - 1])) for t in steps]


def full_curve(trace: Trace) -> bytes:
    """Return every step as Parquet: the choice, its reward and regret, uploads and downloads it caused."""
    return _parquet(
        {
            "choice": trace.choices.astype(np.int16 if trace.choices.max() < 1 << 15 else np.int32),
            "reward": trace.rewards,
            "regret": trace.regret,
            "uploads": trace.uploads.astype(np.int32),
            "downloads": trace.downloads.astype(np.int32),
        }
    )


def client_totals(trace: Trace) -> bytes:
    """Return the totals of each client as Parquet."""
    return _parquet(
        {
            "client": trace.client_ids,
            "reward": trace.client_rewards,
            "uploads": trace.client_uploads,
            "downloads": trace.client_downloads,
        }
    )


def _parquet(columns: dict[str, NDArray[Any]]) -> bytes:
    buffer = io.BytesIO()
    # Counts repeat, and a dictionary makes them small; looking for repetition among real numbers only takes time.
    counts = [name for name, column in columns.items() if column.dtype.kind == "i"]
    pq.write_table(pa.table(columns), buffer, compression="zstd", write_statistics=False, use_dictionary=counts)
    return buffer.getvalue()
