"""SIGKILL, SIGTERM and Ctrl-C to a sweep, and SIGKILL to its workers, at random moments."""

import os
import signal
import subprocess
import time
from pathlib import Path
from random import Random

import psutil

from tests.chaos.sweeps import (
    RUNS_PER_SEED,
    differences,
    error_output,
    last_line,
    new_folder,
    records,
    run_again,
    start,
    traceback_in,
    undisturbed,
    wait_until,
)
from tests.chaos.tally import Tally

SEEDS = 8


def kill_parents(times: int, random: Random, folder: Path) -> Tally:
    """Kill sweeps, mostly while they write records; every fifth time at any moment of the first seconds."""
    tally, workspace, expected = Tally("SIGKILL to a sweep"), new_folder(folder, SEEDS), undisturbed(folder)
    killed, problems = 0, list[str]()
    for number in range(times):
        process = start(workspace, "run", "tiny.toml", "--jobs", "2")
        wait_for_a_moment(process, workspace, random, anywhere=number % 5 == 4)
        killed += process.poll() is None
        process.kill()
        problems += differences(workspace, expected)
        if process.wait() == 0:  # it finished before it could be killed: start over
            problems += run_again(workspace, expected, SEEDS * RUNS_PER_SEED)
            workspace = new_folder(folder, SEEDS)
    tally.count(killed, problems + run_again(workspace, expected, SEEDS * RUNS_PER_SEED))
    return tally


def wait_for_a_moment(process: "subprocess.Popen[bytes]", workspace: Path, random: Random, *, anywhere: bool) -> None:
    """Wait until the next record is started and a little longer, or for a random time of up to four seconds."""
    if anywhere:
        time.sleep(random.uniform(0, 4))
        return
    count = records(workspace)
    wait_until(process, lambda: records(workspace) > count)
    time.sleep(random.uniform(0, 0.1))


def kill_workers(times: int, random: Random, folder: Path) -> Tally:
    """Kill workers of one sweep repeatedly, each time after some more runs."""
    tally, workspace, expected = Tally("SIGKILL to workers"), new_folder(folder, SEEDS), undisturbed(folder)
    process, killed = start(workspace, "run", "tiny.toml", "--jobs", "2"), 0
    while killed < times:
        wait_for_a_moment(process, workspace, random, anywhere=False)
        if process.poll() is not None:
            break
        killed += kill_one(workers_of(process.pid), random)
    problems = (
        [] if process.wait(240) == 0 else [f"exit code {process.returncode}: {last_line(error_output(workspace))}"]
    )
    problems += traceback_in(error_output(workspace))
    tally.count(killed, problems + run_again(workspace, expected, SEEDS * RUNS_PER_SEED))
    return tally


def ask_to_stop(times: int, random: Random, folder: Path) -> Tally:
    """Send SIGINT to the group, as a terminal does, or SIGTERM to the sweep or to its group, as a cluster does."""
    tally, expected = Tally("SIGTERM and Ctrl-C"), undisturbed(folder)
    workspace, signalled, problems = new_folder(folder, SEEDS), 0, list[str]()
    for number in range(times):
        process = start(workspace, "run", "tiny.toml", "--jobs", "2")
        if number % 3 == 2:
            wait_until(process, lambda pid=process.pid: bool(children(pid)))  # type: ignore[misc]
            time.sleep(random.uniform(0, 2))
        else:
            wait_for_a_moment(process, workspace, random, anywhere=False)
        stop_signal = random.choice([signal.SIGINT, signal.SIGTERM])
        if process.poll() is None:
            signalled += 1
            is_for_group = stop_signal == signal.SIGINT or random.random() < 0.5
            (os.killpg if is_for_group else os.kill)(process.pid, stop_signal)
        code = process.wait(60)
        problems += traceback_in(error_output(workspace)) + differences(workspace, expected)
        if code not in (130, 0):
            problems.append(f"exit code {code} after {stop_signal.name}: {last_line(error_output(workspace))}")
        if code == 0:
            workspace = new_folder(folder, SEEDS)
    tally.count(signalled, problems + run_again(workspace, expected, SEEDS * RUNS_PER_SEED))
    return tally


def workers_of(pid: int) -> list[psutil.Process]:
    """Return the living worker processes of a process."""
    return [child for child in children(pid) if _is_worker(child)]


def kill_one(workers: list[psutil.Process], random: Random) -> bool:
    """Kill one of the workers; return False if it had already ended or there was none."""
    try:
        random.choice(workers).kill()
    except (IndexError, psutil.NoSuchProcess):
        return False
    return True


def _is_worker(process: psutil.Process) -> bool:
    try:
        return "spawn_main" in " ".join(process.cmdline())
    except psutil.NoSuchProcess:
        return False


def children(pid: int) -> list[psutil.Process]:
    """Return the living descendants of a process."""
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []
