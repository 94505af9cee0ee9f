"""Which process is this, and is that one still alive?"""

import os
import platform

import psutil


def this_process() -> dict[str, str]:
    """Return what tells this process from every other, on any machine and at any time."""
    started = psutil.Process().create_time()
    return {"host": platform.node(), "pid": str(os.getpid()), "process_started": f"{started:.2f}"}


def process_is_alive(pid: int, started: str | None = None) -> bool:
    """Tell whether a process of this machine runs; with `started`, whether it is still the same one."""
    try:
        process = psutil.Process(pid)
        same = started is None or f"{process.create_time():.2f}" == started
        return same and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
