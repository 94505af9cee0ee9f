"""Measure a report on a full `paper` profile and compare with its limits: `make bench-report`.

An empty folder gets a store with about 3,400 artificial runs on stand-ins (LastFM and Delicious in full size). Then
`fedbandit report` runs there in a separate process, as started by a user: once without earlier output, once with
nothing changed, and once with one run less. On a loaded machine, CPU time is more reliable than wall time.
"""

import os
import sqlite3
import sys
import tempfile
from pathlib import Path

from benchmark.__main__ import main as fedbandit
from benchmark.plan.experiment import experiment_names
from tests.performance.limits import cost_of, within
from tests.performance.made_up_store import fill_store

MAX_SECONDS, MAX_MIB, MAX_SECONDS_UNCHANGED = 90.0, 1024.0, 10.0
DELETE_ONE_RUN = """
update runs set lifecycle_stage = 'deleted' where run_uuid = (select min(run_uuid) from runs where status = 'FINISHED'
and experiment_id = (select experiment_id from experiments where name = 'fig_a'))
"""


def measure(folder: Path, label: str, max_seconds: float) -> bool:
    """Run `fedbandit report` in a folder, and print its time and memory; return False if a limit is exceeded."""
    cost = cost_of([sys.executable, "-P", "-m", "benchmark", "report"], folder)
    is_met = within(label, cost.seconds, max_seconds, "s", note=f" (CPU {cost.cpu:.1f} s)")
    return within("  peak memory", cost.peak_mib, MAX_MIB, "MiB") and is_met


def main() -> int:
    """Measure, print, and return 1 if a limit is exceeded."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ.pop("MLFLOW_TRACKING_URI", None)
        os.environ["FEDBANDIT_DATA"] = str(folder / "data")
        fedbandit(["data", "--or-stand-in"])
        runs = fill_store(folder, experiment_names(), "paper")
        size = (folder / "mlflow.db").stat().st_size / 2**20
        print(f"{runs:,} artificial runs of the paper profile, mlflow.db {size:.0f} MiB", flush=True)
        is_met = measure(folder, "without earlier output", MAX_SECONDS)
        is_met &= measure(folder, "nothing changed", MAX_SECONDS_UNCHANGED)
        with sqlite3.connect(folder / "mlflow.db") as connection:
            connection.execute(DELETE_ONE_RUN)
        connection.close()
        is_met &= measure(folder, "one run of figure a deleted", MAX_SECONDS)
    return 0 if is_met else 1


if __name__ == "__main__":
    sys.exit(main())
