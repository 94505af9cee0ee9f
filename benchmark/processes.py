"""Which process is this, and is that one still alive?"""

import os
import platform
from pathlib import Path

import psutil


def this_process() -> dict[str, str]:
    """Return what tells this process from every other, on any machine and at any time."""
    return {"host": platform.node(), "pid": str(os.getpid()), "process_started": started(os.getpid())}


def process_is_alive(pid: int, started_then: str | None = None) -> bool:
    """Tell whether a process of this machine runs; with `started_then`, whether it is still the same one."""
    try:
        same = started_then is None or started(pid) == started_then
        return same and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except (psutil.NoSuchProcess, FileNotFoundError, ProcessLookupError):
        return False


def started(pid: int) -> str:
    """Return when a process started, in a way that does not change when somebody sets the clock.

    On Linux that is the boot and the ticks since then; the time of day that psutil makes of them moves with the clock.
    """
    stat = Path(f"/proc/{pid}/stat")
    if not Path("/proc/self/stat").exists():
        return f"{psutil.Process(pid).create_time():.2f}"
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    after_name = stat.read_text().rpartition(")")[2].split()
    return f"{boot} {after_name[19]}"
