"""Inject faults into the real program, and compare the results with an undisturbed run, bit for bit.

Examples:
  python -m tests.chaos                      all kinds: at least 300 faults, at most 20 minutes
  python -m tests.chaos --only database      the kinds whose name contains the word
  python -m tests.chaos --short --seed 7     a few of the cheap kinds, with another seed

The exit code is 0 only if all faults were injected and survived, and nothing was lost or different.
"""

import argparse
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import NamedTuple

from tests.benchmark.postgresql import is_installed
from tests.chaos import (
    bad_servers,
    broken_databases,
    damaged_data,
    damaged_files,
    killed_stores,
    killed_sweeps,
    small_disks,
)
from tests.chaos import changed_surroundings as changed
from tests.chaos.damaged_data import prepared
from tests.chaos.sweeps import Faults, end_leftovers, undisturbed

CONCURRENT_KINDS = 2
"""Kinds of fault that run at the same time, each in its own folders: they mostly wait."""


class Kind(NamedTuple):
    """A kind of fault: its name in the table, and the numbers of injections in the full and short version."""

    title: str
    inject: Callable[[int, Random, Path], Faults]
    full: int
    short: int = 0
    is_possible: Callable[[], bool] = lambda: True
    """Whether this system allows it."""


KINDS = {
    "new-environment": Kind("new virtual environment", changed.sweep_in_new_environment, 1),
    "misbehaving-server": Kind("MLflow server: 500, hangs, hangs up, slow", bad_servers.corrupt_responses, 60),
    "killed-transaction": Kind("SIGKILL inside a transaction", killed_stores.kill_in_transactions, 6),
    "killed-writer": Kind("SIGKILL to a writer inside a transaction", killed_stores.kill_writers, 40, 1),
    "stopped-creation": Kind("stopped while creating a database", killed_stores.stop_creations, 12),
    "asked-to-stop": Kind("SIGTERM and Ctrl-C", killed_sweeps.ask_to_stop, 12),
    "killed-sweep": Kind("SIGKILL to a sweep", killed_sweeps.kill_parents, 16),
    "full-disk-sweep": Kind("full disk during a sweep", small_disks.fill_disk_during_sweep, 4),
    "clock": Kind("clock set back", changed.set_clock_back, 20),
    "full-disk-preparation": Kind("full disk during preparation", small_disks.fill_disk_during_preparation, 5),
    "flipped-bytes": Kind("one flipped byte in prepared data", damaged_data.flip_bytes, 40, 2),
    "truncated-database": Kind("database truncated", broken_databases.truncate_database, 12),
    "other-schema-database": Kind("database of another schema", broken_databases.change_schema, 3),
    "locked-database": Kind("database locked", broken_databases.lock_database, 12, 2),
    "changed-class": Kind("own class changed", changed.change_own_class, 8),
    "changed-packages": Kind("packages changed", changed.change_packages, 1),
    "killed-workers": Kind("SIGKILL to workers", killed_sweeps.kill_workers, 14),
    "out-of-memory": Kind("a worker out of memory", killed_sweeps.starve_workers, 4),
    "full-disk-download": Kind("full disk during download", small_disks.fill_disk_during_download, 5),
    "read-only": Kind("read-only store", small_disks.write_to_read_only, 3),
    "killed-server": Kind("MLflow server dies", bad_servers.kill_server, 4),
    "killed-postgresql": Kind("PostgreSQL dies", bad_servers.crash_postgresql, 3, is_possible=is_installed),
    "damaged-kernels": Kind("damaged kernel cache", damaged_files.damage_kernels, 6),
    "tampered-bundle": Kind("tampered bundle", damaged_files.tamper_with_bundles, 12),
    "own-process-ids": Kind(
        "containers with one temporary folder",
        damaged_files.share_temporary_folder,
        2,
        is_possible=damaged_files.may_have_own_ids,
    ),
    "killed-cluster": Kind("Dask workers and scheduler die", killed_sweeps.kill_cluster, 6),
    "killed-preparation": Kind("SIGKILL to fedbandit data", damaged_data.kill_preparation, 10),
    "two-preparations": Kind("two preparations at once", damaged_data.prepare_at_once, 4),
    "two-sweeps": Kind("two sweeps at once", broken_databases.sweep_at_once, 4),
}
"""The slow ones first."""


@dataclass
class Tally:
    """Only faults that actually happened count as injected; `problems` describes what was wrong afterwards."""

    fault: str
    injected: int = 0
    survived: int = 0
    seconds: float = 0.0
    problems: list[str] = field(default_factory=list)

    def count(self, faults: Iterable[tuple[int, list[str]]]) -> None:
        """Count injections; where there is any problem, none of those before it counts as survived."""
        for injections, problems in faults:
            self.injected += injections
            self.survived += 0 if problems else injections
            self.problems += problems


def table(tallies: Sequence[Tally]) -> str:
    """Return the rows and their sum as text."""
    total = Tally("all")
    for tally in tallies:
        total.injected, total.survived = total.injected + tally.injected, total.survived + tally.survived
        total.seconds += tally.seconds
    if kinds := sum(bool(tally.problems) for tally in tallies):
        total.problems = [f"{kinds} kinds of fault"]
    lines = [("fault", "injected", "survived", "seconds", "lost or different")]
    for tally in (*tallies, total):
        numbers = (str(tally.injected), str(tally.survived), f"{tally.seconds:.0f}")
        lines.append((tally.fault, *numbers, "; ".join(tally.problems) or "nothing"))
    width = max(len(line[0]) for line in lines)
    return "\n".join(
        f"{fault:<{width}}  {injected:>8}  {survived:>8}  {seconds:>7}  {lost}"
        for fault, injected, survived, seconds, lost in lines
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Inject the faults; print a line per kind, and the table."""
    parser = argparse.ArgumentParser("tests.chaos", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seed", type=int, default=0, help="random seed (default: 0)")
    parser.add_argument("--only", default="", metavar="WORD", help=f"only kinds that contain WORD: {', '.join(KINDS)}")
    parser.add_argument("--short", action="store_true", help="a few of the cheap kinds, in less than a minute")
    arguments = parser.parse_args(argv)
    selected = {name: kind for name, kind in KINDS.items() if arguments.only in name}
    if not selected:
        parser.error(f"--only must be a word in one of {', '.join(KINDS)}, got {arguments.only!r}")
    counts = {name: kind.short if arguments.short else kind.full for name, kind in selected.items()}
    counts = {name: count for name, count in counts.items() if count}
    for name in [name for name in counts if not selected[name].is_possible()]:
        print(f"NOT RUN: {selected[name].title}: this system does not allow it")
        del counts[name]
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="fedbandit-chaos-") as folder, ThreadPoolExecutor(CONCURRENT_KINDS) as pool:
        _report("running without faults first, for comparison")
        undisturbed(Path(folder)), prepared(Path(folder))
        kinds = {
            pool.submit(_inject, selected[name], count, Random(f"{arguments.seed} {name}"), Path(folder)): name
            for name, count in counts.items()
        }
        for done, future in enumerate(as_completed(kinds), 1):
            seconds, tally = time.monotonic() - start, future.result()
            remaining = f"about {seconds / done * (len(kinds) - done):,.0f} s left"
            outcome = f"{kinds[future]}, {tally.survived} of {tally.injected} survived"
            _report(f"{done} of {len(kinds)}, {seconds:,.0f} s, {remaining}: {outcome}")
        tallies = [future.result() for future in kinds]
    print(table(tallies))
    print(f"seed {arguments.seed}, {time.monotonic() - start:,.0f} s, {_cpu_seconds():,.0f} s of CPU time")
    incomplete = [tally.fault for tally, count in zip(tallies, counts.values(), strict=True) if tally.injected < count]
    for fault in incomplete:
        print(f"{fault}: not injected as often as planned")
    return 1 if incomplete or any(tally.problems for tally in tallies) else 0


def _inject(kind: Kind, count: int, random: Random, folder: Path) -> Tally:
    start, tally = time.monotonic(), Tally(kind.title)
    try:
        tally.count(kind.inject(count, random, folder))
    except Exception as error:
        tally.problems.append(f"{type(error).__name__}: {error}")
    finally:
        end_leftovers()
    tally.seconds = time.monotonic() - start
    return tally


def _cpu_seconds() -> float:
    """Return the CPU time of this process and of its finished children."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def _report(text: str) -> None:
    print(text, file=sys.__stderr__, flush=True)


if __name__ == "__main__":
    sys.exit(main())
