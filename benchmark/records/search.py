"""Read any store through MLflow's search: servers, and databases other than SQLite."""

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from benchmark.records.record import RunRecord
from benchmark.records.store import Store
from benchmark.records.tags import PROFILE

if TYPE_CHECKING:
    from mlflow.entities import Run as MlflowRun


def read(store: Store, experiments: Collection[str] | None = None) -> Iterator[RunRecord]:
    """Yield the runs of these experiments, by default of all, in the order in which they ended."""
    for experiment, run in _runs(store, "run", experiments):
        data, info = run.data, run.info
        yield RunRecord.from_mlflow(
            data.params,
            data.tags,
            {name: value for name, value in data.metrics.items() if value == value},
            run_id=info.run_id,
            experiment=experiment,
            status=info.status,
            ended=_ended(run),
            artifact_uri=info.artifact_uri,
            name=info.run_name,
        )


def read_sweeps(store: Store) -> list[tuple[str, str, str]]:
    """Return experiment, profile and status of each sweep, in the order in which they ended."""
    sweeps = _runs(store, "sweep", None)
    return [(experiment, run.data.tags.get(PROFILE, ""), run.info.status) for experiment, run in sweeps]


def something_is_running(store: Store, experiments: Collection[str]) -> bool:
    """Return whether sweeps or runs of these experiments are marked RUNNING."""
    ids = [experiment_id for name, experiment_id in store.experiment_ids().items() if name in experiments]
    return any(store.search(experiment_id, "RUNNING", kind) for experiment_id in ids for kind in ("run", "sweep"))


def _runs(store: Store, kind: str, experiments: Collection[str] | None) -> "list[tuple[str, MlflowRun]]":
    runs = [
        (name, run)
        for name, experiment_id in store.experiment_ids().items()
        if experiments is None or name in experiments
        for run in store.search(experiment_id, None, kind)
    ]
    return sorted(runs, key=lambda pair: (_ended(pair[1]), pair[1].info.run_id))


def _ended(run: "MlflowRun") -> int:
    return int(run.info.end_time or run.info.start_time or 0)
