"""A real Dask cluster whose workers die, and then its scheduler."""

import time
from pathlib import Path
from random import Random

from tests.benchmark.test_cluster import background, free_port
from tests.chaos.killed_sweeps import kill_one, wait_for_a_moment, workers_of
from tests.chaos.sweeps import (
    RUNS_A_SEED,
    complaints,
    differences,
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
    """Workers die one after another and are started anew by their nannies; the last to die is the scheduler."""
    tally, place, expected = Tally("Dask workers and scheduler die"), new_folder(folder, SEEDS), undisturbed(folder)
    address = f"tcp://127.0.0.1:{free_port()}"
    there = ("--nthreads", "1", "--nworkers", "2", "--no-dashboard", "--local-directory", str(place / "spill"))
    killed = 0
    with (
        background(place, "dask", "scheduler", "--host", address, "--no-dashboard") as scheduler,
        background(place, "dask", "worker", address, *there) as nannies,
    ):
        process = start(place, "run", "tiny.toml", "--executor", "dask", "--scheduler", address)
        while killed < times - 1:
            wait_for_a_moment(process, place, random, anywhere=False)
            if process.poll() is not None:
                break
            killed += kill_one(workers_of(nannies.pid), random)
            time.sleep(random.uniform(0, 1))
        wait_for_a_moment(process, place, random, anywhere=False)
        was_alive = process.poll() is None
        scheduler.kill()
        killed += was_alive
        code = process.wait(240)
    problems = traceback_in(complaints(place)) + differences(place, expected)
    if was_alive and not (code == 2 and "is gone" in complaints(place)):
        problems.append(f"exit code {code}: {last_line(complaints(place))}")
    tally.count(killed, problems + run_again(place, expected, SEEDS * RUNS_A_SEED))
    return tally
