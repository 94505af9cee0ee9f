"""Small promises behind the large one: identities, clocks and fingerprints that cannot be mistaken."""

import dataclasses
import os
import time
from pathlib import Path

import pytest

from benchmark import dead_sweeps
from benchmark.dead_sweeps import mark_strays
from benchmark.experiment import load_experiment
from benchmark.outcome import carry_out
from benchmark.processes import process_is_alive, started
from benchmark.store import Store
from benchmark.stream_source import simulated_source
from data_pipelines import simulate
from tests.benchmark.tiny_sweeps import write_tiny

SMALL = {"steps": 50, "clients": 3, "arms": 3, "dimension": 2}


def test_a_process_stays_the_same_when_somebody_sets_the_clock(monkeypatch: pytest.MonkeyPatch):
    import psutil

    before = started(os.getpid())
    true_time = time.time
    monkeypatch.setattr("psutil._pslinux.boot_time", lambda: psutil.boot_time() - 3_600)
    monkeypatch.setattr(time, "time", lambda: true_time() - 3_600)
    assert process_is_alive(os.getpid(), before)
    assert not process_is_alive(os.getpid(), "another boot 1")
    assert not process_is_alive(2**22 + 1)


def test_a_run_never_ends_before_it_begins(monkeypatch: pytest.MonkeyPatch):
    from algorithms import RandomChoice

    clock = iter(range(1_000_000, 0, -3_600))
    monkeypatch.setattr(time, "time", lambda: float(next(clock)))
    outcome = carry_out(simulate(seed=0, **SMALL), RandomChoice(), 0)
    assert not outcome.error
    assert outcome.started <= outcome.ended < outcome.started + 60


def test_a_stream_other_than_the_one_planned_is_refused():
    source = simulated_source(SMALL, seed=0)
    assert source.build().fingerprint == source.fingerprint
    with pytest.raises(ValueError, match="was prepared anew since the sweep began; run the same command again"):
        dataclasses.replace(source, seed=1).build()


def test_a_run_made_twice_because_an_answer_was_lost_is_marked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    write_tiny(tmp_path)
    experiment = load_experiment(str(tmp_path / "tiny.toml"))
    store = Store(f"sqlite:///{tmp_path / 'mlflow.db'}")
    first, second = (store.begin_sweep(experiment, "quick", 1) for _ in range(2))
    store.end_sweep(first, "FINISHED", {})
    mark_strays(store, experiment)
    assert store.client.get_run(second).info.status == "RUNNING"  # nobody loses answers of a file
    monkeypatch.setattr(dead_sweeps, "sqlite_file", lambda uri: None)
    mark_strays(store, experiment)
    assert store.client.get_run(second).info.status == "KILLED"
    assert store.client.get_run(first).info.status == "FINISHED"
