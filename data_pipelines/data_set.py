"""What a data set states of itself, and what is read from its archive."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from data_pipelines.archive import Archive, ArchiveError
from data_pipelines.stand_in import StandIn
from data_pipelines.words import WordCounts

UNKNOWN_TIME = 0
Parameters = Mapping[str, float]


@dataclass(frozen=True)
class Counts:
    """The three numbers by which a data set is known."""

    users: int
    items: int
    interactions: int


@dataclass(frozen=True)
class Contents:
    """What an archive says: who took which item when, and which words describe the items.

    `users`, `items` (rows of `item_ids`) and `times` (0: unknown) run over the distinct (user, item)
    pairs, in increasing order, so that the order of rows in the archive does not matter. `rows` counts
    the rows read of each member; `notes` are remarks for the manifest.
    """

    users: NDArray[np.int64]
    items: NDArray[np.int32]
    times: NDArray[np.int64]
    item_ids: NDArray[Any]
    words: WordCounts
    rows: Mapping[str, int]
    notes: tuple[str, ...] = ()
    user_labels: NDArray[Any] | None = None

    def __post_init__(self) -> None:
        if not len(self.users):
            raise ArchiveError("there is not a single interaction; allowed is at least one")
        if not len(self.words.vocabulary):
            raise ValueError("no item has a single word left; allowed is at least one")

    @property
    def counts(self) -> Counts:
        """The numbers to be held against the published ones."""
        return Counts(len(np.unique(self.users)), len(self.item_ids), len(self.users))


@dataclass(frozen=True, kw_only=True)
class DataSet:
    """All there is to say about one data set. A module in `data_pipelines/datasets/` states one."""

    name: str
    archive: str
    official_url: str
    copies: tuple[str, ...] = ()
    size: int | None = None
    sha256: str | None = None
    member_sha256: Mapping[str, str] = field(default_factory=dict)
    limits: Mapping[str, int]
    """The members that may be read, each with the most bytes it may unpack to."""
    licence: str
    citation: str
    published: Counts
    published_rows: Mapping[str, int] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    parameters: Parameters = field(default_factory=dict)
    groups: str = "quantiles"
    """How `fedbandit data show` groups users by activity: `tens` or `quantiles`."""
    read: Callable[[Archive, Parameters], Contents]
    stand_in: Callable[[StandIn], None] | None = None


def rows_of(
    ids: NDArray[Any], catalogue: NDArray[Any], *, member: str, column: str, listed_in: str
) -> NDArray[np.int64]:
    """Return the position of each id in the sorted `catalogue`, or name the line of the first unknown one."""
    places = np.searchsorted(catalogue, ids)
    known = places < len(catalogue)
    known[known] = catalogue[places[known]] == ids[known]
    if not known.all():
        row = int(np.argmin(known))
        raise ArchiveError(f"{member} line {row + 2}: {column} {ids[row]} is not in {listed_in}")
    return places


def distinct_pairs(
    users: NDArray[np.int64], items: NDArray[np.integer[Any]], times: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]:
    """Return each (user, item) once, with its earliest known time, sorted by user and item."""
    known = times != UNKNOWN_TIME
    order = np.lexsort((times, ~known, items, users))
    users, items, times = users[order], items[order], times[order]
    first = np.ones(len(users), dtype=bool)
    first[1:] = (users[1:] != users[:-1]) | (items[1:] != items[:-1])
    return users[first], items[first].astype(np.int32), times[first]


def unique_ids(ids: list[int], member: str) -> NDArray[np.int64]:
    """Return a catalogue's ids in increasing order; an id listed twice, or none at all, is an error."""
    if not ids:
        raise ArchiveError(f"{member} has no rows; allowed is at least one")
    array = np.array(ids, dtype=np.int64)
    distinct, counts = np.unique(array, return_counts=True)
    if len(distinct) < len(array):
        raise ArchiveError(f"{member} lists id {distinct[np.argmax(counts > 1)]} twice; allowed is once")
    return distinct
