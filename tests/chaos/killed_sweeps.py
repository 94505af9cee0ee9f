"""Signals to a sweep and to its workers, local or of a Dask cluster, at random moments; workers out of memory."""

import os
import signal
import time
from contextlib import suppress
from pathlib import Path
from random import Random

import psutil

from tests.benchmark.test_cluster import background, free_port
from tests.benchmark.tiny_sweeps import fedbandit, results, rows, statuses
from tests.chaos.sweeps import RUNS_PER_SEED, SWEEP, Faults, Workspace, last_line, wrong_end

SEEDS = 8
HUNGRY = (Path(__file__).parent / "hungry.py").read_text()


def kill_parents(times: int, random: Random, folder: Path) -> Faults:
    """Kill sweeps, mostly while they write records; every fifth time at any moment of the first seconds."""
    workspace, killed, problems = Workspace(folder, SEEDS), 0, list[str]()
    for number in range(times):
        process = workspace.sweep(2)
        if number % 5 == 4:
            time.sleep(random.uniform(0, 4))
        else:
            workspace.wait_for_a_moment(process, random)
        killed += process.poll() is None
        process.kill()
        problems += workspace.differences()
        if process.wait() == 0:  # it finished before it could be killed: start over
            problems += workspace.run_again()
            workspace = Workspace(folder, SEEDS)
    yield killed, problems + workspace.run_again()


def kill_workers(times: int, random: Random, folder: Path) -> Faults:
    """Kill workers of one sweep repeatedly, each time after some more runs."""
    workspace, killed = Workspace(folder, SEEDS), 0
    process = workspace.sweep(2)
    while killed < times:
        workspace.wait_for_a_moment(process, random)
        if process.poll() is not None:
            break
        killed += kill_worker(process.pid, random)
    yield killed, workspace.wrong_end(process) + workspace.run_again()


def ask_to_stop(times: int, random: Random, folder: Path) -> Faults:
    """Send SIGINT to the group, as a terminal does, or SIGTERM to the sweep or to its group, as a cluster does."""
    workspace, signalled, problems = Workspace(folder, SEEDS), 0, list[str]()
    for number in range(times):
        process = workspace.sweep(2)
        if number % 3 == 2:
            workspace.wait_for_records(process, tag=SWEEP)
            time.sleep(random.uniform(0, 2))
        else:
            workspace.wait_for_a_moment(process, random)
        stop_signal = random.choice([signal.SIGINT, signal.SIGTERM])
        if process.poll() is None:
            signalled += 1
            is_for_group = stop_signal == signal.SIGINT or random.random() < 0.5
            (os.killpg if is_for_group else os.kill)(process.pid, stop_signal)
        problems += workspace.wrong_end(process, (130, 0), 60) + workspace.differences()
        if process.returncode == 0:
            workspace = Workspace(folder, SEEDS)
    yield signalled, problems + workspace.run_again()


def kill_cluster(times: int, random: Random, folder: Path) -> Faults:
    """Kill the workers of a Dask cluster one after another, which nannies restart, and finally the scheduler."""
    workspace, killed, address = Workspace(folder, SEEDS), 0, f"tcp://127.0.0.1:{free_port()}"
    spill = str(workspace.folder / "spill")
    options = ("--nthreads", "1", "--nworkers", "2", "--no-dashboard", "--local-directory", spill)
    with (
        background(workspace.folder, "dask", "scheduler", "--host", address, "--no-dashboard") as scheduler,
        background(workspace.folder, "dask", "worker", address, *options) as nannies,
    ):
        process = workspace.start("run", "tiny.toml", "--executor", "dask", "--scheduler", address)
        while killed < times - 1:
            workspace.wait_for_a_moment(process, random)
            if process.poll() is not None:
                break
            killed += kill_worker(nannies.pid, random)
            time.sleep(random.uniform(0, 1))
        workspace.wait_for_a_moment(process, random)
        was_alive = process.poll() is None
        scheduler.kill()
        problems = workspace.wrong_end(process, [2] if was_alive else [0])
    if was_alive and "lost the connection" not in workspace.errors:
        problems.append(f"it is not said that the cluster is gone: {last_line(workspace.errors)}")
    yield killed + was_alive, problems + workspace.differences() + workspace.run_again()


def starve_workers(times: int, random: Random, folder: Path) -> Faults:
    """Let half of the hungry runs fail in each way; all other runs of the sweep must finish in the same command."""
    appetites = random.sample(range(times), times)
    own = ("--method", f"hungry:Hungry[appetite=[{','.join(map(str, appetites))}]]")
    reference, workspace = Workspace(folder, 1), Workspace(folder, 1)
    for each in (reference, workspace):
        (each.folder / "hungry.py").write_text(HUNGRY)
    assert fedbandit(reference.folder, "run", "tiny.toml", *own).returncode == 0
    workspace.expected, workspace.runs = results(reference.folder), RUNS_PER_SEED + times
    (workspace.folder / "hungry").touch()
    done = fedbandit(workspace.folder, "run", "tiny.toml", "--jobs", "2", *own)
    problems = wrong_end(done.returncode, done.stderr, [1]) + workspace.differences()
    errors = [error for (error,) in rows(workspace.folder, "select value from tags where key = 'fedbandit.error'")]
    if sum("MemoryError" in error for error in errors) != sum(appetite % 2 for appetite in appetites):
        problems.append(f"no MemoryError was recorded: {errors}")
    finished = statuses(workspace.folder).get("FINISHED", 0)
    if finished != RUNS_PER_SEED:
        problems.append(f"only {finished} of {RUNS_PER_SEED} other runs were finished")
    (workspace.folder / "hungry").unlink()
    yield len(errors), problems + workspace.run_again(*own)


def kill_worker(pid: int, random: Random) -> bool:
    """Kill one of the worker processes of a process; return False if it had already ended or there was none."""
    try:
        random.choice([child for child in children(pid) if _is_worker(child)]).kill()
    except (IndexError, psutil.NoSuchProcess):
        return False
    return True


def _is_worker(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess):
        return "spawn_main" in " ".join(process.cmdline())
    return False


def children(pid: int) -> list[psutil.Process]:
    """Return the living descendants of a process."""
    with suppress(psutil.NoSuchProcess):
        return psutil.Process(pid).children(recursive=True)
    return []
