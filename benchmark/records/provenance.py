"""Provenance: the code, machine and process that executed a run; the user, commit and command of a sweep."""

import getpass
import hashlib
import importlib.util
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import psutil

from benchmark.extras import installed_version
from benchmark.plan.run_key import ENGINE_VERSION
from benchmark.records.tags import COMMIT

HOST, PID, STARTED = "fedbandit.host", "fedbandit.pid", "fedbandit.process_started"


def process_tags() -> dict[str, str]:
    """Return the identity of this process, unique across machines and over time, as tags."""
    return {HOST: platform.node(), PID: str(os.getpid()), STARTED: started(os.getpid())}


def process_is_alive(pid: int, started_then: str | None = None) -> bool:
    """Return whether a process of this machine is running and, with `started_then`, is still the same process."""
    try:
        is_same = started_then is None or started(pid) == started_then
        return is_same and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except (psutil.NoSuchProcess, FileNotFoundError, ProcessLookupError):
        return False


def has_ended(tags: Mapping[str, str]) -> bool | None:
    """Return whether the process with these tags has ended; None if it is one of another machine."""
    if tags.get(HOST) != platform.node():
        return None
    return not process_is_alive(int(tags.get(PID, "0")), tags.get(STARTED))


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


OUR_PACKAGES = ("algorithms", "benchmark", "data_pipelines")
"""The packages that a run depends on, installed on every worker."""

VERSION = "fedbandit.version."
RECORDED = ("fedbandit-bench", "numpy", "numba", "scipy")
PROCESSOR = "fedbandit.processor"
ENGINE, SOURCE = "fedbandit.engine_version", "fedbandit.source_hash"
MUST_BE_EQUAL = {ENGINE: "engine version", SOURCE: "source hash"}

Result = TypeVar("Result")


@lru_cache(maxsize=1)
def provenance() -> dict[str, str]:
    """Return the versions, source hash and machine of this process, by tag.

    Computed once per process: later changes on disk do not affect the code already loaded.
    """
    return {
        **{f"{VERSION}{name}": installed_version(name) for name in RECORDED},
        f"{VERSION}mlflow": installed_version("mlflow-skinny"),  # part of MLflow, with the same version
        f"{VERSION}python": platform.python_version(),
        PROCESSOR: processor(),
        "fedbandit.machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        ENGINE: str(ENGINE_VERSION),
        SOURCE: source_hash(),
    }


def processor() -> str:
    """Return the model of the processor, on which the last bits of sums may depend."""
    file = Path("/proc/cpuinfo")
    lines = file.read_text(errors="replace").splitlines() if file.is_file() else []
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(models, "") or platform.processor() or platform.machine()


def difference(theirs: Mapping[str, str], ours: Mapping[str, str] | None = None) -> str:
    """Describe why results of other code must not be mixed with ours; empty if the code is the same."""
    ours = ours or provenance()
    return ", ".join(
        f"its {name} is {theirs.get(tag, 'unknown')[:16]}, expected {ours[tag][:16]}"
        for tag, name in MUST_BE_EQUAL.items()
        if theirs.get(tag) != ours[tag]
    )


class OtherCodeError(RuntimeError):
    """A worker has other code than the process that started the sweep."""


def with_same_code(expected: Mapping[str, str], function: Callable[..., Result], *arguments: Any) -> Result:
    """Call a function in a worker; raise an `OtherCodeError` if the worker has other code, or loads it during the call.

    Workers may start at any time, and load modules when they first need them: the files may be others by then.
    """
    _require_same_code(expected)
    result = function(*arguments)
    _require_same_code(expected)
    return result


def _require_same_code(expected: Mapping[str, str]) -> None:
    if why := difference({**provenance(), SOURCE: _loaded_source()}, expected):
        raise OtherCodeError(f"the worker has a different version of the code: {why}; run the same command again")


_source_hashes: dict[frozenset[str], str] = {}
"""The source hash whenever more of our modules were loaded."""


def _loaded_source() -> str:
    """Return the hash of the source files when this process loaded them; if they changed in between, a later one."""
    modules = frozenset(name for name in sys.modules if name.partition(".")[0] in OUR_PACKAGES)
    if modules not in _source_hashes:
        _source_hashes[modules] = source_hash()
    first, *later = _source_hashes.values()
    return next((other for other in later if other != first), first)


def source_hash() -> str:
    """Hash the source files of our packages as installed for this process."""
    digest = hashlib.sha256()
    for name in OUR_PACKAGES:
        spec = importlib.util.find_spec(name)
        for folder in map(Path, spec.submodule_search_locations or () if spec else ()):
            for file in sorted(file for file in folder.rglob("*.py") if file.is_file()):
                digest.update(f"{name}/{file.relative_to(folder).as_posix()}\0".encode())
                digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


@lru_cache(maxsize=1)
def sweep_tags() -> dict[str, str]:
    """Return the tags of every run of a sweep: the user, and the commit when this process first asked."""
    tags = {"mlflow.user": _user(), "mlflow.source.name": "fedbandit", "mlflow.source.type": "LOCAL"}
    if commit := git_commit():
        tags[COMMIT] = commit
    return tags


def git_commit() -> str:
    """Return the commit of this package's checkout, marked if files differ from it; empty if it is not a checkout."""
    folder = Path(__file__).parent
    try:
        _git(folder, "ls-files", "--error-unmatch", Path(__file__).name)  # fails in the checkout of another project
        commit = _git(folder, "rev-parse", "HEAD")
        return commit + ("-modified" if _git(folder, "status", "--porcelain", "--", "../..") else "")
    except (OSError, subprocess.SubprocessError):
        return ""


def _git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=5).stdout.strip()


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"
