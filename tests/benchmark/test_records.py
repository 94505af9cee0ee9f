"""Records: what is written is read, with types; runs without a record are counted and left out."""

import json
import math
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark.execution.local import LocalExecutor
from benchmark.execution.run_result import RunResult
from benchmark.plan.experiment import load_experiment
from benchmark.plan.plan import make_plan
from benchmark.records import reader, sqlite
from benchmark.records.artifacts import FILES
from benchmark.records.reader import read
from benchmark.records.record import MAX_TAG, RunRecord, decoded, encoded
from benchmark.records.store import Store
from benchmark.records.tags import RECORD
from tests.benchmark.recorded import record_all, store_in, tiny
from tests.benchmark.tiny_sweeps import sweep, write_tiny
from tests.records import run_record

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


@given(st.dictionaries(st.sampled_from(["alpha", "ridge", "period", "note"]), values), st.integers(0, 2**40))
def test_a_record_is_read_as_it_was_written(settings: dict[str, Any], seed: int):
    record = run_record(seed=seed, front=math.inf, settings={**settings, "stream_scaling": "unit"}, regret=1.5, **ABOUT)
    _, tags = record.to_mlflow()
    again = RunRecord.from_mlflow(tags, record.metrics, **ABOUT)
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


GAMMAS = tuple(1 + client / 7 for client in range(2000))
MANY = {f"parameter_{number}": "x" * 60 for number in range(200)}


@pytest.mark.parametrize(
    ("first", "second"),
    [({"gamma_upload": GAMMAS}, {"gamma_upload": GAMMAS[::-1]}), (MANY, {**MANY, "parameter_7": "b"})],
    ids=["a long value", "too many parameters"],
)
def test_a_long_record_has_hashes_and_still_tells_configurations_apart(first: dict[str, Any], second: dict[str, Any]):
    read_again = []
    for settings in (first, second, first):
        record = run_record(settings=settings)
        _, tags = record.to_mlflow()
        assert len(tags[RECORD]) <= MAX_TAG < len(record.to_json())
        read_again.append(RunRecord.from_mlflow(tags, {}, **ABOUT))
    assert {record.method.front_value for record in read_again} == {2.0}
    assert any(str(value).startswith("sha256:") for value in read_again[0].method.parameters.values())
    configurations = [record.configuration for record in read_again]
    assert configurations[0] == configurations[2] != configurations[1]


def test_a_shortened_record_is_an_artifact_as_a_whole(tmp_path: Path):
    write_tiny(tmp_path)
    experiment = load_experiment(str(tmp_path / "tiny.toml"))
    run = make_plan([experiment]).runs[0]
    store = Store(f"sqlite:///{tmp_path / 'mlflow.db'}")
    parent = store.begin_sweep(experiment.info, "quick", 2)
    result = RunResult(0, 1, "host", {"regret": 1.0}, {}, dict.fromkeys(FILES, b"x"))
    for parameters in (run.parameters, {**run.parameters, "gamma": None, "gamma_upload": GAMMAS}):
        store.record(parent, experiment.info, replace(run, parameters=parameters), result)
    plain, shortened = sorted(read(store.uri), key=lambda record: record.method.front_value is None)
    names = [
        {path.name for path in (tmp_path / "mlartifacts/tiny" / each.run_id).rglob("*.*")}
        for each in (plain, shortened)
    ]
    assert names == [{*FILES}, {*FILES, "record.json"}]
    (file,) = (tmp_path / "mlartifacts/tiny" / shortened.run_id).rglob("record.json")
    method = json.loads(json.loads(file.read_text())["method"])
    assert decoded(method["parameters"]["gamma_upload"]) == GAMMAS


def test_a_configuration_is_everything_but_the_seed():
    first, second = (run_record(seed=seed, settings={"alpha": 0.3}) for seed in (0, 1))
    assert first.configuration == second.configuration
    assert hash(first.configuration) == hash(second.configuration)
    assert first.configuration != run_record(settings={"alpha": 0.5}).configuration
    assert first.configuration != run_record(front=3.0, settings={"alpha": 0.3}).configuration
    assert first.configuration != run_record(settings={"alpha": 0.3, "stream_arms": 10}).configuration


def test_runs_of_an_earlier_development_version_are_left_out_with_one_line_and_repeated(
    tmp_path: Path, workers: LocalExecutor, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(reader, "_reported", set())
    write_tiny(tmp_path)
    runs = len(sweep(tmp_path, workers, "tiny.toml").finished)
    file = tmp_path / "mlflow.db"
    uri = f"sqlite:///{file}"
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("delete from tags where key = ?", (RECORD,))
    capsys.readouterr()
    assert list(read(uri)) == []
    with monkeypatch.context() as patch:
        patch.setattr(sqlite, "KNOWN_SCHEMAS", frozenset())
        assert list(read(uri)) == []
    line = (
        f"{runs} runs of an earlier development version are left out; to have such results, run the experiments again"
    )
    assert capsys.readouterr().err.splitlines() == [f"{file}: {line}"]
    assert len(sweep(tmp_path, workers, "tiny.toml").finished) == runs
    assert len(list(read(uri))) == runs


@pytest.mark.parametrize("record", ["", "{}", "[]", "[" * 100_000, '{"key": 1, "seed": "x"}'])
def test_a_run_with_a_damaged_record_is_left_out_with_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], record: str
):
    monkeypatch.setattr(reader, "_reported", set())
    store = store_in(tmp_path)
    first, *others = record_all(store, tiny(tmp_path), (0,))
    file = tmp_path / "mlflow.db"
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("update tags set value = ? where key = ? and run_uuid = ?", (record, RECORD, first))
    assert {run.run_id for run in read(store.uri)} == {*others}
    line = "1 run with a damaged record is left out; to have such results, run the experiments again"
    assert capsys.readouterr().err.splitlines() == [f"{file}: {line}"]
