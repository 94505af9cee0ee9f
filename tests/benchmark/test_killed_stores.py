"""Stores of killed processes: a transaction that was not finished, and a database that was not created completely."""

import shutil
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from filelock import FileLock

from algorithms.registry import built_in_methods
from benchmark.execution.run_result import RunResult
from benchmark.plan.experiment import load_experiment
from benchmark.plan.runs import Run
from benchmark.records import sqlite
from benchmark.records.reader import read
from benchmark.records.store import FILES, Store
from benchmark.records.tracking import StoreError, make_client
from data_pipelines.stream_spec import SimulatedSpec
from tests.benchmark.conftest import Command
from tests.benchmark.test_run_command import in_a_mount, needs_mounts
from tests.benchmark.tiny_sweeps import empty_database, environment, results, write_tiny

KILLED_WHILE_CREATING = """
import os, signal
from mlflow.store.db import utils
from benchmark.records.tracking import make_client
utils._upgrade_db = lambda engine: os.kill(os.getpid(), signal.SIGKILL)
make_client("sqlite:///mlflow.db")
"""


def store_with_a_run(folder: Path) -> str:
    """A store with one finished run."""
    write_tiny(folder)
    experiment, store = load_experiment(str(folder / "tiny.toml")), Store(f"sqlite:///{folder / 'mlflow.db'}")
    run = Run(
        "tiny",
        SimulatedSpec(steps=50, clients=3, arms=3, dimension=2),
        built_in_methods()["random"],
        None,
        {},
        0,
        "key",
    )
    outcome = RunResult(1, 2, "here", {"reward": 1.0}, files=dict.fromkeys(FILES, b"x"))
    store.record(store.begin_sweep(experiment.info, "quick", 1), experiment.info, run, outcome)
    return store.uri


def unfinished_transaction(database: Path) -> sqlite3.Connection:
    """Change every metric and add many rows without a commit, with a part of the changes already in the file."""
    connection = sqlite3.connect(database)
    connection.execute("pragma cache_size = 1")
    connection.execute("update latest_metrics set value = -1")
    connection.execute("update tags set value = 'half-written'")
    numbers = "with recursive n(x) as (select 1 union all select x + 1 from n limit 20000)"
    connection.execute(f"create table many as {numbers} select x, hex(randomblob(20)) from n")
    return connection


def leave_hot_journal(database: Path) -> Path:
    """Leave the database as `kill -9` does in a transaction: half-written, with the journal that undoes it."""
    journal, copies = database.with_name(f"{database.name}-journal"), database.with_name("copies")
    copies.mkdir()
    connection = unfinished_transaction(database)
    for file in (database, journal):
        shutil.copy(file, copies)
    connection.close()
    for file in (database, journal):
        shutil.move(copies / file.name, file)
    copies.rmdir()
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True).execute("select * from runs")
    return journal


@pytest.mark.parametrize(
    "arguments", [("run", "tiny.toml", "--dry-run"), ("list",), ("runs", "list"), ("export", "tiny")]
)
def test_every_command_reads_a_store_whose_writer_was_killed_in_its_transaction(
    tmp_path: Path, fedbandit_here: Command, arguments: tuple[str, ...]
):
    uri = store_with_a_run(tmp_path)
    before = [*read(uri)]
    journal = leave_hot_journal(tmp_path / "mlflow.db")
    done = fedbandit_here(tmp_path, *arguments)
    assert (done.returncode, done.stderr) == (0, "")
    assert not journal.exists()
    assert [*read(uri)] == before
    assert before[0].metrics == {"reward": 1.0}


def test_reading_does_not_undo_the_transaction_of_a_living_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sqlite, "SECONDS_TO_WAIT_FOR_A_READ", 0.05)
    uri = store_with_a_run(tmp_path)
    connection = unfinished_transaction(tmp_path / "mlflow.db")
    assert (tmp_path / "mlflow.db-journal").stat().st_size > 0
    with pytest.raises(StoreError, match="database is locked"):
        [*read(uri)]
    connection.commit()
    connection.close()
    assert sqlite._rows(tmp_path / "mlflow.db", "select distinct value from latest_metrics") == [(-1.0,)]


@needs_mounts
def test_a_hot_journal_in_a_read_only_folder_is_reported_in_one_line(tmp_path: Path):
    store_with_a_run(tmp_path)
    leave_hot_journal(tmp_path / "mlflow.db")
    prepare = "cp mlflow.db mlflow.db-journal mount; mount -o remount,ro mount; cd mount"
    done = in_a_mount(tmp_path, "size=50m", prepare, "runs", "list")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "contains an unfinished transaction of a killed process, which cannot be undone" in done.stderr
    assert "copy mlflow.db and mlflow.db-journal to another one" in done.stderr


def test_an_interrupted_creation_leaves_nothing_and_starts_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    uri = f"sqlite:///{tmp_path / 'mlflow.db'}"

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    for function in ("mlflow.store.db.utils._upgrade_db", "sqlalchemy.engine.default.DefaultDialect.do_rollback"):
        with monkeypatch.context() as patch:
            patch.setattr(function, interrupt)
            with pytest.raises(KeyboardInterrupt):
                make_client(uri)
    assert caplog.text == ""
    assert {file.name for file in tmp_path.iterdir()} <= {"mlflow.db.lock"}
    assert [experiment.name for experiment in make_client(uri).search_experiments()] == ["Default"]
    assert {file.name for file in tmp_path.iterdir()} == {"mlflow.db", "mlflow.db.lock"}


def test_a_killed_creation_is_not_used_and_its_files_are_removed_by_the_next(tmp_path: Path):
    killed = subprocess.run([sys.executable, "-c", KILLED_WHILE_CREATING], cwd=tmp_path, env=environment())
    assert killed.returncode == -9
    assert not (tmp_path / "mlflow.db").exists()
    assert [*tmp_path.glob("mlflow.db.creating-*")]
    make_client(f"sqlite:///{tmp_path / 'mlflow.db'}")
    assert {file.name for file in tmp_path.iterdir()} == {"mlflow.db", "mlflow.db.lock"}


def test_the_journal_of_a_deleted_database_is_not_applied_to_a_new_one(tmp_path: Path):
    uri = store_with_a_run(tmp_path)
    leave_hot_journal(tmp_path / "mlflow.db")
    (tmp_path / "mlflow.db").unlink()
    make_client(f"{uri}?new")
    assert sqlite._rows(tmp_path / "mlflow.db", "pragma integrity_check") == [("ok",)]
    assert [*read(uri)] == []


def test_a_database_that_another_process_creates_meanwhile_is_kept(tmp_path: Path):
    file = tmp_path / "mlflow.db"
    with FileLock(f"{file}.lock"):
        thread = threading.Thread(target=make_client, args=(f"sqlite:///{file}",), daemon=True)
        thread.start()
        shutil.copy(empty_database(), tmp_path / "other")
        (tmp_path / "other").rename(file)
        inode = file.stat().st_ino
        thread.join(120)
        assert not thread.is_alive()
    assert file.stat().st_ino == inode
    assert results(tmp_path) == {}
