"""Measured values beside their limits, and the time and memory of commands."""

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

MIB = 2**20 if sys.platform == "darwin" else 2**10
"""`ru_maxrss` per MiB."""


def within(label: str, value: float, limit: float, unit: str = "", *, least: bool = False, note: str = "") -> bool:
    """Print a value and its limit; return whether the value is within the limit."""
    is_met = value >= limit if least else value <= limit
    bound = f"at {'least' if least else 'most'} {limit:,.2f}"
    print(f"  {label:<64}{value:>9,.2f} {unit:<4}{bound}  {'ok' if is_met else 'MISSED'}{note}", flush=True)
    return is_met


@dataclass(frozen=True)
class Cost:
    """Wall and CPU seconds of a command, and the peak memory of its process in MiB."""

    seconds: float
    cpu: float
    peak_mib: float


def cost_of(command: Sequence[str], folder: Path | None = None, environment: Mapping[str, str] | None = None) -> Cost:
    """Run a command; `wait4` returns the time and memory of this process and of its finished children only."""
    start = time.perf_counter()
    process = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise subprocess.CalledProcessError(process.returncode, command)
    return Cost(time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / MIB)
