"""The store of runs in MLflow. One process writes, and a run is complete before it counts as finished."""

import json
import tempfile
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmark.execution.run_result import RunResult
from benchmark.metrics import curve_names
from benchmark.plan.experiment import Experiment
from benchmark.plan.plan import Run
from benchmark.records.processes import this_process
from benchmark.records.provenance import command_line, provenance, sweep_tags
from benchmark.records.record import COMMIT, record_of
from benchmark.records.sqlite import write_first_batch
from benchmark.records.tags import ERROR, FINGERPRINT, KEY, KIND, PREPARED, PROFILE, RECORD, SOURCE
from benchmark.records.tracking import Result, make_client, once, patiently, sqlite_file, tracking_uri
from benchmark.styles import run_colour
from data_pipelines.support.messages import storable
from data_pipelines.support.secrets import without_secrets, without_user

if TYPE_CHECKING:
    from mlflow.entities import Experiment as MlflowExperiment
    from mlflow.entities import Metric, Param
    from mlflow.entities import Run as MlflowRun
    from mlflow.tracking import MlflowClient

ARTIFACTS = "mlartifacts"
FILES = ("curve.parquet", "clients.parquet")
"""The files of a finished run."""
MAX_TAG, MAX_PARAMETER, MAX_DETAILS = 4000, 6000, 1_000_000
"""Maximum numbers of characters stored for an error, a parameter and `error.txt`."""


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

    @cached_property
    def _tags(self) -> dict[str, str]:
        process = {f"fedbandit.{name}": value for name, value in this_process().items()}
        return {**sweep_tags(), **process}

    def search(self, experiment_id: str, status: str | None, kind: str) -> "list[MlflowRun]":
        """Return all runs of an experiment with this kind and status, by default any."""
        query = f"tags.`{KIND}` = '{kind}'" + (f" and attributes.status = '{status}'" if status else "")
        runs: list[MlflowRun] = []
        token: str | None = None
        while True:
            page: Any = self._ask(
                lambda token=token: self.client.search_runs(  # type: ignore[misc]
                    [experiment_id], query, max_results=1000, page_token=token
                )
            )
            runs += page
            token = page.token
            if not token:
                return runs

    def experiment_id(self, experiment: Experiment) -> str:
        """Return the id of an MLflow experiment, which is created if it does not exist."""
        if experiment.name not in self._ids:
            existing = self.find(experiment.name)
            if existing is not None and existing.lifecycle_stage != "active":
                raise ValueError(
                    f"the MLflow experiment {experiment.name} was deleted; to restore it, run "
                    f"mlflow experiments restore --experiment-id {existing.experiment_id}"
                )
            self._ids[experiment.name] = self._create(experiment) if existing is None else existing.experiment_id
        return self._ids[experiment.name]

    def begin_sweep(self, experiment: Experiment, profile: str, runs: int) -> str:
        """Create the parent run of a sweep and return its id."""
        experiment_id = self.experiment_id(experiment)
        tags = {
            **self._tags,
            **provenance(),
            **experiment.tags,
            KIND: "sweep",
            PROFILE: profile,
            "fedbandit.command": without_secrets(command_line()),
            "mlflow.note.content": f"{experiment.title}. {experiment.description}",
        }
        tags = storable_texts(tags)
        run: MlflowRun = patiently(
            self.uri,
            lambda: self.client.create_run(experiment_id, tags=tags, run_name=f"sweep {profile}, {runs} runs"),
        )
        return str(run.info.run_id)

    def end_sweep(self, parent: str, status: str, counts: Mapping[str, float]) -> None:
        """Record the run counts of a sweep and set its final status."""
        for name, value in counts.items():
            patiently(self.uri, lambda name=name, value=value: self.client.log_metric(parent, name, value))  # type: ignore[misc]
        patiently(self.uri, lambda: self.client.set_terminated(parent, status))

    def save_chart_view(self, experiment: Experiment) -> None:
        """Save the view on which the MLflow UI opens: the objective against communication."""
        from benchmark.ui.chart import save_chart_view

        patiently(self.uri, lambda: save_chart_view(self.uri, experiment.name))

    def known_link(self, experiment: str) -> str:
        """Return the address of an experiment's chart on a team's server; a database has none until it is served.

        Empty if this process wrote nothing to the experiment: looking up its id would take longer than everything else.
        """
        if experiment not in self._ids or not self.uri.startswith(("http://", "https://")):
            return ""
        from benchmark.ui.chart import VIEW_KEY, chart_link

        return chart_link(without_user(self.uri), self._ids[experiment], VIEW_KEY)

    def record(self, parent: str, experiment: Experiment, run: Run, outcome: RunResult) -> str:
        """Write one finished or failed run. The status is written last, so a partially written run never counts."""
        from mlflow.entities import Metric, Param
        from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository

        client, uri = self.client, self.uri
        experiment_id = self.experiment_id(experiment)
        commit = {COMMIT: self._tags[COMMIT]} if COMMIT in self._tags else {}
        record = record_of(run, outcome, {**(outcome.provenance or provenance()), **commit, **experiment.tags})
        texts, record_tag = record.to_mlflow()
        start_time, end_time = int(outcome.started * 1000), int(outcome.ended * 1000)
        created = patiently(
            uri,
            lambda: client.create_run(
                experiment_id,
                start_time=start_time,
                tags=self._run_tags(parent, experiment, run, outcome) | record_tag,
                run_name=storable(run.name),
            ),
        )
        run_id = str(created.info.run_id)
        metrics = [Metric(name, value, end_time, 0) for name, value in outcome.metrics.items()]
        metrics += [Metric(name, value, end_time, t) for name, points in outcome.curves.items() for t, value in points]
        params = [Param(name, text[:MAX_PARAMETER]) for name, text in storable_texts(texts).items()]
        patiently(uri, lambda: self._log_first_batch(run_id, metrics, params))
        patiently(uri, lambda: client.log_inputs(run_id, [dataset_input(run)]))
        files = outcome.files or {"error.txt": stored_error(outcome.details, MAX_DETAILS).encode()}
        if record_tag.get(RECORD) != (whole := record.to_json()):
            files = {**files, "record.json": whole.encode()}
        with tempfile.TemporaryDirectory() as folder:
            for name, content in files.items():
                (Path(folder) / name).write_bytes(content)
            # Not `client.log_artifacts`, which would first request the run to find its artifact folder.
            repository: Any = get_artifact_repository(created.info.artifact_uri, tracking_uri=uri)
            patiently(uri, lambda: repository.log_artifacts(folder))
        status = "FAILED" if outcome.error else "FINISHED"
        patiently(uri, lambda: client.set_terminated(run_id, status, end_time))
        return run_id

    def outcome_of(self, run_id: str) -> RunResult | None:
        """Read back a finished run, to record it in another experiment; None if its files are missing."""
        artifacts = patiently(self.uri, lambda: self.client.list_artifacts(run_id))
        if not {*FILES} <= {artifact.path for artifact in artifacts if artifact.file_size != 0}:
            return None
        run = patiently(self.uri, lambda: self.client.get_run(run_id))
        curves, metrics = {}, dict(run.data.metrics)
        for name in curve_names():
            metrics.pop(name, None)
            history = patiently(self.uri, lambda name=name: self.client.get_metric_history(run_id, name))  # type: ignore[misc]
            curves[name] = sorted((point.step, point.value) for point in history)
        with tempfile.TemporaryDirectory() as folder:
            patiently(self.uri, lambda: self.client.download_artifacts(run_id, "", folder))
            files = {path.name: path.read_bytes() for path in Path(folder).rglob("*.parquet")}
        tags = run.data.tags
        return RunResult(
            run.info.start_time / 1000,
            run.info.end_time / 1000,
            tags.get("fedbandit.ran_on", ""),
            metrics,
            curves,
            files,
            run.data.params,
            provenance={name: tags[name] for name in provenance() if name in tags},
        )

    def _log_first_batch(self, run_id: str, metrics: "list[Metric]", params: "list[Param]") -> None:
        file = sqlite_file(self.uri)
        if file is None:
            self.client.log_batch(run_id, metrics=metrics, params=params)
        else:
            write_first_batch(file, run_id, metrics, params)

    def _run_tags(self, parent: str, experiment: Experiment, run: Run, outcome: RunResult) -> dict[str, str]:
        from benchmark.ui.chart import COLOUR_TAG

        tags = {
            **self._tags,
            **(outcome.provenance or provenance()),
            **experiment.tags,
            KEY: run.key,
            KIND: "run",
            COLOUR_TAG: run_colour(run.algorithm_name, run.declaration.style if run.declaration else None),
            SOURCE: run.stream.source,
            FINGERPRINT: run.fingerprint,
            "fedbandit.ran_on": outcome.host,
            "mlflow.parentRunId": parent,
            "mlflow.note.content": f"{run.name} on {run.stream.name} ({run.stream.source} data). {experiment.title}.",
        }
        if prepared := run.stream.prepared():
            tags[PREPARED] = prepared
        if outcome.error:
            tags[ERROR] = stored_error(outcome.error, MAX_TAG)
        return storable_texts(tags)

    def find(self, name: str) -> "MlflowExperiment | None":
        """Return an MLflow experiment by name."""
        experiment: MlflowExperiment | None = self._ask(lambda: self.client.get_experiment_by_name(name))
        return experiment

    def experiment_names(self) -> list[str]:
        """Return the names of all experiments that are not deleted."""
        return [*self.experiment_ids()]

    def experiment_ids(self) -> dict[str, str]:
        """Return the ids of all experiments that are not deleted, by name."""
        ids: dict[str, str] = {}
        token: str | None = None
        while True:
            page: Any = self._ask(
                lambda token=token: self.client.search_experiments(max_results=1000, page_token=token)  # type: ignore[misc]
            )
            ids |= {experiment.name: str(experiment.experiment_id) for experiment in page}
            token = page.token
            if not token:
                return ids

    def _ask(self, call: Callable[[], Result]) -> Result:
        """Call MLflow: fail fast if the store was never reachable, otherwise retry."""
        answer = (patiently if self._was_reached else once)(self.uri, call)
        self._was_reached = True
        return answer

    def _create(self, experiment: Experiment) -> str:
        file = sqlite_file(self.uri)
        location = None if file is None else (file.parent / ARTIFACTS / experiment.name).as_uri()
        tags = {
            "mlflow.note.content": f"**{experiment.title}**\n\n{experiment.description}",
            "mlflow.experimentKind": "custom_model_development",
            KIND: "experiment",
        }
        tags = storable_texts(tags)

        def create() -> str:
            from mlflow.exceptions import MlflowException

            try:
                return str(self.client.create_experiment(experiment.name, location, tags))
            except (
                MlflowException
            ) as error:  # created by another process, or the response to our first request was lost
                existing = self.client.get_experiment_by_name(experiment.name)
                if error.error_code != "RESOURCE_ALREADY_EXISTS" or existing is None:
                    raise
                return str(existing.experiment_id)

        return self._ask(create)


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


def dataset_input(run: Run) -> Any:
    """Return the stream as an MLflow dataset: name, fingerprint, source and options."""
    from mlflow.entities import Dataset, DatasetInput, InputTag

    source = {"source": run.stream.source, "origin": run.stream.origin}
    profile = {"fingerprint": run.fingerprint, "seed": run.seed, **run.stream.settings()}
    dataset = Dataset(
        name=storable(run.stream.name),
        digest=run.fingerprint[:32],
        source_type=f"fedbandit-{run.stream.source}",
        source=json.dumps(source),  # escapes characters that cannot be stored
        profile=json.dumps(profile),
    )
    return DatasetInput(dataset, [InputTag("mlflow.data.context", "replay")])
