"""`fedbandit export` and `fedbandit runs`: tidy files, filters, archive and restore."""

import io
import json
import re
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from benchmark.records.reader import read
from benchmark.records.size import store_size
from benchmark.results import deletion
from benchmark.results.stored import results
from tests.benchmark.tiny_sweeps import RUNS, Command, rows, sweep, write_tiny


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory, workers: object) -> Path:
    folder = tmp_path_factory.mktemp("exported")
    sweep(folder, workers, write_tiny(folder, steps=60))  # type: ignore[arg-type]
    return folder


def test_csv_has_a_header_and_one_row_per_run_as_in_results(swept: Path, fedbandit_here: Command):
    done = fedbandit_here(swept, "export", "tiny")
    assert done.returncode == 0, done.stderr
    table = pd.read_csv(io.StringIO(done.stdout))
    frame = results("tiny", f"sqlite:///{swept / 'mlflow.db'}").frame
    assert len(table) == RUNS
    assert sorted(table["regret"]) == pytest.approx(sorted(frame["regret"]))
    assert {"experiment", "dataset", "algorithm", "setting", "seed", "gamma", "communication"} <= {*table.columns}


def test_a_row_says_from_which_run_stream_code_versions_and_data_it_is(swept: Path, fedbandit_here: Command):
    text = io.StringIO(fedbandit_here(swept, "export", "tiny").stdout)
    table = pd.read_csv(text, dtype={"source": str, "prepared": str}, na_filter=False).set_index("key")
    records = {record.key: record for record in read(f"sqlite:///{swept / 'mlflow.db'}")}
    assert {*table.index} == {*records}
    for key, record in records.items():
        row = table.loc[key]
        assert row["fingerprint"] == record.stream.fingerprint
        assert (row["source"], row["prepared"]) == (record.stream.source, record.stream.prepared)
        assert str(row["code"]) == str(record.method.code_version)
        assert row["choices"] == record.choices
        assert f"numpy {record.provenance['fedbandit.version.numpy']}" in row["versions"]
        assert row["versions"].endswith(f"source {record.provenance['fedbandit.source_hash'][:16]}")


@pytest.mark.parametrize("kind", ["csv", "parquet", "json"])
def test_every_format_has_the_same_numbers(swept: Path, fedbandit_here: Command, kind: str):
    file = swept / f"runs.{kind}"
    assert fedbandit_here(swept, "export", "--out", str(file)).returncode == 0
    readers = {"csv": pd.read_csv, "parquet": pd.read_parquet}
    table = readers[kind](file) if kind in readers else pd.DataFrame(json.loads(file.read_text()))
    plain = pd.read_csv(io.StringIO(fedbandit_here(swept, "export").stdout))
    assert list(table.columns) == list(plain.columns)
    assert list(table["regret"]) == pytest.approx(list(plain["regret"]))


def test_a_row_per_setting_has_means_and_intervals(swept: Path, fedbandit_here: Command):
    table = pd.read_csv(io.StringIO(fedbandit_here(swept, "export", "tiny", "--per", "setting").stdout))
    assert len(table) == RUNS // 2
    assert set(table["seeds"]) == {2}
    assert {"mean", "low", "high", "difference"} <= {*table.columns}


def test_an_unknown_experiment_is_one_line_with_a_suggestion(swept: Path, fedbandit_here: Command):
    message = "unknown experiment with finished runs 'tinny' (did you mean tiny?)"
    assert message in fedbandit_here(swept, "export", "tinny").stderr


def archived(folder: Path) -> int:
    """The number of archived runs, without those that summarised a setting."""
    return len(runs_of_kind(folder, "run", "deleted"))


def runs_of_kind(folder: Path, kind: str, stage: str) -> list[str]:
    query = "select run_uuid from runs join tags using (run_uuid) where key = 'fedbandit.kind' "
    return [run_id for (run_id,) in rows(folder, query + f"and tags.value = '{kind}' and lifecycle_stage = '{stage}'")]


def test_runs_are_listed_archived_and_restored_by_filters(swept: Path, fedbandit_here: Command):
    listed = fedbandit_here(swept, "runs", "list", "--method", "sync*")
    assert listed.stdout.splitlines()[-1] == "6 runs"
    dry = fedbandit_here(swept, "runs", "archive", "--method", "sync-linucb", "--dry-run")
    assert "6 runs would be changed; nothing was." in dry.stdout
    assert archived(swept) == 0
    assert "6 runs archived." in fedbandit_here(swept, "runs", "archive", "--method", "sync-linucb").stdout
    assert archived(swept) == 6
    assert len(runs_of_kind(swept, "setting", "active")) == RUNS // 2 - 3  # a setting without runs is not shown
    assert fedbandit_here(swept, "export").stdout.count(",sync-linucb") == 0
    assert "6 runs restored." in fedbandit_here(swept, "runs", "restore", "--experiment", "tiny").stdout
    assert archived(swept) == 0
    assert len(runs_of_kind(swept, "setting", "active")) == RUNS // 2
    nothing = fedbandit_here(swept, "runs", "list", "--older-data")
    assert nothing.stdout == "No recorded run matches.\n"
    assert fedbandit_here(swept, "runs", "list", "--before", "2000-01-01").stdout == "No recorded run matches.\n"
    assert fedbandit_here(swept, "runs", "list", "--before", "2999-01-01").stdout.endswith(f"{RUNS} runs\n")


@pytest.fixture
def copied(swept: Path, tmp_path: Path) -> Path:
    """A copy of the store: deleting runs does not change that of other tests."""
    shutil.copytree(swept, tmp_path, dirs_exist_ok=True)
    location = (tmp_path / "mlartifacts" / "tiny").as_uri()
    with closing(sqlite3.connect(tmp_path / "mlflow.db")) as store, store:
        store.execute("update runs set artifact_uri = ? || '/' || run_uuid || '/artifacts'", (location,))
    return tmp_path


def files_in(folder: Path) -> list[Path]:
    return [path for path in (folder / "mlartifacts").rglob("*") if path.is_file()]


def test_runs_are_deleted_with_their_files_and_space_is_freed(copied: Path, fedbandit_here: Command):
    delete = ("runs", "delete", "--experiment", "tiny", "--method", "sync-linucb")
    refused = fedbandit_here(copied, *delete)
    assert refused.returncode == 2
    assert "must have --yes where it cannot ask" in refused.stderr
    assert " of files would be deleted; nothing was." in fedbandit_here(copied, *delete, "--dry-run").stdout
    before, files = store_size(f"sqlite:///{copied / 'mlflow.db'}"), files_in(copied)
    others = rows(copied, "select run_uuid from runs where lifecycle_stage = 'active'")
    done = fedbandit_here(copied, *delete, "--yes")
    assert re.search(r"^6 runs deleted; [\d.]+ MB \(database [\d.]+ MB, files [\d.]+ MB\) freed\.$", done.stdout, re.M)
    after = store_size(f"sqlite:///{copied / 'mlflow.db'}")
    assert before
    assert after
    assert after.database < before.database
    assert len(files_in(copied)) < len(files)
    assert rows(copied, "select count(*) from runs where lifecycle_stage = 'deleted'") == [(0,)]
    assert len(runs_of_kind(copied, "run", "active")) == RUNS - 6
    assert len(rows(copied, "select run_uuid from runs")) == len(others) - 6 - 3  # and the means of three settings
    folders = {path.relative_to(copied / "mlartifacts" / "tiny").parts[0] for path in files_in(copied)}
    assert folders <= {run_id for (run_id,) in rows(copied, "select run_uuid from runs")}
    assert fedbandit_here(copied, "export").returncode == 0


def test_an_interrupted_deletion_is_continued_by_the_same_command(
    copied: Path, fedbandit_here: Command, monkeypatch: pytest.MonkeyPatch
):
    command = ("runs", "delete", "--experiment", "ti*", "--yes")
    removed, remove = [], deletion._remove

    def interrupted(*arguments: Any) -> None:
        removed.append(arguments)
        if len(removed) == 4:
            raise KeyboardInterrupt
        remove(*arguments)

    monkeypatch.setattr(deletion, "_remove", interrupted)
    stopped = fedbandit_here(copied, *command)
    assert (stopped.returncode, stopped.stderr) == (130, "Interrupted. Run the same command again to continue.\n")
    assert len(rows(copied, "select run_uuid from runs")) > 4
    monkeypatch.setattr(deletion, "_remove", remove)
    assert f"{RUNS - 3} runs deleted; " in fedbandit_here(copied, *command).stdout
    assert rows(copied, "select run_uuid from runs") == []  # nor its line in the overview
    assert rows(copied, "select name from experiments where name = 'tiny'") == []
    assert files_in(copied) == []
    assert fedbandit_here(copied, *command).stdout == "No recorded run matches.\n"


def test_nothing_is_deleted_while_a_sweep_writes_nor_without_consent(
    copied: Path, fedbandit_here: Command, monkeypatch: pytest.MonkeyPatch
):
    count = len(rows(copied, "select run_uuid from runs"))
    command = [sys.executable, "-c", HOLD_THE_LOCK, str(copied / "mlflow.db.lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout
        other.stdout.readline()
        refused = fedbandit_here(copied, "runs", "delete", "--experiment", "tiny", "--yes")
        other.communicate("")
    assert refused.returncode == 2
    assert "another sweep is writing to " in refused.stderr
    monkeypatch.setattr("sys.stdin", io.StringIO("no\n"))
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    asked = fedbandit_here(copied, "runs", "delete", "--experiment", "tiny")
    assert asked.stdout.endswith("of files for good? [y/N] Nothing was deleted.\n")
    assert len(rows(copied, "select run_uuid from runs")) == count
    assert (
        "can only archive runs"
        in fedbandit_here(copied, "runs", "delete", "--failed", MLFLOW_TRACKING_URI="http://127.0.0.1:9").stderr
    )


HOLD_THE_LOCK = (
    "import filelock, sys\nwith filelock.FileLock(sys.argv[1]):\n  print('held', flush=True)\n  sys.stdin.read()"
)
