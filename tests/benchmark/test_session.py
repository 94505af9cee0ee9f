"""A sweep as a function: it prints nothing, returns its result, and leaves the store in order however it ends."""

import os
import signal
import sqlite3
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any

import psutil
import pytest
from filelock import FileLock

from benchmark import session
from benchmark.execution.local import LocalExecutor
from benchmark.execution.run_result import RunResult
from benchmark.execution.sweep import in_order
from benchmark.execution.sweep import sweep as execute
from benchmark.observer import Observer
from benchmark.plan.experiment import load_experiment
from benchmark.plan.method_names import parse_filter
from benchmark.plan.plan import RunOptions, make_plan
from benchmark.plan.runs import Run
from benchmark.records.store import Store
from benchmark.records.tracking import StoreError
from benchmark.session import failure_lines
from data_pipelines.stream_spec import SimulatedSpec
from tests.benchmark.tiny_sweeps import RUNS, results, rows, statuses, sweep, write_tiny

FAILING = (parse_filter("tests.benchmark.failing:First[fail_at=[-1,7]]"),)


@dataclass
class Notes(Observer):
    """An observer that keeps everything."""

    calls: list[str] = field(default_factory=list)
    counts: tuple[int, int] = (0, 0)
    seconds: float = 0.0
    lines: list[str] = field(default_factory=list)
    runs: list[tuple[str, float, bool]] = field(default_factory=list)

    def started(self, runs: int, skipped: int, seconds: float) -> None:
        self.calls.append("started")
        self.counts, self.seconds = (runs, skipped), seconds

    def note(self, text: str) -> None:
        self.lines.append(text)

    def run_done(self, run: Run, result: RunResult, seconds: float, *, is_reused: bool) -> None:
        self.calls.append("run_done")
        self.runs.append((run.key, seconds, is_reused))

    def ended(self) -> None:
        self.calls.append("ended")


class Unused:
    """An executor that must not be used."""

    shares_kernels = True

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"{name} was used")


def test_a_sweep_runs_in_a_thread_prints_nothing_and_skips_everything_the_second_time(
    tmp_path: Path, workers: LocalExecutor, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    tiny, notes = write_tiny(tmp_path), Notes()
    order: list[object] = []
    monkeypatch.setattr(workers, "start", order.append)
    monkeypatch.setattr(session, "mark_dead_runs", lambda *store: order.append("store opened"))
    with ThreadPoolExecutor(1) as thread:
        first = thread.submit(sweep, tmp_path, workers, tiny, observer=notes).result()
    assert (len(first.finished), first.failed, first.skipped, first.interrupted) == (RUNS, (), (), False)
    assert statuses(tmp_path) == {"FINISHED": RUNS}
    assert {record.key for record in first.finished} == set(results(tmp_path))
    assert notes.calls == ["started", *["run_done"] * RUNS, "ended"]
    assert notes.counts == (RUNS, 0)
    assert order == [RUNS, "store opened"]
    assert notes.seconds > 0
    assert sum(seconds for _, seconds, _ in notes.runs) == pytest.approx(notes.seconds)
    second = sweep(tmp_path, Unused(), tiny)  # type: ignore[arg-type]
    assert order[2:] == ["store opened"]
    assert (second.finished, second.failed, second.interrupted) == ((), (), False)
    assert {record.run_id for record in second.skipped} == {record.run_id for record in first.finished}
    assert capfd.readouterr() == ("", "")


def test_a_run_that_two_experiments_share_is_run_once_and_one_finished_elsewhere_is_copied(
    tmp_path: Path, workers: LocalExecutor
):
    names = [write_tiny(tmp_path, name, seeds=1) for name in ("one", "two", "three")]
    both, third = Notes(), Notes()
    assert len(sweep(tmp_path, workers, *names[:2], observer=both).finished) == RUNS
    assert sum(seconds > 0 for _, seconds, _ in both.runs) == RUNS // 2
    assert not any(is_reused for *_, is_reused in both.runs)
    result = sweep(tmp_path, Unused(), *names, observer=third)  # type: ignore[arg-type]
    assert (len(result.finished), len(result.skipped)) == (RUNS // 2, RUNS)
    assert {record.experiment for record in result.finished} == {"three"}
    times = {record.key: record.metrics["kernel_seconds"] for record in result.skipped}
    assert all(record.metrics["kernel_seconds"] == times[record.key] for record in result.finished), "measured once"
    assert all(is_reused for *_, is_reused in third.runs)


def test_a_finished_run_without_a_metric_that_a_plan_needs_is_executed_again(tmp_path: Path, workers: LocalExecutor):
    sweep(tmp_path, workers, write_tiny(tmp_path))
    with sqlite3.connect(tmp_path / "mlflow.db") as connection:
        first = "(select min(run_uuid) from tags where key = 'fedbandit.run_key')"
        for table in ("metrics", "latest_metrics"):
            connection.execute(f"delete from {table} where key = 'needed' and run_uuid = {first}")
    connection.close()
    plan, store = (
        make_plan([load_experiment(str(tmp_path / "tiny.toml"))]),
        Store(f"sqlite:///{tmp_path / 'mlflow.db'}"),
    )
    assert len(session.run(plan, store, workers).skipped) == RUNS
    for expected in (1, 0):
        result = session.run(replace(plan, metrics=("needed",)), store, workers)
        assert (len(result.finished), len(result.skipped)) == (expected, RUNS - expected)
        assert all("needed" in record.metrics for record in (*result.finished, *result.skipped))


def test_a_failed_run_is_returned_in_one_line_and_repeated_the_next_time(tmp_path: Path, workers: LocalExecutor):
    tiny = write_tiny(tmp_path, seeds=1)
    for count in (1, 2):
        result = sweep(tmp_path, workers, tiny, methods=FAILING)
        (failure,) = result.failed
        assert (failure.experiment, failure.stream.name) == ("tiny", "simulated-uniform")
        assert failure.name == "tests.benchmark.failing:First fail_at=7 seed 0"
        assert failure.error.startswith(r"RuntimeError: line one\nline two (failing.py, line ")
        line = f"tiny: {failure.name} on simulated-uniform: {failure.error}"
        assert failure_lines([failure, failure]) == [f"{line} (and 1 other run with this error)"]
        assert failure_lines([failure]) == [line]
        assert statuses(tmp_path) == {"FINISHED": RUNS // 2 + 1, "FAILED": count}
    assert (len(result.finished), len(result.skipped)) == (0, RUNS // 2 + 1)
    sweeps = rows(tmp_path, "select status from runs where name like 'sweep%'")
    assert sweeps == [("FAILED",), ("FAILED",)]


def test_ctrl_c_stops_a_sweep_between_records_and_the_next_sweep_resumes(tmp_path: Path, workers: LocalExecutor):
    assert threading.current_thread() is threading.main_thread(), "only the main thread receives signals"
    handler = signal.getsignal(signal.SIGINT)

    class Impatient(Notes):
        def run_done(self, run: Run, result: RunResult, seconds: float, *, is_reused: bool) -> None:
            super().run_done(run, result, seconds, is_reused=is_reused)
            if len(self.runs) == 3:
                os.kill(os.getpid(), signal.SIGINT)

    tiny, notes = write_tiny(tmp_path), Impatient()
    first = sweep(tmp_path, workers, tiny, observer=notes)
    assert first.interrupted
    assert len(first.finished) == 3
    assert notes.calls[-1] == "ended"
    assert signal.getsignal(signal.SIGINT) is handler
    assert statuses(tmp_path) == {"FINISHED": 3}
    assert rows(tmp_path, "select status from runs where name like 'sweep%'") == [("KILLED",)]
    second = sweep(tmp_path, workers, tiny)
    assert (len(second.finished), len(second.skipped), second.interrupted) == (RUNS - 3, 3, False)
    assert len(results(tmp_path)) == RUNS


def test_an_error_that_ends_it_closes_the_records_and_releases_the_store(tmp_path: Path, workers: LocalExecutor):
    class Lost:
        shares_kernels = True

        def start(self, runs: int) -> None:
            pass

        def capacity(self) -> int:
            raise OSError("the cluster is gone")

    tiny, notes = write_tiny(tmp_path, seeds=1), Notes()
    with pytest.raises(OSError, match="the cluster is gone"):
        sweep(tmp_path, Lost(), tiny, observer=notes)  # type: ignore[arg-type]
    assert notes.calls == ["started", "ended"]
    assert rows(tmp_path, "select status from runs") == [("KILLED",)]
    assert len(sweep(tmp_path, workers, tiny).finished) == RUNS // 2


def test_a_run_left_running_is_marked_killed_and_repeated(tmp_path: Path, workers: LocalExecutor):
    """Left by a process that is dead by now, and by an earlier sweep of this process, such as a notebook."""
    tiny = write_tiny(tmp_path, seeds=1)
    sweep(tmp_path, workers, tiny)
    with sqlite3.connect(tmp_path / "mlflow.db") as connection:
        query = "select run_uuid from tags where key = 'fedbandit.run_key' order by run_uuid limit 2"
        ours, other = (run_id for (run_id,) in connection.execute(query))
        for run_id in (ours, other):
            connection.execute("update runs set status = 'RUNNING', end_time = null where run_uuid = ?", (run_id,))
        connection.execute(
            "update tags set value = ? where key = 'fedbandit.pid' and run_uuid = ?", (str(2**22 + 1), other)
        )
    connection.close()
    notes = Notes()
    result = sweep(tmp_path, workers, tiny, observer=notes)
    assert notes.lines == ["2 unfinished runs of a killed process: marked KILLED, to be run again"]
    assert notes.counts == (2, RUNS // 2 - 2)
    assert len(result.finished) == 2
    assert statuses(tmp_path) == {"FINISHED": RUNS // 2, "KILLED": 2}


def test_a_second_sweep_on_the_same_store_is_refused(tmp_path: Path):
    tiny = write_tiny(tmp_path)
    with FileLock(tmp_path / "mlflow.db.lock"), pytest.raises(StoreError, match="another sweep is writing to"):
        sweep(tmp_path, Unused(), tiny)  # type: ignore[arg-type]
    assert statuses(tmp_path) == {}


@pytest.mark.slow
def test_no_result_is_lost_if_a_worker_is_killed(tmp_path: Path):
    class Killer(Notes):
        def run_done(self, run: Run, result: RunResult, seconds: float, *, is_reused: bool) -> None:
            super().run_done(run, result, seconds, is_reused=is_reused)
            if len(self.runs) == 2:
                executor.workers()[0].kill()

    notes = Killer()
    with LocalExecutor(2) as executor:
        result = sweep(tmp_path, executor, write_tiny(tmp_path, steps=20_000), observer=notes)
        pids = [worker.pid for worker in executor.workers()]
    assert (len(result.finished), result.failed) == (RUNS, ())
    assert statuses(tmp_path) == {"FINISHED": RUNS}
    assert pids
    assert not any(psutil.pid_exists(pid) and psutil.Process(pid).status() != "zombie" for pid in pids)


def test_a_stream_is_built_once_per_seed_for_all_methods_and_experiments(
    tmp_path: Path, workers: LocalExecutor, monkeypatch: pytest.MonkeyPatch
):
    """By the worker that needs it first; a run that two experiments share is executed once."""
    monkeypatch.setattr("benchmark.execution.sweep.is_compiled", lambda method: True)
    names = [write_tiny(tmp_path, name, seeds=3) for name in ("tiny", "other")]
    plan = make_plan([load_experiment(str(tmp_path / name)) for name in names], RunOptions())
    groups = in_order(plan.runs)
    assert len(groups) == 3 * RUNS // 2
    assert all({run.experiment for run in same} == {"tiny", "other"} for same in groups)
    fingerprints = [same[0].fingerprint for same in groups]
    order = [len([*runs]) for _, runs in groupby(fingerprints)]
    assert order == [5, 1, 3, 4, 1, 3, 7], "stream by stream, the first run of each a little earlier"
    seen: set[Path] = set()

    def streams() -> set[Path]:
        return {path for path in workers._folder.iterdir() if path.is_dir() and path.suffix == ""}

    def see(same: Sequence[Run], result: RunResult) -> None:
        assert result.error == ""
        folders = streams()
        for path in folders - seen:
            seen.add(path)
            (path / "seen").touch()
        assert all((path / "seen").exists() for path in folders), "a stream was built again"

    execute(plan.runs, workers, see, threading.Event())
    assert {path.name for path in seen} == set(fingerprints)
    workers.submit(replace(plan.runs[0], stream=SimulatedSpec(steps=20, clients=3))).result(timeout=120)
    assert len(streams()) == 1, "streams are removed after use"
