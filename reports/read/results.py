"""The finished runs in MLflow as one table: read directly from a SQLite store, or through MLflow's client.

Thousands of runs take half a minute through MLflow, and less than a second from SQLite; a test checks that both give
the same table. Nothing is computed here.
"""

import gc
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import pandas as pd

from benchmark.plan.experiment import experiment_names
from benchmark.protocol import load_protocol
from benchmark.records.data_identity import (
    data_sets_of,
    describe_data,
    earlier_code_sentences,
    fingerprints_prepared_now,
    left_out_sentences,
    split_by_code,
    split_by_data,
)
from benchmark.records.reader import read, read_curves, read_sweeps
from benchmark.records.record import COMMIT, RunRecord
from benchmark.records.sweep_plan import FILE, SweepPlan, merged
from benchmark.records.tracking import tracking_uri
from benchmark.results.frames import columns, latest_runs, run_frame
from data_pipelines.prepare.prepared import data_folder
from reports.labels import Methods
from reports.read.boards import StoredBoard, of_boards, read_boards
from reports.read.experiment_files import About, about_experiment, about_from_note
from reports.read.tuned import tuned_experiment

if TYPE_CHECKING:
    import pyarrow as pa

    from benchmark.records.store import Store

VERSIONS = {
    COMMIT: "commit",
    "fedbandit.engine_version": "engine",
    **{
        f"fedbandit.version.{name}": name for name in ("fedbandit-bench", "python", "numpy", "numba", "scipy", "mlflow")
    },
    "fedbandit.machine": "machine",
}
"""Tags with the versions, commit and machine of a run."""

SWEEPS = ("experiment", "profile", "status", "run_id", "artifact_uri")
LEFT_OUT = ("experiment", "dataset", "data", "runs")
CLIENTS = "clients.parquet"
CHOOSING_SENTENCE = "{:,} runs only served to choose settings; no result includes them."


@dataclass(frozen=True)
class Results:
    """The finished runs of a store: on one version of each data set, and by one version of each method's code.

    Attributes:
        runs: one row per run, with the columns `columns()`.
        uri: the store.
        sweeps: one row per sweep: experiment, profile, status, run_id, artifact_uri.
        failed: runs that failed and have not been completed since: experiment, name, error.
        left_out: runs on other data: experiment, dataset, data (a description), runs (their number).
        earlier_code: the runs by earlier code of a method.
        prepared: the data sets of the runs that are prepared now.
        superseded: the number of finished runs that a later one with the same configuration and seed replaces.
        versions: versions, commit and machine: the number of runs with each value.
        counted: caches `synchronisations`.
        boards: the boards; their runs are in no other figure or table.
        board_runs: the runs of boards on report seeds, one row each as in `runs`.
        tuning: the runs of the experiment in which α is tuned, on seeds of both kinds; they are in no other figure or
            table than those on the paper's claims.
        choosing: the number of runs on seeds for choosing, which are used for choosing alone.
        own_experiments: title and description of the experiments that are not shipped, as the store has them.
        methods: what is known about the methods of the runs.
    """

    runs: pd.DataFrame
    uri: str
    sweeps: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=[*SWEEPS]))
    failed: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=["experiment", "name", "error"]))
    left_out: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=[*LEFT_OUT]))
    prepared: tuple[str, ...] = ()
    superseded: int = 0
    versions: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    boards: tuple[StoredBoard, ...] = ()
    board_runs: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=columns()))
    tuning: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=columns()))
    choosing: int = 0
    own_experiments: Mapping[str, About] = field(default_factory=dict)
    earlier_code: tuple[RunRecord, ...] = ()
    counted: dict[str, int | None] = field(default_factory=dict)
    methods: Methods = field(default_factory=Methods)

    def experiments(self) -> list[str]:
        """Return the names of the experiments that have finished runs."""
        frames = (self.runs, self.board_runs, self.tuning)
        return sorted({name for frame in frames for name in frame["experiment"].unique()})

    def about(self, experiment: str) -> About:
        """Return title and description of an experiment, shipped or not."""
        return self.own_experiments.get(experiment) or about_experiment(experiment)

    @cached_property
    def all_runs(self) -> pd.DataFrame:
        """The runs, those of boards and those with a tuned α, all on report seeds."""
        _, tuned = load_protocol().seeds.split(self.tuning)
        further = [frame for frame in (self.board_runs, tuned) if len(frame)]
        return pd.concat([self.runs, *further], ignore_index=True) if further else self.runs

    def only(self, experiments: Iterable[str]) -> "Results":
        """Return the results of some experiments."""
        names = set(experiments)
        frames = ("runs", "sweeps", "failed", "left_out", "board_runs", "tuning")
        parts: dict[str, Any] = {}
        for name in frames:
            frame = getattr(self, name)
            parts[name] = frame[frame["experiment"].isin(names)].reset_index(drop=True)
        boards = tuple(board for board in self.boards if board.experiment in names)
        own = {name: about for name, about in self.own_experiments.items() if name in names}
        earlier = tuple(record for record in self.earlier_code if record.experiment in names)
        return replace(self, boards=boards, own_experiments=own, earlier_code=earlier, **parts)

    def left_out_sentences(self) -> list[str]:
        """Return the sentences on runs that are left out: on other data, by earlier code, on seeds for choosing."""
        parts = (self.left_out[name] for name in ("dataset", "data", "runs"))
        sentences = left_out_sentences(zip(*parts, strict=True), self.prepared)
        sentences += earlier_code_sentences(self.earlier_code)
        return [*sentences, CHOOSING_SENTENCE.format(self.choosing)] if self.choosing else sentences

    def client_totals(self, run_id: str) -> pd.DataFrame:
        """Return client, reward, uploads and downloads, one row per client; `FileNotFoundError` without the file."""
        totals: pd.DataFrame = self._client_columns(run_id, None).to_pandas()
        return totals

    def _client_columns(self, run_id: str, names: list[str] | None) -> "pa.Table":
        """Return some columns of the totals per client, or all: from thousands of runs, one column takes a second."""
        with self._artifact(run_id, self._artifact_uris[run_id], CLIENTS) as file:
            return _read_columns(file, names)

    @contextmanager
    def _artifact(self, run_id: str, uri: str, name: str) -> Iterator[Path]:
        """Give a file of a run, downloaded if need be; `FileNotFoundError` without it."""
        if urlsplit(uri).scheme in ("", "file"):
            yield local_path(uri) / name
            return
        from mlflow.exceptions import MlflowException

        with tempfile.TemporaryDirectory() as folder:
            try:
                file = Path(self._store.client.download_artifacts(run_id, name, folder))
            except (MlflowException, OSError) as error:
                raise FileNotFoundError(f"{name} of run {run_id} cannot be read: {error}") from None
            yield file

    @cached_property
    def plans(self) -> dict[str, dict[str, SweepPlan]]:
        """What the sweeps of each experiment planned, by profile; sweeps without a readable plan are left out."""
        plans: dict[str, dict[str, list[SweepPlan]]] = defaultdict(lambda: defaultdict(list))
        for experiment, profile, _, run_id, uri in self.sweeps[[*SWEEPS]].astype(str).to_numpy().tolist():
            try:
                with self._artifact(run_id, uri, FILE) as file:
                    plans[experiment][profile].append(SweepPlan.from_json(file.read_text(encoding="utf-8")))
            except (OSError, ValueError, KeyError, TypeError):
                continue
        return {
            name: {profile: merged(parts) for profile, parts in sorted(by_profile.items())}
            for name, by_profile in plans.items()
        }

    @cached_property
    def _artifact_uris(self) -> dict[str, str]:
        frame = self.all_runs
        return dict(zip(frame["run_id"], frame["artifact_uri"], strict=True))

    def synchronisations(self, run_id: str) -> int | None:
        """Return how often all known clients uploaded together in a run; None if its client totals are missing.

        The first client of a stream takes part in every synchronisation, so no client uploads more often.
        """
        if run_id not in self.counted:
            self.counted[run_id] = self._synchronisations(run_id)
        return self.counted[run_id]

    def _synchronisations(self, run_id: str) -> int | None:
        try:
            uploads = self._client_columns(run_id, ["uploads"])["uploads"].to_numpy()
        except (OSError, ValueError):
            return None
        return int(uploads.max()) if len(uploads) else 0

    def curves(self, run_ids: Iterable[str]) -> pd.DataFrame:
        """Return run_id, metric (a name of a curve, such as `reward_curve`), step and value, in order of steps."""
        rows = read_curves(self._store, list(run_ids))
        frame = pd.DataFrame(rows, columns=["run_id", "metric", "step", "value"])
        return frame.sort_values(["run_id", "metric", "step"], ignore_index=True)

    @cached_property
    def _store(self) -> "Store":
        from benchmark.records.store import Store

        return Store(self.uri)


def read_results(uri: str | None = None, folder: Path | None = None) -> Results:
    """Read the finished runs of a store; an empty or missing one has none.

    For each data set, only runs on one version of the data are read: the version prepared now in `folder`, by default
    the data folder, or that of the newest run. `left_out` counts the others. For each method of an experiment, only
    runs by its latest code are read; a board has the code that it was played with.
    """
    with _without_collection():
        return _read_results(uri or tracking_uri(), folder)


@contextmanager
def _without_collection() -> Iterator[None]:
    """Do not search for cycles while records are read: they have none, and each search visits all of them."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _read_results(uri: str, folder: Path | None) -> Results:
    records = list(read(uri))
    all_finished = [record for record in records if record.status == "FINISHED"]
    prepared = fingerprints_prepared_now(data_sets_of(records), folder or data_folder())
    on_data, others = split_by_data(all_finished, prepared)
    stored_boards = read_boards(uri, on_data)
    finished, earlier = _split_by_code(on_data, stored_boards)
    boards, reporting = of_boards(finished), [record for record in finished if record.purpose == "report"]
    tuned = tuned_experiment()
    of_experiments = [record for record in reporting if record.experiment not in {*boards, tuned}]
    runs = latest_runs(of_experiments)
    return Results(
        runs=run_frame(runs),
        uri=uri,
        sweeps=pd.DataFrame(read_sweeps(uri), columns=[*SWEEPS]),
        failed=failures(_unless_by_earlier_code(_unless_on_other_data(records, prepared), earlier), finished),
        left_out=_left_out(others),
        prepared=tuple(sorted(prepared)),
        superseded=len(of_experiments) - len(runs),
        versions=versions_of(finished),
        boards=stored_boards,
        board_runs=run_frame([record for record in reporting if record.experiment in boards]),
        tuning=run_frame(latest_runs(record for record in finished if record.experiment == tuned)),
        choosing=len(finished) - len(reporting),
        own_experiments=read_own_experiments(uri, {record.experiment for record in finished}),
        earlier_code=tuple(earlier),
        methods=Methods.of(all_finished),
    )


def _split_by_code(
    records: Sequence[RunRecord], boards: Sequence[StoredBoard]
) -> tuple[list[RunRecord], list[RunRecord]]:
    """Split runs as `split_by_code` does; the runs of a board are shown until it has been played by other code."""
    newest, earlier = split_by_code(records)
    of_a_board = {run_id for board in boards for run_id in board.run_ids} if earlier else set()
    hidden = [record for record in earlier if record.run_id not in of_a_board]
    return [*(record for record in earlier if record.run_id in of_a_board), *newest], hidden


def _unless_by_earlier_code(records: Iterable[RunRecord], earlier: Iterable[RunRecord]) -> list[RunRecord]:
    """Drop runs, including failed ones, by code that later code has replaced."""
    codes = {_code_of(record) for record in earlier}
    return [record for record in records if _code_of(record) not in codes]


def _code_of(record: RunRecord) -> tuple[str, str, str]:
    return record.experiment, record.method.name, record.method.code_version


def failures(records: Iterable[RunRecord], finished: Iterable[RunRecord]) -> pd.DataFrame:
    """Return the runs that failed and were not finished since."""
    finished_keys = {(record.experiment, record.key) for record in finished}
    rows = {
        (record.experiment, record.key): (
            record.experiment,
            f"{record.name} on {record.stream.name or '?'}",
            record.error or record.status,
        )
        for record in records
        if record.status == "FAILED"
    }
    unfinished = [row for key, row in rows.items() if key not in finished_keys]
    return pd.DataFrame(unfinished, columns=["experiment", "name", "error"])


def _read_columns(file: Path, names: list[str] | None) -> "pa.Table":
    """Read columns of a small Parquet file, a tenth of the time that `pandas.read_parquet` takes."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(file) as parquet:
        return parquet.read(names, use_threads=False)


def read_own_experiments(uri: str, names: Iterable[str]) -> dict[str, About]:
    """Return title and description of those of these experiments that are not shipped."""
    own = {*names} - {*experiment_names()}
    if not own:
        return {}
    from benchmark.records.store import Store

    found = {name: Store(uri).find(name) for name in sorted(own)}
    tags = {name: experiment.tags if experiment else {} for name, experiment in found.items()}
    return {name: about_from_note(name, tags[name].get("mlflow.note.content", "")) for name in found}


def local_path(uri: str) -> Path:
    """Return the path of a file URI; a path stays as it is."""
    return Path(unquote(urlsplit(uri).path)) if uri.startswith("file:") else Path(uri)


def _left_out(others: Iterable[RunRecord]) -> pd.DataFrame:
    counts = Counter((record.experiment, record.stream.name, describe_data(record)) for record in others)
    return pd.DataFrame([(*entry, count) for entry, count in counts.items()], columns=[*LEFT_OUT])


def _unless_on_other_data(records: Iterable[RunRecord], prepared: Mapping[str, str]) -> list[RunRecord]:
    """Drop runs, including failed ones, that are known to have used data other than the currently prepared data."""
    pairs = [(record, prepared.get(record.stream.name)) for record in records]
    return [record for record, fingerprint in pairs if fingerprint is None or record.stream.prepared == fingerprint]


def versions_of(finished: Iterable[RunRecord]) -> dict[str, dict[str, int]]:
    """Count the runs by versions, commit and machine."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for record in finished:
        for tag, name in VERSIONS.items():
            counts[name][record.provenance.get(tag, "not recorded")] += 1
    return {name: dict(values.most_common()) for name, values in counts.items()}
