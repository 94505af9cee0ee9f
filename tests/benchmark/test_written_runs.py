"""A run is written through MLflow's client, its status last, with about ten points of each curve."""

import math
from dataclasses import replace
from pathlib import Path

import pytest

from algorithms import RandomChoice
from benchmark.execution.run_result import RunResult, run_method
from benchmark.metrics import curves_to_show
from benchmark.plan.experiment import load_experiment
from benchmark.plan.plan import RunOptions, make_plan
from benchmark.records.artifacts import (
    CLIENTS,
    CURVE,
    curves_in,
    files_of,
    read_curves,
    thinned,
)
from benchmark.records.reader import finished_runs, read
from benchmark.records.store import RunContent, Store
from benchmark.records.tags import PARENT
from data_pipelines import simulate
from tests.benchmark.recorded import store_in
from tests.benchmark.tiny_sweeps import write_tiny

FULL = RunContent(
    experiment_id="",
    name="async-linucb γ=5 seed 0",
    start_time=1_000,
    end_time=2_500,
    tags={"mlflow.user": "somebody", "Method": "Async-LinUCB", "fedbandit.kind": "run", "note": "γ" * 7000},
    params={"algorithm": "async-linucb", "gamma": "inf", "text": "γ" * 6000},
    points=[("reward", 12.5, 0), ("regret", 0.5, 0), ("none", math.nan, 0), ("reward_curve", 3.0, 9)],
    dataset={"name": "lastfm", "digest": "digest", "source_type": "official", "source": "{}", "profile": "{}"},
    files={"curve.parquet": b"steps", "clients.parquet": b"totals"},
)
STEPS = ("create_run", "log_inputs", "set_tag", "log_batch", "set_terminated")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = store_in(tmp_path)
    store.client.create_experiment("x", artifact_location=(tmp_path / "files").as_uri())
    return store


@pytest.fixture
def full(store: Store) -> RunContent:
    return replace(FULL, experiment_id=store.experiment_ids()["x"])


def test_a_run_has_all_that_was_given(store: Store, full: RunContent, tmp_path: Path):
    child, _ = store.write(replace(full, dataset={}))
    run_id, artifact_uri = store.write(replace(full, children=[child]))
    stored = store.client.get_run(run_id)
    info, data = stored.info, stored.data
    assert (info.run_name, info.status, info.start_time, info.end_time) == (full.name, "FINISHED", 1_000, 2_500)
    assert full.tags.items() <= data.tags.items()
    assert (data.params, info.artifact_uri) == (full.params, artifact_uri)
    assert repr(data.metrics) == repr({"reward": 12.5, "regret": 0.5, "none": math.nan, "reward_curve": 3.0})
    assert [each.dataset.name for each in stored.inputs.dataset_inputs] == ["lastfm"]
    assert {
        path.name: path.read_bytes() for path in (tmp_path / "files" / run_id / "artifacts").iterdir()
    } == full.files
    assert store.client.get_run(child).data.tags[PARENT] == run_id


@pytest.mark.parametrize("step", STEPS)
def test_a_run_that_is_not_written_completely_never_counts(
    store: Store, full: RunContent, monkeypatch: pytest.MonkeyPatch, step: str
):
    child, _ = store.write(full)

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(store.client, step, killed)
    with pytest.raises(KeyboardInterrupt):
        store.write(replace(full, children=[child]))
    others = [run for run in store.client.search_runs([full.experiment_id]) if run.info.run_id != child]
    assert [run.info.status for run in others] == ["RUNNING"] * (step != "create_run")


def test_a_replaced_run_keeps_its_id_and_shows_the_new_values(store: Store, full: RunContent, tmp_path: Path):
    (parent, _), (child, _) = (store.write(full) for _ in range(2))
    uri = store.client.get_run(parent).info.artifact_uri
    again = replace(
        full, run_id=parent, artifact_uri=uri, name="11 seeds", end_time=9_000, tags={**full.tags, "note": "new"}
    )
    again = replace(again, points=[("reward", 1.5, 0)], children=[child], files={"curve.csv": b"new"})
    assert store.write(again)[0] == parent
    stored = store.client.get_run(parent)
    assert (stored.info.run_name, stored.info.status, stored.data.metrics["reward"]) == ("11 seeds", "FINISHED", 1.5)
    assert (stored.data.tags["note"], stored.data.params) == ("new", dict(full.params))
    assert store.client.get_run(child).data.tags[PARENT] == parent
    assert (tmp_path / "files" / parent / "artifacts" / "curve.csv").read_bytes() == b"new"


def test_a_run_on_a_choosing_seed_has_no_file_of_steps_and_is_finished_and_copied_without(tmp_path: Path):
    write_tiny(tmp_path)
    experiment, store = load_experiment(str(tmp_path / "tiny.toml")), Store(f"sqlite:///{tmp_path / 'mlflow.db'}")
    planned = make_plan([experiment], RunOptions(seeds=(0, 10_000))).runs
    runs = [next(run for run in planned if run.seed == seed) for seed in (0, 10_000)]
    stream = simulate(seed=0, steps=400, clients=3, arms=3, dimension=2)
    results = [run_method(stream, RandomChoice(), run.seed) for run in runs]
    assert [files_of(run.seed) for run in runs] == [(CURVE, CLIENTS), (CLIENTS,)]
    assert [tuple(result.files) for result in results] == [files_of(run.seed) for run in runs]
    sweep = store.begin_sweep(experiment.info, "quick", 2)
    ids = [store.record(sweep, experiment.info, *each).run_id for each in zip(runs, results, strict=True)]
    assert {run.run_id for run in finished_runs(store, ["tiny"])} == {*ids}
    with_steps, without = (store.outcome_of(run_id) for run_id in ids)
    assert isinstance(with_steps, RunResult)
    assert (with_steps.curves, with_steps.files) == (results[0].curves, results[0].files)
    assert curves_in(results[0].files[CURVE], "simulated") == results[0].curves
    assert isinstance(without, RunResult)
    shown = curves_to_show(results[1].curves)
    assert without.curves == {name: thinned(results[1].curves[name]) for name in shown}
    for run, result in zip(read(store.uri), (with_steps, without), strict=True):
        assert read_curves(store, "simulated", "tiny", run.run_id, run.artifact_uri) == result.curves
