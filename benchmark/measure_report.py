"""Measure a report over a full `paper` profile against its limits: `make bench-report`.

A store of about 3,400 made-up runs on stand-ins (LastFM and Delicious of full size) is filled in an empty folder; then
`fedbandit report` runs there as a user would run it, in a process of its own: once from nothing, once with nothing
changed, and once with one run less. Where other work runs on the machine, CPU time says more than the clock.
"""

import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from benchmark.fill_in import fill_in
from benchmark.made_up_store import fill_store

MOST_SECONDS, MOST_MIB, MOST_SECONDS_UNCHANGED = 90.0, 1024.0, 10.0


@dataclass(frozen=True)
class Measured:
    """What one report took."""

    seconds: float
    cpu: float
    peak_mib: float


def measure(folder: Path) -> Measured:
    """Run `fedbandit report` in a folder; `wait4` tells the time and memory of that process alone."""
    command = [sys.executable, "-P", "-m", "benchmark", "report"]
    start = time.perf_counter()
    process = subprocess.Popen(command, cwd=folder, env=_environment(folder), stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"the report failed with exit code {process.returncode}")
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return Measured(time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / unit)


def show(what: str, measured: Measured, most_seconds: float) -> bool:
    """Print the figures of one report; False if a limit is missed."""
    reached = measured.seconds <= most_seconds and measured.peak_mib <= MOST_MIB
    print(
        f"  {what:<28}{measured.seconds:>7.1f} s by the clock (at most {most_seconds:.0f}), {measured.cpu:.1f} s CPU, "
        f"peak {measured.peak_mib:,.0f} MiB (at most {MOST_MIB:,.0f})  {'reached' if reached else 'MISSED'}",
        flush=True,
    )
    return reached


def main() -> int:
    """Measure, print the figures, and return 1 if a limit is missed."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ.pop("MLFLOW_TRACKING_URI", None)
        os.environ["FEDBANDIT_DATA"] = str(folder / "data")
        fill_in()
        runs = fill_store(folder, "paper")
        size = (folder / "mlflow.db").stat().st_size / 2**20
        print(f"{runs:,} made-up runs in the shape of the paper profile, mlflow.db {size:.0f} MiB", flush=True)
        reached = show("from nothing", measure(folder), MOST_SECONDS)
        reached &= show("nothing changed", measure(folder), MOST_SECONDS_UNCHANGED)
        _delete_one_run(folder)
        reached &= show("one run of figure a deleted", measure(folder), MOST_SECONDS)
    return 0 if reached else 1


def _delete_one_run(folder: Path) -> None:
    connection = sqlite3.connect(folder / "mlflow.db")
    with connection:
        connection.execute(
            "update runs set lifecycle_stage = 'deleted' where run_uuid = (select min(run_uuid) from runs where "
            "experiment_id = (select experiment_id from experiments where name = 'fig_a') and status = 'FINISHED')"
        )
    connection.close()


def _environment(folder: Path) -> dict[str, str]:
    return {**os.environ, "FEDBANDIT_DATA": str(folder / "data")}


if __name__ == "__main__":
    sys.exit(main())
