"""Writing a run in one transaction gives the same rows and files as MLflow's own client."""

import math
import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmark.records.content import DatasetContent, RunContent, local_folder, write_through_client
from benchmark.records.store import Store
from benchmark.records.tags import PARENT
from tests.benchmark.tiny_sweeps import empty_database

CURVES = [("reward_curve", t / 3, t) for t in (1, 4, 9)] + [("communication_curve", 1e300 * t, t) for t in (9, 1, 4)]
FULL = RunContent(
    experiment_id="",
    name="async-linucb γ=5 seed 0",
    status="FINISHED",
    start_time=1_000,
    end_time=2_500,
    tags={"mlflow.user": "somebody", "Method": "Async-LinUCB", "fedbandit.kind": "run", "note": "γ" * 7000},
    params={"algorithm": "async-linucb", "gamma": "inf", "text": "γ" * 6000},
    points=[("reward", 12.5, 0), ("regret", -0.0, 0), ("none", math.nan, 0), *CURVES],
    dataset=DatasetContent("lastfm", "digest", "fedbandit-official", '{"source": "official"}', '{"seed": 0}'),
    files={"curve.parquet": b"steps", "clients.parquet": b"totals"},
)
PLAIN = RunContent("", "failed", "FAILED", 1, 2, {"fedbandit.error": "no memory"})
COLUMNS = {
    "runs": "name, source_type, source_name, entry_point_name, user_id, status, start_time, end_time, "
    "source_version, lifecycle_stage, experiment_id, deleted_time",
    "tags": "key, value",
    "params": "key, value",
    "metrics": "key, value, timestamp, step, is_nan",
    "latest_metrics": "key, value, timestamp, step, is_nan",
}
DATASETS = (
    "select d.experiment_id, d.name, d.digest, d.dataset_source_type, d.dataset_source, d.dataset_schema, "
    "d.dataset_profile, i.source_type, i.destination_type, i.step, t.name, t.value from inputs i "
    "join datasets d on d.dataset_uuid = i.source_id join input_tags t on t.input_uuid = i.input_uuid "
    "where i.destination_id = ?"
)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    shutil.copy(empty_database(), tmp_path / "mlflow.db")
    store = Store(f"sqlite:///{tmp_path / 'mlflow.db'}")
    store.client.create_experiment("x", artifact_location=(tmp_path / "files").as_uri())
    return store


def experiment_id(store: Store) -> str:
    return store.experiment_ids()["x"]


def content(store: Store, run_id: str) -> dict[str, list[Any]]:
    with closing(sqlite3.connect(store.uri.removeprefix("sqlite:///"))) as connection:
        rows = {
            table: sorted(connection.execute(f"select {names} from {table} where run_uuid = ?", (run_id,)))
            for table, names in COLUMNS.items()
        }
        rows["datasets"] = sorted(connection.execute(DATASETS, (run_id,)))
    folder = local_folder(store.client.get_run(run_id).info.artifact_uri)
    assert folder is not None
    rows["files"] = sorted((path.name, path.read_bytes()) for path in folder.glob("*"))
    return rows


@pytest.mark.parametrize("run", [FULL, PLAIN, replace(FULL, points=FULL.points[:1], params={}, files={})])
def test_the_fast_path_writes_the_same_records_as_mlflow(store: Store, run: RunContent):
    run = replace(run, experiment_id=experiment_id(store))
    ours = store.write([run])[0]
    theirs = write_through_client(store.client, store.uri, run)
    assert content(store, ours) == content(store, theirs)
    first, second = (store.client.get_run(run_id) for run_id in (ours, theirs))
    assert repr(first.data.metrics) == repr(second.data.metrics)  # NaN is not equal to itself
    assert (first.data.params, first.data.tags) == (second.data.params, second.data.tags)
    assert first.info.artifact_uri.replace(ours, theirs) == second.info.artifact_uri
    assert [each.dataset.name for each in first.inputs.dataset_inputs] == ["lastfm"] * (run.dataset is not None)


def test_runs_on_the_same_data_share_one_data_set(store: Store):
    run = replace(FULL, experiment_id=experiment_id(store))
    store.write([run, run])
    with closing(sqlite3.connect(store.uri.removeprefix("sqlite:///"))) as connection:
        counts = [connection.execute(f"select count(*) from {table}").fetchone() for table in ("datasets", "inputs")]
    assert counts == [(1,), (2,)]


@pytest.mark.parametrize("is_fast", [True, False])
def test_a_replaced_run_keeps_its_id_and_has_the_new_values_only(store: Store, is_fast: bool):
    """Through a server, metrics keep their history; the latest value counts."""
    run = replace(FULL, experiment_id=experiment_id(store), dataset=None)
    child, other = store.write([run, run])
    parent = store.write([replace(run, children=[child])])[0]
    uri = store.client.get_run(parent).info.artifact_uri
    tags = {**run.tags, "note": "new"}
    again = replace(run, run_id=parent, artifact_uri=uri, name="11 seeds", end_time=9_000, tags=tags)
    again = replace(again, points=[("reward", 1.5, 0)], children=[other], files={"curve.csv": b"new"})
    if is_fast:
        assert store.write([again]) == [parent]
    else:
        assert write_through_client(store.client, store.uri, again) == parent
    stored = store.client.get_run(parent)
    assert (stored.info.run_name, stored.info.status, stored.data.metrics["reward"]) == ("11 seeds", "FINISHED", 1.5)
    assert (stored.data.tags["note"], stored.data.params) == ("new", dict(run.params))
    assert [store.client.get_run(each).data.tags[PARENT] for each in (child, other)] == [parent, parent]
    assert ("curve.csv", b"new") in content(store, parent)["files"]
    assert store.client.get_run(child).data.metrics["reward"] == 12.5


def test_nothing_is_written_if_one_of_several_runs_cannot_be(store: Store):
    run = replace(FULL, experiment_id=experiment_id(store))
    broken = replace(run, points=[("reward", 1.0, 0), ("reward", 1.0, 0)])  # the same point twice
    with pytest.raises(OSError, match="UNIQUE constraint"):
        store.write([run, broken])
    assert store.client.search_runs([run.experiment_id]) == []
