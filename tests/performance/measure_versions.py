"""Compare the kernels of this version with those of an earlier commit, in one run: `make bench-versions`.

The code of the earlier commit is taken from the history of this repository, into a temporary folder. Two processes on
one core, one per version, take turns: each replays the same method on the same stream, and CPU times are compared. The
simulated streams have the numbers of clients, steps and items of the experiments of the paper, and each method runs at
four thresholds, the middles of the quarters of the paper's grid.

The last line weighs these ratios with the kernel seconds that version 0.1.0 recorded for its eight experiments of the
paper (3,450 runs, of which 90 are shared), so it compares whole sweeps without running them. On streams that the
earlier version recorded with real data, the ratio is that of a simulated stream of the same size.

Examples:
  python -m tests.performance.measure_versions 0c0901f             version 0.1.0
  python -m tests.performance.measure_versions 0c0901f --repeats 3
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
MAX_RATIO = 20 / 28
"""The sweep of 28 minutes must take at most 20."""

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

RECORDED = {
    ("fig_a", ASYNC): 59.2,
    ("fig_a", SYNC): 44.3,
    ("fig_b", ASYNC): 54.9,
    ("fig_b", SYNC): 38.2,
    ("fig_c", AM): 16.8,
    ("fig_d", ASYNC): 132.5,
    ("fig_d", AM): 405.1,
    ("fig_d", SYNC): 97.4,
    ("fig_e", ASYNC): 186.9 + 115.8,  # and `low_communication`
    ("fig_e", AM): 504.0,
    ("fig_e", SYNC): 138.0,
    ("fig_f", ASYNC): 277.3,
    ("fig_f", AM): 871.1,
    ("fig_f", SYNC): 222.9,
}
"""Kernel seconds of version 0.1.0 by experiment and method, from its docs/results.md: 3,164 in total."""

WORKER = """
import hashlib, inspect, json, os, sys, time
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
    known = inspect.signature(kind).parameters  # version 0.1.0 has no choice of the order
    method = kind(**{name: value for name, value in task["parameters"].items() if name in known})
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


def tasks() -> Iterator[Task]:
    """Yield everything to replay, stream by stream."""
    for stream, method in RECORDED:
        name, values = ("threshold", THRESHOLDS) if method == SYNC else ("gamma", GAMMAS)
        common: dict[str, Any] = {"alpha": "theory", "ridge": 0.1}
        if stream == "fig_c":
            values, common = (5.0,), common | {"global_dim": STREAMS[stream]["global_dim"]}
        if method == AM:
            common["order"] = "local"  # as in version 0.1.0
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
    arguments = parser.parse_args()
    ratios: dict[tuple[str, str], list[float]] = defaultdict(list)
    equal = 0
    with ExitStack() as stack:
        folder = stack.enter_context(earlier_version(arguments.commit))
        versions = [Version(folder), Version(ROOT)]
        for version in versions:
            stack.callback(version.close)
        print(f"{'stream':<8} {'method':<14} {'threshold':>9} {'µs before':>10} {'µs after':>9} {'ratio':>6}")
        planned = list(tasks())
        for task in planned:
            results = [[version.replay(task) for version in versions] for _ in range(arguments.repeats)]
            before, after = (min(result[side][0] for result in results) for side in (0, 1))
            is_equal = results[0][0][1] == results[0][1][1]
            equal += is_equal
            ratios[task.stream, task.method].append(after / before)
            scale = 1e6 / STREAMS[task.stream]["steps"]
            value = next(iter(task.parameters.values()))
            print(
                f"{task.stream:<8} {task.method:<14} {value:9g} {before * scale:10.2f} {after * scale:9.2f} "
                f"{after / before:6.2f}{'' if is_equal else '  other choices or transfers'}",
                flush=True,
            )
    total = sum(RECORDED.values())
    weighted = sum(RECORDED[key] * sum(values) / len(values) for key, values in ratios.items()) / total
    print(f"\n{equal} of {len(planned)} replays with the same choices and transfers")
    for method in (ASYNC, AM, SYNC):
        weights = {key: seconds for key, seconds in RECORDED.items() if key[1] == method}
        mean = sum(seconds * sum(ratios[key]) / len(ratios[key]) for key, seconds in weights.items())
        print(f"  {method:<14} {mean / sum(weights.values()):.2f} of the kernel seconds before")
    verdict = "" if weighted <= MAX_RATIO else "  MISSED"
    print(
        f"the paper's eight experiments: {weighted:.2f} of the kernel seconds before, {total:,.0f} s -> "
        f"{total * weighted:,.0f} s (at most {MAX_RATIO:.2f}){verdict}"
    )
    return 0 if weighted <= MAX_RATIO and equal == len(planned) else 1


if __name__ == "__main__":
    sys.exit(main())
