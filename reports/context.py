"""What a report needs beside the runs: prepared data sets, their labels, and sentences on what is missing."""

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from benchmark.experiment import experiment_names
from data_pipelines.prepared import NotPreparedError, Prepared, data_folder, open_prepared, read_manifest
from reports.labels import data_label
from reports.results import Results


@dataclass
class Context:
    """The data folder and what is in it for these results.

    `experiments` are those that the report is about, whether they have runs or not. `absent` takes sentences about
    what is missing; makers of tables and figures add to it through `say_absent`. `group_totals` keeps what the
    function of that name has read: several tables and figures are made of it.
    """

    folder: Path
    runs: pd.DataFrame
    experiments: tuple[str, ...] = ()
    absent: list[str] = field(default_factory=list)
    group_totals: dict[str, pd.DataFrame] = field(default_factory=dict)
    _opened: dict[str, Prepared | None] = field(default_factory=dict)

    @cached_property
    def manifests(self) -> Mapping[str, Mapping[str, Any]]:
        """The manifests of the prepared data sets that the runs were made from, by name."""
        found = {}
        real = self.runs[~self.runs["source"].isin(["simulated"])]
        for name, runs in real.groupby("dataset"):
            try:
                manifest = read_manifest(self.folder / str(name))
            except NotPreparedError as error:
                self.say_absent(f"{str(error).partition('; run:')[0]}: what depends on the data themselves is left out")
                continue
            if made_from(runs, manifest).any():
                found[str(name)] = manifest
            else:
                self.say_absent(f"{name} in the data folder is not the data that its runs were made from: not used")
        return found

    def prepared(self, name: str) -> Prepared | None:
        """Return the prepared data set that the runs were made from, or None."""
        if name not in self._opened:
            self._opened[name] = open_prepared(name, self.folder) if name in self.manifests else None
        return self._opened[name]

    def label(self, dataset: str, source: str) -> str:
        """Say what has to be known of the data wherever a result on them is shown; see `data_label`."""
        manifest = self.manifests.get(dataset)
        return data_label(dataset, source, manifest if manifest and manifest["source"] == source else None)

    def labels(self, runs: pd.DataFrame) -> tuple[str, ...]:
        """Return the labels of all data that these runs were made from, each with the name of its data set."""
        pairs = runs[["dataset", "source"]].drop_duplicates().sort_values(["dataset", "source"])
        said = ((dataset, self.label(dataset, source)) for dataset, source in pairs.itertuples(index=False))
        return tuple(f"{dataset}: {label}" for dataset, label in said if label)

    def say_absent(self, sentence: str) -> None:
        """Add a sentence about something missing, once."""
        if sentence not in self.absent:
            self.absent.append(sentence)


def make_context(results: Results, folder: Path | None = None, experiments: Iterable[str] = ()) -> Context:
    """Look at the data folder: `FEDBANDIT_DATA`, or `data` in the working directory.

    The report is about the given experiments; without any, about all that are shipped or have runs.
    """
    names = tuple(experiments) or tuple(sorted({*experiment_names(), *results.experiments()}))
    return Context(data_folder() if folder is None else folder, results.runs, names)


def made_from(runs: pd.DataFrame, manifest: Mapping[str, Any]) -> "pd.Series[bool]":
    """Tell of each run whether it was made from this prepared data set, by the fingerprint of its stream."""
    from data_pipelines.features import SCALINGS
    from data_pipelines.streams import PLACES, stream_fingerprint

    def fits(seed: int, arms: int, dimension: int, fingerprint: str) -> bool:
        return any(
            stream_fingerprint(manifest, seed=seed, arms=arms, dimension=dimension, scaling=scaling, positive=positive)
            == fingerprint
            for scaling, positive in itertools.product(SCALINGS, PLACES)
        )

    columns = runs[["seed", "arms", "dimension", "fingerprint"]]
    return pd.Series([fits(*row) for row in columns.itertuples(index=False)], index=runs.index, dtype=bool)
