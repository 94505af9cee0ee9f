"""Killed or interrupted at any moment, a sweep can be continued: no run missing, none doubled, the same results."""

import os
import random
import re
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from benchmark.execution.local import LocalExecutor
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

pytestmark = pytest.mark.slow

KILLS = 3
SAFETY = 300
"""Seconds after which something that should end is taken to hang."""
RUNS_PER_SEED = RUNS // 2


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


def test_no_run_is_lost_or_duplicated_after_kills_and_no_worker_goes_on(tmp_path: Path, workers: LocalExecutor):
    """One kill falls into the start; the others into the writing of records, while workers are busy.

    Every sweep has at least one whole seed left to do. One that ends before it is killed does not count.
    """
    random.seed(4)
    write_tiny(tmp_path)
    children: list[psutil.Process] = []
    kills = finished = seeds = 0
    while kills < KILLS:
        seeds = max(seeds, finished // RUNS_PER_SEED + 2)
        process = start(tmp_path, "tiny.toml", "--jobs", "1", "--seeds", str(seeds))
        if kills == 0:
            time.sleep(random.uniform(0, 4))
        else:
            query = "select count(*) from runs"
            seen = rows(tmp_path, query)[0][0]
            while process.poll() is None and rows(tmp_path, query)[0][0] <= seen + 1:
                time.sleep(0.005)
            time.sleep(random.uniform(0, 0.05))
        with suppress(psutil.NoSuchProcess):
            children += psutil.Process(process.pid).children(recursive=True)
        process.kill()
        process.communicate()
        assert process.returncode in (0, -signal.SIGKILL)
        kills += process.returncode != 0
        before, finished = finished, len(results(tmp_path))
        assert finished >= before, "a finished run was lost"
    _, alive = psutil.wait_procs(children, timeout=SAFETY)
    assert children
    assert not alive
    last = fedbandit(tmp_path, "run", "tiny.toml", "--jobs", "1", "--seeds", str(seeds), TMPDIR=str(tmp_path))
    assert last.returncode == 0, last.stderr
    undisturbed = tmp_path / "undisturbed"
    undisturbed.mkdir()
    sweep(undisturbed, workers, write_tiny(undisturbed), seeds=tuple(range(seeds)))
    assert results(tmp_path) == results(undisturbed)
    assert statuses(tmp_path).get("RUNNING", 0) == 0
    assert rows(tmp_path, "select count(*) from runs where status = 'RUNNING'") == [(0,)]
    assert not list(tmp_path.glob("fedbandit-streams-*"))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_stops_cleanly_and_explains_how_to_resume(tmp_path: Path, number: signal.Signals):
    write_tiny(tmp_path, steps=200_000)
    process = start(tmp_path, "tiny.toml", "--jobs", "1")
    wait_for_records(tmp_path, 2, process)
    workers = psutil.Process(process.pid).children(recursive=True)
    before = results(tmp_path)
    os.kill(process.pid, number)
    _, errors = process.communicate(timeout=SAFETY)
    assert process.returncode == 130
    *others, message = errors.splitlines()
    assert message == "Interrupted. Finished runs are saved; run the same command again to continue."
    assert all(re.fullmatch(r"Compiling .*|\d+ of 16 runs done, .*", line) for line in others), errors
    _, alive = psutil.wait_procs(workers, timeout=SAFETY)
    assert not alive
    assert set(statuses(tmp_path)) == {"FINISHED"}
    assert before.items() <= results(tmp_path).items()
    assert len(results(tmp_path)) < RUNS, "it went on to the end"
    assert rows(tmp_path, "select status from runs where name like 'sweep%'") == [("KILLED",)]
    assert not list(tmp_path.glob("fedbandit-streams-*"))
