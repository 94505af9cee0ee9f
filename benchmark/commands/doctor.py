"""Check the installation, memory, disk, data, store and cluster; suggest fixes.

Examples:
  fedbandit doctor
  fedbandit doctor --scheduler tcp://10.0.0.1:8786

The exit code is 1 if a check finds a problem that prevents runs (FAIL).
"""

import argparse
import os
import platform
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmark.extras import installed_version
from data_pipelines.support.text import wrapped

ORDER = 14

MARKS = {"ok": "ok  ", "warn": "warn", "fail": "FAIL"}
SUBJECT_WIDTH = 16
MIN_DISK = 2 * 2**30
"""Bytes needed for the archives of all data sets, the prepared data and a sweep of the `paper` profile."""

MIN_MEMORY = 4 * 2**30
MAX_OLD_KERNELS = 2**30
"""Bytes of kernels of other versions that are not worth a word."""

CLUSTER_SECTION = "A Dask cluster"
"""The section of docs/cluster.md on starting a cluster."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("--scheduler", metavar="ADDRESS", help="address of a Dask scheduler to check")


def run(arguments: argparse.Namespace) -> int:
    """Print one line per check, with the advice below it."""
    exit_code = 0
    for check in check_all(arguments.scheduler):
        indent = " " * (SUBJECT_WIDTH + 6)
        print(wrapped(check.result, indent, f"{MARKS[check.state]}  {check.subject:<{SUBJECT_WIDTH}}"))
        if check.advice:
            print(wrapped(check.advice, f"{indent}   ", f"{indent}-> "))
        if check.state == "fail":
            exit_code = 1
    return exit_code


@dataclass(frozen=True)
class Check:
    """The result of a check; `state` is `ok`, `warn` (works, but needs attention) or `fail` (does not work)."""

    state: str
    subject: str
    result: str
    advice: str = ""


def check_all(scheduler: str | None) -> Iterator[Check]:
    """Run all checks; a check that raises an error counts as failed."""
    checks: list[Callable[[], Iterator[Check]]] = [_python, _machine, _kernels, _disk, _data, _store]
    for check in checks:
        try:
            yield from check()
        except (OSError, ValueError, ImportError) as error:
            yield Check("fail", check.__name__.strip("_"), str(error).splitlines()[0])
    if scheduler is not None:
        yield _cluster(scheduler)


def _python() -> Iterator[Check]:
    yield Check("ok", "python", f"{platform.python_version()}, {sys.executable}")
    names = ("fedbandit-bench", "numpy", "numba", "mlflow-skinny", "mlflow", "dask")
    yield Check("ok", "packages", ", ".join(f"{name} {installed_version(name)}" for name in names))


def _machine() -> Iterator[Check]:
    import psutil

    from benchmark.execution.local import usable_cores

    memory = psutil.virtual_memory().available
    state = "warn" if memory < MIN_MEMORY else "ok"
    advice = "" if state == "ok" else "the largest data set may not fit in memory; use --jobs 1"
    yield Check(state, "machine", f"{usable_cores()} cores, {memory / 2**30:.1f} GiB of memory free", advice)


def _kernels() -> Iterator[Check]:
    from algorithms.kernel_cache import CACHE_FOLDER
    from algorithms.numerics.jit import OPTIONS
    from benchmark.execution.compilation import built_in_kernels, compile_seconds, is_compiled, kernel_of

    if not OPTIONS["cache"]:
        advice = "every process recompiles the kernels (over a minute); set NUMBA_CACHE_DIR to a writable folder"
        yield Check("fail", "compiler cache", f"{CACHE_FOLDER} cannot be written", advice)
        return
    missing = [method for method in built_in_kernels() if not is_compiled(method)]
    if missing:
        result = f"not compiled yet: {', '.join(map(kernel_of, missing))}"
        seconds = sum(map(compile_seconds, missing))
        advice = f"no action needed: each method is compiled when it first runs (about {seconds} s in total)"
        yield Check("ok", "compiler cache", result, advice)
    else:
        yield Check("ok", "compiler cache", f"all methods are compiled in {CACHE_FOLDER}")
    old = [folder for folder in CACHE_FOLDER.parent.glob("kernels-*") if folder != CACHE_FOLDER]
    size = sum(file.stat().st_size for folder in old for file in folder.rglob("*") if file.is_file())
    if size > MAX_OLD_KERNELS:
        result = f"{len(old)} caches of other versions, {size / 2**20:.0f} MiB"
        where = f"{CACHE_FOLDER.parent} except {CACHE_FOLDER.name}"
        yield Check("warn", "old kernels", result, f"to free the space, delete all kernels-* folders in {where}")


def _disk() -> Iterator[Check]:
    from data_pipelines.prepare.prepared import data_folder

    for subject, folder in {"disk (results)": Path.cwd(), "disk (data)": data_folder()}.items():
        while not folder.exists():
            folder = folder.absolute().parent
        free = shutil.disk_usage(folder).free
        result = f"{free / 2**30:.1f} GiB free at {folder.absolute()}"
        if not os.access(folder, os.W_OK):
            yield Check("fail", subject, f"{folder.absolute()} cannot be written", "use another folder")
        elif free < MIN_DISK:
            advice = f"all data sets and a full sweep need about {MIN_DISK / 2**30:.0f} GiB of free space"
            yield Check("fail", subject, result, advice)
        else:
            yield Check("ok", subject, result)


def _data() -> Iterator[Check]:
    """Yield a line on the data sets that are prepared, and one for each problem: none if the user needs no data set."""
    from benchmark.plan.experiment import shipped_data_sets, shipped_fallbacks
    from data_pipelines.prepare.prepared import data_set_states

    states, shipped = data_set_states(), shipped_data_sets()
    real = [name for name, state in states.items() if state.source and state.source != "stand-in"]
    generated = [name for name, state in states.items() if state.source == "stand-in"]
    replaced = {name for name, other in shipped_fallbacks().items() if other in real}
    needed = {*shipped} - replaced if any(name in shipped for name in (*real, *generated)) else set()
    if not real and not generated:
        yield Check("ok", "data sets", "none is prepared", "for the shipped experiments, run `fedbandit data`")
    if real:
        yield Check("ok", "data sets", f"prepared: {', '.join(real)}")
    if generated:
        advice = "generated, no valid results; for real data, run `fedbandit data --mirror DIR_OR_URL`"
        yield Check("warn", "stand-in data", ", ".join(generated), advice)
    damaged = {name: state for name, state in states.items() if not state.source and not state.is_absent}
    for name, state in damaged.items():
        yield Check("warn", "data sets", state.text, f"run `fedbandit data {name}`")
    if missing := [name for name in states if name in needed and states[name].is_absent]:
        yield Check("warn", "data sets", f"not prepared: {', '.join(missing)}", f"run `fedbandit data {missing[0]}`")


def _store() -> Iterator[Check]:
    from benchmark.records.reader import experiments_with_runs, something_is_running
    from benchmark.records.store import Store
    from benchmark.records.tracking import sqlite_file
    from data_pipelines.support.secrets import without_user

    store = Store()
    address = without_user(store.uri)
    file = sqlite_file(store.uri)
    if file is not None and not file.is_file():
        yield Check("ok", "store", f"{address}: does not exist yet; the first `fedbandit run` creates it")
        return
    finished = experiments_with_runs(store)
    result = f"{address}: {sum(finished.values()):,} finished runs in {len(finished)} experiments"
    if something_is_running(store):
        advice = "a sweep is running or was killed; the next `fedbandit run` marks dead runs as KILLED"
        yield Check("warn", "store", f"{result}, and some marked as RUNNING", advice)
    else:
        yield Check("ok", "store", result)


def _cluster(scheduler: str) -> Check:
    from benchmark.execution.dask_cluster import DaskExecutor

    try:
        with DaskExecutor(scheduler) as executor:
            return Check("ok", "cluster", f"{scheduler}: {executor.threads} threads")
    except OSError as error:
        advice = f"to start a cluster, see the section {CLUSTER_SECTION!r} of docs/cluster.md"
        return Check("fail", "cluster", str(error), advice)
