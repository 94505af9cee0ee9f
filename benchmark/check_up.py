"""The checks of `fedbandit doctor`: each looks at one thing and says what to do about it."""

import os
import platform
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

LEAST_DISK = 2 * 2**30
"""Bytes: the archives of all data sets, what is made of them, and a sweep of the paper."""

LEAST_MEMORY = 4 * 2**30


@dataclass(frozen=True)
class Finding:
    """What a check found: `state` is ok, look (works, but) or bad (will not work)."""

    state: str
    subject: str
    what: str
    advice: str = ""


def check_all(scheduler: str | None) -> Iterator[Finding]:
    """Carry out every check; one that breaks is a bad finding of its own."""
    checks: list[Callable[[], Iterator[Finding]]] = [_python, _machine, _kernels, _disk, _data, _store]
    for check in checks:
        try:
            yield from check()
        except (OSError, ValueError, ImportError) as error:
            yield Finding("bad", check.__name__.strip("_"), str(error).splitlines()[0])
    yield _cluster(scheduler)


def _python() -> Iterator[Finding]:
    yield Finding("ok", "python", f"{platform.python_version()}, {sys.executable}")
    names = ("fedbandit-bench", "numpy", "numba", "mlflow", "dask")
    yield Finding("ok", "packages", ", ".join(f"{name} {version(name)}" for name in names))


def _machine() -> Iterator[Finding]:
    import psutil

    from benchmark.carry_out_plan import usable_cores

    memory = psutil.virtual_memory().available
    what = f"{usable_cores()} cores, {memory / 2**30:.1f} GiB of memory free"
    if memory < LEAST_MEMORY:
        yield Finding("look", "machine", what, "the largest data set may not fit: use --jobs 1, or close something")
    else:
        yield Finding("ok", "machine", what)


def _kernels() -> Iterator[Finding]:
    from algorithms.jit import CACHE_FOLDER, OPTIONS

    if not OPTIONS["cache"]:
        advice = "kernels are compiled anew by every process (a minute and more): set NUMBA_CACHE_DIR to a folder"
        yield Finding("bad", "compiler cache", f"{CACHE_FOLDER} cannot be written", advice)
        return
    compiled = len(list(CACHE_FOLDER.rglob("*.nbc")))
    if compiled:
        yield Finding("ok", "compiler cache", f"{compiled} compiled kernels in {CACHE_FOLDER}")
    else:
        advice = "nothing to do: the first run compiles them, which takes a minute or two, once"
        yield Finding("look", "compiler cache", "no compiled kernels yet", advice)
    old = [folder for folder in CACHE_FOLDER.parent.glob("kernels-*") if folder != CACHE_FOLDER]
    if old:
        size = sum(file.stat().st_size for folder in old for file in folder.rglob("*") if file.is_file())
        what = f"{len(old)} of other versions, {size / 2**20:.0f} MiB"
        yield Finding(
            "look", "old kernels", what, f"remove all but {CACHE_FOLDER.name} in {CACHE_FOLDER.parent}, if you like"
        )


def _disk() -> Iterator[Finding]:
    from data_pipelines.prepared import data_folder

    for subject, folder in {"disk, here": Path.cwd(), "disk, data": data_folder()}.items():
        while not folder.exists():
            folder = folder.absolute().parent
        free = shutil.disk_usage(folder).free
        what = f"{free / 2**30:.1f} GiB free at {folder.absolute()}"
        if not os.access(folder, os.W_OK):
            yield Finding("bad", subject, f"{folder.absolute()} cannot be written", "change to another folder")
        elif free < LEAST_DISK:
            yield Finding("bad", subject, what, f"all data and a full sweep take {LEAST_DISK / 2**30:.0f} GiB")
        else:
            yield Finding("ok", subject, what)


def _data() -> Iterator[Finding]:
    from data_pipelines.prepared import data_set_states

    for name, state in data_set_states().items():
        if not state.startswith("ready"):
            advice = f"fedbandit data {name} --mirror DIR_OR_URL if you have a copy, or --stand-in for generated data"
            yield Finding("look", f"data, {name}", state, advice)
        elif "stand-in" in state:
            yield Finding("look", f"data, {name}", state, "generated data: no result on it is a finding")
        else:
            yield Finding("ok", f"data, {name}", state)


def _store() -> Iterator[Finding]:
    from benchmark.finished import experiments_with_runs, something_is_running
    from benchmark.store import Store
    from benchmark.tracking import sqlite_file
    from data_pipelines.secrets import without_user

    store = Store()
    shown = without_user(store.uri)
    file = sqlite_file(store.uri)
    if file is not None and not file.is_file():
        yield Finding("ok", "store", f"{shown}: none yet, the first `fedbandit run` makes it")
        return
    finished = experiments_with_runs(store)
    what = f"{shown}: {sum(finished.values()):,} finished runs in {len(finished)} experiments"
    if something_is_running(store, store.experiment_names() if file is None else [*finished]):
        advice = "a sweep is at work, or was killed: `fedbandit run` sees to what was left behind"
        yield Finding("look", "store", f"{what}, and some marked as running", advice)
    else:
        yield Finding("ok", "store", what)


def _cluster(scheduler: str | None) -> Finding:
    if scheduler is None:
        return Finding("ok", "cluster", "none asked for; `fedbandit doctor --scheduler ADDRESS` looks at one")
    from benchmark.dask_executor import DaskExecutor

    try:
        executor = DaskExecutor(scheduler)
    except OSError as error:
        return Finding("bad", "cluster", str(error), "README, `A cluster`, tells how to start one")
    try:
        return Finding("ok", "cluster", f"{scheduler}: {executor.threads} threads")
    finally:
        executor.close()
