"""Measure a report on a full `paper` profile and compare with its limits: `make bench-report`.

An empty folder gets a store with about 3,400 artificial runs on stand-ins (LastFM and Delicious in full size). Then
`fedbandit report` runs there in a separate process, as started by a user: once without earlier output, once with
nothing changed, and once with one run less. On a loaded machine, CPU time is more reliable than wall time.
"""

import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from benchmark.__main__ import main as fedbandit
from tests.performance.made_up_store import fill_store

MAX_SECONDS, MAX_MIB, MAX_SECONDS_UNCHANGED = 90.0, 1024.0, 10.0


@dataclass(frozen=True)
class Measured:
    """Time and memory of one report."""

    seconds: float
    cpu: float
    peak_mib: float


def measure(folder: Path) -> Measured:
    """Run `fedbandit report` in a folder; `wait4` returns the time and memory of this process only."""
    command = [sys.executable, "-P", "-m", "benchmark", "report"]
    start = time.perf_counter()
    process = subprocess.Popen(command, cwd=folder, env=_environment(folder), stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"the report failed with exit code {process.returncode}")
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return Measured(time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / unit)


def show(label: str, measured: Measured, max_seconds: float) -> bool:
    """Print the measurements of one report; return False if a limit is exceeded."""
    is_met = measured.seconds <= max_seconds and measured.peak_mib <= MAX_MIB
    print(
        f"  {label:<28}{measured.seconds:>7.1f} s of wall time (at most {max_seconds:.0f}), {measured.cpu:.1f} s CPU, "
        f"peak {measured.peak_mib:,.0f} MiB (at most {MAX_MIB:,.0f})  {'ok' if is_met else 'MISSED'}",
        flush=True,
    )
    return is_met


def main() -> int:
    """Measure, print, and return 1 if a limit is exceeded."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ.pop("MLFLOW_TRACKING_URI", None)
        os.environ["FEDBANDIT_DATA"] = str(folder / "data")
        fedbandit(["data", "--or-stand-in"])
        runs = fill_store(folder, "paper")
        size = (folder / "mlflow.db").stat().st_size / 2**20
        print(f"{runs:,} artificial runs of the paper profile, mlflow.db {size:.0f} MiB", flush=True)
        is_met = show("without earlier output", measure(folder), MAX_SECONDS)
        is_met &= show("nothing changed", measure(folder), MAX_SECONDS_UNCHANGED)
        _delete_one_run(folder)
        is_met &= show("one run of figure a deleted", measure(folder), MAX_SECONDS)
    return 0 if is_met else 1


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
