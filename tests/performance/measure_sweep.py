"""Measure the overhead of a sweep and compare with its limits: `make bench-sweep`.

First, one process writes a run of LastFM size again and again: the time per written run. Then a sweep of 600 runs of
LastFM size, with the paper's methods, runs in a separate process, as started by a user, and in an empty folder. Its
records contain the time of its kernels; all other time is overhead. With `--paper`, the `paper` profile of LastFM is
measured in the same way (this needs the prepared data set).
"""

import argparse
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median

import psutil

from tests.performance.limits import within

JOBS = 2
WRITTEN = 200
ONE_RUN = ("--seeds", "1", "--method", "async-linucb[gamma=1.01]")
EXPERIMENT = """
title = "600 runs of LastFM size"
streams = [{ simulated = "uniform", steps = 92_834, clients = 1_892, table = 17_632 }]
algorithms = [
    { name = "async-linucb", gamma = "grid" },
    { name = "async-linucb-am", gamma = "grid" },
    { name = "sync-linucb", threshold = "grid" },
]
[profiles.quick]
seeds = 20
grid = { start = 1e-2, stop = 1e3, points = 10 }
"""


@dataclass(frozen=True)
class Sweep:
    """Wall and CPU seconds of one sweep, the CPU seconds of its parent process, and its memory (MiB) early and late.

    `wanted` is how long it used a core, or waited for one that other work used, summed over the cores.
    """

    wall: float
    cpu: float
    wanted: float
    parent_cpu: float
    early: float
    late: float


def sweep(folder: Path, arguments: list[str]) -> Sweep:
    """Run `fedbandit run` in a folder, and measure its time and memory."""
    command = [sys.executable, "-m", "benchmark", "run", *arguments, "--jobs", str(JOBS)]
    start, before = time.perf_counter(), os.times()
    process = subprocess.Popen(command, cwd=folder, env=_environment(), stdout=subprocess.DEVNULL)
    parent = psutil.Process(process.pid)
    memory: list[float] = []
    parent_cpu, seconds, looks = 0.0, dict[int, float](), [(start, 0.0)]
    while process.poll() is None:
        try:
            memory.append(parent.memory_info().rss / 2**20)
            times = parent.cpu_times()
            parent_cpu = times.user + times.system
            seconds |= _ready_seconds(parent)
        except psutil.NoSuchProcess:
            break
        looks.append((time.perf_counter(), sum(seconds.values())))
        time.sleep(0.2)
    if process.wait() != 0:
        raise SystemExit(f"the sweep failed with exit code {process.returncode}")
    wall, after = time.perf_counter() - start, os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    # Over five seconds, because Linux counts the wait for a core when it ends. There may be more processes than cores.
    steps = pairwise([*looks[::25], looks[-1]])
    wanted = sum(min(later - earlier, JOBS * (end - begin)) for (begin, earlier), (end, later) in steps)
    late = memory[len(memory) // 4 :] or [0.0]
    # the median, because the pages that are written at the end need another library
    return Sweep(wall, cpu, wanted, parent_cpu, late[0], median(late[-len(late) // 4 :]))


def _ready_seconds(parent: psutil.Process) -> dict[int, float]:
    """Return for how long each process of a sweep, by its id, has used a core or waited for one (on Linux)."""
    files = {each.pid: Path(f"/proc/{each.pid}/schedstat") for each in (parent, *parent.children(recursive=True))}
    numbers = {pid: file.read_text().split() for pid, file in files.items() if file.exists()}
    return {pid: (int(running) + int(waiting)) / 1e9 for pid, (running, waiting, _) in numbers.items()}


def kernel_seconds(folder: Path) -> tuple[int, float, float]:
    """Return the number of finished runs in a store, and the total wall and CPU time of their kernels."""
    connection = sqlite3.connect(folder / "mlflow.db")
    query = "select count(*), sum(value) from latest_metrics where key = ?"
    count, wall = connection.execute(query, ("kernel_seconds",)).fetchone()
    _, cpu = connection.execute(query, ("cpu_seconds",)).fetchone()
    connection.close()
    return int(count), float(wall), float(cpu)


def measure_writing() -> bool:
    """Write runs of LastFM size, as a sweep writes them, and print the time per run."""
    from benchmark.execution.run_result import run_method
    from benchmark.plan.experiment import load_experiment
    from benchmark.plan.plan import RunOptions, make_plan
    from benchmark.records.store import Store

    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "lastfm_size.toml"
        file.write_text(EXPERIMENT, encoding="utf-8")
        experiment, store = load_experiment(str(file)), Store(f"sqlite:///{Path(name) / 'mlflow.db'}")
        (run, *_) = make_plan([experiment], RunOptions(seeds=(0,))).runs
        result = run_method(run.stream.build(0), run.method, 0)
        parent = store.begin_sweep(experiment.info, "quick", WRITTEN)
        store.record(parent, experiment.info, run, result)  # the first one takes longer
        wall, cpu = time.perf_counter(), time.process_time()
        for _ in range(WRITTEN):
            store.record(parent, experiment.info, run, result)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    print(f"Writing: {WRITTEN} runs of LastFM size", flush=True)
    results = [
        within("CPU time per written run, milliseconds", 1000 * cpu / WRITTEN, 25.0),
        within("wall time per written run, milliseconds", 1000 * wall / WRITTEN, 50.0),
    ]
    return all(results)


def measure(label: str, arguments: list[str]) -> bool:
    """Measure a sweep in an empty folder, and again when all runs are finished; return False if a limit is exceeded.

    The parent process writes all records. What it needs for a single run, mostly to start, is not counted as writing.
    """
    with tempfile.TemporaryDirectory() as name, tempfile.TemporaryDirectory() as other:
        for folder in (name, other):
            (Path(folder) / "lastfm_size.toml").write_text(EXPERIMENT, encoding="utf-8")
        start = sweep(Path(other), [*arguments, *ONE_RUN]).parent_cpu  # also compiles
        is_met = report(label, Path(name), sweep(Path(name), arguments), start)
        finished = sweep(Path(name), arguments).wall
        return within("`fedbandit run`, all runs finished", finished, 5.0, "s") and is_met


def report(label: str, folder: Path, measured: Sweep, start: float) -> bool:
    """Print the measurements of one sweep; return False if a limit is exceeded."""
    count, kernels, kernels_cpu = kernel_seconds(folder)
    # On a loaded machine, CPU time is more reliable than wall time.
    rows = [
        ("overhead over the kernels, CPU time", measured.cpu / kernels_cpu - 1, 0.25),
        ("overhead over the kernels, wall time", measured.wall * JOBS / kernels - 1, 0.25),
        ("CPU time of the parent per run, milliseconds", 1000 * (measured.parent_cpu - start) / count, 40.0),
        ("memory of the parent, late / early", measured.late / max(measured.early, 1e-9), 1.15),
    ]
    print(f"{label}: {count} runs, {measured.wall:.1f} s on {JOBS} cores, kernels {kernels:.1f} s", flush=True)
    results = [within(*row) for row in rows]  # prints all rows, even after a failure
    results.append(within("use of the cores", measured.wanted / (measured.wall * JOBS), 0.88, least=True))
    return all(results)


def _environment() -> dict[str, str]:
    environment = {**os.environ, "FEDBANDIT_DATA": str(Path(os.environ.get("FEDBANDIT_DATA") or "data").resolve())}
    environment.pop("MLFLOW_TRACKING_URI", None)
    return environment


def main() -> int:
    """Measure, print, and return 1 if a limit is exceeded."""
    parser = argparse.ArgumentParser(description="Measure the overhead of a sweep.")
    parser.add_argument("--paper", action="store_true", help="also measure the paper profile of LastFM (many minutes)")
    arguments = parser.parse_args()
    is_met = measure_writing()
    is_met &= measure("LastFM size", ["lastfm_size.toml"])
    if arguments.paper:
        is_met &= measure("LastFM, paper profile", ["fig_d", "--profile", "paper"])
    return 0 if is_met else 1


if __name__ == "__main__":
    sys.exit(main())
