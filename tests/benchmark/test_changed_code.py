"""Code that changes while a sweep runs: workers that start later execute the code that the run's key covers."""

import io
import sys
from collections.abc import Iterator
from pathlib import Path

import cloudpickle
import pyarrow.parquet as pq
import pytest

from benchmark.execution import dask_cluster, local
from benchmark.execution.local import LocalExecutor
from benchmark.execution.run_result import RunResult
from benchmark.plan.method_names import make_method
from benchmark.plan.runs import Run, make_run, make_setting
from benchmark.records import provenance as code
from benchmark.records.provenance import SOURCE, OtherCodeError, provenance, with_same_code
from data_pipelines.stream_spec import SimulatedSpec
from tests.benchmark.test_dying_workers import outcomes_of
from tests.benchmark.tiny_sweeps import unloaded

STREAM = SimulatedSpec(steps=20, clients=3, arms=3, dimension=2)
OWN = """
from pathlib import Path
from algorithms import Transfers

class Own:
    def choose(self, client, contexts, rng):
        from arms_of_own import ARM
        return FIRST + ARM + int((Path(__file__).parent / "offset.txt").read_text())
    def learn(self, client, context, reward):
        return Transfers()
"""


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The working directory of a user, with a class that always chooses arm 0.

    It is in a folder without `__init__.py`, imports a helper when it needs it, and reads a file next to it.
    """
    monkeypatch.chdir(tmp_path)
    write(tmp_path, first=0, arm=0)
    (tmp_path / "mine" / "offset.txt").write_text("0")
    with unloaded(tmp_path):
        yield tmp_path


def write(folder: Path, *, first: int, arm: int) -> None:
    """Write the class and its helper module; it chooses arm `first + arm`."""
    (folder / "mine").mkdir(exist_ok=True)
    (folder / "mine" / "own.py").write_text(f"FIRST = {first}\n{OWN}")
    (folder / "arms_of_own.py").write_text(f"ARM = {arm}\n")


def planned(seed: int = 0) -> Run:
    return make_run("e", STREAM, seed, make_setting("mine.own:Own", {}, STREAM, {}))


def sweep(executor: LocalExecutor, *runs: Run) -> list[RunResult]:
    outcomes = outcomes_of(executor, runs)
    return [outcomes[run.key] for run in runs]


def chosen(result: RunResult) -> set[int]:
    assert result.error == ""
    return set(pq.read_table(io.BytesIO(result.files["curve.parquet"]))["choice"].to_pylist())


def test_workers_execute_the_planned_source_if_it_changes_before_they_start_or_after_they_died(user: Path):
    first, second, third = (planned(seed) for seed in range(3))
    write(user, first=1, arm=0)
    with LocalExecutor(1) as executor:
        assert chosen(*sweep(executor, first)) == {0}
        (worker,) = executor.workers()
        worker.kill()
        worker.join()
        write(user, first=0, arm=2)
        assert chosen(*sweep(executor, second)) == {0}
        assert executor.workers()[0].pid != worker.pid
        # A new plan has another key, and the same worker executes the new source for it, and the old one for the old.
        changed = planned()
        assert changed.key != first.key
        assert [chosen(result) for result in sweep(executor, changed, third)] == [{2}, {0}]


def test_a_dask_worker_executes_the_planned_source_too(user: Path):
    run = planned()
    packed = cloudpickle.dumps(make_method("mine.own:Own", {}))
    write(user, first=1, arm=1)
    assert chosen(dask_cluster._execute(STREAM.build(0), run.files, packed, 0, (), None)) == {0}


def test_a_worker_with_other_built_in_code_gets_no_run_recorded(user: Path, monkeypatch: pytest.MonkeyPatch):
    ours = {**provenance(), SOURCE: "1234" * 16}
    monkeypatch.setattr(local, "provenance", lambda: ours)
    with LocalExecutor(1) as executor:
        (result,) = sweep(executor, planned())
    assert result.error == (
        "OtherCodeError: the worker has a different version of the code: "
        f"its source hash is {provenance()[SOURCE][:16]}, expected 1234123412341234; run the same command again"
    )


def test_code_that_a_worker_loads_after_the_files_changed_is_noticed(monkeypatch: pytest.MonkeyPatch):
    expected, hashes = provenance(), [provenance()[SOURCE]]
    monkeypatch.setattr(code, "_source_hashes", {})
    monkeypatch.setattr(code, "source_hash", lambda: hashes[0])
    assert with_same_code(expected, lambda: "result") == "result"
    hashes[0] = "5678" * 16  # a change of code that is already loaded does not matter
    assert with_same_code(expected, lambda: "result") == "result"

    def load_more() -> None:
        monkeypatch.setitem(sys.modules, "algorithms.loaded_later", sys)

    with pytest.raises(OtherCodeError, match="its source hash is 5678567856785678, expected"):
        with_same_code(expected, load_more)
    hashes[0] = expected[SOURCE]  # changed back: what was loaded remains
    monkeypatch.setitem(sys.modules, "algorithms.loaded_last", sys)
    with pytest.raises(OtherCodeError, match="run the same command again"):
        with_same_code(expected, lambda: "result")
