"""`fedbandit export` and `fedbandit runs`: tidy files, filters, archive and restore."""

import io
import json
from pathlib import Path

import pandas as pd
import pytest

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
    deleted = fedbandit_here(swept, "runs", "delete", "--experiment", "tiny", "--method", "sync-linucb")
    assert "mlflow gc --backend-store-uri sqlite:///" in deleted.stderr
    assert archived(swept) == 6
    fedbandit_here(swept, "runs", "restore", "--experiment", "tiny")
    nothing = fedbandit_here(swept, "runs", "list", "--older-data")
    assert nothing.stdout == "No recorded run matches.\n"
