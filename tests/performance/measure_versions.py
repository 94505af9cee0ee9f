"""Compare the kernels of this version with those of an earlier commit, in one run: `make bench-versions`.

The code of the earlier commit is taken from the history of this repository, into a temporary folder. Two processes on
one core, one per version, take turns: each replays the same method on the same stream, and CPU times are compared. The
simulated streams have the numbers of clients, steps and items of the experiments of the paper, and each method runs at
four thresholds, the middles of the quarters of the paper's grid.

Examples:
  python -m tests.performance.measure_versions main~10
  python -m tests.performance.measure_versions main~10 --repeats 3 --streams fig_a fig_d
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
MAX_RATIO = 1.1
"""Of the median over all replays: times after divided by times before."""

GAMMAS = (1.0316, 2.0, 32.6, 1001.0)
THRESHOLDS = (0.0316, 0.562, 10.0, 316.0)
ASYNC, AM, SYNC = "AsyncLinUCB", "AsyncLinUCBAM", "SyncLinUCB"

STREAMS: dict[str, dict[str, Any]] = {
    "fig_a": {"steps": 30_000, "clients": 1_000},
    "fig_b": {"steps": 30_000, "clients": 1_000, "client_distribution": "non-uniform"},
    "fig_c": {"steps": 30_000, "clients": 1_000, "global_dim": 12},
    "fig_d": {"steps": 92_834, "clients": 1_892, "table": 17_632},
    "fig_e": {"steps": 104_000, "clients": 1_855, "table": 68_000},
    "fig_f": {"steps": 214_729, "clients": 54, "table": 26_567},
}
"""Sizes as in the experiments; the table of items holds as many as the data set."""

METHODS = {stream: (AM,) if stream == "fig_c" else (ASYNC, SYNC) for stream in ("fig_a", "fig_b", "fig_c")}
METHODS |= dict.fromkeys(("fig_d", "fig_e", "fig_f"), (ASYNC, AM, SYNC))

WORKER = """
import hashlib, json, os, sys, time
import algorithms
from benchmark import replay
from data_pipelines import simulate
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
streams = {}
for line in sys.stdin:
    task = json.loads(line)
    if task["stream"] not in streams:
        streams.clear()
        streams[task["stream"]] = simulate(seed=0, **task["sizes"])
        streams[task["stream"]].client_numbers
    kind = getattr(algorithms, task["method"])
    method = kind(**task["parameters"])
    replay(method, simulate(seed=0, steps=30, clients=3))  # compile
    start = time.process_time()
    trace = replay(method, streams[task["stream"]])
    seconds = time.process_time() - start
    content = b"".join(array.tobytes() for array in (trace.choices, trace.uploads, trace.downloads))
    print(json.dumps([seconds, hashlib.sha256(content).hexdigest()]), flush=True)
"""


class Task(NamedTuple):
    """One method at one threshold on one stream."""

    stream: str
    method: str
    parameters: dict[str, Any]


def tasks(streams: Sequence[str]) -> Iterator[Task]:
    """Yield everything to replay, stream by stream."""
    for stream in streams:
        for method in METHODS[stream]:
            name, values = ("threshold", THRESHOLDS) if method == SYNC else ("gamma", GAMMAS)
            common = {"alpha": "theory", "ridge": 0.1}
            if stream == "fig_c":
                values, common["global_dim"] = (5.0,), STREAMS[stream]["global_dim"]
            for value in values:
                yield Task(stream, method, {name: value, **common})


class Version:
    """A process that replays with the code in a folder."""

    def __init__(self, folder: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-c", WORKER],
            env=os.environ | {"PYTHONPATH": str(folder)},
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def replay(self, task: Task) -> tuple[float, str]:
        """Return the CPU time of a replay, and a hash of its choices and transfers."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps({**task._asdict(), "sizes": STREAMS[task.stream]}) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit(f"{task.method} on {task.stream} failed with {task.parameters}")
        seconds, choices = json.loads(answer)
        return float(seconds), str(choices)

    def close(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.communicate()


@contextmanager
def earlier_version(commit: str) -> Iterator[Path]:
    """Yield a temporary folder with the code of a commit."""
    with tempfile.TemporaryDirectory(prefix="fedbandit-earlier-") as name:
        archive = subprocess.run(["git", "archive", commit], cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout
        subprocess.run(["tar", "-x"], cwd=name, input=archive, check=True)
        yield Path(name)


def main() -> int:
    """Measure, print, and return 1 if the limit is exceeded or choices differ."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.performance.measure_versions",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("commit", help="the earlier commit")
    parser.add_argument("--repeats", type=int, default=1, metavar="N", help="replays of each, the best counts")
    parser.add_argument("--streams", nargs="+", choices=STREAMS, default=[*STREAMS], help="some of the streams")
    arguments = parser.parse_args()
    ratios: dict[str, list[float]] = defaultdict(list)
    different = 0
    with ExitStack() as stack:
        folder = stack.enter_context(earlier_version(arguments.commit))
        versions = [Version(folder), Version(ROOT)]
        for version in versions:
            stack.callback(version.close)
        print(f"{'stream':<8} {'method':<14} {'threshold':>9} {'µs before':>10} {'µs after':>9} {'ratio':>6}")
        for task in tasks(arguments.streams):
            results = [[version.replay(task) for version in versions] for _ in range(arguments.repeats)]
            before, after = (min(result[side][0] for result in results) for side in (0, 1))
            is_equal = results[0][0][1] == results[0][1][1]
            different += not is_equal
            ratios[task.method].append(after / before)
            scale = 1e6 / STREAMS[task.stream]["steps"]
            value = next(iter(task.parameters.values()))
            print(
                f"{task.stream:<8} {task.method:<14} {value:9g} {before * scale:10.2f} {after * scale:9.2f} "
                f"{after / before:6.2f}{'' if is_equal else '  other choices or transfers'}",
                flush=True,
            )
    for method, of_method in ratios.items():
        print(f"{method:<14} median ratio {median(of_method):.3f}")
    overall = median(ratio for of_method in ratios.values() for ratio in of_method)
    verdict = "" if overall <= MAX_RATIO else "  MISSED"
    print(f"all: median ratio {overall:.3f} (at most {MAX_RATIO}){verdict}; {different} replays differ")
    return 0 if overall <= MAX_RATIO and not different else 1


if __name__ == "__main__":
    sys.exit(main())
