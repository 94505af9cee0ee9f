"""Stores of killed processes: a transaction that was not finished, and a database that was not created completely."""

import shutil
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest
from filelock import FileLock, Timeout

from algorithms.registry import built_in_methods
from benchmark.execution.run_result import RunResult
from benchmark.plan.experiment import load_experiment
from benchmark.plan.runs import Run
from benchmark.records import sqlite
from benchmark.records.artifacts import FILES
from benchmark.records.reader import read
from benchmark.records.store import Store
from benchmark.records.tracking import StoreError, make_client, single_writer_lock, sqlite_file
from data_pipelines.stream_spec import SimulatedSpec
from tests.benchmark.test_run_command import in_a_mount, needs_mounts
from tests.benchmark.tiny_sweeps import Command, empty_database, environment, results, write_tiny

KILLED_WHILE_CREATING = """
import os, signal
from mlflow.store.db import utils
from benchmark.records.tracking import make_client
utils._upgrade_db = lambda engine: os.kill(os.getpid(), signal.SIGKILL)
make_client("sqlite:///mlflow.db")
"""


LOGS = {"mlflow.db-wal", "mlflow.db-shm"}
"""Files of a database that is in use."""


def store_with_a_run(folder: Path, log: str = "wal") -> str:
    """A store with one finished run; with a journal, it is like a database that MLflow created."""
    write_tiny(folder)
    with closing(sqlite3.connect(folder / "mlflow.db")) as connection:
        connection.execute(f"pragma journal_mode = {'delete' if log == 'journal' else log}")
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


def leave(database: Path, log: str) -> Path:
    """Leave the database as `kill -9` does in a transaction: half-written, with the log that repairs it."""
    left = [database, database.with_name(f"{database.name}-{log}")]
    copies = database.with_name("copies")
    copies.mkdir()
    connection = unfinished_transaction(database)
    for file in left:
        shutil.copy(file, copies)
    connection.close()
    for file in left:
        shutil.move(copies / file.name, file)
    copies.rmdir()
    assert left[1].stat().st_size > 0
    return left[1]


@pytest.mark.parametrize(
    ("log", "arguments"),
    [("wal", ("run", "tiny.toml", "--dry-run")), ("wal", ("list",)), ("journal", ("runs", "list"))],
)
def test_every_command_reads_a_store_whose_writer_was_killed_in_its_transaction(
    tmp_path: Path, fedbandit_here: Command, arguments: tuple[str, ...], log: str
):
    uri = store_with_a_run(tmp_path, log)
    before = [*read(uri)]
    leave(tmp_path / "mlflow.db", log)
    done = fedbandit_here(tmp_path, *arguments)
    assert (done.returncode, done.stderr) == (0, "")
    assert [*read(uri)] == before
    assert before[0].metrics == {"reward": 1.0}


@pytest.mark.parametrize("log", ["wal", "journal"])
def test_a_transaction_of_a_living_process_is_not_undone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, log: str):
    monkeypatch.setattr(sqlite, "SECONDS_TO_WAIT", 0.05)
    uri = store_with_a_run(tmp_path, log)
    before = [*read(uri)]
    connection = unfinished_transaction(tmp_path / "mlflow.db")
    if log == "wal":  # readers do not wait
        assert [*read(uri)] == before
    else:
        with pytest.raises(StoreError, match="database is locked"):
            [*read(uri)]
    connection.commit()
    connection.close()
    assert sqlite._rows(tmp_path / "mlflow.db", "select distinct value from latest_metrics") == [(-1.0,)]


@needs_mounts
@pytest.mark.parametrize("log", ["wal", "journal"])
def test_a_killed_store_in_a_read_only_folder_is_reported_in_one_line(tmp_path: Path, log: str):
    store_with_a_run(tmp_path, log)
    leave(tmp_path / "mlflow.db", log)
    prepare = f"cp mlflow.db mlflow.db-{log} mount; mount -o remount,ro mount; cd mount"
    done = in_a_mount(tmp_path, "size=50m", prepare, "runs", "list")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "was left by a killed process" in done.stderr
    assert f"copy mlflow.db and mlflow.db-{log} to another one" in done.stderr


@needs_mounts
def test_a_store_in_a_read_only_folder_is_read(tmp_path: Path):
    uri = store_with_a_run(tmp_path)
    with single_writer_lock(uri):
        pass  # whoever ends writing leaves a complete file
    prepare = "cp mlflow.db mount; mount -o remount,ro mount; cd mount"
    done = in_a_mount(tmp_path, "size=50m", prepare, "runs", "list")
    assert (done.returncode, done.stderr) == (0, "")
    assert "random" in done.stdout


def test_a_writer_that_ends_leaves_a_complete_file(tmp_path: Path):
    uri, log = store_with_a_run(tmp_path), tmp_path / "mlflow.db-wal"
    assert sqlite._rows(tmp_path / "mlflow.db", "pragma journal_mode") == [("wal",)]
    assert log.stat().st_size > 0
    before = [*read(uri)]
    with single_writer_lock(uri):
        assert log.exists()
    assert not log.exists() or log.stat().st_size == 0
    shutil.copy(tmp_path / "mlflow.db", tmp_path / "copy.db")
    assert [*read(f"sqlite:///{tmp_path / 'copy.db'}")] == before


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
    assert {file.name for file in tmp_path.iterdir()} - LOGS == {"mlflow.db", "mlflow.db.lock"}


@pytest.mark.slow
def test_a_killed_creation_is_not_used_and_its_files_are_removed_by_the_next(tmp_path: Path):
    killed = subprocess.run([sys.executable, "-c", KILLED_WHILE_CREATING], cwd=tmp_path, env=environment())
    assert killed.returncode == -9
    assert not (tmp_path / "mlflow.db").exists()
    assert [*tmp_path.glob("mlflow.db.creating-*")]
    make_client(f"sqlite:///{tmp_path / 'mlflow.db'}")
    assert {file.name for file in tmp_path.iterdir()} - LOGS == {"mlflow.db", "mlflow.db.lock"}


@pytest.mark.parametrize("log", ["wal", "journal"])
def test_the_log_of_a_deleted_database_is_not_applied_to_a_new_one(tmp_path: Path, log: str):
    uri = store_with_a_run(tmp_path, log)
    leave(tmp_path / "mlflow.db", log)
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


def test_a_link_to_a_store_has_the_lock_of_the_store(tmp_path: Path):
    (tmp_path / "link.db").symlink_to(tmp_path / "mlflow.db")
    with single_writer_lock(f"sqlite:///{tmp_path / 'mlflow.db'}"):
        assert not (tmp_path / "link.db.lock").exists()
        with pytest.raises(Timeout), FileLock(lock_of(f"sqlite:///{tmp_path / 'link.db'}"), timeout=0):
            pass


def lock_of(uri: str) -> str:
    return f"{sqlite_file(uri)}.lock"


@needs_mounts
def test_a_full_disk_leaves_no_part_of_a_file(tmp_path: Path):
    done = in_a_mount(tmp_path, "size=4k", "cd mount; head -c 4096 /dev/zero > full", "new", "experiment", "mine")
    assert done.returncode == 2
    assert "No space left" in done.stderr
    assert done.stderr.count("\n") == 1
    assert [path.name for path in (tmp_path / "mount").iterdir()] == ["full"]
