"""All that a report is made from: the finished runs of a store, their files and boards, their data, what is missing."""

import gc
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from benchmark.metrics import Metric
from benchmark.plan.experiment import Experiment, ExperimentInfo, experiment_names, load_experiment
from benchmark.plan.plan import stream_names
from benchmark.protocol import load_protocol
from benchmark.records.artifacts import CLIENTS, local_folder, read_curves
from benchmark.records.data_identity import (
    data_sets_of,
    describe_data,
    earlier_code_sentences,
    fingerprints_prepared_now,
    left_out_sentences,
    split_by_code,
    split_by_data,
    split_by_metric_code,
)
from benchmark.records.reader import read, read_sweeps
from benchmark.records.record import RunRecord
from benchmark.records.store import Store
from benchmark.records.sweep_plan import FILE, SweepPlan, merged
from benchmark.records.tags import COMMIT
from benchmark.records.tracking import tracking_uri
from benchmark.results.frames import latest_runs, run_frame
from data_pipelines.data_label import DataLabel, data_label, grouped_labels
from data_pipelines.prepare.prepared import NotPreparedError, Prepared, data_folder, open_prepared, read_manifest
from reports.labels import Methods, dataset_label
from reports.paper import tuned_experiment
from reports.read.boards import StoredBoard, of_boards, read_boards
from reports.read.submissions import Submission

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
FAILED = ("experiment", "name", "error")
CHOOSING_SENTENCE = "{:,} runs only served to choose settings; no result includes them."


@dataclass
class Results:
    """The finished runs of a store: on one version of each data set, and by one version of each method's code.

    Attributes:
        runs: the table of runs, see `run_frame`.
        uri: the store.
        folder: the data folder.
        selected: the experiments that the report is about, see `scope`.
        sweeps: one row per sweep: experiment, profile, status, run_id, artifact_uri.
        failed: runs that failed and have not been completed since: experiment, name, error.
        other_data: the runs on other data.
        earlier_code: the runs by earlier code of a method.
        prepared_now: the data sets of the runs that are prepared now.
        superseded: the number of finished runs that a later one with the same configuration and seed replaces.
        versions: versions, commit and machine: the number of runs with each value.
        boards: the boards; their runs are in no other figure or table.
        submissions: the submitted methods; a report of a user's store shows none.
        board_runs: the runs of boards on report seeds, one row each as in `runs`.
        tuning: the runs of the experiment in which α is tuned, on seeds of both kinds; they are in no other figure or
            table than those on the paper's claims.
        choosing: the number of runs on seeds for choosing, which are used for choosing alone.
        own_experiments: the experiments that are not shipped, as the store has them.
        methods: what is known about the methods of the runs.
        own_metrics: the metrics of the user, by name.
        lacking_metrics: a sentence for each experiment and metric of the user that some of its runs have no value of.
        absent: sentences about anything missing; makers of tables and figures add to them with `note_absent`.

    What several tables and figures use is computed once: `judged` are the paper's claims, `group_totals` the totals of
    activity groups by experiment and stream, `by_chance` and `centre` the distances of users from the centre of the
    embedding, `board_users` the users of a board, `counted` the synchronisations of a run, `opened` the data sets.
    """

    runs: pd.DataFrame
    uri: str
    folder: Path = field(default_factory=data_folder)
    selected: Sequence[str] = ()
    sweeps: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=[*SWEEPS]))
    failed: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=[*FAILED]))
    other_data: tuple[RunRecord, ...] = ()
    earlier_code: tuple[RunRecord, ...] = ()
    prepared_now: tuple[str, ...] = ()
    superseded: int = 0
    versions: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    boards: tuple[StoredBoard, ...] = ()
    submissions: tuple[Submission, ...] = ()
    board_runs: pd.DataFrame = field(default_factory=lambda: run_frame([]))
    tuning: pd.DataFrame = field(default_factory=lambda: run_frame([]))
    choosing: int = 0
    own_experiments: Mapping[str, ExperimentInfo] = field(default_factory=dict)
    methods: Methods = field(default_factory=Methods)
    own_metrics: Mapping[str, Metric] = field(default_factory=dict)
    lacking_metrics: Mapping[tuple[str, str], str] = field(default_factory=dict)
    absent: list[str] = field(default_factory=list, init=False)
    judged: list[Any] = field(default_factory=list, init=False)
    group_totals: dict[tuple[str, str], pd.DataFrame] = field(default_factory=dict, init=False)
    by_chance: dict[str, Any] = field(default_factory=dict, init=False)
    centre: dict[str, Any] = field(default_factory=dict, init=False)
    board_users: dict[str, pd.DataFrame] = field(default_factory=dict, init=False)
    counted: dict[str, int | None] = field(default_factory=dict, init=False)
    opened: dict[str, Prepared | None] = field(default_factory=dict, init=False)

    def experiments(self) -> list[str]:
        """Return the names of the experiments that have finished runs."""
        frames = (self.runs, self.board_runs, self.tuning)
        return sorted({name for frame in frames for name in frame["experiment"].unique()})

    def runs_of(self, experiment: str, stream: str | None = None) -> pd.DataFrame:
        """Return the runs of an experiment on a stream; on all its streams without a name."""
        runs = self.runs[self.runs["experiment"] == experiment]
        return runs if stream is None else runs[runs["stream"] == stream]

    @property
    def scope(self) -> tuple[str, ...]:
        """The experiments that the report is about, with or without runs: the selected ones, or all that are known."""
        return tuple(self.selected) or tuple(sorted({*experiment_names(), *self.experiments()}))

    def about(self, name: str) -> ExperimentInfo:
        """Return title and description of an experiment, shipped or not."""
        experiment = shipped(name)
        return experiment.info if experiment else self.own_experiments.get(name, ExperimentInfo(name, name))

    @cached_property
    def all_runs(self) -> pd.DataFrame:
        """The runs, those of boards and those with a tuned α, all on report seeds."""
        _, tuned = load_protocol().seeds.split(self.tuning)
        further = [frame for frame in (self.board_runs, tuned) if len(frame)]
        return pd.concat([self.runs, *further], ignore_index=True) if further else self.runs

    def only(self, experiments: Sequence[str]) -> "Results":
        """Return the results of some experiments."""
        names = set(experiments)
        own = {name: info for name, info in self.own_experiments.items() if name in names}
        parts: dict[str, Any] = {"own_experiments": own, "selected": tuple(experiments)}
        for name in ("runs", "sweeps", "failed", "board_runs", "tuning"):
            frame = getattr(self, name)
            parts[name] = frame[frame["experiment"].isin(names)].reset_index(drop=True)
        for name in ("boards", "other_data", "earlier_code"):
            parts[name] = tuple(item for item in getattr(self, name) if item.experiment in names)
        lacking = {pair: text for pair, text in self.lacking_metrics.items() if pair[0] in names}
        return replace(self, lacking_metrics=lacking, **parts)

    def left_out_sentences(self) -> list[str]:
        """Return the sentences on runs that are left out: on other data, by earlier code, on seeds for choosing."""
        others = ((record.stream.name, describe_data(record), 1) for record in self.other_data)
        sentences = left_out_sentences(others, self.prepared_now) + earlier_code_sentences(self.earlier_code)
        sentences += self.lacking_metrics.values()
        return [*sentences, CHOOSING_SENTENCE.format(self.choosing)] if self.choosing else sentences

    @cached_property
    def manifests(self) -> Mapping[str, Mapping[str, Any]]:
        """The manifests of the prepared data sets used by the runs, by name."""
        manifests = {}
        real = self.all_runs[self.all_runs["source"] != "simulated"]
        for name, runs in real.groupby("dataset"):
            try:
                manifest = read_manifest(self.folder / str(name))
            except NotPreparedError as error:
                self.note_absent(f"{error.reason}: tables and figures that need the data are omitted")
                continue
            if (runs["prepared"] == manifest["fingerprint"]).any():
                manifests[str(name)] = manifest
            else:
                self.note_absent(f"the prepared data set {name} is not the one used by the runs; it is ignored")
        return manifests

    def prepared(self, name: str) -> Prepared | None:
        """Return the prepared data set used by the runs, or None if it is not available."""
        if name not in self.opened:
            self.opened[name] = open_prepared(name, self.folder) if name in self.manifests else None
        return self.opened[name]

    def label(self, dataset: str, source: str) -> DataLabel:
        """Return the label to show with every result on these data; see `data_label`."""
        manifest = self.manifests.get(dataset)
        return data_label(source, manifest if manifest and manifest["source"] == source else None)

    def labels(self, runs: pd.DataFrame) -> tuple[str, ...]:
        """Return the labels of all data used by these runs, each with the name of its data set, and of fallbacks."""
        used = runs[["experiment", "dataset"]].drop_duplicates().astype(str).to_numpy().tolist()
        experiments = ((shipped(experiment), dataset) for experiment, dataset in used)
        fallbacks = (experiment.fallback_labels.get(dataset) for experiment, dataset in experiments if experiment)
        pairs = runs[["dataset", "source"]].drop_duplicates().sort_values(["dataset", "source"])
        labels = (
            (dataset_label(dataset), self.label(dataset, source)) for dataset, source in pairs.itertuples(index=False)
        )
        return (*dict.fromkeys(filter(None, fallbacks)), *grouped_labels(labels))

    def note_absent(self, sentence: str) -> None:
        """Add a sentence about something missing, once."""
        if sentence not in self.absent:
            self.absent.append(sentence)

    def client_totals(self, run_id: str, names: Sequence[str] | None = None) -> pd.DataFrame:
        """Return client, reward, uploads and downloads, or some of them, one row per client.

        `FileNotFoundError` without the file.
        """
        import pyarrow.parquet as pq

        with (
            self._artifact(run_id, self._artifact_uris[run_id], CLIENTS) as file,
            pq.ParquetFile(file) as parquet,  # of small files a tenth of the time that `pandas.read_parquet` takes
        ):
            totals: pd.DataFrame = parquet.read(names, use_threads=False).to_pandas()
            return totals

    @cached_property
    def _artifact_uris(self) -> dict[str, str]:
        return dict(zip(self.all_runs["run_id"], self.all_runs["artifact_uri"], strict=True))

    @contextmanager
    def _artifact(self, run_id: str, uri: str, name: str) -> Iterator[Path]:
        """Give a file of a run, downloaded if need be; `FileNotFoundError` without it."""
        local = local_folder(uri)
        if local is not None:
            yield local / name
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

    def synchronisations(self, run_id: str) -> int | None:
        """Return how often all known clients uploaded together in a run; None if its client totals are missing.

        The first client of a stream takes part in every synchronisation, so no client uploads more often.
        """
        if run_id not in self.counted:
            try:
                uploads = self.client_totals(run_id, ["uploads"])["uploads"]
                self.counted[run_id] = int(uploads.max()) if len(uploads) else 0
            except (OSError, ValueError):
                self.counted[run_id] = None
        return self.counted[run_id]

    def curves(self, run_ids: Iterable[str]) -> pd.DataFrame:
        """Return run_id, metric (a name of a curve, such as `reward_curve`), step and value, in order of steps."""
        runs = self.all_runs[self.all_runs["run_id"].isin([*run_ids])]
        places = runs[["source", "experiment", "run_id", "artifact_uri"]].astype(str).to_numpy().tolist()
        rows = [
            (place[2], name, step, value)
            for place in places
            for name, points in read_curves(self._store, *place).items()
            for step, value in points
        ]
        frame = pd.DataFrame(rows, columns=["run_id", "metric", "step", "value"])
        return frame.sort_values(["run_id", "metric", "step"], ignore_index=True)

    @cached_property
    def _store(self) -> Store:
        return Store(self.uri)


def read_results(uri: str | None = None, folder: Path | None = None) -> Results:
    """Read the finished runs of a store; an empty or missing one has none.

    For each data set, only runs on one version of the data are read: the version prepared now in `folder`, by default
    the data folder, or that of the newest run. For each method of an experiment, only runs by its latest code are read;
    a board has the code that it was played with. The results have sentences on the others.
    """
    gc.disable()  # records have no cycles, and each search for them visits all records
    try:
        return _read_results(uri or tracking_uri(), folder or data_folder())
    finally:
        gc.enable()


def _read_results(uri: str, folder: Path) -> Results:
    records = list(read(uri))
    all_finished = [record for record in records if record.status == "FINISHED"]
    prepared = fingerprints_prepared_now(data_sets_of(records), folder)
    on_data, others = split_by_data(all_finished, prepared)
    stored_boards = read_boards(uri, on_data)
    finished, earlier = _split_by_code(on_data, stored_boards)
    finished, own_metrics, lacking = split_by_metric_code(finished)
    boards, reporting = of_boards(finished), [record for record in finished if record.purpose == "report"]
    tuned = tuned_experiment()
    of_experiments = [record for record in reporting if record.experiment not in {*boards, tuned}]
    runs = latest_runs(of_experiments)
    return Results(
        runs=run_frame(runs),
        uri=uri,
        folder=folder,
        sweeps=pd.DataFrame(read_sweeps(uri), columns=[*SWEEPS]),
        failed=_failures(records, finished, earlier, prepared),
        other_data=tuple(others),
        earlier_code=tuple(earlier),
        prepared_now=tuple(sorted(prepared)),
        superseded=len(of_experiments) - len(runs),
        versions=versions_of(finished),
        boards=stored_boards,
        board_runs=run_frame([record for record in reporting if record.experiment in boards]),
        tuning=run_frame(latest_runs(record for record in finished if record.experiment == tuned)),
        choosing=len(finished) - len(reporting),
        own_experiments=_own_experiments(uri, {record.experiment for record in finished}),
        methods=Methods.of(all_finished),
        own_metrics=own_metrics,
        lacking_metrics=lacking,
    )


def _split_by_code(
    records: Sequence[RunRecord], boards: Sequence[StoredBoard]
) -> tuple[list[RunRecord], list[RunRecord]]:
    """Split runs as `split_by_code` does; the runs of a board are shown until it has been played by other code."""
    newest, earlier = split_by_code(records)
    of_a_board = {run_id for board in boards for run_id in board.run_ids} if earlier else set()
    hidden = [record for record in earlier if record.run_id not in of_a_board]
    return [*(record for record in earlier if record.run_id in of_a_board), *newest], hidden


def _failures(
    records: Iterable[RunRecord],
    finished: Iterable[RunRecord],
    earlier: Iterable[RunRecord],
    prepared: Mapping[str, str],
) -> pd.DataFrame:
    """Return the runs that failed and were not finished since; none on other data, or by earlier code."""
    finished_keys = {(record.experiment, record.key) for record in finished}
    earlier_codes = {_code_of(record) for record in earlier}
    rows = {
        (record.experiment, record.key): (
            record.experiment,
            f"{record.name} on {record.stream.name or '?'}",
            record.error or record.status,
        )
        for record in records
        if record.status == "FAILED"
        and prepared.get(record.stream.name, record.stream.prepared) == record.stream.prepared
        and _code_of(record) not in earlier_codes
    }
    return pd.DataFrame([row for key, row in rows.items() if key not in finished_keys], columns=[*FAILED])


def _code_of(record: RunRecord) -> tuple[str, str, str]:
    return record.experiment, record.method.name, record.method.code_version


def versions_of(finished: Iterable[RunRecord]) -> dict[str, dict[str, int]]:
    """Count the runs by versions, commit and machine."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for record in finished:
        for tag, name in VERSIONS.items():
            counts[name][record.provenance.get(tag, "not recorded")] += 1
    return {name: dict(values.most_common()) for name, values in counts.items()}


def _own_experiments(uri: str, names: Iterable[str]) -> dict[str, ExperimentInfo]:
    """Return those of these experiments that are not shipped, as the notes of their MLflow experiments have them."""
    own, store = sorted({*names} - {*experiment_names()}), Store(uri)
    found = {name: store.find(name) for name in own}
    notes = {name: each.tags.get("mlflow.note.content", "") if each else "" for name, each in found.items()}
    return {name: _info_from_note(name, note) for name, note in notes.items()}


def _info_from_note(name: str, note: str) -> ExperimentInfo:
    title, has_break, description = note.partition("\n\n")
    if not has_break:
        title, _, description = note.partition(". ")
    return ExperimentInfo(
        name, " ".join(title.replace("**", "").split()).rstrip(".") or name, " ".join(description.split())
    )


@cache
def shipped(name: str) -> Experiment | None:
    """Return a shipped experiment; None for any other, whose file is unknown."""
    return load_experiment(name) if name in experiment_names() else None


def counts_needed(experiment: str) -> bool:
    """Return whether figures of a shipped experiment show the needed transfers, instead of all that are sent."""
    loaded = shipped(experiment)
    return loaded is not None and loaded.counts == "needed"


def effects_of(name: str) -> tuple[str, ...]:
    """Return the settings whose effect a study measures; none if the experiment is not a study."""
    experiment = shipped(name)
    return tuple(experiment.effects_of) if experiment else ()


def datasets_of(name: str) -> tuple[str, ...]:
    """Return the streams of a shipped experiment; those of any other are unknown."""
    experiment = shipped(name)
    return tuple(stream_names(experiment)) if experiment else ()


def stream_in_name(experiment: str, stream: str, streams: "pd.Series[str]") -> bool:
    """Return whether outputs of an experiment on a stream have the stream in their name.

    They have not on its only stream, nor on the first stream of its file unless it is a study: that is the figure
    itself, and the others are its variants.
    """
    if streams.nunique() == 1:
        return False
    return bool(effects_of(experiment)) or stream != next(iter(datasets_of(experiment)), None)
