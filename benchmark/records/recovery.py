"""Recovery after a crash: stale RUNNING runs and the single-writer lock."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from benchmark.plan.experiment import ExperimentInfo
from benchmark.records.processes import process_is_alive, this_process
from benchmark.records.store import Store
from benchmark.records.tracking import StoreError, patiently, sqlite_file, store_lock

if TYPE_CHECKING:
    from mlflow.entities import Run as MlflowRun

MAX_RECORDING_SECONDS = 900.0
"""Seconds after which a run from another machine that is not completely written counts as abandoned."""


@contextmanager
def single_writer_lock(store: Store) -> Iterator[None]:
    """Prevent a second sweep on the same SQLite file: both would execute the same runs."""
    file = sqlite_file(store.uri)
    if file is None:
        yield
        return
    from filelock import Timeout

    lock = store_lock(file)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except Timeout:
        raise StoreError(
            f"another sweep is writing to {file}; wait until it ends, or set MLFLOW_TRACKING_URI"
        ) from None
    except OSError as error:
        raise StoreError(
            f"{file} cannot be written ({error}); run from another directory, or set MLFLOW_TRACKING_URI"
        ) from None
    try:
        yield
    finally:
        lock.release()


def mark_dead_runs(store: Store, experiments: Sequence[ExperimentInfo]) -> int:
    """Mark runs and sweeps that a dead process left RUNNING as KILLED, and return the number of runs."""
    marked = 0
    for experiment in experiments:
        experiment_id = store.experiment_id(experiment)
        for kind in ("run", "sweep"):
            for run in store.search(experiment_id, "RUNNING", kind):
                if _is_dead(run, kind, is_only_writer=sqlite_file(store.uri) is not None):
                    mark_killed(store, run.info.run_id)
                    marked += kind == "run"
    return marked


def mark_strays(store: Store, experiment: ExperimentInfo) -> None:
    """Mark as KILLED the duplicates that this process left RUNNING on a server because a response was lost."""
    if sqlite_file(store.uri) is not None:
        return
    for kind in ("run", "sweep"):
        for run in store.search(store.experiment_id(experiment), "RUNNING", kind):
            if _is_from_this_process(run):
                mark_killed(
                    store, run.info.run_id, "a duplicate: the response of the server to the first request was lost"
                )


def mark_killed(store: Store, run_id: str, reason: str = "its process died before the run was finished") -> None:
    """Mark one run as KILLED and record the reason."""
    patiently(store.uri, lambda: store.client.set_tag(run_id, "fedbandit.note", reason))
    patiently(store.uri, lambda: store.client.set_terminated(run_id, "KILLED"))


def _is_from_this_process(run: "MlflowRun") -> bool:
    """Return whether this process created a run."""
    return {f"fedbandit.{name}": value for name, value in this_process().items()}.items() <= run.data.tags.items()


def _is_dead(run: "MlflowRun", kind: str, *, is_only_writer: bool) -> bool:
    tags = run.data.tags
    if is_only_writer and _is_from_this_process(run):
        return True  # an earlier sweep of this process, such as a notebook, could not finish its record
    if tags.get("fedbandit.host") == this_process()["host"]:
        return not process_is_alive(int(tags.get("fedbandit.pid", "0")), tags.get("fedbandit.process_started"))
    # For another machine there is only the clock: a sweep may take days, but writing a run does not.
    return kind == "run" and time.time() - run.info.start_time / 1000 > MAX_RECORDING_SECONDS + 86_400
