"""Two threads give the same traces as one, and seeds only break ties; `tests/golden` compares processes."""

from concurrent.futures import ThreadPoolExecutor

from algorithms import AsyncLinUCB, AsyncLinUCBAM, SyncLinUCB
from algorithms.method import Method
from algorithms.trace import Trace
from benchmark.execution.replay import replay
from data_pipelines import simulate
from tests.algorithms.inspection import assert_same_trace

ALGORITHMS = [
    AsyncLinUCB(gamma=1.5, alpha="theory"),
    AsyncLinUCBAM(gamma=1.5, warm_start=True),
    SyncLinUCB(threshold=1),
]
STREAM = simulate(seed=4, steps=3000, clients=50, dimension=8, arms=6)


def run(algorithm: Method) -> Trace:
    return replay(algorithm, STREAM, seed=9)


def test_two_threads_give_the_same_traces_as_one() -> None:
    with ThreadPoolExecutor(2) as pool:
        for trace, algorithm in zip(pool.map(run, ALGORITHMS * 3), ALGORITHMS * 3, strict=True):
            assert_same_trace(trace, run(algorithm))


def test_seeds_only_change_how_ties_are_broken() -> None:
    for algorithm in ALGORITHMS:
        assert_same_trace(run(algorithm), replay(algorithm, STREAM, seed=1))  # continuous features: no ties
