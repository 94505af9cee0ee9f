"""Recorded runs by filters, and their archive: MLflow's own mark for deleted runs, which can be undone."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from benchmark.records.data_identity import data_sets_of, fingerprints_prepared_now, split_by_data
from benchmark.records.reader import read
from benchmark.records.record import RunRecord
from benchmark.records.recovery import single_writer_lock
from benchmark.records.store import Store
from benchmark.records.tags import KIND, RECORD
from benchmark.records.tracking import StoreError, absolute_uri, patiently, sqlite_file
from data_pipelines.prepare.prepared import data_folder
from data_pipelines.support.secrets import without_user


@dataclass(frozen=True)
class Filters:
    """Which runs to select: names or patterns; None selects all."""

    experiment: str | None = None
    dataset: str | None = None
    method: str | None = None
    older_data: bool = False
    failed: bool = False


def select_runs(
    filters: Filters, *, archived: bool = False, store: Store | None = None, folder: Path | None = None
) -> list[RunRecord]:
    """Return the runs that match, archived or not; a run that is still running is never selected."""
    store = store or Store()
    records = _archived(store) if archived else list(read(store.uri))
    if filters.older_data:
        prepared = fingerprints_prepared_now(data_sets_of(records), folder or data_folder())
        records = split_by_data(records, prepared)[1]
    return [record for record in records if _matches(record, filters) and record.status != "RUNNING"]


def archive_runs(records: Sequence[RunRecord], store: Store | None = None) -> None:
    """Mark runs as deleted in MLflow; their files stay."""
    store = store or Store()
    for record in records:
        patiently(store.uri, lambda record=record: store.client.delete_run(record.run_id))  # type: ignore[misc]
    _update_pages(store, records)


def restore_runs(records: Sequence[RunRecord], store: Store | None = None) -> None:
    """Remove the mark again."""
    store = store or Store()
    for record in records:
        patiently(store.uri, lambda record=record: store.client.restore_run(record.run_id))  # type: ignore[misc]
    _update_pages(store, records)


def _update_pages(store: Store, records: Sequence[RunRecord]) -> None:
    """Recompute the means that MLflow's pages show; if a sweep is writing, it does so when it ends."""
    from benchmark.pages.update import update_pages

    try:
        with single_writer_lock(store):
            update_pages(store, {record.experiment for record in records})
    except StoreError:
        return


def gc_command(store: Store | None = None) -> str:
    """Return the command of MLflow that permanently removes archived runs and their files."""
    uri = (store or Store()).uri
    return f"mlflow gc --backend-store-uri {shlex.quote(without_user(absolute_uri(uri)))}"


def _matches(record: RunRecord, filters: Filters) -> bool:
    pairs = (
        (record.experiment, filters.experiment),
        (record.stream.name, filters.dataset),
        (record.method.name, filters.method),
    )
    is_named = all(pattern is None or fnmatchcase(name, pattern) for name, pattern in pairs)
    return is_named and (not filters.failed or record.status == "FAILED")


def _archived(store: Store) -> list[RunRecord]:
    """Return the archived runs, through MLflow's search."""
    file = sqlite_file(store.uri)
    if file is not None and not file.is_file():
        return []
    from mlflow.entities import ViewType

    records = []
    for name, experiment_id in store.experiment_ids().items():
        token: str | None = None
        while True:
            page = patiently(
                store.uri,
                lambda experiment_id=experiment_id, token=token: store.client.search_runs(  # type: ignore[misc]
                    [experiment_id], f"tags.`{KIND}` = 'run'", ViewType.DELETED_ONLY, 1000, page_token=token
                ),
            )
            for run in (run for run in page if RECORD in run.data.tags):
                about = {"run_id": run.info.run_id, "experiment": name, "status": run.info.status}
                records.append(RunRecord.from_mlflow(run.data.tags, run.data.metrics, **about))
            token = page.token
            if not token:
                break
    return records
