"""MLflow's search: reads any store, such as servers and databases other than SQLite."""

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

from benchmark.metrics import CURVE_SUFFIX, SIMULATED
from benchmark.records.content import StoredAggregate
from benchmark.records.record import RunRecord
from benchmark.records.store import Store
from benchmark.records.tags import AGGREGATE, CONTENT, KIND, PROFILE, RECORD, SOURCE
from benchmark.records.tracking import note_earlier_runs
from data_pipelines.support.secrets import without_user

if TYPE_CHECKING:
    from mlflow.entities import Run as MlflowRun
    from mlflow.tracking import MlflowClient

AGGREGATES = ("setting", "candidate", "overview")
ONLY_RUNS, ONLY_SWEEPS = (f"tags.`{KIND}` = '{kind}'" for kind in ("run", "sweep"))
MAX_SWEEPS = 100
"""The number of latest sweeps that are searched for those of one process: it starts one per experiment."""


def read(store: Store, experiments: Collection[str] | None = None) -> Iterator[RunRecord]:
    """Yield the runs of these experiments, by default of all, in the order in which they ended."""
    runs = _runs(store, "run", experiments)
    readable = [(experiment, run) for experiment, run in runs if RECORD in run.data.tags]
    note_earlier_runs(without_user(store.uri), len(runs) - len(readable))
    for experiment, run in readable:
        data, info = run.data, run.info
        yield RunRecord.from_mlflow(
            data.tags,
            {name: value for name, value in data.metrics.items() if _is_final(name, value)},
            run_id=info.run_id,
            experiment=experiment,
            status=info.status,
            ended=_ended(run),
            artifact_uri=info.artifact_uri,
            name=info.run_name,
        )


def read_sweeps(store: Store) -> list[tuple[str, ...]]:
    """Return experiment, profile, status, id and artifact folder of each sweep, in the order in which they ended."""
    sweeps = _runs(store, "sweep", None)
    return [
        (experiment, run.data.tags.get(PROFILE, ""), run.info.status, run.info.run_id, run.info.artifact_uri)
        for experiment, run in sweeps
    ]


def read_aggregates(store: Store, experiments: Collection[str]) -> list[StoredAggregate]:
    """Return the runs of these experiments that summarise others."""
    return [
        StoredAggregate(
            run.info.run_id,
            experiment,
            run.data.tags[AGGREGATE],
            run.data.tags.get(CONTENT, ""),
            run.info.status,
            run.info.artifact_uri,
        )
        for kind in AGGREGATES
        for experiment, run in _runs(store, kind, experiments)
    ]


def something_is_running(store: Store, experiments: Collection[str]) -> bool:
    """Return whether sweeps or runs of these experiments are marked RUNNING."""
    ids = [experiment_id for name, experiment_id in store.experiment_ids().items() if name in experiments]
    return any(store.search(experiment_id, "RUNNING", kind) for experiment_id in ids for kind in ("run", "sweep"))


def sources_of(client: "MlflowClient", experiment_id: str) -> list[str]:
    """Return the kinds of streams that an experiment's runs have: `simulated`, `real` or both."""
    conditions = {SIMULATED: f"= '{SIMULATED}'", "real": f"!= '{SIMULATED}'"}
    return [
        source
        for source, condition in conditions.items()
        if client.search_runs([experiment_id], f"{ONLY_RUNS} and tags.`{SOURCE}` {condition}", max_results=1)
    ]


def newest_sweeps(client: "MlflowClient", experiment_ids: Sequence[str]) -> "list[MlflowRun]":
    """Return the latest sweeps of these experiments, the newest first."""
    newest_first = ["attributes.start_time DESC"]
    sweeps = client.search_runs(list(experiment_ids), ONLY_SWEEPS, order_by=newest_first, max_results=MAX_SWEEPS)
    return list(sweeps)


def _runs(store: Store, kind: str, experiments: Collection[str] | None) -> "list[tuple[str, MlflowRun]]":
    runs = [
        (name, run)
        for name, experiment_id in store.experiment_ids().items()
        if experiments is None or name in experiments
        for run in store.search(experiment_id, None, kind)
    ]
    return sorted(runs, key=lambda pair: (_ended(pair[1]), pair[1].info.run_id))


def _is_final(name: str, value: float) -> bool:
    """Return whether a metric is a final value, not NaN and not the last point of a curve."""
    return value == value and not name.endswith(CURVE_SUFFIX)


def _ended(run: "MlflowRun") -> int:
    return int(run.info.end_time or run.info.start_time or 0)
