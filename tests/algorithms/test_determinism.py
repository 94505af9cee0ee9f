"""The same seed gives the same trace, in another process and with one or two threads."""

import hashlib
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from algorithms import AsyncLinUCB, AsyncLinUCBAM, SyncLinUCB
from algorithms.trace import Trace
from benchmark.execution.replay import replay
from data_pipelines import simulate
from tests.readme import ROOT

ALGORITHMS = {
    "async": AsyncLinUCB(gamma=1.5, alpha="theory"),
    "am": AsyncLinUCBAM(gamma=1.5, warm_start=True),
    "sync": SyncLinUCB(threshold=1),
}


def digest(trace: Trace) -> str:
    arrays = (trace.choices, trace.rewards, trace.uploads, trace.downloads, trace.client_downloads)
    return hashlib.sha256(b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)).hexdigest()


def run_one(name: str) -> str:
    return digest(replay(ALGORITHMS[name], simulate(seed=4, steps=3000, clients=50, dimension=8, arms=6), seed=9))


@pytest.mark.parametrize("name", ALGORITHMS)
def test_two_processes_give_the_same_trace(name: str) -> None:
    code = f"from tests.algorithms.test_determinism import run_one; print(run_one({name!r}))"
    process = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert process.stdout.strip() == run_one(name)


def test_two_threads_give_the_same_traces_as_one() -> None:
    names = list(ALGORITHMS) * 3
    digests = [run_one(name) for name in names]
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(run_one, names)) == digests


def test_seeds_only_change_how_ties_are_broken() -> None:
    stream = simulate(seed=4, steps=2000, clients=50, dimension=8, arms=6)
    traces = [replay(ALGORITHMS["async"], stream, seed) for seed in (0, 0, 1)]
    assert digest(traces[0]) == digest(traces[1])
    assert digest(traces[0]) == digest(traces[2])  # continuous features: no ties
