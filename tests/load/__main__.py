"""Is the harness still usable with 10,000 runs in one store, and with a million clients in one run? `make bench-load`

examples:
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
from tests.load.runs_table import seconds_until_rows_show

MOST_SECONDS = 5.0
MOST_SECONDS_FOR_A_PAGE = 30.0
MOST_SECONDS_FOR_A_REPORT = 90.0
MOST_GIB = 6.0


def row(what: str, value: float, most: float, unit: str) -> bool:
    """Print one figure against its limit."""
    reached = value <= most
    print(f"  {what:<56}{value:>8.2f} {unit:<4} at most {most:.0f}  {'reached' if reached else 'MISSED'}", flush=True)
    return reached


def measure_store(runs: int) -> bool:
    """Measure every command that reads a store."""
    with tempfile.TemporaryDirectory(prefix="fedbandit-load-") as name:
        folder = Path(name)
        began = time.perf_counter()
        count = make_full_store(folder, runs)
        size = (folder / "mlflow.db").stat().st_size / 2**20
        print(f"a store of {count:,} runs, {size:,.0f} MiB, made in {time.perf_counter() - began:.0f} s", flush=True)
        reached = True
        commands = {
            "nothing to do": (("run", f"{NAME}.toml"), f"{count} runs, all of them finished"),
            "--dry-run": (("run", f"{NAME}.toml", "--dry-run"), f"{count} runs, {count} done, 0 to do"),
            "list": (("list",), f"{count} runs finished"),
            "report": (("report",), "page     reports/output/report.html"),
        }
        for what, (arguments, expected) in commands.items():
            began = time.perf_counter()
            done = fedbandit(folder, *arguments)
            seconds = time.perf_counter() - began
            if expected not in done.stdout:
                raise SystemExit(f"fedbandit {' '.join(arguments)} does not say {expected!r}: {done.stderr[:500]}")
            label = f"`fedbandit {arguments[0]}`" + ("" if what == arguments[0] else f", {what}")
            reached &= row(label, seconds, MOST_SECONDS_FOR_A_REPORT if what == "report" else MOST_SECONDS, "s")
        pages = seconds_until_rows_show(folder)
        if pages is None:
            print("  NOT RUN: the pages need chromium and chromedriver")
        for what, seconds in (pages or {}).items():
            reached &= row(what, seconds, MOST_SECONDS_FOR_A_PAGE, "s")
    return reached


def measure_clients() -> bool:
    """Measure one run with a million clients."""
    with tempfile.TemporaryDirectory(prefix="fedbandit-load-") as name:
        found = run_million_clients(Path(name))
    print(f"one run, {found.clients:,} clients that act, through `fedbandit run`")
    print(f"  {'all of it':<56}{found.seconds:>8.1f} s\n  {'its kernel':<56}{found.kernel_seconds:>8.1f} s")
    print(f"  {'its artifacts':<56}{found.artifacts_mib:>8.1f} MiB")
    return row("memory of all processes at the peak", found.peak_gib, MOST_GIB, "GiB")


def main() -> int:
    """Measure, print, and return 1 if a limit is missed."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.load", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=10_000, metavar="N", help="in the store (default: 10,000)")
    parser.add_argument("--no-million", action="store_true", help="leave the million clients out")
    arguments = parser.parse_args()
    reached = measure_store(arguments.runs)
    return 0 if (arguments.no_million or measure_clients()) and reached else 1


if __name__ == "__main__":
    sys.exit(main())
