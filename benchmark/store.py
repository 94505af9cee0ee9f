"""The records: every run in MLflow, written by one process, complete before it counts as finished."""

import json
import tempfile
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmark.algorithm_names import number_text
from benchmark.experiment import Experiment
from benchmark.facts import command_line, facts
from benchmark.first_batch import log_first_batch
from benchmark.outcome import Outcome
from benchmark.plan import Run
from benchmark.processes import this_process
from benchmark.run_key import ENGINE_VERSION
from benchmark.tags import KEY, KIND
from benchmark.tracking import Result, make_client, once, patiently, sqlite_file, tracking_uri
from data_pipelines.secrets import without_secrets, without_user

if TYPE_CHECKING:
    from mlflow.entities import Experiment as MlflowExperiment
    from mlflow.entities import Run as MlflowRun
    from mlflow.tracking import MlflowClient

ARTIFACTS = "mlartifacts"


class Store:
    """One MLflow store. Nothing is opened or created before it is needed."""

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
        return {**facts(), **process, "fedbandit.engine_version": str(ENGINE_VERSION)}

    def search(self, experiment_id: str, status: str, kind: str) -> "list[MlflowRun]":
        """Return all runs of an experiment of one status and kind."""
        query = f"attributes.status = '{status}' and tags.`{KIND}` = '{kind}'"
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
        """Return the id of an MLflow experiment, creating it where there is none."""
        if experiment.name not in self._ids:
            found = self.find(experiment.name)
            if found is not None and found.lifecycle_stage != "active":
                raise ValueError(
                    f"MLflow experiment {experiment.name} was deleted; restore it: "
                    f"mlflow experiments restore --experiment-id {found.experiment_id}"
                )
            self._ids[experiment.name] = self._create(experiment) if found is None else found.experiment_id
        return self._ids[experiment.name]

    def begin_sweep(self, experiment: Experiment, profile: str, runs: int) -> str:
        """Create the parent run of a sweep and return its id."""
        experiment_id = self.experiment_id(experiment)
        tags = {
            **self._tags,
            KIND: "sweep",
            "fedbandit.profile": profile,
            "fedbandit.command": without_secrets(command_line()),
            "mlflow.note.content": f"{experiment.title}. {experiment.description}",
        }
        run: MlflowRun = patiently(
            self.uri,
            lambda: self.client.create_run(experiment_id, tags=tags, run_name=f"sweep {profile}, {runs} runs"),
        )
        return str(run.info.run_id)

    def end_sweep(self, parent: str, status: str, counts: Mapping[str, float]) -> None:
        """Close a sweep with the numbers of its runs."""
        for name, value in counts.items():
            patiently(self.uri, lambda name=name, value=value: self.client.log_metric(parent, name, value))  # type: ignore[misc]
        patiently(self.uri, lambda: self.client.set_terminated(parent, status))

    def save_chart_view(self, experiment: Experiment) -> None:
        """Let MLflow's pages open on reward, or regret, against communication."""
        from benchmark.chart_views import save_chart_view

        metric = "regret" if all(stream.simulated for stream in experiment.streams) else "normalised_reward"
        patiently(self.uri, lambda: save_chart_view(self.uri, experiment.name, metric))

    def known_link(self, experiment: str) -> str:
        """Return the address of an experiment's chart on a team's server; a file has none until somebody serves it.

        Empty where this process had nothing to write there: finding out would take longer than the rest.
        """
        if experiment not in self._ids or not self.uri.startswith(("http://", "https://")):
            return ""
        from benchmark.chart_views import VIEW_KEY, chart_link

        return chart_link(without_user(self.uri), self._ids[experiment], VIEW_KEY)

    def record(self, parent: str, experiment: Experiment, run: Run, outcome: Outcome) -> str:
        """Write one run, done or failed; the status comes last, so that a run half written never counts."""
        from mlflow.entities import Metric, Param
        from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository

        client, uri = self.client, self.uri
        experiment_id = self.experiment_id(experiment)
        began, ended = int(outcome.started * 1000), int(outcome.ended * 1000)
        created = patiently(
            uri,
            lambda: client.create_run(
                experiment_id,
                start_time=began,
                tags=self._run_tags(parent, experiment, run, outcome),
                run_name=run.name,
            ),
        )
        run_id = str(created.info.run_id)
        metrics = [Metric(name, value, ended, 0) for name, value in outcome.metrics.items()]
        metrics += [Metric(name, value, ended, t) for name, points in outcome.curves.items() for t, value in points]
        params = [Param(name, text[:6000]) for name, text in run_parameters(run, outcome).items()]
        is_sqlite = sqlite_file(uri) is not None
        patiently(uri, lambda: log_first_batch(client, run_id, metrics, params, is_sqlite=is_sqlite))
        patiently(uri, lambda: client.log_inputs(run_id, [dataset_input(run)]))
        files = outcome.files or {"error.txt": without_secrets(outcome.details).encode()}
        with tempfile.TemporaryDirectory() as folder:
            for name, content in files.items():
                (Path(folder) / name).write_bytes(content)
            # Not `client.log_artifacts`, which would ask for the run first to learn its place.
            place: Any = get_artifact_repository(created.info.artifact_uri, tracking_uri=uri)
            patiently(uri, lambda: place.log_artifacts(folder))
        status = "FAILED" if outcome.error else "FINISHED"
        patiently(uri, lambda: client.set_terminated(run_id, status, ended))
        return run_id

    def outcome_of(self, run_id: str) -> Outcome:
        """Read a finished run back, to be recorded in another experiment instead of being run again."""
        run = patiently(self.uri, lambda: self.client.get_run(run_id))
        curves, metrics = {}, dict(run.data.metrics)
        for name in ("reward_curve", "communication_curve"):
            metrics.pop(name, None)
            history = patiently(self.uri, lambda name=name: self.client.get_metric_history(run_id, name))  # type: ignore[misc]
            curves[name] = sorted((each.step, each.value) for each in history)
        with tempfile.TemporaryDirectory() as folder:
            patiently(self.uri, lambda: self.client.download_artifacts(run_id, "", folder))
            files = {path.name: path.read_bytes() for path in Path(folder).rglob("*.parquet")}
        host = run.data.tags.get("fedbandit.ran_on", "")
        return Outcome(
            run.info.start_time / 1000, run.info.end_time / 1000, host, metrics, curves, files, run.data.params
        )

    def _run_tags(self, parent: str, experiment: Experiment, run: Run, outcome: Outcome) -> dict[str, str]:
        from benchmark.chart_views import COLOUR_TAG, run_colour

        tags = {
            **self._tags,
            KEY: run.key,
            KIND: "run",
            COLOUR_TAG: run_colour(run.algorithm_name),
            "fedbandit.source": run.source.source,
            "fedbandit.fingerprint": run.source.fingerprint,
            "fedbandit.ran_on": outcome.host,
            "mlflow.parentRunId": parent,
            "mlflow.note.content": f"{run.name} on {run.source.name} ({run.source.source} data). {experiment.title}.",
        }
        return {**tags, "fedbandit.error": without_secrets(outcome.error)[:4000]} if outcome.error else tags

    def find(self, name: str) -> "MlflowExperiment | None":
        """Return an MLflow experiment by name."""
        found: MlflowExperiment | None = self._ask(lambda: self.client.get_experiment_by_name(name))
        return found

    def experiment_names(self) -> list[str]:
        """Return the names of all experiments that are not deleted."""
        return [experiment.name for experiment in self._ask(lambda: self.client.search_experiments())]

    def _ask(self, call: Callable[[], Result]) -> Result:
        """Call MLflow: a store that was never there is told at once, one that was is waited for."""
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

        def create() -> str:
            from mlflow.exceptions import MlflowException

            try:
                return str(self.client.create_experiment(experiment.name, location, tags))
            except MlflowException as error:  # somebody was faster, or the answer to our first try was lost
                found = self.client.get_experiment_by_name(experiment.name)
                if error.error_code != "RESOURCE_ALREADY_EXISTS" or found is None:
                    raise
                return str(found.experiment_id)

        return self._ask(create)


def run_parameters(run: Run, outcome: Outcome) -> dict[str, str]:
    """Return what the UI shows, searches and groups by."""
    given = {name: number_text(value) for name, value in run.parameters.items()}
    about = {
        "algorithm": run.algorithm_name,
        "threshold": run.threshold,
        "dataset": run.source.name,
        "seed": str(run.seed),
    }
    names = ("steps", "clients", "arms", "dimension")
    sizes: dict[str, str] = {name: outcome.facts[name] for name in names if name in outcome.facts}
    settings = {f"stream_{name}": number_text(value) for name, value in run.source.settings if name not in sizes}
    return {**given, **sizes, **settings, **about}


def dataset_input(run: Run) -> Any:
    """Return the stream as an MLflow dataset: name, fingerprint, source and how it was built."""
    from mlflow.entities import Dataset, DatasetInput, InputTag

    source = {"source": run.source.source, "origin": run.source.origin}
    about = {"fingerprint": run.source.fingerprint, "seed": run.seed, **dict(run.source.settings)}
    dataset = Dataset(
        name=run.source.name,
        digest=run.source.fingerprint[:32],
        source_type=f"fedbandit-{run.source.source}",
        source=json.dumps(source),
        profile=json.dumps(about),
    )
    return DatasetInput(dataset, [InputTag("mlflow.data.context", "replay")])
