"""A run with more than a million active clients through `fedbandit run`: its time, memory and records."""

import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import psutil
import pyarrow.parquet as pq

from tests.benchmark.tiny_sweeps import command, environment, rows

STEPS, CLIENTS = 2_000_000, 1_260_000
"""With these numbers of steps and uniformly drawn clients, a million clients are active."""
EXPERIMENT = """
title = "A million clients"
streams = [{ simulated = "uniform", steps = STEPS, clients = CLIENTS, table = 20_000 }]
algorithms = [{ name = "async-linucb", gamma = 5, alpha = "theory", ridge = 0.1 }]
[profiles.quick]
seeds = 1
"""


@dataclass(frozen=True)
class Measured:
    """Time, memory and size of one run, and its number of active clients."""

    seconds: float
    kernel_seconds: float
    peak_gib: float
    clients: int
    artifacts_mib: float


def run_million_clients(folder: Path, steps: int = STEPS, clients: int = CLIENTS) -> Measured:
    """Run it as a user would, measure the memory of all processes, and check that the records are consistent."""
    text = EXPERIMENT.replace("STEPS", str(steps)).replace("CLIENTS", str(clients))
    (folder / "million.toml").write_text(text)
    start = time.perf_counter()
    with (folder / "output").open("wb") as output:
        process = subprocess.Popen(
            command("run", "million.toml", "--jobs", "1"), cwd=folder, env=environment(), stdout=output, stderr=output
        )
    peak = 0.0
    while process.poll() is None:
        peak = max(peak, _memory(process.pid))
        time.sleep(0.1)
    seconds = time.perf_counter() - start
    if process.returncode:
        raise RuntimeError((folder / "output").read_text())
    return Measured(seconds, *_checked(folder, steps, peak))


def _checked(folder: Path, steps: int, peak: float) -> tuple[float, float, int, float]:
    """Require that rewards and transfers by step, by client and in total agree."""
    metrics = dict(rows(folder, "select key, value from latest_metrics"))
    (curve_file,), (clients_file,) = folder.rglob("curve.parquet"), folder.rglob("clients.parquet")
    curve, clients = pq.read_table(curve_file), pq.read_table(clients_file)
    rewards = [np.sum(table.column("reward").to_numpy()) for table in (curve, clients)]
    transfers = [
        int(np.sum(table.column("uploads").to_numpy()) + np.sum(table.column("downloads").to_numpy()))
        for table in (curve, clients)
    ]
    if curve.num_rows != steps or not np.allclose(rewards, metrics["reward"], rtol=1e-9):
        raise RuntimeError(f"rewards {rewards} in {curve.num_rows:,} steps, recorded {metrics['reward']}")
    if transfers != [int(metrics["communication"])] * 2:
        raise RuntimeError(f"transfers {transfers}, recorded {metrics['communication']}")
    size = (curve_file.stat().st_size + clients_file.stat().st_size) / 2**20
    return metrics["kernel_seconds"], peak, clients.num_rows, size


def _memory(pid: int) -> float:
    """Return the memory of a process and its descendants in GiB; shared pages count once."""
    total = 0
    try:
        parent = psutil.Process(pid)
        for process in (parent, *parent.children(recursive=True)):
            try:
                info = process.memory_full_info()
                total += getattr(info, "pss", info.rss)
            except psutil.Error:
                continue
    except psutil.Error:
        return 0.0
    return total / 2**30
