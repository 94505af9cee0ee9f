"""The complete content of a run to be written, and writing it through MLflow's client."""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from benchmark.records.tags import PARENT
from benchmark.records.tracking import patiently

if TYPE_CHECKING:
    from mlflow.tracking import MlflowClient


@dataclass(frozen=True)
class DatasetContent:
    """The data set that a run used, as MLflow shows it; the texts are JSON."""

    name: str
    digest: str
    source_type: str
    source: str
    profile: str
    context: str = "replay"


@dataclass(frozen=True)
class RunContent:
    """A run to be written.

    Args:
        experiment_id: the id of its MLflow experiment.
        name: a name for people.
        status: its final status.
        start_time: in milliseconds since the epoch, as `end_time`.
        end_time: the time of its metrics too.
        tags: by name, in the order in which pages show them.
        params: by name; those of a stored run never change.
        points: (metric, value, step) for each final value (step 0) and each point of a curve.
        dataset: the data set that it used.
        files: its artifacts.
        run_id: the id of a run that is replaced; empty for a new one.
        artifact_uri: the folder of its files, if it is known.
        children: the ids of stored runs to be nested below it.
    """

    experiment_id: str
    name: str
    status: str
    start_time: int
    end_time: int
    tags: Mapping[str, str]
    params: Mapping[str, str] = field(default_factory=dict)
    points: Sequence[tuple[str, float, int]] = ()
    dataset: DatasetContent | None = None
    files: Mapping[str, bytes] = field(default_factory=dict)
    run_id: str = ""
    artifact_uri: str = ""
    children: Sequence[str] = ()


@dataclass(frozen=True)
class StoredAggregate:
    """A run in the store that summarises others.

    Args:
        run_id: its id.
        experiment: the name of its MLflow experiment.
        key: what it summarises.
        content: the hash of what it was made from.
        status: its status.
        artifact_uri: the folder of its files.
    """

    run_id: str
    experiment: str
    key: str
    content: str
    status: str
    artifact_uri: str


def write_through_client(client: "MlflowClient", uri: str, run: RunContent) -> str:
    """Write a run step by step, its status last, so that a partially written run never counts; return its id."""
    from mlflow.entities import Metric, Param, RunTag
    from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository

    metrics = [Metric(name, value, run.end_time, step) for name, value, step in run.points]
    if run.run_id:
        run_id, artifact_uri = run.run_id, run.artifact_uri
        tags = [RunTag(name, text) for name, text in run.tags.items()]
        patiently(uri, lambda: client.log_batch(run_id, metrics=metrics, tags=tags))
    else:
        created: Any = patiently(
            uri,
            lambda: client.create_run(
                run.experiment_id, start_time=run.start_time, tags=dict(run.tags), run_name=run.name
            ),
        )
        run_id, artifact_uri = str(created.info.run_id), str(created.info.artifact_uri)
        params = [Param(name, text) for name, text in run.params.items()]
        patiently(uri, lambda: client.log_batch(run_id, metrics=metrics, params=params))
    if run.dataset is not None:
        patiently(uri, lambda: client.log_inputs(run_id, [_dataset_input(run.dataset)]))
    with tempfile.TemporaryDirectory() as folder:
        for name, content in run.files.items():
            (Path(folder) / name).write_bytes(content)
        if run.files:
            # Not `client.log_artifacts`, which would first request the run to find its artifact folder.
            repository: Any = get_artifact_repository(artifact_uri, tracking_uri=uri)
            patiently(uri, lambda: repository.log_artifacts(folder))
    if run.run_id:
        patiently(uri, lambda: client.update_run(run_id, run.status, run.name))
    else:
        patiently(uri, lambda: client.set_terminated(run_id, run.status, run.end_time))
    for child in run.children:
        patiently(uri, lambda child=child: client.set_tag(child, PARENT, run_id))  # type: ignore[misc]
    return run_id


def write_files(run: RunContent) -> None:
    """Write the files of a run into its folder on this machine."""
    folder = local_folder(run.artifact_uri)
    if folder is None:
        raise ValueError(f"the artifacts of a run must be in a local folder, got {run.artifact_uri}")
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in run.files.items():
        (folder / name).write_bytes(content)


def local_folder(artifact_uri: str) -> Path | None:
    """Return the folder of artifacts on this machine; None if they are kept elsewhere."""
    address = urlsplit(artifact_uri)
    return Path(url2pathname(address.path)) if address.scheme in ("", "file") else None


def _dataset_input(dataset: DatasetContent | None) -> Any:
    from mlflow.entities import Dataset, DatasetInput, InputTag

    if dataset is None:
        raise ValueError("there is no data set")
    fields = {"source_type": dataset.source_type, "source": dataset.source, "profile": dataset.profile}
    return DatasetInput(
        Dataset(dataset.name, dataset.digest, **fields), [InputTag("mlflow.data.context", dataset.context)]
    )
