"""The store of runs in MLflow. One process writes, and a run is complete before it counts as finished.

All is written through MLflow's client. After a crash, runs that a dead process left RUNNING are marked as KILLED.
"""

import json
import math
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmark.metrics import CURVE_SUFFIX, curves_to_show, own_metrics_to_json
from benchmark.plan.experiment import ExperimentInfo
from benchmark.plan.runs import Run
from benchmark.records.artifacts import ARTIFACTS, files_of, read_curves, thinned
from benchmark.records.provenance import has_ended, process_tags, provenance, sweep_tags
from benchmark.records.record import CHOICES, RunRecord, dataset_label, record_of, stream_name
from benchmark.records.sweep_plan import FILE, SweepPlan
from benchmark.records.tags import (
    COMMIT,
    ERROR,
    FINGERPRINT,
    KEY,
    KIND,
    OWN_METRICS,
    PARENT,
    PREPARED,
    PROFILE,
    RECORD,
    SOURCE,
    SWEEP,
)
from benchmark.records.tracking import Result, StoreError, make_client, patiently, sqlite_file, tracking_uri
from benchmark.styles import style
from data_pipelines.support.messages import storable
from data_pipelines.support.secrets import without_secrets, without_user

if TYPE_CHECKING:
    from mlflow.entities import Experiment as MlflowExperiment
    from mlflow.entities import Run as MlflowRun
    from mlflow.tracking import MlflowClient

    from benchmark.execution.own_metrics import PlannedMetric
    from benchmark.execution.run_result import RunResult

UNREMARKABLE = ("official", "imported", "simulated")
"""Sources of data that need no remark."""

MAX_TAG, MAX_PARAMETER, MAX_DETAILS = 4000, 6000, 1_000_000
"""Maximum numbers of characters stored for an error, a parameter and `error.txt`."""

PAGE = 1000
"""Runs or experiments per request."""


@dataclass(frozen=True)
class RunContent:
    """A run to be written.

    Args:
        experiment_id: the id of its MLflow experiment.
        name: a name for people.
        start_time: in milliseconds since the epoch, as `end_time`.
        end_time: the time of its metrics too.
        tags: by name, in the order in which pages show them.
        params: by name; those of a stored run never change.
        points: (metric, value, step) for each final value (step 0) and each point of a curve.
        dataset: the data set that it used: the fields of an MLflow `Dataset`.
        files: its artifacts.
        status: its final status.
        run_id: the id of a run that is replaced; empty for a new one.
        artifact_uri: where the files of a run that is replaced are.
        children: the ids of stored runs to be nested below it.
    """

    experiment_id: str
    name: str
    start_time: int
    end_time: int
    tags: Mapping[str, str]
    params: Mapping[str, str] = field(default_factory=dict)
    points: Sequence[tuple[str, float, int]] = ()
    dataset: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, bytes] = field(default_factory=dict)
    status: str = "FINISHED"
    run_id: str = ""
    artifact_uri: str = ""
    children: Sequence[str] = ()


class Store:
    """An MLflow store. Nothing is opened or created before it is needed."""

    def __init__(self, uri: str | None = None) -> None:
        self.uri = uri or tracking_uri()
        self._ids: dict[str, str] = {}
        self._was_reached = False

    @cached_property
    def client(self) -> "MlflowClient":
        """MLflow's client."""
        return make_client(self.uri)

    def call(self, function: Callable[..., Result], *arguments: Any, **options: Any) -> Result:
        """Call a function of MLflow: fail fast if the store was never reachable, otherwise retry."""
        haste = {} if self._was_reached else {"patience": 0.0}
        answer = patiently(self.uri, lambda: function(*arguments, **options), **haste)
        self._was_reached = True
        return answer

    def search(self, experiment_id: str, status: str | None, kind: str, view: int = 1) -> "list[MlflowRun]":
        """Return all runs of an experiment with this kind and status, by default any; `view` is MLflow's ViewType."""
        query = f"tags.`{KIND}` = '{kind}'" + (f" and attributes.status = '{status}'" if status else "")
        return self._all_pages(
            lambda token: self.client.search_runs([experiment_id], query, view, max_results=PAGE, page_token=token)
        )

    def find(self, name: str) -> "MlflowExperiment | None":
        """Return an MLflow experiment by name."""
        experiment: MlflowExperiment | None = self.call(lambda: self.client.get_experiment_by_name(name))
        return experiment

    def experiments(self, view: int = 1) -> "list[MlflowExperiment]":
        """Return all experiments, by default those that are not deleted; `view` is MLflow's ViewType."""
        return self._all_pages(lambda token: self.client.search_experiments(view, max_results=PAGE, page_token=token))

    def experiment_ids(self) -> dict[str, str]:
        """Return the ids of all experiments that are not deleted, by name."""
        return {experiment.name: str(experiment.experiment_id) for experiment in self.experiments()}

    def _all_pages(self, request: Callable[[str | None], Any]) -> list[Any]:
        """Return what all pages of a search have."""
        page = self.call(request, None)
        found = [*page]
        while page.token:
            page = self.call(request, page.token)
            found += page
        return found

    def experiment_id(self, experiment: ExperimentInfo) -> str:
        """Return the id of an MLflow experiment, which is created if it does not exist."""
        if experiment.name not in self._ids:
            found = self.find(experiment.name) or self._create(experiment)
            if found.lifecycle_stage != "active":
                raise ValueError(
                    f"the MLflow experiment {experiment.name} was deleted; to restore it, run "
                    f"mlflow experiments restore --experiment-id {found.experiment_id}"
                )
            self._ids[experiment.name] = found.experiment_id
        return self._ids[experiment.name]

    def _create(self, experiment: ExperimentInfo) -> Any:
        file = sqlite_file(self.uri)
        location = None if file is None else (file.parent / ARTIFACTS / experiment.name).as_uri()
        tags = {
            "mlflow.note.content": f"{experiment.title}. {experiment.description}".strip(),
            "mlflow.experimentKind": "custom_model_development",
            KIND: "experiment",
        }
        try:
            self.call(self.client.create_experiment, experiment.name, location, storable_texts(tags))
        except StoreError:  # another process created it, or only the response to our request was lost
            if self.find(experiment.name) is None:
                raise
        return self.find(experiment.name)

    def begin_sweep(self, experiment: ExperimentInfo, profile: str, runs: int, plan: SweepPlan | None = None) -> str:
        """Create the parent run of a sweep, with its plan as a file, and return its id."""
        tags = {
            **sweep_tags(),
            **process_tags(),
            **provenance(),
            **experiment.tags,
            KIND: "sweep",
            PROFILE: profile,
            "fedbandit.command": without_secrets(" ".join([Path(sys.argv[0]).name, *sys.argv[1:]])),
            "mlflow.note.content": f"{experiment.title}. {experiment.description}",
        }
        about = {"tags": storable_texts(tags), "run_name": f"sweep {profile}, {runs} runs"}
        run: MlflowRun = self.call(self.client.create_run, self.experiment_id(experiment), **about)
        if plan is not None:
            self.call(self.client.log_text, run.info.run_id, plan.to_json(), FILE)
        return str(run.info.run_id)

    def end_sweep(self, parent: str, status: str, counts: Mapping[str, float]) -> None:
        """Record the run counts of a sweep and set its final status."""
        for name, value in counts.items():
            self.call(self.client.log_metric, parent, name, value)
        self.call(self.client.set_terminated, parent, status)

    def known_link(self) -> str:
        """Return the address of the overview on a team's server; a database has none until it is served.

        Empty if this process wrote nothing to it: looking up its id would take longer than everything else.
        """
        from benchmark.ui.pages import OVERVIEW

        if OVERVIEW not in self._ids or not self.uri.startswith(("http://", "https://")):
            return ""
        from benchmark.ui.chart_views import chart_link

        return chart_link(without_user(self.uri), self._ids[OVERVIEW], mode="TABLE")

    def record(self, parent: str, experiment: ExperimentInfo, run: Run, outcome: "RunResult") -> RunRecord:
        """Write one finished or failed run, which is complete before it counts; return its record, as it is read."""
        commit = {name: text for name, text in sweep_tags().items() if name == COMMIT}
        record = record_of(run, outcome, {**(outcome.provenance or provenance()), **commit, **experiment.tags})
        texts, record_tag = record.to_mlflow()
        files = outcome.files or {"error.txt": stored_error(outcome.details, MAX_DETAILS).encode()}
        if record_tag.get(RECORD) != (whole := record.to_json()):
            files = {**files, "record.json": whole.encode()}
        points = [(name, value, 0) for name, value in outcome.metrics.items()]
        shown = curves_to_show(outcome.curves)
        points += [(name, value, t) for name in shown for t, value in thinned(outcome.curves[name])]
        content = RunContent(
            experiment_id=self.experiment_id(experiment),
            name=storable(run.name),
            start_time=int(outcome.started * 1000),
            end_time=int(outcome.ended * 1000),
            tags=self._run_tags(parent, experiment, run, outcome, record) | storable_texts(record_tag),
            params={name: text[:MAX_PARAMETER] for name, text in storable_texts(texts).items()},
            points=points,
            dataset=dataset_of(run),
            files=files,
            status="FAILED" if outcome.error else "FINISHED",
        )
        run_id, artifact_uri = self.write(content)
        return RunRecord.from_mlflow(
            content.tags,
            {name: float(value) for name, value in outcome.metrics.items() if not math.isnan(value)},
            run_id=run_id,
            experiment=run.experiment,
            status=content.status,
            ended=content.end_time,
            artifact_uri=artifact_uri,
            name=content.name,
        )

    def write(self, run: RunContent) -> tuple[str, str]:
        """Write a run, its status last, so that a partially written run never counts; return its id and artifact URI.

        A run with an id is replaced; its tags are the last of it that changes.
        """
        from mlflow.entities import Dataset, DatasetInput, InputTag, Metric, Param, RunTag
        from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository

        client, run_id, artifact_uri = self.client, run.run_id, run.artifact_uri
        params: list[Param] = []
        tags = [RunTag(name, text) for name, text in run.tags.items()]
        if not run_id:
            about = {"start_time": run.start_time, "tags": dict(run.tags), "run_name": run.name}
            info = self.call(client.create_run, run.experiment_id, **about).info
            run_id, artifact_uri = str(info.run_id), str(info.artifact_uri)
            params, tags = [Param(name, text) for name, text in run.params.items()], []
        with tempfile.TemporaryDirectory() as folder:
            for name, content in run.files.items():
                (Path(folder) / name).write_bytes(content)
            if run.files:  # not `client.log_artifacts`, which would first request the run to find its folder
                repository: Any = get_artifact_repository(artifact_uri, tracking_uri=self.uri)
                self.call(repository.log_artifacts, folder)
        if run.dataset:
            used = DatasetInput(Dataset(**run.dataset), [InputTag("mlflow.data.context", "replay")])
            self.call(client.log_inputs, run_id, [used])
        for child in run.children:
            self.call(client.set_tag, child, PARENT, run_id)
        metrics = [Metric(name, value, run.end_time, step) for name, value, step in run.points]
        self.call(client.log_batch, run_id, metrics=metrics, params=params, tags=tags)
        if run.run_id:
            self.call(client.update_run, run_id, name=run.name)
        self.call(client.set_terminated, run_id, run.status, run.end_time)
        return run_id, artifact_uri

    def add_metric(self, run: RunRecord, planned: "PlannedMetric", value: float) -> RunRecord:
        """Add the value of a metric of the user to a finished run, and then that the run has been measured by it.

        A later value counts: MLflow compares times.
        """
        from mlflow.entities import Metric, RunTag

        own = {**run.own_metrics, planned.name: planned.own}
        now, tag = int(time.time() * 1000), RunTag(OWN_METRICS, own_metrics_to_json(own))
        value = value if math.isfinite(value) else math.nan
        self.call(self.client.log_batch, run.run_id, metrics=[Metric(planned.name, value, now, 0)], tags=[tag])
        return replace(run, own_metrics=own, metrics={**run.metrics, planned.name: value})

    def outcome_of(self, run_id: str) -> "RunResult | None":
        """Read back a finished run, to record it in another experiment; None if its files are missing."""
        from benchmark.execution.run_result import RunResult  # it imports Numba, which readers do not need

        run = self.call(self.client.get_run, run_id)
        record = RunRecord.from_mlflow(
            run.data.tags, {}, run_id=run_id, experiment="", artifact_uri=run.info.artifact_uri
        )
        artifacts = self.call(self.client.list_artifacts, run_id)
        if not {*files_of(record.seed)} <= {artifact.path for artifact in artifacts if artifact.file_size != 0}:
            return None
        with tempfile.TemporaryDirectory() as folder:
            self.call(self.client.download_artifacts, run_id, "", folder)
            files = {path.name: path.read_bytes() for path in Path(folder).rglob("*.parquet")}
        curves = read_curves(self, record.stream.source, "", run_id, run.info.artifact_uri)
        return RunResult(
            run.info.start_time / 1000,
            run.info.end_time / 1000,
            run.data.tags.get("fedbandit.ran_on", ""),
            {name: value for name, value in run.data.metrics.items() if not name.endswith(CURVE_SUFFIX)},
            {name: [*points] for name, points in curves.items()},
            files,
            {**run.data.params, CHOICES: record.choices},
            provenance={name: record.provenance[name] for name in provenance() if name in record.provenance},
            own_metrics=record.own_metrics,
        )

    def _run_tags(
        self, parent: str, experiment: ExperimentInfo, run: Run, outcome: "RunResult", record: RunRecord
    ) -> dict[str, str]:
        """Return the tags of a run, those for people first; its versions and machine are in its record."""
        stream = record.stream
        source = "" if stream.source in UNREMARKABLE else f" ({stream.source} data)"
        tags = {
            "Method": record.method.info.label,
            "Setting": run.front_text or "–",
            "Data": f"{dataset_label(stream_name(stream))}{source}",
            "Seed": str(run.seed),
            "mlflow.note.content": f"{run.name} on {run.stream.name} ({run.stream.source} data). {experiment.title}.",
            "mlflow.runColor": style(run.info.style).colour,
            PARENT: parent,
            **sweep_tags(),
            **process_tags(),
            **experiment.tags,
            SWEEP: parent,
            KEY: run.key,
            KIND: "run",
            SOURCE: stream.source,
            FINGERPRINT: run.fingerprint,
            "fedbandit.ran_on": outcome.host,
        }
        if stream.prepared:
            tags[PREPARED] = stream.prepared
        if outcome.error:
            tags[ERROR] = stored_error(outcome.error, MAX_TAG)
        return storable_texts(tags)


def storable_texts(texts: Mapping[str, str]) -> dict[str, str]:
    """Return tags or parameters with values that every database can store."""
    return {name: storable(text) for name, text in texts.items()}


def stored_error(text: str, max_length: int) -> str:
    """Shorten the text of an error. Secrets are removed first: half of one would not be recognised."""
    text = storable(without_secrets(text))
    if len(text) <= max_length:
        return text
    half = max_length // 2
    return f"{text[:half]}\n… {len(text) - 2 * half:,} characters omitted …\n{text[-half:]}"


def dataset_of(run: Run) -> dict[str, str]:
    """Return the stream as an MLflow dataset: name, fingerprint, source and options."""
    source = {"source": run.stream.source, "origin": run.stream.origin}
    profile = {"fingerprint": run.fingerprint, "seed": run.seed, **run.stream.settings()}
    return {
        "name": storable(run.stream.name),
        "digest": run.fingerprint[:32],
        "source_type": f"fedbandit-{run.stream.source}",
        "source": json.dumps(source),  # escapes characters that cannot be stored
        "profile": json.dumps(profile),
    }


MAX_RECORDING_SECONDS = 900.0
"""Seconds after which a run from another machine that is not completely written counts as abandoned."""


def mark_dead_runs(store: Store, experiments: Sequence[ExperimentInfo]) -> int:
    """Mark runs and sweeps that a dead process left RUNNING as KILLED, and return the number of runs."""
    dead = [
        run
        for experiment in experiments
        for run in _running(store, experiment)
        if _is_dead(run, is_only_writer=sqlite_file(store.uri) is not None)
    ]
    for run in dead:
        _mark_killed(store, run, "its process died before the run was finished")
    return sum(run.data.tags[KIND] == "run" for run in dead)


def mark_strays(store: Store, experiment: ExperimentInfo) -> None:
    """Mark as KILLED the duplicates that this process left RUNNING on a server because a response was lost."""
    if sqlite_file(store.uri) is not None:
        return
    for run in _running(store, experiment):
        if process_tags().items() <= run.data.tags.items():
            _mark_killed(store, run, "a duplicate: the response of the server to the first request was lost")


def _running(store: Store, experiment: ExperimentInfo) -> "list[MlflowRun]":
    experiment_id = store.experiment_id(experiment)
    return [run for kind in ("run", "sweep") for run in store.search(experiment_id, "RUNNING", kind)]


def _mark_killed(store: Store, run: "MlflowRun", reason: str) -> None:
    store.call(store.client.set_tag, run.info.run_id, "fedbandit.note", reason)
    store.call(store.client.set_terminated, run.info.run_id, "KILLED")


def _is_dead(run: "MlflowRun", *, is_only_writer: bool) -> bool:
    tags = run.data.tags
    if is_only_writer and process_tags().items() <= tags.items():
        return True  # an earlier sweep of this process, such as a notebook, could not finish its record
    if (is_dead := has_ended(tags)) is not None:
        return is_dead
    # For another machine there is only the clock: a sweep may take days, but writing a run does not.
    return tags[KIND] == "run" and time.time() - run.info.start_time / 1000 > MAX_RECORDING_SECONDS + 86_400
