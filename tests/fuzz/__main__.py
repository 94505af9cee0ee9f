"""Test the readers of archives, imports, experiment files and command lines with hostile input: `make fuzz`.

Every input must be accepted correctly or refused with a one-line error; anything else is a bug. The same seed gives the
same inputs. If atheris is installed, a quarter of the inputs of some targets comes from a coverage-guided search.

examples:
  python -m tests.fuzz                                  100,000 inputs, a few minutes
  python -m tests.fuzz --inputs 5000 --only experiment  targets whose name contains the word
  python -m tests.fuzz --seed 7                         other inputs
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.fuzz.jobs import Job, jobs_of, run_jobs
from tests.fuzz.table import table
from tests.fuzz.targets import TARGETS

FAILURE_FOLDER = Path("fuzz-failures")


def print_failures(jobs: "list[Job]") -> None:
    """Print the failures, and save their inputs."""
    for job in jobs:
        for failure in job.report.failures:
            FAILURE_FOLDER.mkdir(exist_ok=True)
            path = FAILURE_FOLDER / f"{job.name.replace(' ', '-')}-{failure.number}.bin"
            path.write_bytes(failure.content)
            print(f"FAILED {job.name}, input {failure.number} ({path}): {failure.reason}")


def main(argv: "list[str] | None" = None) -> int:
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
    with tempfile.TemporaryDirectory(prefix="fedbandit-fuzz-") as folder:
        jobs = jobs_of(targets, arguments.inputs, arguments.seed, Path(folder))
        start_time = time.monotonic()
        run_jobs(jobs, arguments.jobs)
    print(table(jobs))
    print(f"seed {arguments.seed}, {time.monotonic() - start_time:,.0f} s")
    print_failures(jobs)
    return 1 if any(job.report.failed for job in jobs) else 0


if __name__ == "__main__":
    sys.exit(main())
