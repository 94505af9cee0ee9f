"""Permanent deletion of runs and their files, through MLflow's client.

A run is first marked as deleted, then its files are removed, then the run. So a deletion that was interrupted is
continued by asking for the same again. MLflow's command `gc` also removes what the user did not name: every experiment
that is marked as deleted.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from fnmatch import fnmatchcase
from typing import Any

from benchmark.plan.experiment import ExperimentInfo
from benchmark.records.artifacts import local_folder, local_folders
from benchmark.records.reader import AGGREGATES, read_aggregates, something_is_running
from benchmark.records.record import RunRecord
from benchmark.records.size import bytes_in
from benchmark.records.store import Store, mark_dead_runs
from benchmark.records.tags import AGGREGATE, KIND
from benchmark.records.tracking import StoreError, single_writer_lock, sqlite_file
from benchmark.ui.pages import OVERVIEW, update_pages

SECONDS_TO_COMPACT = 2.0


@contextmanager
def no_sweep(store: Store, pattern: str) -> Iterator[None]:
    """Prevent sweeps while the block runs; one that is writing to experiments of this pattern is an error of one line.

    Runs that a dead process left unfinished are marked as such, and can then be deleted.
    """
    with single_writer_lock(store.uri):
        names = [name for name in store.experiment_ids() if fnmatchcase(name, pattern)]
        mark_dead_runs(store, [ExperimentInfo(name, name) for name in names])
        if something_is_running(store, names):
            raise StoreError("a sweep is writing to these experiments; wait until it ends")
        yield


def bytes_of_files(store: Store, runs: Iterable[RunRecord]) -> int:
    """Return the bytes of the files of some runs, as far as they are on this machine."""
    places = (local_folders(store.uri, run.experiment, run.run_id, run.artifact_uri) for run in runs)
    return bytes_in(folder for folders in places for folder in dict.fromkeys(folders))


def delete_runs(store: Store, active: Sequence[RunRecord], archived: Sequence[RunRecord]) -> Iterator[None]:
    """Delete runs and their files, and the means of settings that they leave without runs; see `no_sweep`.

    Yield after each of the runs.
    """
    from mlflow.entities import ViewType

    for run in active:
        store.call(store.client.delete_run, run.run_id)
    names = {run.experiment for run in (*active, *archived)}
    update_pages(store, names)
    for run in (*active, *archived):
        _remove(store, run.run_id, run.artifact_uri)
        yield
    for experiment_id in (number for name, number in store.experiment_ids().items() if name in names):
        for kind in AGGREGATES:
            for stale in store.search(experiment_id, None, kind, ViewType.DELETED_ONLY):
                _remove(store, stale.info.run_id, stale.info.artifact_uri)


def empty_experiments(store: Store, pattern: str) -> dict[str, str]:
    """Return the ids, by name, of this project's experiments of a pattern in which no run of a method is left.

    An experiment in which anything else is recorded, or in which runs are archived, is not empty.
    """
    from mlflow.entities import ViewType

    def is_empty(experiment_id: str) -> bool:
        search = store.client.search_runs
        runs = f"tags.`{KIND}` = 'run'"
        if store.call(search, [experiment_id], runs, run_view_type=ViewType.ALL, max_results=1):
            return False
        others = store.call(search, [experiment_id], run_view_type=ViewType.ALL)
        return all(KIND in run.data.tags for run in others)

    return {
        each.name: str(each.experiment_id)
        for each in store.experiments(ViewType.ALL)
        if each.tags.get(KIND) == "experiment" and each.name != OVERVIEW and fnmatchcase(each.name, pattern)
        if is_empty(each.experiment_id)
    }


def delete_experiments(store: Store, ids: Mapping[str, str]) -> None:
    """Delete experiments, given their ids by name, with all that is recorded there, and their lines in the overview."""
    from mlflow.entities import ViewType

    for line in read_aggregates(store, [OVERVIEW]):
        if line.tags[AGGREGATE] in ids:
            store.call(store.client.delete_run, line.run_id)
            _remove(store, line.run_id, line.artifact_uri)
    active = store.experiment_ids()
    for name, experiment_id in ids.items():
        if name in active:
            store.call(store.client.delete_experiment, experiment_id)
        for run in store.call(store.client.search_runs, [experiment_id], run_view_type=ViewType.ALL):
            _remove(store, run.info.run_id, run.info.artifact_uri)
        store.call(_database(store)._hard_delete_experiment, experiment_id)


def compact(store: Store) -> None:
    """Give the free pages of a SQLite file back to the disk; where another process reads it, they are used again."""
    file = sqlite_file(store.uri)
    if file is not None and file.is_file():
        with suppress(sqlite3.Error), closing(sqlite3.connect(file, timeout=SECONDS_TO_COMPACT)) as connection:
            connection.execute("vacuum").close()
            connection.execute("pragma wal_checkpoint(truncate)").close()


def _remove(store: Store, run_id: str, artifact_uri: str) -> None:
    """Remove a run that is marked as deleted: its files, then the run."""
    from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository

    repository: Any = get_artifact_repository(artifact_uri, tracking_uri=store.uri)
    store.call(repository.delete_artifacts)
    folder = local_folder(artifact_uri)
    if folder is not None:
        for parent in (folder.parent, folder.parent.parent):  # those of the run and of the experiment
            with suppress(OSError):
                parent.rmdir()
    store.call(_database(store)._hard_delete_run, run_id)


def _database(store: Store) -> Any:
    """Return the part of MLflow's client that can remove what is marked as deleted; a server has none."""
    return store.client._tracking_client.store
