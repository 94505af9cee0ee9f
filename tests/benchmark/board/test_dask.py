"""A board on a real Dask cluster on loopback."""

from pathlib import Path

import pytest
from distributed import Client

from benchmark.execution.dask_cluster import DaskExecutor
from benchmark.execution.local import LocalExecutor
from tests.benchmark.board.tiny_boards import play
from tests.benchmark.test_cluster import background, free_port, worker

pytestmark = pytest.mark.slow


def test_a_board_on_dask_gives_the_same_verdicts(tmp_path: Path, workers: LocalExecutor):
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    address = f"tcp://127.0.0.1:{free_port()}"
    with (
        background(tmp_path, "dask", "scheduler", "--host", address, "--no-dashboard"),
        worker(tmp_path / "worker", address),
    ):
        with Client(address, set_as_default=False) as client:
            client.wait_for_workers(1, timeout=200)
        with DaskExecutor(address, lambda text: None) as cluster:
            on_cluster = play(there, cluster, "sync-linucb", max_configurations=3)
    local = play(here, workers, "sync-linucb", max_configurations=3)
    assert on_cluster.comparisons.equals(local.comparisons)
    assert not on_cluster.problems
