"""The results of an experiment in the store, by the same rules as in reports."""

from collections.abc import Iterable
from pathlib import Path

from benchmark.answers.results import Results, results_of
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
from benchmark.records.store import Store
from benchmark.records.tracking import tracking_uri
from data_pipelines.data_label import data_label
from data_pipelines.prepare.prepared import NotPreparedError, data_folder, read_manifest
from data_pipelines.support.messages import unknown_name


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
    latest = {
        (each.experiment, each.stream.name, each.stream.source, each.method.name, each.configuration, each.seed): each
        for each in reported
    }
    return list(latest.values()), notes


def _labels(records: Iterable[RunRecord], folder: Path) -> list[str]:
    """Return a sentence per data set that is generated or differs from the published one."""
    sources = {record.stream.name: record.stream.source for record in records if not record.stream.is_simulated}
    labels = {
        name: data_label(name, source, _manifest(folder / name, source)) for name, source in sorted(sources.items())
    }
    return [f"{name}: {label}" for name, label in labels.items() if label]


def _manifest(folder: Path, source: str) -> dict[str, object] | None:
    try:
        manifest = dict(read_manifest(folder))
    except NotPreparedError:
        return None
    return manifest if manifest["source"] == source else None
