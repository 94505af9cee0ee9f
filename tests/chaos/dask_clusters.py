"""A real Dask cluster in which workers and then the scheduler die."""

import time
from pathlib import Path
from random import Random

from tests.benchmark.test_cluster import background, free_port
from tests.chaos.killed_sweeps import kill_one, wait_for_a_moment, workers_of
from tests.chaos.sweeps import (
    RUNS_PER_SEED,
    differences,
    error_output,
    last_line,
    new_folder,
    run_again,
    start,
    traceback_in,
    undisturbed,
)
from tests.chaos.tally import Tally

SEEDS = 8


def kill_cluster(times: int, random: Random, folder: Path) -> Tally:
    """Kill workers one after another, which their nannies restart, and finally the scheduler."""
    tally, workspace, expected = Tally("Dask workers and scheduler die"), new_folder(folder, SEEDS), undisturbed(folder)
    address = f"tcp://127.0.0.1:{free_port()}"
    options = ("--nthreads", "1", "--nworkers", "2", "--no-dashboard", "--local-directory", str(workspace / "spill"))
    killed = 0
    with (
        background(workspace, "dask", "scheduler", "--host", address, "--no-dashboard") as scheduler,
        background(workspace, "dask", "worker", address, *options) as nannies,
    ):
        process = start(workspace, "run", "tiny.toml", "--executor", "dask", "--scheduler", address)
        while killed < times - 1:
            wait_for_a_moment(process, workspace, random, anywhere=False)
            if process.poll() is not None:
                break
            killed += kill_one(workers_of(nannies.pid), random)
            time.sleep(random.uniform(0, 1))
        wait_for_a_moment(process, workspace, random, anywhere=False)
        was_alive = process.poll() is None
        scheduler.kill()
        killed += was_alive
        code = process.wait(240)
    problems = traceback_in(error_output(workspace)) + differences(workspace, expected)
    if was_alive and not (code == 2 and "is gone" in error_output(workspace)):
        problems.append(f"exit code {code}: {last_line(error_output(workspace))}")
    tally.count(killed, problems + run_again(workspace, expected, SEEDS * RUNS_PER_SEED))
    return tally
