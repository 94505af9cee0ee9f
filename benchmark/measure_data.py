"""Measure the data pipelines against their limits: `make bench-data`.

Each step runs as a user would run it, in a process of its own, and the peak memory is that process's.
Real archives are measured where FEDBANDIT_MIRROR names a folder with them.
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
    "import time; from data_pipelines import load; start = time.perf_counter(); "
    "stream = load('movielens', seed=0); print(f'{stream.steps} {time.perf_counter() - start}')"
)


@dataclass(frozen=True)
class Figure:
    """One measured figure and its limit."""

    what: str
    measured: float
    limit: float
    unit: str

    @property
    def is_reached(self) -> bool:
        """Whether the figure is within its limit."""
        return self.measured <= self.limit

    def __str__(self) -> str:
        verdict = "reached" if self.is_reached else "MISSED"
        return f"{self.what:<64}{self.measured:>8.2f} of {self.limit:>5.1f} {self.unit:<4}{verdict}"


def measure(folder: Path, mirror: Path | None) -> list[Figure]:
    """Run all steps in an empty data folder and return the figures."""
    environment = {**os.environ, "FEDBANDIT_DATA": str(folder)}
    environment.pop("FEDBANDIT_MIRROR", None)
    figures = []
    if mirror is None:
        print("LastFM and Delicious are not measured: no mirror (set FEDBANDIT_MIRROR)")
    else:
        seconds = _timed([*FEDBANDIT, "lastfm", "delicious", "--mirror", str(mirror)], environment)
        figures.append(Figure("LastFM and Delicious, mirror to prepared", seconds, 30, "s"))
    seconds = _timed([*FEDBANDIT, "movielens", "--stand-in"], environment)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 / GIB
    figures.append(Figure("ML-20M stand-in, full size, generated and prepared", seconds, 90, "s"))
    figures.append(Figure("  peak memory", peak, 3, "GiB"))
    seconds = _timed([*FEDBANDIT, "movielens", "--stand-in", "--force"], environment)
    figures.append(Figure("ML-20M stand-in, full size, archive to prepared", seconds, 90, "s"))
    steps, seconds = _stream(environment)
    figures.append(Figure(f"stream of one seed, T={steps:,}, K=25", seconds, 3, "s"))
    names = ["movielens", *(["lastfm", "delicious"] if mirror else [])]
    seconds = _timed([*FEDBANDIT, *names, "--stand-in"], environment)
    figures.append(Figure("second `fedbandit data`: everything is prepared", seconds, 3, "s"))
    return figures


def _timed(command: Sequence[str], environment: dict[str, str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def _stream(environment: dict[str, str]) -> tuple[int, float]:
    command = [sys.executable, "-c", BUILD_STREAM]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    steps, seconds = done.stdout.split()
    return int(steps), float(seconds)


def main() -> int:
    """Measure, print the figures, and return 1 if a limit is missed."""
    given = os.environ.get("FEDBANDIT_MIRROR", "")
    mirror = Path(given).resolve() if given and Path(given).is_dir() else None
    with tempfile.TemporaryDirectory() as folder:
        figures = measure(Path(folder), mirror)
    print("\n".join(str(figure) for figure in figures))
    return 0 if all(figure.is_reached for figure in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
