"""Test the readers of archives, imports, experiment files and command lines with hostile input: `make fuzz`.

Every input must be accepted correctly or refused with a one-line error; anything else is a bug. The same seed gives the
same inputs. If atheris is installed, a quarter of the inputs of some targets comes from a coverage-guided search.

examples:
  python -m tests.fuzz                                  100,000 inputs, a few minutes
  python -m tests.fuzz --inputs 5000 --only experiment  targets whose name contains the word
  python -m tests.fuzz --seed 7                         other inputs
"""

import argparse
import importlib.util
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path

from tests.fuzz.attempts import Report
from tests.fuzz.target import Target
from tests.fuzz.targets import TARGETS
from tests.readme import ROOT

FAILURE_FOLDER = Path("fuzz-failures")
HEADER = ("target", "inputs", "accepted", "refused", "failed", "slowest", "peak memory")


@dataclass
class Job:
    """One target in its own process; with a folder `corpus` the search is guided."""

    target: Target
    inputs: int
    path: Path
    corpus: Path | None = None
    report: Report = field(default_factory=Report)

    @property
    def name(self) -> str:
        """The name of the target, and whether the search is guided."""
        return self.target.name + (" (guided)" if self.corpus else "")

    def run(self, seed: int) -> None:
        """Run the process, whose output goes to a file next to its report; a dead one counts as a failure."""
        arguments = [self.target.name, str(seed), str(self.inputs), str(self.path)]
        if self.corpus:
            self.corpus.mkdir()
            arguments.append(str(self.corpus))
        command = [sys.executable, "-W", "ignore", "-m", "tests.fuzz.attempts", *arguments]
        log = self.path.with_suffix(".log")
        with log.open("wb") as file:
            code = subprocess.run(command, cwd=ROOT, stdout=file, stderr=file, stdin=subprocess.DEVNULL).returncode
        if self.path.is_file():
            self.report = Report(**json.loads(self.path.read_text()))
        if self.report.inputs < self.inputs:
            last_line = log.read_text(errors="replace").strip().rpartition("\n")[2]
            reason = f"the process ended with code {code}: {last_line[:200]}"
            self.report.failed += 1
            self.report.failures.append((self.report.inputs, reason, ""))


def jobs_of(targets: Sequence[Target], inputs: int, folder: Path) -> list[Job]:
    """Distribute the inputs over the targets; guided jobs come first, since they take longest."""
    has_atheris = importlib.util.find_spec("atheris") is not None
    if not has_atheris:
        print("atheris is not installed: no coverage-guided search, all inputs are random", file=sys.stderr)
    total = sum(target.share for target in targets)
    jobs = []
    for number, target in enumerate(targets):
        count = -(-inputs * target.share // total)
        guided_count = count // 4 if has_atheris and target.seeds is not None else 0
        if guided_count:
            jobs.append(Job(target, guided_count, folder / f"{number}-guided.json", folder / f"{number}-corpus"))
        jobs.append(Job(target, count - guided_count, folder / f"{number}.json"))
    return sorted(jobs, key=lambda job: job.corpus is None)


def table(jobs: Sequence[Job]) -> str:
    """Return one line per target, and the totals."""
    rows = [HEADER, *(_row(job.name, [job.report]) for job in sorted(jobs, key=lambda job: job.name))]
    rows.append(_row("all", [job.report for job in jobs]))
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADER))]
    lines = []
    for row in rows:
        cells = [f"{cell:>{width}}" for cell, width in zip(row[1:], widths[1:], strict=True)]
        lines.append(" | ".join([f"| {row[0]:<{widths[0]}}", *cells]) + " |")
    rule = [f"{'-' * (width + 1)}{':' if number else '-'}" for number, width in enumerate(widths)]
    lines.insert(1, f"|{'|'.join(rule)}|")
    return "\n".join(lines)


def _row(name: str, reports: Sequence[Report]) -> tuple[str, ...]:
    counts = [sum(getattr(report, column) for report in reports) for column in HEADER[1:5]]
    slowest, peak = max(report.slowest for report in reports), max(report.peak_mib for report in reports)
    return (name, *(f"{count:,}" for count in counts), f"{slowest * 1e3:,.0f} ms", f"{peak:,.0f} MiB")


def print_failures(jobs: Sequence[Job]) -> None:
    """Print the failures, and save their inputs."""
    for job in jobs:
        for number, reason, content in job.report.failures:
            FAILURE_FOLDER.mkdir(exist_ok=True)
            path = FAILURE_FOLDER / f"{job.name.replace(' ', '-')}-{number}.bin"
            path.write_bytes(bytes.fromhex(content))
            print(f"FAILED {job.name}, input {number} ({path}): {reason}")


def main(argv: Sequence[str] | None = None) -> int:
    """Run, print the table, and return 1 if an input failed."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.fuzz", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--inputs", type=int, default=100_000, metavar="N", help="total number of inputs (default: 100,000)"
    )
    parser.add_argument("--only", default="", metavar="WORD", help="only targets whose name contains the word")
    parser.add_argument("--seed", type=int, default=0, help="seed of the inputs (default: 0)")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="number of parallel processes (default: 2)")
    arguments = parser.parse_args(argv)
    targets = [target for target in TARGETS if arguments.only in target.name]
    if not targets or arguments.inputs < 1 or arguments.jobs < 1 or arguments.seed < 0:
        names = ", ".join(target.name for target in TARGETS)
        parser.error(f"--inputs and --jobs must be from 1, --seed from 0, and --only part of one of: {names}")
    start_time = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="fedbandit-fuzz-") as folder, ThreadPoolExecutor(arguments.jobs) as pool:
        jobs = jobs_of(targets, arguments.inputs, Path(folder))
        futures = [pool.submit(job.run, arguments.seed) for job in jobs]
        for done, future in enumerate(as_completed(futures), 1):
            future.result()
            print(f"{done} of {len(jobs)} targets, {time.monotonic() - start_time:,.0f} s", file=sys.stderr, flush=True)
    print(table(jobs))
    print(f"seed {arguments.seed}, {time.monotonic() - start_time:,.0f} s")
    print_failures(jobs)
    return 1 if any(job.report.failed for job in jobs) else 0


if __name__ == "__main__":
    sys.exit(main())
