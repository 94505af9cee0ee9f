"""Streams of a comparison: from a data set's name, a specification, an `EventStream` or a function of the seed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from data_pipelines.catalogue import data_set_names
from data_pipelines.data_label import data_label
from data_pipelines.event_stream import EventStream
from data_pipelines.prepare.prepared import prepared_names
from data_pipelines.stream_spec import DatasetSpec, SimulatedSpec, StreamSpec, dataset_spec
from data_pipelines.support.messages import unknown_name


@dataclass(frozen=True)
class GivenStream:
    """An `EventStream` in memory, with the interface of a specification, so that sweeps can run over it."""

    stream: EventStream
    origin: str = "given by the user"

    @property
    def name(self) -> str:
        """The name of the stream."""
        return self.stream.name

    @property
    def source(self) -> str:
        """The source of its data."""
        return self.stream.source

    @property
    def arms(self) -> int:
        """The size of a pool."""
        return self.stream.arms

    @property
    def dimension(self) -> int:
        """The length of a feature vector."""
        return self.stream.dimension

    @property
    def steps(self) -> int:
        """The number of decisions."""
        return self.stream.steps

    @property
    def clients(self) -> int:
        """The number of clients."""
        return len(self.stream.client_ids)

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

    def data_label(self) -> str:
        """Return the notice to show with every result on these data."""
        return data_label(self.name, self.source, None)

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
