"""Killed or interrupted at any moment, a sweep goes on: no run missing, none doubled, the same results."""

import os
import random
import signal
import sqlite3
import subprocess
import time
from pathlib import Path

import psutil
import pytest

from tests.benchmark.tiny_sweeps import RUNS, command, environment, fedbandit, results, rows, statuses, write_tiny

KILLS = 20
SEEDS_TO_KILL = 8


def start(folder: Path, *arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        command("run", *arguments),
        cwd=folder,
        env=environment(TMPDIR=str(folder)),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for_records(folder: Path, least: int, process: "subprocess.Popen[str]") -> None:
    query = "select count(*) from tags where key = 'fedbandit.run_key'"
    while rows(folder, query)[0][0] < least:
        assert process.poll() is None, "the sweep ended early"
        time.sleep(0.02)


def test_killed_at_twenty_random_moments_nothing_is_lost_and_nothing_doubled(tmp_path: Path):
    """Most kills fall into the writing of records; some into the start, before the first."""
    random.seed(4)
    undisturbed = tmp_path / "undisturbed"
    undisturbed.mkdir()
    write_tiny(tmp_path, seeds=SEEDS_TO_KILL)
    assert fedbandit(undisturbed, "run", write_tiny(undisturbed, seeds=SEEDS_TO_KILL)).returncode == 0
    before = 0
    for killed in range(KILLS):
        process = start(tmp_path, "tiny.toml", "--jobs", "1")
        if killed % 4 == 3:
            time.sleep(random.uniform(0, 4))
        else:
            query = "select count(*) from runs"
            seen = rows(tmp_path, query)[0][0]
            while process.poll() is None and rows(tmp_path, query)[0][0] <= seen + 1:
                time.sleep(0.005)
            time.sleep(random.uniform(0, 0.05))
        was_alive = process.poll() is None
        process.kill()
        process.communicate()
        assert was_alive, "the sweep was over before it could be killed"
        finished = len(results(tmp_path))
        assert finished >= before, "a finished run was lost"
        before = finished
    last = fedbandit(tmp_path, "run", "tiny.toml", "--jobs", "1", TMPDIR=str(tmp_path))
    assert last.returncode == 0, last.stderr
    assert results(tmp_path) == results(undisturbed)
    assert statuses(tmp_path).get("RUNNING", 0) == 0
    assert rows(tmp_path, "select count(*) from runs where status = 'RUNNING'") == [(0,)]
    assert not list(tmp_path.glob("fedbandit-streams-*"))


def test_a_run_left_running_by_a_dead_process_is_marked_and_repeated(tmp_path: Path):
    write_tiny(tmp_path)
    assert fedbandit(tmp_path, "run", "tiny.toml", "--seeds", "1", "--jobs", "1").returncode == 0
    with sqlite3.connect(tmp_path / "mlflow.db") as connection:
        (run_id,) = connection.execute(
            "select run_uuid from tags where key = 'fedbandit.run_key' order by run_uuid limit 1"
        ).fetchone()
        connection.execute("update runs set status = 'RUNNING', end_time = null where run_uuid = ?", (run_id,))
    connection.close()
    again = fedbandit(tmp_path, "run", "tiny.toml", "--seeds", "1", "--jobs", "1")
    assert again.returncode == 0
    assert "1 runs were left behind by a process that died: marked KILLED, repeated" in again.stderr
    assert "1 of 1 runs: 1 done, 0 failed, 7 skipped" in again.stderr
    assert statuses(tmp_path) == {"FINISHED": RUNS // 2, "KILLED": 1}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_ends_cleanly_in_two_seconds_and_says_how_to_go_on(tmp_path: Path, number: signal.Signals):
    write_tiny(tmp_path, steps=20_000)
    process = start(tmp_path, "tiny.toml", "--jobs", "2")
    wait_for_records(tmp_path, 2, process)
    workers = psutil.Process(process.pid).children(recursive=True)
    asked = time.monotonic()
    os.kill(process.pid, number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert time.monotonic() - asked < 5  # two seconds on a machine with nothing else to do
    assert "to go on, run the same command again" in errors
    assert "Traceback" not in errors
    _, alive = psutil.wait_procs(workers, timeout=5)
    assert not alive
    assert "RUNNING" not in statuses(tmp_path)
    assert rows(tmp_path, "select status from runs where name like 'sweep%'") == [("KILLED",)]
    assert not list(tmp_path.glob("fedbandit-streams-*"))


def test_workers_end_with_a_parent_that_is_killed(tmp_path: Path):
    write_tiny(tmp_path, steps=20_000)
    process = start(tmp_path, "tiny.toml", "--jobs", "2")
    wait_for_records(tmp_path, 1, process)
    workers = psutil.Process(process.pid).children(recursive=True)
    process.kill()
    process.communicate()
    _, alive = psutil.wait_procs(workers, timeout=10)
    assert not alive


def test_a_worker_that_is_killed_costs_nothing(tmp_path: Path):
    write_tiny(tmp_path, steps=20_000)
    process = start(tmp_path, "tiny.toml", "--jobs", "2")
    wait_for_records(tmp_path, 2, process)
    workers = [each for each in psutil.Process(process.pid).children() if "spawn_main" in " ".join(each.cmdline())]
    workers[0].kill()
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert statuses(tmp_path) == {"FINISHED": RUNS}
