"""What MLflow holds, as one table of finished runs: read straight from a SQLite store, or asked of a server.

Thousands of runs through MLflow take half a minute, from SQLite less than a second; a test holds both to the same
answer. Nothing is computed here.
"""

import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import pandas as pd

from benchmark.tracking import sqlite_file, tracking_uri
from reports.run_table import COLUMNS, as_runs, failures, keep_latest
from reports.stored_runs import COMMIT, StoredRun, by_search, in_sqlite, sqlite_curves

if TYPE_CHECKING:
    from benchmark.store import Store

FACTS = {
    COMMIT: "commit",
    "fedbandit.engine_version": "engine",
    **{
        f"fedbandit.version.{name}": name for name in ("fedbandit-bench", "python", "numpy", "numba", "scipy", "mlflow")
    },
    "fedbandit.machine": "machine",
}
"""Tags that say how runs were made."""

CLIENTS = "clients.parquet"
CURVES = ("reward_curve", "communication_curve")


@dataclass(frozen=True)
class Results:
    """All finished runs of a store.

    Attributes:
        runs: one row for each finished run; its columns are `run_table.COLUMNS`.
        uri: where they were read from.
        sweeps: one row for each sweep: experiment, profile, status.
        failed: runs that ended with an error and were not finished since: experiment, name, error.
        superseded: how many finished runs are set aside because a later one has the same setting and seed.
        facts: versions, commit and machine that the runs say of themselves: how many runs have which value.
    """

    runs: pd.DataFrame
    uri: str
    sweeps: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=["experiment", "profile", "status"]))
    failed: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=["experiment", "name", "error"]))
    superseded: int = 0
    facts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    def experiments(self) -> list[str]:
        """Return the names of the experiments that have finished runs."""
        return sorted(self.runs["experiment"].unique())

    def only(self, experiments: Iterable[str]) -> "Results":
        """Return the results of some experiments."""
        names = set(experiments)
        parts = (frame[frame["experiment"].isin(names)] for frame in (self.runs, self.sweeps, self.failed))
        runs, sweeps, failed = (part.reset_index(drop=True) for part in parts)
        return Results(runs, self.uri, sweeps, failed, self.superseded, self.facts)

    def client_totals(self, run_id: str) -> pd.DataFrame:
        """Return client, reward, uploads and downloads of each client of a run; `FileNotFoundError` without them."""
        place = str(self.runs.loc[self.runs["run_id"] == run_id, "artifact_uri"].iloc[0])
        if urlsplit(place).scheme in ("", "file"):
            return pd.read_parquet(local_path(place) / CLIENTS)
        from mlflow.exceptions import MlflowException

        with tempfile.TemporaryDirectory() as folder:
            try:
                return pd.read_parquet(self._store.client.download_artifacts(run_id, CLIENTS, folder))
            except (MlflowException, OSError) as error:
                raise FileNotFoundError(f"{CLIENTS} of run {run_id} cannot be had: {error}") from None

    def curves(self, run_ids: Iterable[str]) -> pd.DataFrame:
        """Return run_id, metric (`reward_curve`, `communication_curve`), step and value, in order of steps."""
        wanted = list(run_ids)
        file = sqlite_file(self.uri)
        if file is not None:
            rows = sqlite_curves(file, wanted, CURVES)
        else:
            rows = [
                (run_id, metric, point.step, point.value)
                for run_id in wanted
                for metric in CURVES
                for point in self._store.client.get_metric_history(run_id, metric)
            ]
        frame = pd.DataFrame(rows, columns=["run_id", "metric", "step", "value"])
        return frame.sort_values(["run_id", "metric", "step"], ignore_index=True)

    @cached_property
    def _store(self) -> "Store":
        from benchmark.store import Store

        return Store(self.uri)


def read_results(uri: str | None = None) -> Results:
    """Read all finished runs of a store; an empty or missing one has none."""
    uri = uri or tracking_uri()
    file = sqlite_file(uri)
    stored = by_search(uri) if file is None else in_sqlite(file)
    finished = [run for run in stored if run.kind == "run" and run.status == "FINISHED"]
    every = as_runs(finished)
    runs = keep_latest(every)
    sweeps = [(run.experiment, run.tags.get("fedbandit.profile", ""), run.status) for run in _of_kind(stored, "sweep")]
    return Results(
        runs=runs[[*COLUMNS]],
        uri=uri,
        sweeps=pd.DataFrame(sweeps, columns=["experiment", "profile", "status"]),
        failed=failures(stored, every),
        superseded=len(every) - len(runs),
        facts=_facts(finished),
    )


def local_path(place: str) -> Path:
    """Return the path behind a file address, or a path as it is."""
    return Path(unquote(urlsplit(place).path)) if place.startswith("file:") else Path(place)


def _facts(finished: Iterable[StoredRun]) -> dict[str, dict[str, int]]:
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for run in finished:
        for tag, name in FACTS.items():
            counts[name][run.tags.get(tag, "not recorded")] += 1
    return {name: dict(values.most_common()) for name, values in counts.items()}


def _of_kind(stored: Iterable[StoredRun], kind: str) -> list[StoredRun]:
    return [run for run in stored if run.kind == kind]
