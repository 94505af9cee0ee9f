"""Inject faults into the real program, and compare the results with an undisturbed run, bit for bit.

Examples:
  python -m tests.chaos                      all kinds: at least 200 faults, at most 15 minutes
  python -m tests.chaos --only database      the kinds whose name contains the word
  python -m tests.chaos --short --seed 7     a few of the cheap kinds, with another seed

The exit code is 0 only if all faults were injected and survived, and nothing was lost or different.
"""

import argparse
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from random import Random

from tests.chaos import (
    bad_servers,
    broken_databases,
    changed_code,
    clocks,
    damaged_data,
    dask_clusters,
    killed_stores,
    killed_sweeps,
    new_environment,
    out_of_memory,
    small_disks,
)
from tests.chaos.data_sets import prepared
from tests.chaos.sweeps import end_leftovers, undisturbed
from tests.chaos.tally import Tally, table

CONCURRENT_KINDS = 2
"""Kinds of fault that run at the same time, each in its own folders: they mostly wait."""

Kind = Callable[[int, Random, Path], Tally]
KINDS: dict[str, tuple[Kind, int, int]] = {
    "new-environment": (new_environment.sweep_in_new_environment, 1, 0),
    "misbehaving-server": (bad_servers.corrupt_responses, 60, 0),
    "killed-transaction": (killed_stores.kill_in_transactions, 6, 0),
    "killed-writer": (killed_stores.kill_writers, 40, 2),
    "stopped-creation": (killed_stores.stop_creations, 12, 0),
    "asked-to-stop": (killed_sweeps.ask_to_stop, 12, 0),
    "killed-sweep": (killed_sweeps.kill_parents, 16, 2),
    "full-disk-sweep": (small_disks.fill_disk_during_sweep, 4, 0),
    "clock": (clocks.set_clock_back, 20, 0),
    "full-disk-preparation": (small_disks.fill_disk_during_preparation, 5, 0),
    "flipped-bytes": (damaged_data.flip_bytes, 40, 6),
    "truncated-database": (broken_databases.truncate_database, 12, 2),
    "other-schema-database": (broken_databases.change_schema, 3, 0),
    "locked-database": (broken_databases.lock_database, 12, 2),
    "changed-class": (changed_code.change_own_class, 8, 0),
    "changed-packages": (changed_code.change_packages, 1, 0),
    "killed-workers": (killed_sweeps.kill_workers, 14, 0),
    "out-of-memory": (out_of_memory.starve_workers, 4, 0),
    "full-disk-download": (small_disks.fill_disk_during_download, 5, 0),
    "read-only": (small_disks.write_to_read_only, 3, 0),
    "killed-server": (bad_servers.kill_server, 2, 0),
    "killed-cluster": (dask_clusters.kill_cluster, 6, 0),
    "killed-preparation": (damaged_data.kill_preparation, 10, 0),
    "two-preparations": (damaged_data.prepare_at_once, 4, 0),
    "two-sweeps": (broken_databases.sweep_at_once, 4, 0),
}
"""Each kind of fault: its function, and the numbers of injections in the full and short version; slow ones first."""


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
    counts = {name: short if arguments.short else full for name, (_, full, short) in selected.items()}
    counts = {name: count for name, count in counts.items() if count}
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="fedbandit-chaos-") as folder, ThreadPoolExecutor(CONCURRENT_KINDS) as pool:
        _report("running without faults first, for comparison")
        undisturbed(Path(folder)), prepared(Path(folder))
        kinds = {
            pool.submit(_inject, selected[name][0], count, Random(f"{arguments.seed} {name}"), Path(folder)): name
            for name, count in counts.items()
        }
        for done, future in enumerate(as_completed(kinds), 1):
            seconds = time.monotonic() - start
            remaining = f"about {seconds / done * (len(kinds) - done):,.0f} s left"
            _report(
                f"{done} of {len(kinds)}, {seconds:,.0f} s, {remaining}: {kinds[future]}, {future.result().summary}"
            )
        tallies = [future.result() for future in kinds]
    print(table(tallies))
    print(f"seed {arguments.seed}, {time.monotonic() - start:,.0f} s, {_cpu_seconds():,.0f} s of CPU time")
    incomplete = [tally.fault for tally, count in zip(tallies, counts.values(), strict=True) if tally.injected < count]
    for fault in incomplete:
        print(f"{fault}: not injected as often as planned")
    return 1 if incomplete or any(tally.problems for tally in tallies) else 0


def _inject(kind: Kind, count: int, random: Random, folder: Path) -> Tally:
    start = time.monotonic()
    try:
        tally = kind(count, random, folder)
    except Exception as error:
        tally = Tally(kind.__name__.replace("_", " "), problems=[f"{type(error).__name__}: {error}"])
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
