"""A million clients that each act at least once: does it end, and in how much memory?"""

import resource
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context

import numpy as np

from algorithms import AsyncLinUCB
from benchmark.replay import replay
from data_pipelines import EventStream, simulate

MOST_GIB = 6.0


@dataclass(frozen=True)
class ScaleRow:
    """One run: its time, its transfers and the peak memory of its process, the stream included."""

    gamma: float
    seconds: float
    microseconds: float
    communication: int
    peak_gib: float


def million_client_stream(clients: int, steps: int) -> EventStream:
    """Let every client act once, and the rest of the steps go to clients drawn uniformly; all shuffled."""
    stream = simulate(seed=0, steps=steps, clients=1, table=20_000)
    rng = np.random.default_rng(0)
    who = np.concatenate([np.arange(clients), rng.integers(clients, size=steps - clients)])
    rng.shuffle(who)
    return EventStream(
        items=stream.items,
        clients=who,
        pools=stream.pools,
        rewards=stream.rewards,
        noise=stream.noise,
        name="million-clients",
        source="simulated",
    )


def measure_scale(clients: int = 1_000_000, steps: int = 2_000_000) -> Iterator[ScaleRow]:
    """Run Async-LinUCB at γ = ∞, 5 and 1, each in a process of its own."""
    for gamma in (np.inf, 5.0, 1.0):
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            yield pool.submit(run_at_scale, gamma, clients, steps).result()


def run_at_scale(gamma: float, clients: int, steps: int) -> ScaleRow:
    """Make the stream, run, and look at the memory this process took."""
    stream = million_client_stream(clients, steps)
    start = time.perf_counter()
    trace = replay(AsyncLinUCB(gamma=gamma, alpha="theory", ridge=0.1), stream)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return ScaleRow(gamma, seconds, seconds / steps * 1e6, trace.communication, peak / 2**30)
