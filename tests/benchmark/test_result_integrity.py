"""Details that reliable records need: identities of processes, clocks and fingerprints."""

import os
import pickle
import tempfile
import time
from pathlib import Path

import pytest

from algorithms import RandomChoice
from benchmark.execution.local import LocalExecutor
from benchmark.execution.run_result import run_method
from benchmark.plan.experiment import load_experiment
from benchmark.records import store as store_module
from benchmark.records.artifacts import CURVE, curves_in
from benchmark.records.provenance import process_is_alive, started
from benchmark.records.store import Store, mark_strays
from data_pipelines import simulate
from data_pipelines.stream_spec import DatasetSpec
from tests.benchmark.tiny_sweeps import write_tiny
from tests.reports.hand_made import write_data

SMALL = {"steps": 50, "clients": 3, "arms": 3, "dimension": 2}


def test_process_identity_does_not_change_with_the_system_clock(monkeypatch: pytest.MonkeyPatch):
    import psutil

    before = started(os.getpid())
    true_time = time.time
    monkeypatch.setattr("psutil._pslinux.boot_time", lambda: psutil.boot_time() - 3_600)
    monkeypatch.setattr(time, "time", lambda: true_time() - 3_600)
    assert process_is_alive(os.getpid(), before)
    assert not process_is_alive(os.getpid(), "another boot 1")
    assert not process_is_alive(2**22 + 1)


def test_a_run_never_ends_before_it_begins(monkeypatch: pytest.MonkeyPatch):
    clock = iter(range(1_000_000, 0, -3_600))
    monkeypatch.setattr(time, "time", lambda: float(next(clock)))
    outcome = run_method(simulate(seed=0, **SMALL), RandomChoice(), 0)
    assert not outcome.error
    assert outcome.started <= outcome.ended < outcome.started + 60


def test_a_stream_other_than_the_one_planned_is_refused(tmp_path: Path):
    write_data(tmp_path, "shop", content="old")
    planned = DatasetSpec(dataset="shop", arms=2).bound(tmp_path)
    assert planned.build(0).fingerprint == planned.fingerprint(0)
    write_data(tmp_path, "shop", content="new")
    for spec in (planned, pickle.loads(pickle.dumps(planned))):
        with pytest.raises(ValueError, match="shop changed during the sweep; run the command again"):
            spec.build(0)
    assert DatasetSpec(dataset="shop", arms=2).bound(tmp_path).fingerprint(0) != planned.fingerprint(0)


def test_a_duplicate_run_after_a_lost_response_is_marked_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    write_tiny(tmp_path)
    experiment = load_experiment(str(tmp_path / "tiny.toml"))
    store = Store(f"sqlite:///{tmp_path / 'mlflow.db'}")
    first, second = (store.begin_sweep(experiment.info, "quick", 1) for _ in range(2))
    store.end_sweep(first, "FINISHED", {})
    mark_strays(store, experiment.info)
    assert store.client.get_run(second).info.status == "RUNNING"  # a file does not lose answers
    monkeypatch.setattr(store_module, "sqlite_file", lambda uri: None)
    mark_strays(store, experiment.info)
    assert store.client.get_run(second).info.status == "KILLED"
    assert store.client.get_run(first).info.status == "FINISHED"


def test_the_streams_of_a_living_sweep_are_kept_whatever_its_process_id_and_those_of_a_dead_one_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """In another container, the process that owns a folder has another id, or seems not to exist."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr("benchmark.records.provenance.process_is_alive", lambda *_: False)
    first = LocalExecutor(1)
    second = LocalExecutor(1)
    assert len([path for path in tmp_path.iterdir() if path.is_dir()]) == 2
    first._lock.release()  # as the system does for a process that is killed
    third = LocalExecutor(1)
    assert len([path for path in tmp_path.iterdir() if path.is_dir()]) == 2
    for executor in (first, second, third):
        executor.close()
    assert not [*tmp_path.iterdir()]


def test_a_changed_byte_in_a_curve_is_noticed():
    outcome = run_method(simulate(seed=0, **{**SMALL, "steps": 5000}), RandomChoice(), 0)
    content = outcome.files[CURVE]
    assert curves_in(content, "simulated")
    for place in range(40, 400, 37):
        with pytest.raises((OSError, ValueError)):
            curves_in(content[:place] + bytes([content[place] ^ 4]) + content[place + 1 :], "simulated")
