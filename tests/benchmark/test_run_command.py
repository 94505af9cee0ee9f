"""`fedbandit run`, as a user types it: records, failures, own classes, bad input, full disks."""

import fcntl
import json
import os
import pty
import re
import resource
import shutil
import sqlite3
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from algorithms.hyperparameters import number_text
from benchmark.execution.local import LocalExecutor
from benchmark.plan.experiment import FOLDER
from benchmark.plan.method_names import parse_filter
from benchmark.records import search, sqlite
from benchmark.records.reader import finished_runs
from benchmark.records.store import Store
from tests.benchmark.conftest import Command
from tests.benchmark.tiny_sweeps import (
    RUNS,
    command,
    environment,
    fedbandit,
    results,
    rows,
    statuses,
    sweep,
    write_tiny,
)

OWN = """
from dataclasses import dataclass
from algorithms import Transfers

@dataclass
class First:
    fail_at: int = -1
    def choose(self, client, contexts, rng):
        return 0
    def learn(self, client, context, reward):
        self.fail_at -= 1
        if self.fail_at == 0:
            raise RuntimeError("as requested")
        return Transfers(uploads=[client])
"""


UNSHARE = ("unshare", "--user", "--map-root-user", "--mount")


def may_mount() -> bool:
    try:
        return subprocess.run([*UNSHARE, "true"], capture_output=True).returncode == 0
    except FileNotFoundError:
        return False


needs_mounts = pytest.mark.skipif(not may_mount(), reason="NOT RUN: this machine does not let us mount a file system")


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the tiny experiment was run with two jobs."""
    folder = tmp_path_factory.mktemp("swept")
    done = fedbandit(folder, "run", write_tiny(folder), "--jobs", "2")
    assert done.returncode == 0, done.stderr
    assert f"{RUNS} of {RUNS} runs done, 0 failed, 0 skipped" in done.stderr
    assert "simulated-uniform: regret, lower is better (2 seeds)" in done.stdout
    assert max(map(len, done.stdout.splitlines()[:-3])) <= 80  # the last lines have paths
    assert "fedbandit ui" in done.stdout
    assert "Traceback" not in done.stderr
    return folder


def test_every_run_is_recorded_once(swept: Path):
    assert statuses(swept) == {"FINISHED": RUNS}
    assert len(results(swept)) == RUNS


def test_a_second_sweep_runs_nothing(swept: Path, fedbandit_here: Command):
    before = rows(swept, "select count(*) from runs")
    again = fedbandit_here(swept, "run", "tiny.toml")
    assert again.returncode == 0
    assert f"{RUNS} runs, all finished. Nothing to do." in again.stdout
    assert f"tiny  Tiny  ({RUNS} runs finished)" in again.stdout
    assert rows(swept, "select count(*) from runs") == before


def test_heavy_packages_are_not_imported_when_all_runs_are_finished(swept: Path):
    code = (
        "import sys; from benchmark.__main__ import main\n"
        "code = main(['run', 'tiny.toml'])\n"
        "heavy = {'mlflow', 'distributed', 'sklearn'} & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else code)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=swept, env=environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_sqlite_and_a_search_through_mlflow_agree(swept: Path):
    file = swept / "mlflow.db"
    store = Store(f"sqlite:///{file}")
    direct = list(sqlite.read(file, ["tiny"]))
    assert direct == list(search.read(store, ["tiny"]))
    assert len(direct) == RUNS
    assert list(sqlite.read(file, ["another"])) == list(search.read(store, ["another"])) == []


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
    assert run.data.tags["mlflow.runName"] == "async-linucb γ=inf seed 0"
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
    for total in ("reward", "regret", "communication"):
        history = store.client.get_metric_history(run.info.run_id, f"{total}_curve")
        assert 90 <= len(history) <= 110
        last = max(history, key=lambda each: each.step)
        assert last.step == 400
        assert last.value == pytest.approx(run.data.metrics[total])


def test_artifacts_are_the_full_curve_and_the_totals_of_clients(swept: Path):
    store = Store(f"sqlite:///{swept / 'mlflow.db'}")
    run_id = next(sqlite.read(swept / "mlflow.db", ["tiny"])).run_id
    run = store.client.get_run(run_id)
    folder = Path(store.client.download_artifacts(run_id, ""))
    curve, clients = pq.read_table(folder / "curve.parquet"), pq.read_table(folder / "clients.parquet")
    assert curve.num_rows == 400
    assert curve.column("reward").to_numpy().sum() == pytest.approx(run.data.metrics["reward"])
    for what in ("uploads", "downloads"):
        assert curve.column(what).to_numpy().sum() == clients.column(what).to_numpy().sum() == run.data.metrics[what]


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


def test_a_run_finished_in_another_experiment_is_copied_and_not_run(tmp_path: Path, workers: LocalExecutor):
    sweep(tmp_path, workers, write_tiny(tmp_path, seeds=1))
    write_tiny(tmp_path, "twin", seeds=1)
    assert len(sweep(tmp_path, workers, "tiny.toml", "twin.toml").finished) == RUNS // 2
    query = "select e.name, m.value from latest_metrics m join runs r on r.run_uuid = m.run_uuid join experiments e "
    query += "on e.experiment_id = r.experiment_id where m.key = 'kernel_seconds' order by m.value"
    seconds = rows(tmp_path, query)
    assert len(seconds) == RUNS
    times = {name: [value for each, value in seconds if each == name] for name in ("tiny", "twin")}
    assert times["tiny"] == times["twin"]  # measured once


def test_a_failed_run_is_recorded_and_the_others_continue(tmp_path: Path):
    (tmp_path / "own.py").write_text(OWN)
    algorithm = "own:First[fail_at=[-1,7]]"
    done = fedbandit(tmp_path, "run", write_tiny(tmp_path), "--seeds", "1", "--method", algorithm, "--jobs", "1")
    assert done.returncode == 1
    line = 1 + OWN.splitlines().index('            raise RuntimeError("as requested")')
    error = f"RuntimeError: as requested (own.py, line {line})"
    expected = f"FAILED tiny: own:First fail_at=7 seed 0 on simulated-uniform: {error}"
    assert expected in " ".join(done.stdout.split())
    assert statuses(tmp_path) == {"FINISHED": RUNS // 2 + 1, "FAILED": 1}
    assert rows(tmp_path, "select value from tags where key = 'fedbandit.error'") == [(error,)]


def test_an_installed_package_can_provide_an_algorithm(tmp_path: Path):
    """By an entry point; it is listed, runs by its name, and runs again when its code has changed."""
    (tmp_path / "others.py").write_text(OWN)
    about = tmp_path / "others-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: others\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[fedbandit.algorithms]\nalways-first = others:First\n")
    installed = {"PYTHONPATH": str(tmp_path)}
    assert "always-first" in fedbandit(tmp_path, "list", **installed).stdout
    run = ("run", write_tiny(tmp_path), "--seeds", "1", "--method", "always-first", "--jobs", "1")
    assert fedbandit(tmp_path, *run, **installed).returncode == 0
    assert statuses(tmp_path)["FINISHED"] == RUNS // 2 + 1  # beside the others
    assert "Nothing to do" in fedbandit(tmp_path, *run, **installed).stdout
    (tmp_path / "others.py").write_text(OWN.replace("return 0", "return 1"))
    assert fedbandit(tmp_path, *run, **installed).returncode == 0
    assert statuses(tmp_path)["FINISHED"] == RUNS // 2 + 2


def test_a_name_without_toml_gets_an_error_that_suggests_the_file(tmp_path: Path, fedbandit_here: Command):
    write_tiny(tmp_path)
    done = fedbandit_here(tmp_path, "run", "tiny")
    assert (done.returncode, done.stderr) == (
        2,
        "fedbandit: error: unknown experiment 'tiny'; did you mean the file tiny.toml?\n",
    )


def test_an_unknown_field_is_reported_before_a_missing_one(tmp_path: Path, fedbandit_here: Command):
    write_tiny(tmp_path)
    text = (tmp_path / "tiny.toml").read_text().replace("seeds =", "sedes =")
    (tmp_path / "tiny.toml").write_text(text)
    assert (
        "unknown field profiles.quick.sedes (did you mean seeds?), got 2; expected one of: seeds, grid, gammas, values"
        in fedbandit_here(tmp_path, "run", "tiny.toml").stderr
    )


def test_on_a_terminal_a_bar_shows_what_is_done_and_the_time_left(tmp_path: Path):
    main_end, its_end = pty.openpty()
    fcntl.ioctl(its_end, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    process = subprocess.Popen(
        command("run", write_tiny(tmp_path), "--seeds", "1"),
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=its_end,
    )
    os.close(its_end)
    output = b""
    try:
        while chunk := os.read(main_end, 4096):
            output += chunk
    except OSError:  # the other end is closed
        pass
    assert process.wait(60) == 0
    last = output.decode().replace("\r", "\n").strip().splitlines()[-1]
    assert re.search(rf"100%.* {RUNS // 2} of {RUNS // 2} runs, 0\d:\d\d, 0 failed, 0 skipped", last), last


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["fig_aa"], "unknown experiment 'fig_aa' (did you mean fig_a?)"),
        (["fig_a", "--profile", "papr"], "unknown profile of fig_a 'papr' (did you mean paper?)"),
        (["fig_a", "--method", "sync-linuc"], "unknown method 'sync-linuc' (did you mean sync-linucb?)"),
        (["fig_a", "--algorithm", "sync-linuc"], "unknown method 'sync-linuc' (did you mean sync-linucb?)"),
        (["fig_a", "--method", "async-linucb[gamma=0]"], "gamma must be a number from 1 to inf, got 0"),
        (["fig_d", "--dataset", "lastfn"], "unknown dataset 'lastfn' (did you mean lastfm?)"),
        (["fig_a", "--seeds", "x"], "at most 100,000 seeds, got 'x'"),
        (["fig_a", "--jobs", "0"], "--jobs must be an integer from 1, got 0"),
        (["fig_a", "--executor", "dask"], "--executor dask requires --scheduler ADDRESS"),
        (
            ["fig_a", "--executor", "dask", "--scheduler", "tcp://127.0.0.1:9", "--jobs", "2"],
            "--jobs must only be used",
        ),
        (
            ["fig_a", "--scheduler", "tcp://127.0.0.1:1"],
            "--scheduler must only be used with --executor dask, got 'tcp://127.0.0.1:1'",
        ),
        (["fig_a", "--executor", "dask", "--scheduler", "tcp://127.0.0.1:9"], "no Dask scheduler responds there"),
        (["missing.toml"], "experiment 'missing.toml': no such file in "),
        (["fig_a", "--method", "gone:Gone"], "No module named 'gone' (searched "),
        (["fig_a", "--method", "gone.py:Gone"], "; write gone:Gone"),
    ],
)
def test_bad_input_gives_one_line_and_exit_code_2(
    tmp_path: Path, arguments: list[str], complaint: str, fedbandit_here: Command
):
    done = fedbandit_here(tmp_path, "run", *arguments)
    assert done.returncode == 2, done.stderr
    assert complaint in done.stderr
    assert done.stderr.count("\n") == 1
    assert statuses(tmp_path) == {} if (tmp_path / "mlflow.db").exists() else True


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
def test_a_full_disk_gives_a_one_line_error_and_the_sweep_can_be_resumed(tmp_path: Path, workers: LocalExecutor):
    """On a real file system of a few megabytes, mounted for this process only."""
    write_tiny(tmp_path)
    size = (tmp_path / "mlflow.db").stat().st_size + 400_000
    done = in_a_mount(tmp_path, f"size={size}", "cp mlflow.db tiny.toml mount; cd mount", "run", "tiny.toml")
    assert done.returncode == 2, done.stderr
    assert "no space left" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
    left = tmp_path / "mount"
    assert 0 < len(results(left)) < RUNS
    sweep(left, workers, "tiny.toml")
    assert len(results(left)) == RUNS


@needs_mounts
def test_a_failed_array_write_is_reported_as_a_full_disk(tmp_path: Path):
    code = (
        "import numpy, pathlib; from data_pipelines.support.files import save_array; "
        "save_array(pathlib.Path('mount/a.npy'), numpy.zeros(5000))"
    )
    script = f'mount -t tmpfs -o size=16384 tmpfs mount; {sys.executable} -c "{code}"'
    (tmp_path / "mount").mkdir()
    done = subprocess.run([*UNSHARE, "sh", "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert "OSError: [Errno 28] No space left on device: 'mount/a.npy'" in done.stderr


@needs_mounts
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
        command("run", "tiny.toml"), cwd=tmp_path, env=small, capture_output=True, text=True, preexec_fn=limit
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


def test_a_misspelt_data_set_in_a_file_gives_a_suggestion(tmp_path: Path, fedbandit_here: Command):
    (tmp_path / "p.csv").write_text("user,item\n" + "".join(f"{n % 3},{n}\n" for n in range(60)))
    data = {"FEDBANDIT_DATA": str(tmp_path / "data")}
    arguments = ("data", "import", "--name", "shop", "--interactions", "p.csv")
    assert fedbandit_here(tmp_path, *arguments, **data).returncode == 0
    text = (FOLDER / "fig_f.toml").read_text().replace('dataset = "movielens"', 'dataset = "shopp"')
    (tmp_path / "mine.toml").write_text(text)
    done = fedbandit_here(tmp_path, "run", "mine.toml", "--dry-run", **data)
    assert done.returncode == 1
    said = " ".join(done.stderr.split())
    assert "MISSING: shopp is not prepared" in said
    assert "(did you mean shop?); for your own data, run `fedbandit data import --name shopp" in said
    assert "stand-in" not in said


def test_without_any_data_set_there_is_nothing_to_run(tmp_path: Path, fedbandit_here: Command):
    done = fedbandit_here(tmp_path, "run", "fig_d", FEDBANDIT_DATA=str(tmp_path / "data"))
    assert done.returncode == 1
    assert done.stderr.endswith("Nothing to run: none of the requested data sets has been prepared.\n")


def test_numbers_are_formatted_for_display():
    assert [number_text(each) for each in (5.0, 1.01, float("inf"), 3, 1e20, "theory")] == [
        "5",
        "1.01",
        "inf",
        "3",
        "1e+20",
        "theory",
    ]
    assert float(number_text(1.0177827941003892)) == 1.0177827941003892
