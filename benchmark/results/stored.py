"""Stored runs: the results of an experiment, a tidy table as a file, and runs to archive."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import date, datetime
from fnmatch import fnmatchcase
from functools import partial
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
    split_by_metric_code,
)
from benchmark.records.reader import experiments_with_runs, read
from benchmark.records.record import RunRecord
from benchmark.records.store import Store
from benchmark.records.tags import RECORD
from benchmark.records.tracking import (
    StoreError,
    patiently,
    single_writer_lock,
    sqlite_file,
    tracking_uri,
)
from benchmark.results.frames import latest_runs
from benchmark.results.results import Results
from data_pipelines.data_label import data_label
from data_pipelines.prepare.prepared import NotPreparedError, data_folder, read_manifest
from data_pipelines.support.messages import matching_names, unknown_name


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
    return Results(tuple(records), notes=tuple(notes))


def shown_records(records: Iterable[RunRecord], folder: Path | None = None) -> tuple[list[RunRecord], list[str]]:
    """Return the finished records to show, the latest per configuration and seed, and sentences on the others."""
    finished = list(records)
    folder = data_folder() if folder is None else folder
    prepared = fingerprints_prepared_now(data_sets_of(finished), folder)
    on_data, others = split_by_data(finished, prepared)
    current, earlier = split_by_code(on_data)
    reported, _, lacking = split_by_metric_code(record for record in current if record.purpose == "report")
    notes = [*_labels(reported, folder)]
    notes += left_out_sentences(((record.stream.name, describe_data(record), 1) for record in others), prepared)
    notes += [*earlier_code_sentences(earlier), *lacking.values()]
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
    known = sorted(experiments_with_runs(Store(uri)))
    if not known:
        raise ValueError("there are no finished runs yet; start with `fedbandit run`")
    experiments = matching_names("experiment with finished runs", names, known)
    records = [record for record in read(uri, experiments) if record.status == "FINISHED"]
    records, notes = shown_records(records)
    parts = []
    for experiment in experiments:
        part = Results(tuple(record for record in records if record.experiment == experiment))
        parts.append(part.frame if per == "run" else part.settings.assign(experiment=experiment))
    table = pd.concat([part for part in parts if len(part)], ignore_index=True) if any(map(len, parts)) else parts[0]
    return table[["experiment", *(name for name in table.columns if name != "experiment")]], notes


def select_runs(
    experiment: str = "*",
    dataset: str = "*",
    method: str = "*",
    *,
    older_data: bool = False,
    failed: bool = False,
    before: date | None = None,
    archived: bool = False,
) -> list[RunRecord]:
    """Return the runs that match names or patterns, and ended before a day; one that is running is never selected."""
    store = Store()
    records = _archived(store) if archived else list(read(store.uri))
    if older_data:
        prepared = fingerprints_prepared_now(data_sets_of(records), data_folder())
        records = split_by_data(records, prepared)[1]
    return [
        record
        for record in records
        if fnmatchcase(record.experiment, experiment)
        and fnmatchcase(record.stream.name, dataset)
        and fnmatchcase(record.method.name, method)
        and record.status in (("FAILED",) if failed else ("FINISHED", "FAILED", "KILLED"))
        and (before is None or datetime.fromtimestamp(record.ended / 1000).date() < before)
    ]


def archive_runs(records: Sequence[RunRecord], *, restore: bool = False) -> None:
    """Mark runs as deleted in MLflow, or remove the mark again; their files stay.

    The means that MLflow's pages show are computed again; if a sweep is writing, it does so when it ends.
    """
    from benchmark.ui.pages import update_pages

    store = Store()
    mark = store.client.restore_run if restore else store.client.delete_run
    for record in records:
        patiently(store.uri, partial(mark, record.run_id))
    with suppress(StoreError), single_writer_lock(store.uri):
        update_pages(store, {record.experiment for record in records})


def _archived(store: Store) -> list[RunRecord]:
    """Return the archived runs, through MLflow's search."""
    file = sqlite_file(store.uri)
    if file is not None and not file.is_file():
        return []
    from mlflow.entities import ViewType

    records = []
    for name, experiment_id in store.experiment_ids().items():
        for run in store.search(experiment_id, None, "run", ViewType.DELETED_ONLY):
            info = run.info
            about = {"run_id": info.run_id, "experiment": name, "status": info.status}
            about |= {"ended": int(info.end_time or info.start_time), "artifact_uri": info.artifact_uri}
            if RECORD in run.data.tags:
                records.append(RunRecord.from_mlflow(run.data.tags, run.data.metrics, **about))
    return records
