"""A profile of a table to import: its format, its content and the rows that are left out."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from data_pipelines.data_set import UNKNOWN_TIME, Contents
from data_pipelines.own_data.table import Problem
from data_pipelines.own_data.values import NUMBER, Times
from data_pipelines.prepare.prepared import DEFAULT_ARMS
from data_pipelines.support.text import labelled, number_of

POPULAR = 10


@dataclass(frozen=True, kw_only=True)
class Profile:
    """A profile of a table; `lines` is the text for users."""

    files: tuple[str, ...]
    """Each file with its detected format."""
    columns: tuple[str, ...]
    """The columns that were given, and those that were recognised by their names."""
    rows: int
    bad_rows: int
    users: int
    items: int
    interactions: int
    activity: tuple[int, int, int, int, int]
    """Interactions per user: minimum, quartiles, maximum."""
    times: str
    repeats: int
    duplicates: int
    """Repeats at the same time."""
    repeats_are_kept: bool
    popular_share: float
    """The share of the interactions on the ten most popular items."""
    max_arms: int
    """The largest pool for which every user has enough other items."""
    ratings: str
    """Empty if there are none."""
    features: str
    problems: tuple[Problem, ...]

    @classmethod
    def of(cls, contents: Contents, **facts: Any) -> Self:
        """Count what is stored; `facts` are the other fields, which the tables determine."""
        _, activity = np.unique(contents.users, return_counts=True)
        _, popularity = np.unique(contents.items, return_counts=True)
        is_new = np.append(True, (np.diff(contents.users) != 0) | (np.diff(contents.items) != 0))  # they are sorted
        _, distinct_items = np.unique(contents.users[is_new], return_counts=True)
        quartiles = np.percentile(activity, [0, 25, 50, 75, 100], method="lower").astype(int).tolist()
        return cls(
            users=len(activity),
            items=len(contents.item_ids),
            interactions=len(contents.users),
            activity=tuple(quartiles),
            popular_share=float(np.sort(popularity)[-POPULAR:].sum() / len(contents.users)),
            max_arms=len(contents.item_ids) - int(distinct_items.max()) + 1,
            **facts,
        )

    @property
    def lines(self) -> list[str]:
        """The profile as text of at most 80 columns."""
        left_out = f", {self.bad_rows:,} of them left out (see below)" if self.bad_rows else ""
        smallest, first, median, third, largest = self.activity
        repeats = "none"
        if self.repeats:
            fate = "kept" if self.repeats_are_kept else "counted once (--repeats keep stores them)"
            verb = "repeats" if self.repeats == 1 else "repeat"
            repeats = f"{number_of(self.repeats, 'interaction')} {verb} a (user, item) pair; {fate}"
            repeats += f"; {self.duplicates:,} of them at the same time: they may be duplicate rows" * bool(
                self.duplicates
            )
        arms = (
            f"pools can have at most {self.max_arms} items (default: {DEFAULT_ARMS}): write arms = {self.max_arms} "
            "under [[streams]]"
        )
        if self.max_arms < 2:
            arms = "one user took every item: no pool has an item that this user did not take"
        texts: dict[str, Sequence[str]] = {
            "files" if len(self.files) > 1 else "file": self.files,
            "columns": self.columns,
            "rows": [f"{self.rows:,}{left_out}"],
            "users": [f"{self.users:,}"],
            "items": [f"{self.items:,}"],
            "interactions": [f"{self.interactions:,}"],
            "per user": [f"{smallest:,} to {largest:,} interactions; quartiles {first:,}, {median:,}, {third:,}"],
            "repeats": [repeats],
            "popularity": [f"{self.popular_share:.1%} of the interactions are on the {POPULAR} most popular items"],
            "times": [self.times],
            "ratings": [self.ratings],
            "features": [self.features],
            "arms": [arms] if self.max_arms < DEFAULT_ARMS else [],
            "left out": [problem.summary() for problem in self.problems],
        }
        return [line for label, values in texts.items() for line in labelled(label, values)]


def describe_times(times: NDArray[np.int64], parsed: Times | None) -> str:
    """Return the format and range of times; `parsed` is None if there is no time column."""
    if parsed is None:
        return "no time column: interactions are put in random order"
    known_times = times[times != UNKNOWN_TIME]
    if not len(known_times):
        return "unknown: interactions are put in random order"
    first, last = int(known_times.min()), int(known_times.max())
    if parsed.date_format == NUMBER:
        return f"{parsed.description}, {first:,} to {last:,}"
    first_day, last_day = np.array([first, last], dtype="datetime64[us]").astype("datetime64[D]")
    return f"{parsed.description}, {first_day} to {last_day}"


def describe_ratings(ratings: NDArray[np.float64] | None, positive_from: float | None, decimal: str) -> str:
    """Return the range and mean of ratings, and how many are unknown or count as reward 1; empty if there are none."""
    if ratings is None or np.isnan(ratings).all():
        return ""
    known_ratings = ratings[~np.isnan(ratings)]
    text = f"{known_ratings.min():g} to {known_ratings.max():g}, mean {known_ratings.mean():.2f}"
    if decimal == ",":
        text += "; decimal comma"
    if unknown := len(ratings) - len(known_ratings):
        text += f"; {unknown:,} unknown"
    if positive_from is not None:
        text += f"; {np.count_nonzero(known_ratings >= positive_from):,} from {positive_from:g} (reward 1)"
    return text
