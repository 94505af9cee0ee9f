"""What a process leaves behind that was killed: runs marked RUNNING that nobody works on; and who may write."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from benchmark.experiment import Experiment
from benchmark.processes import process_is_alive, this_process
from benchmark.store import Store
from benchmark.tracking import StoreError, patiently, sqlite_file

if TYPE_CHECKING:
    from mlflow.entities import Run as MlflowRun

LONGEST_RECORD = 900.0
"""Seconds after which a run of another machine, still not completely written, is given up."""


@contextmanager
def only_writer(store: Store) -> Iterator[None]:
    """Keep a second sweep from the same SQLite file: both would do the same runs."""
    file = sqlite_file(store.uri)
    if file is None:
        yield
        return
    from filelock import FileLock, Timeout

    lock = FileLock(f"{file}.lock")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=0.5)
    except Timeout:
        raise StoreError(f"another sweep writes to {file}; wait for it, or set MLFLOW_TRACKING_URI") from None
    except OSError as error:
        raise StoreError(f"{file} cannot be written ({error}); choose another folder or MLFLOW_TRACKING_URI") from None
    try:
        yield
    finally:
        lock.release()


def mark_dead_runs(store: Store, experiments: Sequence[Experiment]) -> int:
    """Mark as KILLED what a dead process left RUNNING, and return how many single runs there were."""
    marked = 0
    for experiment in experiments:
        experiment_id = store.experiment_id(experiment)
        for kind in ("run", "sweep"):
            for run in store.search(experiment_id, "RUNNING", kind):
                if _is_dead(run, kind):
                    mark_killed(store, run.info.run_id)
                    marked += kind == "run"
    return marked


def mark_strays(store: Store, experiment: Experiment) -> None:
    """Mark as KILLED what this process left RUNNING on a server: made twice because an answer was lost."""
    if sqlite_file(store.uri) is not None:
        return
    ours = {f"fedbandit.{name}": value for name, value in this_process().items()}
    for kind in ("run", "sweep"):
        for run in store.search(store.experiment_id(experiment), "RUNNING", kind):
            if ours.items() <= run.data.tags.items():
                mark_killed(store, run.info.run_id, "made twice: an answer of the server was lost")


def mark_killed(store: Store, run_id: str, why: str = "left behind by a process that died") -> None:
    """Mark one run as KILLED, and say why."""
    patiently(store.uri, lambda: store.client.set_tag(run_id, "fedbandit.note", why))
    patiently(store.uri, lambda: store.client.set_terminated(run_id, "KILLED"))


def _is_dead(run: "MlflowRun", kind: str) -> bool:
    tags = run.data.tags
    if tags.get("fedbandit.host") == this_process()["host"]:
        return not process_is_alive(int(tags.get("fedbandit.pid", "0")), tags.get("fedbandit.process_started"))
    # Of another machine only the clock can tell; a sweep may take days, writing a run does not.
    return kind == "run" and time.time() - run.info.start_time / 1000 > LONGEST_RECORD + 86_400
