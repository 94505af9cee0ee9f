"""A board on a Dask cluster."""

import pytest

from benchmark.execution.dask_cluster import DaskExecutor
from benchmark.execution.local import LocalExecutor
from tests.benchmark.board.tiny_boards import play
from tests.benchmark.test_cluster import scheduler

pytestmark = pytest.mark.slow


def test_a_board_on_dask_gives_the_same_verdicts(workers: LocalExecutor):
    with scheduler(workers=1) as address, DaskExecutor(address, lambda text: None) as cluster:
        on_cluster = play(None, cluster, "sync-linucb", max_configurations=3)
    local = play(None, workers, "sync-linucb", max_configurations=3)
    assert on_cluster.comparisons.equals(local.comparisons)
    assert not on_cluster.problems
