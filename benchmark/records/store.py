"""The store of runs in MLflow. One process writes, and a run is complete before it counts as finished.

After a crash, runs that a dead process left RUNNING are marked as KILLED.
"""

import json
import math
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from benchmark.metrics import curve_names
from benchmark.plan.experiment import ExperimentInfo
from benchmark.plan.runs import Run
from benchmark.records.content import DatasetContent, RunContent, local_folder, write_files, write_through_client
from benchmark.records.provenance import command_line, process_is_alive, provenance, sweep_tags, this_process
from benchmark.records.record import COMMIT, RunRecord, dataset_label, record_of, stream_name
from benchmark.records.sqlite import write_runs
from benchmark.records.sweep_plan import FILE, SweepPlan
from benchmark.records.tags import ERROR, FINGERPRINT, KEY, KIND, PARENT, PREPARED, PROFILE, RECORD, SOURCE, SWEEP
from benchmark.records.tracking import (
    Result,
    StoreError,
    make_client,
    once,
    patiently,
    sqlite_file,
    store_lock,
    tracking_uri,
)
from benchmark.styles import style
from data_pipelines.support.messages import storable
from data_pipelines.support.secrets import without_secrets, without_user

if TYPE_CHECKING:
    from mlflow.entities import Experiment as MlflowExperiment
    from mlflow.entities import Run as MlflowRun
    from mlflow.tracking import MlflowClient

    from benchmark.execution.run_result import RunResult

ARTIFACTS = "mlartifacts"
FILES = ("curve.parquet", "clients.parquet")
"""The files of a finished run."""
UNREMARKABLE = ("official", "imported", "simulated")
"""Sources of data that need no remark."""

MAX_TAG, MAX_PARAMETER, MAX_DETAILS = 4000, 6000, 1_000_000
"""Maximum numbers of characters stored for an error, a parameter and `error.txt`."""


class Store:
    """An MLflow store. Nothing is opened or created before it is needed."""

    def __init__(self, uri: str | None = None) -> None:
        self.uri = uri or tracking_uri()
        self._ids: dict[str, str] = {}
        self._locations: dict[str, str] = {}
        self._was_reached = False

    @cached_property
    def client(self) -> "MlflowClient":
        """MLflow's client."""
        return make_client(self.uri)

    @cached_property
    def _process_tags(self) -> dict[str, str]:
        return {f"fedbandit.{name}": value for name, value in this_process().items()}

    @cached_property
    def _sweep_tags(self) -> dict[str, str]:
        return sweep_tags()

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

    def experiment_id(self, experiment: ExperimentInfo) -> str:
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

    def begin_sweep(self, experiment: ExperimentInfo, profile: str, runs: int, plan: SweepPlan | None = None) -> str:
        """Create the parent run of a sweep, with its plan as a file, and return its id."""
        experiment_id = self.experiment_id(experiment)
        tags = {
            **self._sweep_tags,
            **self._process_tags,
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
        if plan is not None:
            patiently(self.uri, lambda: self.client.log_text(run.info.run_id, plan.to_json(), FILE))
        return str(run.info.run_id)

    def end_sweep(self, parent: str, status: str, counts: Mapping[str, float]) -> None:
        """Record the run counts of a sweep and set its final status."""
        for name, value in counts.items():
            patiently(self.uri, lambda name=name, value=value: self.client.log_metric(parent, name, value))  # type: ignore[misc]
        patiently(self.uri, lambda: self.client.set_terminated(parent, status))

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
        commit = {COMMIT: self._sweep_tags[COMMIT]} if COMMIT in self._sweep_tags else {}
        record = record_of(run, outcome, {**(outcome.provenance or provenance()), **commit, **experiment.tags})
        texts, record_tag = record.to_mlflow()
        files = outcome.files or {"error.txt": stored_error(outcome.details, MAX_DETAILS).encode()}
        if record_tag.get(RECORD) != (whole := record.to_json()):
            files = {**files, "record.json": whole.encode()}
        points = [(name, value, 0) for name, value in outcome.metrics.items()]
        points += [(name, value, t) for name, curve in outcome.curves.items() for t, value in curve]
        content = RunContent(
            experiment_id=self.experiment_id(experiment),
            name=storable(run.name),
            status="FAILED" if outcome.error else "FINISHED",
            start_time=int(outcome.started * 1000),
            end_time=int(outcome.ended * 1000),
            tags=self._run_tags(parent, experiment, run, outcome, record, record_tag),
            params={name: text[:MAX_PARAMETER] for name, text in storable_texts(texts).items()},
            points=points,
            dataset=dataset_of(run),
            files=files,
        )
        (run_id,) = self.write([content])
        return RunRecord.from_mlflow(
            content.tags,
            {name: float(value) for name, value in outcome.metrics.items() if not math.isnan(value)},
            run_id=run_id,
            experiment=run.experiment,
            status=content.status,
            ended=content.end_time,
            artifact_uri=f"{self._location(content.experiment_id).rstrip('/')}/{run_id}/artifacts",
            name=content.name,
        )

    def write(self, runs: Sequence[RunContent]) -> list[str]:
        """Write runs and return their ids. Those with an id are replaced, the others are new.

        To a SQLite file, all are written in one transaction, after their files.
        """
        if not runs:
            return []
        file = sqlite_file(self.uri)
        locations = {run.experiment_id: self._location(run.experiment_id) for run in runs}
        if file is None or any(local_folder(location) is None for location in locations.values()):
            return [write_through_client(self.client, self.uri, run) for run in runs]
        replaced = {run.run_id for run in runs if run.run_id}
        placed = [run if run.run_id else _placed(run, locations[run.experiment_id]) for run in runs]

        def write_all() -> None:
            for run in placed:
                write_files(run)
            write_runs(file, placed, replaced)

        patiently(self.uri, write_all)
        return [run.run_id for run in placed]

    def _location(self, experiment_id: str) -> str:
        """Return where the artifacts of an MLflow experiment are."""
        if experiment_id not in self._locations:
            found: Any = self._ask(lambda: self.client.get_experiment(experiment_id))
            self._locations[experiment_id] = str(found.artifact_location)
        return self._locations[experiment_id]

    def outcome_of(self, run_id: str) -> "RunResult | None":
        """Read back a finished run, to record it in another experiment; None if its files are missing."""
        from benchmark.execution.run_result import RunResult  # it imports Numba, which readers do not need

        artifacts = patiently(self.uri, lambda: self.client.list_artifacts(run_id))
        if not {*FILES} <= {artifact.path for artifact in artifacts if artifact.file_size != 0}:
            return None
        run = patiently(self.uri, lambda: self.client.get_run(run_id))
        curves, metrics = {}, dict(run.data.metrics)
        for name in curve_names():
            metrics.pop(name, None)
            history = patiently(self.uri, lambda name=name: self.client.get_metric_history(run_id, name))  # type: ignore[misc]
            if history:
                curves[name] = sorted((point.step, point.value) for point in history)
        with tempfile.TemporaryDirectory() as folder:
            patiently(self.uri, lambda: self.client.download_artifacts(run_id, "", folder))
            files = {path.name: path.read_bytes() for path in Path(folder).rglob("*.parquet")}
        tags = run.data.tags
        recorded = RunRecord.from_mlflow(tags, {}, run_id=run_id, experiment="").provenance
        return RunResult(
            run.info.start_time / 1000,
            run.info.end_time / 1000,
            tags.get("fedbandit.ran_on", ""),
            metrics,
            curves,
            files,
            run.data.params,
            provenance={name: recorded[name] for name in provenance() if name in recorded},
        )

    def _run_tags(
        self,
        parent: str,
        experiment: ExperimentInfo,
        run: Run,
        outcome: "RunResult",
        record: RunRecord,
        record_tag: Mapping[str, str],
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
            **self._sweep_tags,
            **self._process_tags,
            **experiment.tags,
            SWEEP: parent,
            KEY: run.key,
            KIND: "run",
            SOURCE: stream.source,
            FINGERPRINT: run.fingerprint,
            "fedbandit.ran_on": outcome.host,
        }
        if prepared := run.stream.prepared():
            tags[PREPARED] = prepared
        if outcome.error:
            tags[ERROR] = stored_error(outcome.error, MAX_TAG)
        return storable_texts({**tags, **record_tag})

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

    def _create(self, experiment: ExperimentInfo) -> str:
        file = sqlite_file(self.uri)
        location = None if file is None else (file.parent / ARTIFACTS / experiment.name).as_uri()
        tags = {
            "mlflow.note.content": f"{experiment.title}. {experiment.description}".strip(),
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


def dataset_of(run: Run) -> DatasetContent:
    """Return the stream as an MLflow dataset: name, fingerprint, source and options."""
    source = {"source": run.stream.source, "origin": run.stream.origin}
    profile = {"fingerprint": run.fingerprint, "seed": run.seed, **run.stream.settings()}
    return DatasetContent(
        name=storable(run.stream.name),
        digest=run.fingerprint[:32],
        source_type=f"fedbandit-{run.stream.source}",
        source=json.dumps(source),  # escapes characters that cannot be stored
        profile=json.dumps(profile),
    )


def _placed(run: RunContent, location: str) -> RunContent:
    """Return a new run with its id and its folder, as MLflow would choose them."""
    run_id = uuid4().hex
    return replace(run, run_id=run_id, artifact_uri=f"{location.rstrip('/')}/{run_id}/artifacts")


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
