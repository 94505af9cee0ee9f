"""Stored runs: the results of an experiment, a tidy table as a file, and runs to archive."""

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

import pandas as pd

from benchmark.records.data_identity import (
    data_sets_of,
    describe_data,
    earlier_code_sentences,
    fingerprints_prepared_now,
    left_out_sentences,
    split_by_code,
    split_by_data,
)
from benchmark.records.reader import experiments_with_runs, read
from benchmark.records.record import RunRecord
from benchmark.records.store import Store, single_writer_lock
from benchmark.records.tags import KIND, RECORD
from benchmark.records.tracking import StoreError, absolute_uri, patiently, sqlite_file, tracking_uri
from benchmark.results.frames import latest_runs
from benchmark.results.results import Results, results_of
from data_pipelines.data_label import data_label
from data_pipelines.prepare.prepared import NotPreparedError, data_folder, read_manifest
from data_pipelines.support.messages import matching_names, unknown_name
from data_pipelines.support.secrets import without_user


def results(experiment: str, store: str | None = None, folder: Path | None = None) -> Results:
    """Return the finished runs of an experiment in the store.

    For each data set, only runs on the data that are prepared now; for each method, only runs by its latest code; runs
    on seeds that choose settings are left out. The notes of the results count all three.

    Args:
        experiment: its name.
        store: the address of the store; `MLFLOW_TRACKING_URI`, or `mlflow.db` in the working directory, by default.
        folder: the data folder.
    """
    uri = store or tracking_uri()
    records = [record for record in read(uri, [experiment]) if record.status == "FINISHED"]
    if not records:
        raise unknown_name("experiment with finished runs", experiment, experiments_with_runs(Store(uri)))
    records, notes = shown_records(records, folder)
    return results_of(records, notes=notes)


def shown_records(records: Iterable[RunRecord], folder: Path | None = None) -> tuple[list[RunRecord], list[str]]:
    """Return the finished records to show, the latest per configuration and seed, and sentences on the others."""
    finished = list(records)
    folder = data_folder() if folder is None else folder
    prepared = fingerprints_prepared_now(data_sets_of(finished), folder)
    on_data, others = split_by_data(finished, prepared)
    current, earlier = split_by_code(on_data)
    reported = [record for record in current if record.purpose == "report"]
    notes = [*_labels(reported, folder)]
    notes += left_out_sentences(((record.stream.name, describe_data(record), 1) for record in others), prepared)
    notes += earlier_code_sentences(earlier)
    if choosing := len(current) - len(reported):
        runs = "run" if choosing == 1 else "runs"
        notes.append(f"{choosing:,} {runs} on seeds that choose settings left out")
    return latest_runs(reported), notes


def _labels(records: Iterable[RunRecord], folder: Path) -> list[str]:
    """Return a sentence per data set that is generated or differs from the published one."""
    sources = {record.stream.name: record.stream.source for record in records if not record.stream.is_simulated}
    labels = {name: data_label(source, _manifest(folder / name, source)) for name, source in sorted(sources.items())}
    return [label.of(name) for name, label in labels.items() if label]


def _manifest(folder: Path, source: str) -> dict[str, object] | None:
    try:
        manifest = dict(read_manifest(folder))
    except NotPreparedError:
        return None
    return manifest if manifest["source"] == source else None


def exported(names: Sequence[str], per: str = "run", store: str | None = None) -> tuple[pd.DataFrame, list[str]]:
    """Return the table of some experiments, by default all, and sentences on runs that are left out."""
    uri = store or tracking_uri()
    experiments = experiments_named(names, sorted(experiments_with_runs(Store(uri))))
    records = [record for record in read(uri, experiments) if record.status == "FINISHED"]
    records, notes = shown_records(records)
    parts = []
    for experiment in experiments:
        part = Results(tuple(record for record in records if record.experiment == experiment))
        parts.append(part.frame if per == "run" else part.settings.assign(experiment=experiment))
    table = pd.concat([part for part in parts if len(part)], ignore_index=True) if any(map(len, parts)) else parts[0]
    return table[["experiment", *(name for name in table.columns if name != "experiment")]], notes


def experiments_named(names: Sequence[str], known: Sequence[str]) -> list[str]:
    """Return the experiments with runs that have these names or match these patterns; all without names."""
    if not known:
        raise ValueError("there are no finished runs yet; start with `fedbandit run`")
    return matching_names("experiment with finished runs", names, known)


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
    from benchmark.ui.pages import update_pages

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
