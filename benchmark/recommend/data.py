"""The data that a user names: a data set, a file imported on the fly, or a stream in memory; and what they are like."""

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmark.plan.own_data_sets import is_plugin, prepared_plugin
from data_pipelines.data_label import DataLabel, data_label
from data_pipelines.data_set import data_set_names
from data_pipelines.event_stream import EventStream
from data_pipelines.own_data.options import ImportOptions
from data_pipelines.own_data.table import OptionNeededError
from data_pipelines.prepare.imported import import_table, leak_of
from data_pipelines.prepare.prepared import DEFAULT_ARMS, prepared_names, read_manifest
from data_pipelines.stream_spec import DatasetSpec, SimulatedSpec, StreamSpec, dataset_spec
from data_pipelines.support.messages import one_line, unknown_name


class GivenStream:
    """An `EventStream` in memory, with the interface of a specification, so that sweeps can run over it."""

    origin = "given by the user"

    def __init__(self, stream: EventStream) -> None:
        self.stream = stream
        self.name, self.source = stream.name, stream.source
        self.arms, self.dimension, self.steps = stream.arms, stream.dimension, stream.steps
        self.clients = len(stream.client_ids)

    def settings(self) -> dict[str, Any]:
        """Return the options that identify the stream: none, its content does."""
        return {}

    def fingerprint(self, seed: int) -> str:
        """Return the fingerprint of the stream, the same for every seed."""
        return self.stream.fingerprint

    def prepared(self) -> None:
        """None: it is not known which prepared data are behind it."""

    def bound(self, folder: Any = None) -> "GivenStream":
        """Return the stream itself."""
        return self

    def data_label(self) -> DataLabel:
        """Return the notice to show with every result on these data."""
        return data_label(self.source)

    def build(self, seed: int) -> EventStream:
        """Return the stream."""
        return self.stream


AnyStream = str | SimulatedSpec | DatasetSpec | EventStream | Callable[[int], EventStream]


def streams_by_seed(stream: AnyStream, seeds: Sequence[int]) -> dict[int, StreamSpec]:
    """Return the specification of the stream of each seed.

    A function is called once per seed. An `EventStream` is the same for every seed, which then only breaks ties.
    """
    if isinstance(stream, str):
        stream = data_set_spec(stream)
    if isinstance(stream, SimulatedSpec | DatasetSpec):
        return dict.fromkeys(seeds, stream.bound())
    if isinstance(stream, EventStream):
        return dict.fromkeys(seeds, GivenStream(stream))  # type: ignore[arg-type]
    if not callable(stream):
        raise ValueError(
            "stream must be the name of a prepared data set, an EventStream, a specification or a function of the "
            f"seed, got {stream!r}"
        )
    return {seed: GivenStream(_checked(stream(seed))) for seed in seeds}  # type: ignore[misc]


def data_set_spec(name: str, **options: Any) -> DatasetSpec:
    """Return the specification of a prepared data set; an unknown name is one line."""
    if name not in (known := {*data_set_names(), *prepared_names()}):
        raise unknown_name("data set", name, known)
    return dataset_spec(dataset=name, **options)


def _checked(stream: Any) -> EventStream:
    if not isinstance(stream, EventStream):
        raise ValueError(f"the function of the seed must return an EventStream, got {type(stream).__name__}")
    return stream


EASY = 2.0
"""If popularity earns so many times what random choice does, an answer says that the test is easy."""

SUFFIXES = (".csv", ".tsv", ".txt", ".parquet", ".gz", ".xlsx", ".json")
MIN_ARMS = 2


def is_file_name(text: str) -> bool:
    """Whether a text looks like the path of a file and not like the name of a data set."""
    return "/" in text or text.lower().endswith(SUFFIXES) or Path(text).is_file()


def data_from(text: str, options: ImportOptions | None = None) -> DatasetSpec:
    """Return the specification of a prepared data set, or of a file or a declaration that is prepared now.

    A file is imported once: the same file gives the same data set. It is stored with its repeats, of which the stream
    has those that `options` keep. Without `options`, the error for a file that needs
    some names the commands that take them.
    """
    if not is_file_name(text):
        if options is not None and (names := list(options.given())):
            option = f"--{names[0].replace('_', '-')}"
            raise ValueError(one_line(f"{option} must only be used with a CSV or Parquet file, got data {text!r}"))
        return data_set_spec(prepared_plugin(text) if is_plugin(text) else text)
    path = Path(text).expanduser()
    if not path.exists():
        raise ValueError(one_line(f"data must be a prepared data set or a file, got {text!r}: no such file"))
    try:
        keeping_repeats = replace(options or ImportOptions(), repeats="keep")
        imported = import_table(path, keeping_repeats, min_arms=MIN_ARMS)
    except OptionNeededError as error:
        if options is not None:
            raise
        command = shlex.join(["fedbandit", "recommend", text, *error.options])
        reason = f"{error} (`fedbandit recommend` and `fedbandit compare` take such options; try: {command})"
        raise ValueError(one_line(reason)) from None
    repeats = {"repeats": (options and options.repeats) or "once"} if imported.profile.repeats else {}
    return data_set_spec(imported.name, arms=min(imported.profile.max_arms, DEFAULT_ARMS), **repeats)


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
            is_easy = self.popularity >= EASY
            sentences.append(
                f"Always taking the most popular item, with counts known in hindsight, earns {self.popularity:.3g} "
                "times random choice" + (": popularity alone goes far, so this is an easy test." if is_easy else ".")
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
    totals = np.bincount(stream.offered_items.ravel(), weights=stream.rewards.ravel())
    choices = totals[stream.offered_items].argmax(axis=1)
    return float(stream.rewards[np.arange(stream.steps), choices].sum()) / stream.random_reward
