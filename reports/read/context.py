"""Inputs of a report besides the runs: prepared data sets, their labels, and sentences on anything missing."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from benchmark.plan.experiment import experiment_names
from data_pipelines.data_label import DataLabel, data_label, grouped_labels
from data_pipelines.prepare.prepared import NotPreparedError, Prepared, data_folder, open_prepared, read_manifest
from reports.read.experiment_files import fallback_label
from reports.read.results import Results


@dataclass
class Context:
    """The data sets of these results, and sentences on anything missing.

    `experiments` are those that the report is about, whether they have runs or not. `absent` holds sentences about
    anything missing; makers of tables and figures add to it with `note_absent`. `group_totals` caches the totals of
    activity groups by experiment and stream, which several tables and figures use; `judged` does so for the
    paper's claims, `by_chance` and `centre` for distances of users from the centre of the embedding, and `board_users`
    for the users of a board.
    """

    folder: Path
    runs: pd.DataFrame
    experiments: tuple[str, ...] = ()
    absent: list[str] = field(default_factory=list)
    group_totals: dict[tuple[str, str], pd.DataFrame] = field(default_factory=dict)
    judged: list[Any] = field(default_factory=list)
    by_chance: dict[str, Any] = field(default_factory=dict)
    centre: dict[str, Any] = field(default_factory=dict)
    board_users: dict[str, pd.DataFrame] = field(default_factory=dict)
    _opened: dict[str, Prepared | None] = field(default_factory=dict)

    @cached_property
    def manifests(self) -> Mapping[str, Mapping[str, Any]]:
        """The manifests of the prepared data sets used by the runs, by name."""
        manifests = {}
        real = self.runs[~self.runs["source"].isin(["simulated"])]
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
        if name not in self._opened:
            self._opened[name] = open_prepared(name, self.folder) if name in self.manifests else None
        return self._opened[name]

    def withhold(self, names: Iterable[str]) -> None:
        """Treat data sets as not available although their manifests are known."""
        self._opened.update(dict.fromkeys(names))

    def label(self, dataset: str, source: str) -> DataLabel:
        """Return the label to show with every result on these data; see `data_label`."""
        manifest = self.manifests.get(dataset)
        return data_label(source, manifest if manifest and manifest["source"] == source else None)

    def labels(self, runs: pd.DataFrame) -> tuple[str, ...]:
        """Return the labels of all data used by these runs, each with the name of its data set, and of fallbacks."""
        pairs = runs[["dataset", "source"]].drop_duplicates().sort_values(["dataset", "source"])
        labels = ((dataset, self.label(dataset, source)) for dataset, source in pairs.itertuples(index=False))
        return (*fallback_labels(runs), *grouped_labels(labels))

    def note_absent(self, sentence: str) -> None:
        """Add a sentence about something missing, once."""
        if sentence not in self.absent:
            self.absent.append(sentence)


def fallback_labels(runs: pd.DataFrame) -> tuple[str, ...]:
    """Return the notices of data sets that experiments use instead of others."""
    pairs = runs[["experiment", "dataset"]].drop_duplicates().itertuples(index=False)
    labels = (fallback_label(str(experiment), str(dataset)) for experiment, dataset in pairs)
    return tuple(dict.fromkeys(label for label in labels if label))


def make_context(results: Results, folder: Path | None = None, experiments: Iterable[str] = ()) -> Context:
    """Return the context of some results; the data folder is `FEDBANDIT_DATA`, or `data` in the working directory.

    The report is about the given experiments; without any, about all that are shipped or have runs.
    """
    names = tuple(experiments) or tuple(sorted({*experiment_names(), *results.experiments()}))
    return Context(data_folder() if folder is None else folder, results.all_runs, names)
