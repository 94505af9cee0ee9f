"""The data that a user names: a prepared data set, or a file, which is imported on the fly; and what they are like."""

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmark.answers.given_stream import data_set_spec
from data_pipelines.event_stream import EventStream
from data_pipelines.own_data.options import ImportOptions
from data_pipelines.prepare.imported import import_table, leak_of
from data_pipelines.prepare.prepared import DEFAULT_ARMS, read_manifest
from data_pipelines.stream_spec import DatasetSpec
from data_pipelines.support.messages import one_line

SUFFIXES = (".csv", ".tsv", ".txt", ".parquet", ".gz", ".xlsx", ".json")
MIN_ARMS = 2


def is_file_name(text: str) -> bool:
    """Whether a text looks like the path of a file and not like the name of a data set."""
    return "/" in text or text.lower().endswith(SUFFIXES) or Path(text).is_file()


def data_from(text: str, options: ImportOptions | None = None, *, max_interactions: int | None = None) -> DatasetSpec:
    """Return the specification of a prepared data set, or of a file that is imported now.

    A file is imported once: the same file gives the same data set. One with more than `max_interactions` is refused.
    Without `options`, the error for a file that needs some names the commands that take them.
    """
    if not is_file_name(text):
        if options is not None and (names := list(options.given())):
            option = f"--{names[0].replace('_', '-')}"
            raise ValueError(one_line(f"{option} must only be used with a CSV or Parquet file, got data {text!r}"))
        return data_set_spec(text)
    path = Path(text).expanduser()
    if not path.exists():
        raise ValueError(one_line(f"data must be a prepared data set or a file, got {text!r}: no such file"))
    try:
        imported = import_table(path, options, min_arms=MIN_ARMS, max_interactions=max_interactions)
    except ValueError as error:
        if options is not None or "--" not in str(error):
            raise
        file = shlex.quote(text)
        commands = f"`fedbandit recommend {file}` and `fedbandit compare METHOD --dataset {file}`"
        raise ValueError(one_line(f"{error} ({commands} take the file with such options)")) from None
    return data_set_spec(imported.name, arms=min(imported.profile.max_arms, DEFAULT_ARMS))


def leak_notices(spec: object) -> tuple[str, ...]:
    """Return the remark on a leak of a data set, to show with every answer on it."""
    leaks = [leak_of(manifest) for manifest in _manifests(spec)]
    return tuple(f"LEAK: {leak}" for leak in leaks if leak)


def import_notes(spec: object) -> tuple[str, ...]:
    """Return what was done to the rows of a data set when it was prepared, such as how many were left out."""
    notes = [str(note) for manifest in _manifests(spec) for note in manifest["notes"]]
    return tuple(one_line(f"{note[:1].upper()}{note[1:]}.") for note in notes)


def _manifests(spec: object) -> list[dict[str, Any]]:
    """Return the manifest of a data set; of a simulation, none."""
    if not isinstance(spec, DatasetSpec):
        return []
    bound = spec.bound()
    return [read_manifest(bound.data.folder / bound.dataset)]


@dataclass(frozen=True)
class DataProfile:
    """The sizes of a stream, the decisions per client, what popularity alone earns, and notes on how it was prepared.

    `popularity` is the normalised reward of a rule that knows, in hindsight, how often each item was the rewarded one,
    and always takes the item of the pool with the highest count; NaN in simulations.
    """

    name: str
    clients: int
    steps: int
    arms: int
    dimension: int
    activity: tuple[int, int, int, int, int]
    popularity: float
    notes: tuple[str, ...] = ()

    def sentences(self) -> list[str]:
        """Return the profile in words."""
        least, first, median, third, most = self.activity
        sentences = [
            f"{self.clients:,} clients and {self.steps:,} decisions, each among {self.arms} items with "
            f"{self.dimension} features.",
            f"Decisions per client: {least:,} to {most:,}, half of the clients have {first:,} to {third:,} "
            f"(median {median:,}).",
        ]
        if np.isfinite(self.popularity):
            sentences.append(
                f"Always taking the most popular item, with counts known in hindsight, earns {self.popularity:.3g} "
                "times random choice; what a method earns above that is not popularity."
            )
        return [*sentences, *self.notes]


def profile_stream(stream: EventStream, notes: tuple[str, ...] = ()) -> DataProfile:
    """Describe a stream; `notes` are sentences on how its data were prepared."""
    counts = np.bincount(stream.client_numbers)
    quartiles = np.quantile(counts, [0, 0.25, 0.5, 0.75, 1], method="nearest")
    smallest, first, median, third, largest = (int(value) for value in quartiles)
    activity = (smallest, first, median, third, largest)
    sizes = (len(stream.client_ids), stream.steps, stream.arms, stream.dimension)
    return DataProfile(stream.name, *sizes, activity, _popularity(stream), notes)


def _popularity(stream: EventStream) -> float:
    if stream.rewards.min() < 0 or not stream.random_reward:
        return float("nan")
    totals = np.bincount(stream.pools.ravel(), weights=stream.rewards.ravel(), minlength=len(stream.items))
    choices = totals[stream.pools].argmax(axis=1)
    return float(stream.rewards[np.arange(stream.steps), choices].sum()) / stream.random_reward
