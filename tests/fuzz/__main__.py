"""Feed the readers of archives, imports, experiment files and command lines with hostile input: `make fuzz`.

Every input must be accepted rightly or refused in one clear line; anything else is a bug. The same seed makes the same
inputs. Where atheris is installed, a quarter of the inputs of some targets is found by a search guided by coverage.

examples:
  python -m tests.fuzz                                  100,000 inputs, a few minutes
  python -m tests.fuzz --inputs 5000 --only experiment  targets whose name holds the word
  python -m tests.fuzz --seed 7                         other inputs
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.fuzz.jobs import Job, carry_out, jobs_of
from tests.fuzz.table import table
from tests.fuzz.targets import TARGETS

KEPT = Path("fuzz-failures")


def print_failures(jobs: "list[Job]") -> None:
    """Say what went wrong, and keep the inputs."""
    for job in jobs:
        for failure in job.report.failures:
            KEPT.mkdir(exist_ok=True)
            path = KEPT / f"{job.name.replace(' ', '-')}-{failure.number}.bin"
            path.write_bytes(failure.content)
            print(f"FAILED {job.name}, input {failure.number} ({path}): {failure.what}")


def main(argv: "list[str] | None" = None) -> int:
    """Run, print the table, and return 1 if an input made trouble."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.fuzz", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--inputs", type=int, default=100_000, metavar="N", help="in all (default: 100,000)")
    parser.add_argument("--only", default="", metavar="WORD", help="targets whose name holds the word")
    parser.add_argument("--seed", type=int, default=0, help="of the inputs (default: 0)")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="processes at once (default: 2)")
    arguments = parser.parse_args(argv)
    targets = [target for target in TARGETS if arguments.only in target.name]
    if not targets or arguments.inputs < 1 or arguments.jobs < 1 or arguments.seed < 0:
        names = ", ".join(target.name for target in TARGETS)
        parser.error(f"--inputs and --jobs are from 1, --seed from 0, and --only a part of: {names}")
    with tempfile.TemporaryDirectory(prefix="fedbandit-fuzz-") as folder:
        jobs = jobs_of(targets, arguments.inputs, arguments.seed, Path(folder))
        started = time.monotonic()
        carry_out(jobs, arguments.jobs)
    print(table(jobs))
    print(f"seed {arguments.seed}, {time.monotonic() - started:,.0f} s")
    print_failures(jobs)
    return 1 if any(job.report.failed for job in jobs) else 0


if __name__ == "__main__":
    sys.exit(main())
