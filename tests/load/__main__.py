"""Measure a store with 10,000 runs and a run with a million clients: `make bench-load`.

Examples:
  python -m tests.load                  both (minutes)
  python -m tests.load --runs 1000      a smaller store
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.benchmark.tiny_sweeps import fedbandit
from tests.load.full_store import NAME, make_full_store
from tests.load.million_clients import run_million_clients
from tests.load.pages import seconds_on_pages
from tests.performance.limits import within

MAX_SECONDS = 5.0
MAX_REPORT_SECONDS = 10.0
MAX_GIB = 6.0


def measure_store(runs: int) -> bool:
    """Measure the commands that read a store, and the pages."""
    with tempfile.TemporaryDirectory(prefix="fedbandit-load-") as name:
        folder = Path(name)
        start = time.perf_counter()
        count = make_full_store(folder, runs)
        size = (folder / "mlflow.db").stat().st_size / 2**20
        print(f"a store of {count:,} runs, {size:,.0f} MiB, created in {time.perf_counter() - start:.0f} s", flush=True)
        is_met = True
        commands = {
            "nothing to do": (("run", f"{NAME}.toml"), f"({count:,} runs finished)"),
            "--dry-run": (("run", f"{NAME}.toml", "--dry-run"), f"{count:,} runs: {count:,} done, 0 to do"),
            "list": (("list",), f"{count:,} runs finished"),
            "report": (("report",), "reports/output/report.html"),
        }
        for case, (arguments, expected) in commands.items():
            start = time.perf_counter()
            done = fedbandit(folder, *arguments)
            seconds = time.perf_counter() - start
            if expected not in done.stdout:
                raise SystemExit(f"fedbandit {' '.join(arguments)} does not print {expected!r}: {done.stderr[:500]}")
            label = f"`fedbandit {arguments[0]}`" + ("" if case == arguments[0] else f", {case}")
            is_met &= within(label, seconds, MAX_REPORT_SECONDS if case == "report" else MAX_SECONDS, "s")
        pages = seconds_on_pages(folder)
        if pages is None:
            print("  NOT RUN: the pages need chromium and chromedriver")
        for page, (seconds, limit) in (pages or {}).items():
            is_met &= within(page, seconds, limit, "s")
    return is_met


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
        "--runs", type=int, default=10_000, metavar="N", help="number of runs in the store (default: 10,000)"
    )
    parser.add_argument("--no-million", action="store_true", help="skip the run with a million clients")
    arguments = parser.parse_args()
    is_met = measure_store(arguments.runs)
    return 0 if (arguments.no_million or measure_clients()) and is_met else 1


if __name__ == "__main__":
    sys.exit(main())
