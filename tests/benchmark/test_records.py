"""Records: what is written is read, with types; stores of version 0.1.0 are read, and their runs are not repeated."""

import json
import math
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark import session
from benchmark.execution.local import LocalExecutor
from benchmark.execution.run_result import RunResult
from benchmark.plan.experiment import load_experiment
from benchmark.plan.plan import Plan, RunOptions, make_plan, parse_seeds
from benchmark.records.reader import finished_runs, read, read_sweeps
from benchmark.records.record import MAX_TAG, Configuration, RunRecord, comparable, decoded, encoded, record_of
from benchmark.records.store import FILES, Store
from benchmark.records.tags import RECORD
from reports.read.results import read_results
from tests.benchmark.tiny_sweeps import sweep, write_tiny
from tests.records import as_version_0_1_0, run_record

STORES = Path(__file__).parent / "stores"
RUNS = 12
CHANGED, REPEATED = "async-linucb-am", 2
"""The method whose version has been raised since version 0.1.0, and its runs in the store."""
ABOUT = {"run_id": "a", "experiment": "fig_e"}

scalars = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=20))
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3).map(tuple), max_leaves=5)


def same(first: Any, second: Any) -> bool:
    """Whether two values are equal and of the same type; NaN equals NaN."""
    if isinstance(first, tuple) and isinstance(second, tuple):
        return len(first) == len(second) and all(map(same, first, second))
    is_nan = isinstance(first, float) and math.isnan(first)
    return type(first) is type(second) and (first == second or (is_nan and math.isnan(second)))


@given(values)
def test_every_value_keeps_its_type(value: Any):
    text = json.dumps(encoded(value), allow_nan=False)
    assert same(decoded(json.loads(text)), value)


def test_arrays_become_tuples_and_objects_become_texts():
    assert decoded(encoded(np.array([1.5, math.inf]))) == (1.5, math.inf)
    assert decoded(encoded(np.float64(2.5))) == 2.5
    assert decoded(encoded(Path("a"))) == "a"


@given(st.dictionaries(st.sampled_from(["alpha", "ridge", "period", "note"]), values), st.integers(0, 2**40))
def test_a_record_is_read_as_it_was_written(settings: dict[str, Any], seed: int):
    record = run_record(seed=seed, front=math.inf, settings={**settings, "stream_scaling": "unit"}, regret=1.5, **ABOUT)
    texts, tags = record.to_mlflow()
    again = RunRecord.from_mlflow(texts, tags, record.metrics, **ABOUT)
    assert replace(again, method=record.method, key=record.key) == record
    assert again.key == record.key
    for name, value in record.method.parameters.items():
        assert same(again.method.parameters[name], value)


def test_parameters_stay_readable_for_people():
    record = run_record(front=math.inf, seed=3, settings={"alpha": 0.3, "warm_start": False, "stream_scaling": "unit"})
    texts, tags = record.to_mlflow()
    expected = {"algorithm": "async-linucb", "threshold": "inf", "gamma": "inf", "dataset": "delicious", "seed": "3"}
    expected |= {"alpha": "0.3", "warm_start": "False", "stream_scaling": "unit", "steps": "100", "clients": "10"}
    assert texts == expected | {"arms": "25", "dimension": "25"}
    assert json.loads(json.loads(tags[RECORD])["method"])["parameters"]["gamma"] == {"float": "inf"}


def test_a_long_value_is_stored_as_its_hash_and_still_tells_configurations_apart():
    gammas = tuple(1 + client / 7 for client in range(2000))
    long = [run_record(front=math.nan, settings={"gamma_upload": values}) for values in (gammas, gammas[::-1], gammas)]
    read_again = []
    for record in long:
        texts, tags = record.to_mlflow()
        assert len(tags[RECORD]) <= MAX_TAG < len(record.to_json())
        read_again.append(RunRecord.from_mlflow(texts, tags, {}, **ABOUT))
    assert read_again[0].method.parameters["gamma_upload"].startswith("sha256:")
    first, second, third = (record.configuration for record in read_again)
    assert first == third != second


def test_a_record_that_does_not_fit_into_a_tag_is_read_from_the_parameters():
    settings = {f"parameter_{number}": "x" * 60 for number in range(200)}
    record = run_record(settings=settings)
    texts, tags = record.to_mlflow()
    assert tags == {}
    _, old_tags = as_version_0_1_0(record)
    assert RunRecord.from_mlflow(texts, old_tags, {}, **ABOUT).configuration == record.configuration


def test_a_shortened_record_is_an_artifact_as_a_whole(tmp_path: Path):
    gammas = tuple(1 + client / 7 for client in range(2000))
    write_tiny(tmp_path)
    experiment = load_experiment(str(tmp_path / "tiny.toml"))
    run = make_plan([experiment]).runs[0]
    store = Store(f"sqlite:///{tmp_path / 'mlflow.db'}")
    parent = store.begin_sweep(experiment.info, "quick", 2)
    result = RunResult(0, 1, "host", {"regret": 1.0}, {}, dict.fromkeys(FILES, b"x"))
    for parameters in (run.parameters, {**run.parameters, "gamma": None, "gamma_upload": gammas}):
        store.record(parent, experiment.info, replace(run, parameters=parameters), result)
    plain, shortened = sorted(read(store.uri), key=lambda record: record.method.front_value is None)
    names = [
        {path.name for path in (tmp_path / "mlartifacts/tiny" / each.run_id).rglob("*.*")}
        for each in (plain, shortened)
    ]
    assert names == [{*FILES}, {*FILES, "record.json"}]
    (file,) = (tmp_path / "mlartifacts/tiny" / shortened.run_id).rglob("record.json")
    method = json.loads(json.loads(file.read_text())["method"])
    assert decoded(method["parameters"]["gamma_upload"]) == gammas


def test_the_purpose_of_a_run_follows_from_its_seed():
    purposes = [run_record(seed=seed).purpose for seed in (0, 9_999, 10_000, 10_009, 10_010)]
    assert purposes == ["report", "report", "choose", "choose", "report"]


def test_a_configuration_is_everything_but_the_seed():
    first, second = (run_record(seed=seed, settings={"alpha": 0.3}) for seed in (0, 1))
    assert first.configuration == second.configuration
    assert hash(first.configuration) == hash(second.configuration)
    assert first.configuration != run_record(settings={"alpha": 0.5}).configuration
    assert first.configuration != run_record(front=3.0, settings={"alpha": 0.3}).configuration
    assert first.configuration != run_record(settings={"alpha": 0.3, "stream_arms": 10}).configuration


def test_a_hyper_parameter_may_have_the_name_of_a_size_of_the_stream():
    five, fifty = (run_record("mine:Own", settings={"steps": steps}) for steps in (5, 50))
    assert five.configuration != fifty.configuration
    texts, tags = fifty.to_mlflow()
    assert RunRecord.from_mlflow(texts, tags, {}, **ABOUT).method.parameters["steps"] == 50


def test_configurations_are_sorted_by_number_and_equal_whatever_the_last_bits():
    small, large, text = (Configuration({"ridge": ridge}) for ridge in (9, 10, "auto"))
    assert sorted([text, large, small]) == [small, large, text]
    assert comparable(1.0100000000000002) == comparable(1.01)
    assert Configuration({"a": 1, "b": None}).without("b") == Configuration({"a": 1.0})


@pytest.mark.parametrize("front", [1.01, math.inf, math.nan, 1e20])
def test_old_and_new_records_of_one_run_have_the_same_configuration(front: float):
    settings = {"alpha": "theory", "ridge": 0.1, "warm_start": True, "sigma": None, "stream_positive": "first"}
    record = run_record(front=front, settings=settings)
    old = RunRecord.from_mlflow(*as_version_0_1_0(record), {}, **ABOUT)
    assert old.configuration == record.configuration
    assert old.method.front_parameter == record.method.front_parameter
    assert old.stream == record.stream


@pytest.fixture
def old_store(tmp_path: Path) -> Path:
    """A store of version 0.1.0: an experiment with six settings and two seeds, and the files of its runs."""
    text = (STORES / "store_0_1_0.sql").read_text().replace("/FOLDER", str(tmp_path))
    with closing(sqlite3.connect(tmp_path / "mlflow.db")) as connection:
        connection.executescript(text)
        rows = connection.execute(
            "select r.artifact_uri from runs r join tags t using (run_uuid) where t.value = 'run'"
        )
        folders = [Path(uri.removeprefix("file://")) for (uri,) in rows]
    assert len(folders) == RUNS
    for folder in folders:
        folder.mkdir(parents=True)
        for name in FILES:
            (folder / name).write_bytes(b"x")
    (tmp_path / "tiny.toml").write_text((STORES / "store_0_1_0.toml").read_text())
    return tmp_path


def plan_of(folder: Path, seeds: str = "2") -> Plan:
    return make_plan([load_experiment(str(folder / "tiny.toml"))], RunOptions(seeds=parse_seeds(seeds)))


def test_a_store_of_version_0_1_0_is_read_with_types(old_store: Path):
    uri = f"sqlite:///{old_store / 'mlflow.db'}"
    records = list(read(uri))
    assert len(records) == RUNS
    assert read_sweeps(uri) == [("tiny", "quick", "FINISHED")]
    fronts = {(record.method.name, record.method.front_parameter, record.method.front_value) for record in records}
    assert fronts == {
        ("async-linucb", "gamma", 1),
        ("async-linucb", "gamma", 2),
        ("async-linucb", "gamma", math.inf),
        ("async-linucb-am", "gamma", 2),
        ("sync-linucb", "threshold", 0.5),
        ("random", "", None),
    }
    record = next(record for record in records if record.method.name == "async-linucb-am")
    assert record.method.parameters["warm_start"] is False
    assert record.method.parameters["global_dim"] == 2
    assert record.stream.options == {"client_distribution": "uniform", "global_dim": None, "noise": 0.1, "table": None}
    assert record.stream.sizes == {"steps": 20, "clients": 5, "arms": 4, "dimension": 3}
    assert record.metrics["scalars_moved"] == record.metrics["communication"] * (2 * 2 + 2)
    assert record.provenance["fedbandit.version.fedbandit-bench"] == "0.1.0"
    assert not any("/FOLDER" in record.artifact_uri for record in records)


def test_the_runs_of_a_store_of_version_0_1_0_are_planned_with_the_same_keys_and_configurations(old_store: Path):
    records = {record.key: record for record in finished_runs(Store(f"sqlite:///{old_store / 'mlflow.db'}"), ["tiny"])}
    plan = plan_of(old_store)
    runs = [run for run in plan.runs if run.info.version == 1]
    assert {run.key for run in runs} == {key for key, record in records.items() if record.method.name != CHANGED}
    for run in runs:
        sizes = {name: str(size) for name, size in records[run.key].stream.sizes.items()}
        new = record_of(run, RunResult(0, 0, "", facts=sizes))
        assert new.configuration == records[run.key].configuration


def test_finished_runs_of_a_store_of_version_0_1_0_are_repeated_only_where_the_method_changed(
    old_store: Path, workers: LocalExecutor
):
    store = Store(f"sqlite:///{old_store / 'mlflow.db'}")
    result = session.run(plan_of(old_store), store, workers)
    assert (len(result.skipped), result.failed) == (RUNS - REPEATED, ())
    assert {record.method.name for record in result.finished} == {CHANGED}
    assert len(list(read(store.uri))) == RUNS + REPEATED


def test_old_and_new_runs_in_one_store_are_seeds_of_the_same_configurations(old_store: Path, workers: LocalExecutor):
    result = sweep(old_store, workers, "tiny.toml", seeds=(0, 1, 2))
    assert (len(result.skipped), len(result.finished)) == (RUNS - REPEATED, RUNS // 2 + REPEATED)
    runs = read_results(f"sqlite:///{old_store / 'mlflow.db'}").runs
    assert set(runs["variant"]) == {""}
    assert runs.groupby("configuration")["seed"].apply(sorted).tolist() == [[0, 1, 2]] * (RUNS // 2)
    assert runs["scalars_moved"].notna().sum() == RUNS - REPEATED
    assert runs["numbers_moved"].notna().sum() == RUNS // 2 + REPEATED
