"""`fedbandit run`, as a user types it: records, failures, own classes, bad input, full disks."""

import inspect
import json
import resource
import shutil
import sqlite3
import subprocess
from pathlib import Path

import pytest

from benchmark.execution.local import LocalExecutor
from benchmark.plan.method_names import parse_filter
from benchmark.records.reader import finished_runs, read, read_aggregates, read_sweeps
from benchmark.records.store import Store
from tests.benchmark import failing
from tests.benchmark.tiny_sweeps import (
    RUNS,
    Command,
    command,
    environment,
    results,
    rows,
    statuses,
    sweep,
    write_tiny,
)
from tests.records import unknown_schema

UNSHARE = ("unshare", "--user", "--map-root-user", "--mount")


def may_mount() -> bool:
    try:
        return subprocess.run([*UNSHARE, "true"], capture_output=True).returncode == 0
    except FileNotFoundError:
        return False


needs_mounts = pytest.mark.skipif(not may_mount(), reason="NOT RUN: this machine does not let us mount a file system")


def test_a_second_sweep_runs_nothing(swept: Path, fedbandit_here: Command):
    before = rows(swept, "select count(*) from runs")
    again = fedbandit_here(swept, "run", "tiny.toml")
    assert again.returncode == 0
    assert f"{RUNS} runs, all finished. Nothing to do." in again.stdout
    assert f"tiny  Tiny  ({RUNS} runs finished)" in again.stdout
    assert rows(swept, "select count(*) from runs") == before


def test_sqlite_and_a_search_through_mlflow_agree(swept: Path):
    uri = f"sqlite:///{swept / 'mlflow.db'}"
    ways = [[*read(uri, ["tiny"])], [*read(uri, ["another"])], read_aggregates(Store(uri), ["tiny"]), read_sweeps(uri)]
    assert [len(found) for found in ways] == [RUNS, 0, RUNS // 2, 1]
    with unknown_schema():
        assert [[*read(uri, ["tiny"])], [*read(uri, ["another"])], read_sweeps(uri)] == [ways[0], ways[1], ways[3]]
        assert [run.run_id for run in read_aggregates(Store(uri), ["tiny"])] == [run.run_id for run in ways[2]]


def test_a_record_has_everything_needed_to_trust_and_repeat_a_run(swept: Path):
    store = Store(f"sqlite:///{swept / 'mlflow.db'}")
    experiment = store.find("tiny")
    assert experiment is not None
    runs = store.search(experiment.experiment_id, "FINISHED", "run")
    (parent,) = store.search(experiment.experiment_id, "FINISHED", "sweep")
    run = next(each for each in runs if each.data.params["threshold"] == "inf" and each.data.params["seed"] == "0")
    assert run.data.tags["fedbandit.sweep"] == parent.info.run_id
    setting = store.client.get_run(run.data.tags["mlflow.parentRunId"])
    assert setting.info.run_name == "Async-LinUCB γ=∞ on Simulation, uniform clients, 2 seeds"
    assert run.data.tags["mlflow.runName"] == "async-linucb γ=∞ seed 0"
    expected = {"algorithm": "async-linucb", "dataset": "simulated-uniform", "alpha": "0.3", "ridge": "0.2"}
    expected |= {"gamma": "inf", "steps": "400", "clients": "20", "arms": "5", "dimension": "4"}
    assert expected.items() <= run.data.params.items()
    for metric in ("reward", "regret", "uploads", "downloads", "communication", "numbers_moved", "cpu_seconds"):
        assert metric in run.data.metrics
    assert run.data.metrics["microseconds_per_step"] > 0
    assert run.data.metrics["communication"] == 0
    for tag in ("run_key", "fingerprint", "source", "host", "pid", "ran_on"):
        assert run.data.tags[f"fedbandit.{tag}"]
    record = next(each for each in finished_runs(store, ["tiny"]) if each.run_id == run.info.run_id)
    for tag in ("machine", "version.numpy", "engine_version", "source_hash"):
        assert record.provenance[f"fedbandit.{tag}"]
    assert "mlflow.note.content" in run.data.tags
    (dataset,) = run.inputs.dataset_inputs
    assert dataset.dataset.name == "simulated-uniform"
    assert run.data.tags["fedbandit.fingerprint"].startswith(dataset.dataset.digest)
    assert json.loads(dataset.dataset.source)["source"] == "simulated"
    assert run.info.end_time >= run.info.start_time > 1.5e12
    for total in ("regret", "communication"):
        history = store.client.get_metric_history(run.info.run_id, f"{total}_curve")
        assert len(history) == 10
        last = max(history, key=lambda each: each.step)
        assert last.step == 400
        assert last.value == pytest.approx(run.data.metrics[total])


def test_results_are_bitwise_identical_with_one_job_and_another_order(swept: Path, tmp_path: Path):
    write_tiny(tmp_path)
    with LocalExecutor(1) as one_job:
        for options in ({"seeds": (1,)}, {"methods": (parse_filter("sync-linucb"),)}, {}):
            assert sweep(tmp_path, one_job, "tiny.toml", **options).finished
    assert results(tmp_path) == results(swept)


def test_dry_run_lists_what_is_done_and_what_is_not_and_runs_nothing(swept: Path, fedbandit_here: Command):
    done = fedbandit_here(swept, "run", "tiny.toml", "--seeds", "3", "--dry-run")
    assert done.returncode == 0
    lines = done.stdout.partition("\n\n")[0].splitlines()
    assert len(lines) == RUNS // 2  # a line per setting, not per seed
    assert all(line.startswith("1 to do ") and line.endswith(", 3 seeds") for line in lines)
    assert f"{RUNS // 2 * 3} runs: {RUNS} done, {RUNS // 2} to do, about" in done.stdout
    assert statuses(swept) == {"FINISHED": RUNS}


def test_a_dry_run_in_an_empty_folder_leaves_it_empty(tmp_path: Path, fedbandit_here: Command):
    assert fedbandit_here(tmp_path, "run", "fig_a", "--dry-run").returncode == 0
    assert list(tmp_path.iterdir()) == []


def test_a_failed_run_is_recorded_and_the_others_continue(tmp_path: Path, fedbandit_here: Command):
    name = f"{failing.__name__}:First"
    done = fedbandit_here(tmp_path, "run", write_tiny(tmp_path), "--seeds", "1", "--method", f"{name}[fail_at=[-1,7]]")
    assert done.returncode == 1
    line = 1 + inspect.getsource(failing).splitlines().index('            raise RuntimeError("line one\\nline two")')
    error = f"RuntimeError: line one\nline two (failing.py, line {line})"
    shown = error.replace("\n", r"\n")
    assert f"FAILED tiny: {name} fail_at=7 seed 0 on simulated-uniform: {shown}" in " ".join(done.stdout.split())
    assert statuses(tmp_path) == {"FINISHED": RUNS // 2 + 1, "FAILED": 1}
    assert rows(tmp_path, "select value from tags where key = 'fedbandit.error'") == [(error,)]


def test_a_refused_connection_to_the_tracking_server_gives_a_one_line_error(tmp_path: Path, fedbandit_here: Command):
    done = fedbandit_here(tmp_path, "run", write_tiny(tmp_path), MLFLOW_TRACKING_URI="http://127.0.0.1:9")
    assert done.returncode == 2
    assert "the tracking server http://127.0.0.1:9 does not respond" in done.stderr
    assert done.stderr.count("\n") == 1


def test_an_unwritable_folder_gives_a_one_line_error(tmp_path: Path, fedbandit_here: Command):
    experiment = tmp_path / write_tiny(tmp_path)
    store = "sqlite:////proc/none/mlflow.db"
    done = fedbandit_here(tmp_path, "run", str(experiment), MLFLOW_TRACKING_URI=store)
    assert done.returncode == 2
    assert "cannot be written" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_database_of_another_mlflow_version_gives_a_one_line_error_and_is_not_modified(
    tmp_path: Path, fedbandit_here: Command
):
    write_tiny(tmp_path)
    with sqlite3.connect(tmp_path / "mlflow.db") as connection:
        connection.execute("update alembic_version set version_num = 'deadbeef'")
    connection.close()
    done = fedbandit_here(tmp_path, "run", "tiny.toml")
    assert done.returncode == 2
    assert "sqlite:///mlflow.db was created by a different version of MLflow (schema deadbeef, expected " in done.stderr
    assert done.stderr.count("\n") == 1
    assert rows(tmp_path, "select version_num from alembic_version") == [("deadbeef",)]


@needs_mounts
@pytest.mark.slow
def test_a_full_disk_gives_a_one_line_error_and_the_sweep_can_be_resumed(tmp_path: Path, workers: LocalExecutor):
    """On a real file system of a few megabytes, mounted for this process only."""
    write_tiny(tmp_path)
    size = (tmp_path / "mlflow.db").stat().st_size + 400_000
    done = in_a_mount(
        tmp_path, f"size={size}", "cp mlflow.db tiny.toml mount; cd mount", "run", "tiny.toml", "--jobs", "1"
    )
    assert done.returncode == 2, done.stderr
    assert "no space left" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
    left = tmp_path / "mount"
    assert 0 < len(results(left)) < RUNS
    sweep(left, workers, "tiny.toml")
    assert len(results(left)) == RUNS


@needs_mounts
@pytest.mark.slow
def test_a_read_only_file_system_gives_a_one_line_error_and_leaves_the_store_intact(
    tmp_path: Path, workers: LocalExecutor
):
    write_tiny(tmp_path)
    sweep(tmp_path, workers, "tiny.toml", methods=(parse_filter("sync-linucb"),))
    prepare = "cp mlflow.db tiny.toml mount; mount -o remount,ro mount; cd mount"
    done = in_a_mount(tmp_path, "size=50m", prepare, "run", "tiny.toml")
    assert done.returncode == 2, done.stderr
    assert "cannot be written" in done.stderr
    assert done.stderr.count("\n") == 1
    assert results(tmp_path / "mount") == results(tmp_path)


def in_a_mount(folder: Path, options: str, prepare: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run the command in `mount`, a small file system of its own; what it leaves there is there afterwards too."""
    (folder / "mount").mkdir()
    called = " ".join(command(*arguments))
    script = f"mount -t tmpfs -o {options} tmpfs mount; {prepare}; {called}; code=$?; cp -r . ../kept; exit $code"
    done = subprocess.run(
        [*UNSHARE, "sh", "-c", script],
        cwd=folder,
        env=environment(PYTHONDONTWRITEBYTECODE="1"),
        capture_output=True,
        text=True,
        timeout=300,
    )
    shutil.copytree(folder / "kept", folder / "mount", dirs_exist_ok=True)
    return done


@pytest.mark.slow
def test_exceeding_the_file_size_limit_gives_a_one_line_error_and_leaves_the_store_intact(
    tmp_path: Path, workers: LocalExecutor
):
    write_tiny(tmp_path)
    sweep(tmp_path, workers, "tiny.toml", methods=(parse_filter("sync-linucb"),))
    before = results(tmp_path)
    size = (tmp_path / "mlflow.db").stat().st_size + 20_000

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    small = environment(PYTHONDONTWRITEBYTECODE="1")
    done = subprocess.run(
        command("run", "tiny.toml", "--jobs", "1"),
        cwd=tmp_path,
        env=small,
        capture_output=True,
        text=True,
        preexec_fn=limit,
    )
    assert done.returncode == 2, done.stderr
    assert "no space left" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
    assert before.items() <= results(tmp_path).items()
    sweep(tmp_path, workers, "tiny.toml")
    assert len(results(tmp_path)) == RUNS


def test_a_missing_data_set_is_reported_and_the_exit_code_is_1(tmp_path: Path, fedbandit_here: Command):
    data = {"FEDBANDIT_DATA": str(tmp_path / "data")}
    done = fedbandit_here(tmp_path, "run", write_tiny(tmp_path), "fig_d", "--seeds", "1", "--jobs", "1", **data)
    assert done.returncode == 1
    said = " ".join(done.stderr.split())
    assert f"MISSING: lastfm is not prepared (searched {tmp_path / 'data'}); run `fedbandit data lastfm`" in said
    assert statuses(tmp_path) == {"FINISHED": RUNS // 2}


def test_without_any_data_set_there_is_nothing_to_run(tmp_path: Path, fedbandit_here: Command):
    done = fedbandit_here(tmp_path, "run", "fig_d", FEDBANDIT_DATA=str(tmp_path / "data"))
    assert done.returncode == 1
    assert done.stderr.endswith("Nothing to run: none of the requested data sets has been prepared.\n")
