"""`--run-timeout` and `--memory-limit`: a run over a limit is FAILED with the reason, and the others go on."""

from pathlib import Path

import pytest

from benchmark.execution.dask_cluster import DaskExecutor
from benchmark.execution.limits import Limits
from benchmark.execution.local import LocalExecutor
from benchmark.execution.sweep import Executor
from benchmark.plan.method_names import parse_filter
from benchmark.session import SweepResult
from tests.benchmark.tiny_sweeps import statuses, sweep, unloaded, write_tiny

pytestmark = pytest.mark.slow

GREEDY = """
import time
from dataclasses import dataclass
import numba
import numpy as np
from algorithms import Transfers

@numba.njit("i8(i8)", nogil=True)
def endless(number):
    while number < 9:
        number = (number + 1) % 7
    return number

@dataclass
class Greedy:
    wants: str
    def choose(self, client, contexts, rng):
        if self.wants == "time":
            endless(1)
        elif self.wants == "memory":
            self.memory = np.ones(1 << 27)  # 1 GiB
            time.sleep(60)
        return 0
    def learn(self, client, context, reward):
        return Transfers()
"""
LIMITS = Limits(seconds=20, gib=0.9)
WANTS = ("time", "nothing", "memory", "little")


def sweep_of_greedy(folder: Path, executor: Executor, monkeypatch: pytest.MonkeyPatch) -> SweepResult:
    """A sweep over one seed, with one run over each limit and two within them."""
    (folder / "greedy.py").write_text(GREEDY)
    monkeypatch.chdir(folder)
    with unloaded(folder):
        methods = tuple(parse_filter(f"greedy:Greedy[wants={wants}]") for wants in WANTS)
        return sweep(folder, executor, write_tiny(folder, steps=30), methods=methods, seeds=(0,))


def check(result: SweepResult, folder: Path) -> None:
    errors = {str(failure.method.parameters["wants"]): failure.error for failure in result.failed}
    assert errors.keys() == {"time", "memory"}
    assert errors["time"] == "it took longer than --run-timeout 20, in seconds"
    assert errors["memory"].startswith("its worker process used ")
    assert errors["memory"].endswith(" GiB, more than --memory-limit 0.9")
    assert statuses(folder) == {"FINISHED": 10, "FAILED": 2}  # with those of the built-in methods


def test_runs_over_a_limit_fail_and_the_others_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with LocalExecutor(2, LIMITS) as executor:
        check(sweep_of_greedy(tmp_path, executor, monkeypatch), tmp_path)


def test_on_a_dask_cluster_too_where_dask_does_not_repeat_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    import dask
    from distributed import LocalCluster

    options = {"n_workers": 1, "dashboard_address": "127.0.0.1:0", "local_directory": str(tmp_path / "dask")}
    with (
        dask.config.set({"distributed.deploy.lost-worker-timeout": "600 s"}),  # a worker is restarted meanwhile
        LocalCluster(threads_per_worker=1, **options) as cluster,
        DaskExecutor(cluster.scheduler_address, limits=LIMITS) as executor,
    ):
        check(sweep_of_greedy(tmp_path, executor, monkeypatch), tmp_path)


def test_workers_whose_runs_share_their_memory_are_not_used_with_a_limit_of_memory(tmp_path: Path):
    from distributed import LocalCluster

    said: list[str] = []
    options = {"n_workers": 1, "dashboard_address": "127.0.0.1:0", "local_directory": str(tmp_path / "dask")}
    with LocalCluster(threads_per_worker=2, processes=False, **options) as cluster:
        with pytest.raises(OSError, match="it has 2 threads, whose runs share its memory"):
            DaskExecutor(cluster.scheduler_address, said.append, patience=1, limits=LIMITS)
        DaskExecutor(cluster.scheduler_address, said.append, patience=30, limits=Limits(seconds=9)).close()
    assert [line.partition("; ")[2] for line in said] == ["start it with --nthreads 1"]
