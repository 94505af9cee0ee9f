"""Process identity and liveness."""

import os
import platform
from pathlib import Path

import psutil


def this_process() -> dict[str, str]:
    """Return the identity of this process, unique across machines and over time."""
    return {"host": platform.node(), "pid": str(os.getpid()), "process_started": started(os.getpid())}


def process_is_alive(pid: int, started_then: str | None = None) -> bool:
    """Return whether a process of this machine is running and, with `started_then`, is still the same process."""
    try:
        is_same = started_then is None or started(pid) == started_then
        return is_same and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except (psutil.NoSuchProcess, FileNotFoundError, ProcessLookupError):
        return False


def started(pid: int) -> str:
    """Return when a process started, in a form that does not change when the system clock is set.

    On Linux this is the boot id and the ticks since boot; psutil's time of day is computed from them and would change
    with the clock.
    """
    stat = Path(f"/proc/{pid}/stat")
    if not Path("/proc/self/stat").exists():
        return f"{psutil.Process(pid).create_time():.2f}"
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    after_name = stat.read_text().rpartition(")")[2].split()
    return f"{boot} {after_name[19]}"
