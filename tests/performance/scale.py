"""Time and memory of a run with a million clients that each act at least once."""

import resource
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context

import numpy as np

from algorithms.method import Method
from benchmark.execution.replay import replay
from data_pipelines import EventStream, simulate
from tests.performance.speed import label, representatives


@dataclass(frozen=True)
class ScaleRow:
    """One run: its time, its transfers and the peak memory of its process, including the stream."""

    label: str
    seconds: float
    microseconds: float
    communication: int
    peak_gib: float
    max_gib: float


def million_client_stream(clients: int, steps: int) -> EventStream:
    """Return a stream in which every client acts once, and uniformly drawn clients in the other steps, shuffled."""
    stream = simulate(seed=0, steps=steps, clients=1, table=20_000)
    rng = np.random.default_rng(0)
    clients_by_step = np.concatenate([np.arange(clients), rng.integers(clients, size=steps - clients)])
    rng.shuffle(clients_by_step)
    return replace(stream, clients=clients_by_step)


def measure_scale(clients: int = 1_000_000, steps: int = 2_000_000) -> Iterator[ScaleRow]:
    """Run every method that has a limit for its memory, each in a separate process."""
    for method in representatives():
        max_gib = method.limits().memory
        if max_gib is not None:
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
                yield pool.submit(run_at_scale, method, clients, steps, max_gib).result()


def run_at_scale(algorithm: Method, clients: int, steps: int, max_gib: float) -> ScaleRow:
    """Build the stream, replay it, and measure the time and the peak memory of this process."""
    stream = million_client_stream(clients, steps)
    start = time.perf_counter()
    trace = replay(algorithm, stream)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return ScaleRow(label(algorithm), seconds, seconds / steps * 1e6, trace.communication, peak / 2**30, max_gib)
