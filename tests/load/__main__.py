"""Measure a store with 100,000 runs, a large import, and a run with a million clients: `make bench-load`.

Examples:
  python -m tests.load                  all three (about 20 minutes, most of them to make the store)
  python -m tests.load --store FOLDER   keep the store, or measure the one that is there
  python -m tests.load --runs 1000      a smaller store
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv

from tests.benchmark.tiny_sweeps import command, environment
from tests.load.full_store import NAME, RUNS_PER_SEED, make_full_store
from tests.load.million_clients import run_million_clients
from tests.load.pages import seconds_on_pages
from tests.performance.limits import cost_of, within

MAX_SECONDS, MAX_LIST_SECONDS = 8.0, 3.0
MAX_SEED_SECONDS = MAX_REPORT_SECONDS = 30.0
MAX_GIB = 6.0
IMPORTED_ROWS, IMPORTED_USERS, IMPORTED_ITEMS = 10_000_000, 1_000_000, 20_000
MAX_IMPORT_SECONDS, MAX_IMPORT_GIB = 90.0, 3.0


def measure_store(runs: int, folder: Path) -> bool:
    """Measure the commands that read a store, one more seed of all its settings, and the pages."""
    if not (folder / "mlflow.db").exists():
        start = time.perf_counter()
        make_full_store(folder, runs)
        print(f"created in {time.perf_counter() - start:.0f} s", flush=True)
    size = (folder / "mlflow.db").stat().st_size / 2**20
    print(f"a store of {runs:,} runs, {size:,.0f} MiB", flush=True)
    file = f"{NAME}.toml"
    commands = {
        "`fedbandit run`, nothing to do": (MAX_SECONDS, "run", file),
        "`fedbandit run --dry-run`": (MAX_SECONDS, "run", file, "--dry-run"),
        "`fedbandit runs list`": (MAX_LIST_SECONDS, "runs", "list"),
        "`fedbandit list`": (MAX_SECONDS, "list"),
        "`fedbandit report` of one experiment": (MAX_REPORT_SECONDS, "report", NAME),
        "`fedbandit run`, one more seed": (MAX_SEED_SECONDS, "run", file, "--seeds", f"0-{runs // RUNS_PER_SEED}"),
    }
    is_met = True
    for label, (limit, *arguments) in commands.items():
        cost = cost_of(command(*arguments), folder, environment())
        is_met &= within(label, cost.seconds, limit, "s", note=f", {cost.cpu:.1f} s of CPU, {cost.peak_mib:,.0f} MiB")
    pages = seconds_on_pages(folder)
    if pages is None:
        print("  NOT RUN: the pages need chromium and chromedriver")
    for page, (seconds, limit) in (pages or {}).items():
        is_met &= within(page, seconds, limit, "s")
    return is_met


def measure_import() -> bool:
    """Measure the import of a table with many rows and users."""
    with tempfile.TemporaryDirectory(prefix="fedbandit-load-") as name:
        random, file = np.random.default_rng(0), Path(name) / "large.csv"
        columns = {"user": random.integers(0, IMPORTED_USERS, IMPORTED_ROWS)}
        columns |= {"item": random.zipf(1.3, IMPORTED_ROWS) % IMPORTED_ITEMS, "time": np.arange(IMPORTED_ROWS)}
        csv.write_csv(pa.table(columns), file)
        cost = cost_of(command("data", "import", "--interactions", str(file)), Path(name), environment())
    label = f"import of {IMPORTED_ROWS:,} rows with a million users"
    note = f", {cost.cpu:.1f} s of CPU"
    is_met = within(label, cost.seconds, MAX_IMPORT_SECONDS, "s", note=note)
    return within(f"{label}: peak memory", cost.peak_mib / 2**10, MAX_IMPORT_GIB, "GiB") and is_met


def measure_clients() -> bool:
    """Measure one run with a million clients."""
    with tempfile.TemporaryDirectory(prefix="fedbandit-load-") as name:
        measured = run_million_clients(Path(name))
    print(f"one run, {measured.clients:,} active clients, through `fedbandit run`")
    print(f"  {'total time':<56}{measured.seconds:>8.1f} s\n  {'kernel':<56}{measured.kernel_seconds:>8.1f} s")
    print(f"  {'artifacts':<56}{measured.artifacts_mib:>8.1f} MiB")
    return within("peak memory of all processes", measured.peak_gib, MAX_GIB, "GiB")


def main() -> int:
    """Measure, print, and return 1 if a limit is exceeded."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.load", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--runs", type=int, default=100_000, metavar="N", help="number of runs in the store (default: 100,000)"
    )
    parser.add_argument("--store", type=Path, metavar="FOLDER", help="keep the store there, or use it if it exists")
    parser.add_argument("--only", choices=("store", "import", "clients"), help="one of the three")
    arguments = parser.parse_args()

    def store() -> bool:
        with tempfile.TemporaryDirectory(prefix="fedbandit-load-") as name:
            folder = arguments.store or Path(name)
            folder.mkdir(parents=True, exist_ok=True)
            return measure_store(arguments.runs, folder)

    parts = {"store": store, "import": measure_import, "clients": measure_clients}
    results = [measure() for name, measure in parts.items() if arguments.only in (None, name)]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
