"""Disturb the real program in every way that we know of, and compare with a run that nobody disturbed, bit for bit.

Examples:
  python -m tests.chaos                      everything: at least 200 faults, at most 15 minutes
  python -m tests.chaos --only database      the kinds whose name holds the word
  python -m tests.chaos --short --seed 7     a handful of the cheap kinds, with other dice

The exit code is 0 only if all of them were injected and survived and nothing was lost or different.
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
    clocks,
    damaged_data,
    dask_clusters,
    killed_sweeps,
    new_environment,
    out_of_memory,
    small_disks,
)
from tests.chaos.data_sets import prepared
from tests.chaos.sweeps import end_leftovers, undisturbed
from tests.chaos.tally import Tally, table

AT_ONCE = 2
"""Kinds of fault at the same time, each in folders of its own: much of it is waiting."""

Kind = Callable[[int, Random, Path], Tally]
KINDS: dict[str, tuple[Kind, int, int]] = {
    "new-environment": (new_environment.sweep_in_new_environment, 1, 0),
    "misbehaving-server": (bad_servers.spoil_answers, 60, 0),
    "asked-to-stop": (killed_sweeps.ask_to_stop, 12, 0),
    "killed-sweep": (killed_sweeps.kill_parents, 16, 2),
    "full-disk-sweep": (small_disks.fill_disk_during_sweep, 4, 0),
    "clock": (clocks.set_clock_back, 20, 0),
    "full-disk-preparation": (small_disks.fill_disk_during_preparation, 5, 0),
    "flipped-bytes": (damaged_data.flip_bytes, 40, 6),
    "truncated-database": (broken_databases.truncate_database, 12, 2),
    "other-schema-database": (broken_databases.change_schema, 3, 0),
    "locked-database": (broken_databases.lock_database, 12, 2),
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
"""Each kind of fault: the function, how often it is injected, how often in the short version. Long ones first."""


def main(argv: Sequence[str] | None = None) -> int:
    """Inject, print a line for each kind and the table."""
    parser = argparse.ArgumentParser("tests.chaos", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seed", type=int, default=0, help="of all dice (default: 0)")
    parser.add_argument("--only", default="", metavar="WORD", help=f"of: {', '.join(KINDS)}")
    parser.add_argument("--short", action="store_true", help="a handful of the cheap kinds, in less than a minute")
    arguments = parser.parse_args(argv)
    chosen = {name: kind for name, kind in KINDS.items() if arguments.only in name}
    if not chosen:
        parser.error(f"--only is {arguments.only!r}; allowed are words of: {', '.join(KINDS)}")
    times = {name: short if arguments.short else full for name, (_, full, short) in chosen.items()}
    wanted = {name: count for name, count in times.items() if count}
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="fedbandit-chaos-") as folder, ThreadPoolExecutor(AT_ONCE) as pool:
        _tell("first what nobody disturbs, to compare with")
        undisturbed(Path(folder)), prepared(Path(folder))
        kinds = {
            pool.submit(_inject, chosen[name][0], count, Random(f"{arguments.seed} {name}"), Path(folder)): name
            for name, count in wanted.items()
        }
        for done, future in enumerate(as_completed(kinds), 1):
            seconds = time.monotonic() - begun
            left = f"about {seconds / done * (len(kinds) - done):,.0f} s left"
            _tell(f"{done} of {len(kinds)}, {seconds:,.0f} s, {left}: {kinds[future]}, {future.result().said}")
        tallies = [future.result() for future in kinds]
    print(table(tallies))
    print(f"seed {arguments.seed}, {time.monotonic() - begun:,.0f} s, of CPU time {_cpu_seconds():,.0f} s")
    missed = [each.fault for each, count in zip(tallies, wanted.values(), strict=True) if each.injected < count]
    for fault in missed:
        print(f"{fault}: not injected as often as planned")
    return 1 if missed or any(each.trouble for each in tallies) else 0


def _inject(kind: Kind, count: int, random: Random, folder: Path) -> Tally:
    begun = time.monotonic()
    try:
        tally = kind(count, random, folder)
    except Exception as error:
        tally = Tally(kind.__name__.replace("_", " "), trouble=[f"{type(error).__name__}: {error}"])
    finally:
        end_leftovers()
    tally.seconds = time.monotonic() - begun
    return tally


def _cpu_seconds() -> float:
    """Return what this process and those that it waited for have used."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def _tell(text: str) -> None:
    print(text, file=sys.__stderr__, flush=True)


if __name__ == "__main__":
    sys.exit(main())
