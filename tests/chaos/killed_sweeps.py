"""SIGKILL, SIGTERM and Ctrl-C to a sweep, and SIGKILL to its workers, at random moments."""

import os
import signal
import subprocess
import time
from pathlib import Path
from random import Random

import psutil

from tests.chaos.sweeps import (
    RUNS_A_SEED,
    complaints,
    differences,
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
    """Most moments fall into the writing of records; every fifth anywhere in the first seconds."""
    tally, place, expected = Tally("SIGKILL to a sweep"), new_folder(folder, SEEDS), undisturbed(folder)
    killed, problems = 0, list[str]()
    for each in range(times):
        process = start(place, "run", "tiny.toml", "--jobs", "2")
        wait_for_a_moment(process, place, random, anywhere=each % 5 == 4)
        killed += process.poll() is None
        process.kill()
        problems += differences(place, expected)
        if process.wait() == 0:  # all done before it could be killed: begin anew
            problems += run_again(place, expected, SEEDS * RUNS_A_SEED)
            place = new_folder(folder, SEEDS)
    tally.count(killed, problems + run_again(place, expected, SEEDS * RUNS_A_SEED))
    return tally


def wait_for_a_moment(process: "subprocess.Popen[bytes]", place: Path, random: Random, *, anywhere: bool) -> None:
    """Wait for the next record to be begun and a little longer, or for any time up to four seconds."""
    if anywhere:
        time.sleep(random.uniform(0, 4))
        return
    seen = records(place)
    wait_until(process, lambda: records(place) > seen)
    time.sleep(random.uniform(0, 0.1))


def kill_workers(times: int, random: Random, folder: Path) -> Tally:
    """One sweep whose workers die again and again, each time after some more runs."""
    tally, place, expected = Tally("SIGKILL to workers"), new_folder(folder, SEEDS), undisturbed(folder)
    process, killed = start(place, "run", "tiny.toml", "--jobs", "2"), 0
    while killed < times:
        wait_for_a_moment(process, place, random, anywhere=False)
        if process.poll() is not None:
            break
        killed += kill_one(workers_of(process.pid), random)
    problems = [] if process.wait(240) == 0 else [f"exit code {process.returncode}: {last_line(complaints(place))}"]
    problems += traceback_in(complaints(place))
    tally.count(killed, problems + run_again(place, expected, SEEDS * RUNS_A_SEED))
    return tally


def ask_to_stop(times: int, random: Random, folder: Path) -> Tally:
    """Ctrl-C goes to the whole group, as from a terminal; SIGTERM to the sweep, or to its group as on a cluster."""
    tally, expected = Tally("SIGTERM and Ctrl-C"), undisturbed(folder)
    place, asked, problems = new_folder(folder, SEEDS), 0, list[str]()
    for each in range(times):
        process = start(place, "run", "tiny.toml", "--jobs", "2")
        if each % 3 == 2:
            wait_until(process, lambda pid=process.pid: bool(children(pid)))  # type: ignore[misc]
            time.sleep(random.uniform(0, 2))
        else:
            wait_for_a_moment(process, place, random, anywhere=False)
        number = random.choice([signal.SIGINT, signal.SIGTERM])
        if process.poll() is None:
            asked += 1
            is_for_all = number == signal.SIGINT or random.random() < 0.5
            (os.killpg if is_for_all else os.kill)(process.pid, number)
        code = process.wait(60)
        problems += traceback_in(complaints(place)) + differences(place, expected)
        if code not in (130, 0):
            problems.append(f"exit code {code} after {number.name}: {last_line(complaints(place))}")
        if code == 0:
            place = new_folder(folder, SEEDS)
    tally.count(asked, problems + run_again(place, expected, SEEDS * RUNS_A_SEED))
    return tally


def workers_of(pid: int) -> list[psutil.Process]:
    """Return the worker processes below a process, as far as they are alive."""
    return [each for each in children(pid) if _is_worker(each)]


def kill_one(workers: list[psutil.Process], random: Random) -> bool:
    """Kill one of them; False if it was faster, or nobody was there."""
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
    """Return the processes that a process started, as far as they still live."""
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []
