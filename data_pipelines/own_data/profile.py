"""A profile of a table to import: its format, its content and the rows that are left out."""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from data_pipelines.data_set import UNKNOWN_TIME, Contents
from data_pipelines.own_data.table import Problem
from data_pipelines.own_data.values import NUMBER
from data_pipelines.prepare.prepared import DEFAULT_ARMS
from data_pipelines.support.text import WIDTH, number_of

LABEL_WIDTH = 15
POPULAR = 10


@dataclass(frozen=True, kw_only=True)
class Ratings:
    """The ratings of a table: smallest, mean, largest, how many are unknown, and how many count as reward 1."""

    decimal: str
    smallest: float
    mean: float
    largest: float
    unknown: int
    positive_from: float | None
    positives: int


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
    repeats_are_kept: bool
    popular_share: float
    """The share of the interactions on the ten most popular items."""
    max_arms: int
    """The largest pool for which every user has enough other items."""
    ratings: Ratings | None
    features: str
    problems: tuple[Problem, ...]
    notes: tuple[str, ...]

    @property
    def lines(self) -> list[str]:
        """The profile as text of at most 80 columns."""
        return [
            *_block("files" if len(self.files) > 1 else "file", self.files),
            *_block("columns", self.columns),
            *_block("rows", [self._row_text()]),
            *_block("users", [f"{self.users:,}"]),
            *_block("items", [f"{self.items:,}"]),
            *_block("interactions", [f"{self.interactions:,}"]),
            *_block("per user", [self._activity_text()]),
            *_block("repeats", [self._repeats_text()]),
            *_block("popularity", [self._popularity_text()]),
            *_block("times", [self.times]),
            *_block("ratings", [_rating_text(self.ratings)] if self.ratings else []),
            *_block("features", [self.features]),
            *_block("arms", [self._arms_text()] if self.max_arms < DEFAULT_ARMS else []),
            *_block("left out", [problem.summary() for problem in self.problems]),
        ]

    def _row_text(self) -> str:
        return f"{self.rows:,}" + (f", {self.bad_rows:,} of them left out (see below)" if self.bad_rows else "")

    def _activity_text(self) -> str:
        smallest, first, median, third, largest = self.activity
        return f"{smallest:,} to {largest:,} interactions; quartiles {first:,}, {median:,}, {third:,}"

    def _repeats_text(self) -> str:
        if not self.repeats:
            return "none"
        fate = "kept" if self.repeats_are_kept else "counted once (--repeats keep stores them)"
        verb = "repeats" if self.repeats == 1 else "repeat"
        return f"{number_of(self.repeats, 'interaction')} {verb} a (user, item) pair; {fate}"

    def _popularity_text(self) -> str:
        return f"{self.popular_share:.1%} of the interactions are on the {POPULAR} most popular items"

    def _arms_text(self) -> str:
        if self.max_arms < 2:
            return "one user took every item: no pool has an item that this user did not take"
        return (
            f"pools can have at most {self.max_arms} items (default: {DEFAULT_ARMS}): write arms = {self.max_arms} "
            "under [[streams]]"
        )


def _block(label: str, texts: Sequence[str]) -> list[str]:
    """Return texts beside a label, wrapped; without texts, nothing."""
    wrapped = [line for text in texts for line in textwrap.wrap(text, WIDTH - LABEL_WIDTH, subsequent_indent="  ")]
    return [f"{label if number == 0 else '':<{LABEL_WIDTH}}{line}" for number, line in enumerate(wrapped)]


def _rating_text(ratings: Ratings) -> str:
    parts = [f"{ratings.smallest:g} to {ratings.largest:g}, mean {ratings.mean:.2f}"]
    if ratings.decimal == ",":
        parts.append("decimal comma")
    if ratings.unknown:
        parts.append(f"{ratings.unknown:,} unknown")
    if ratings.positive_from is not None:
        parts.append(f"{ratings.positives:,} from {ratings.positive_from:g} (reward 1)")
    return "; ".join(parts)


def describe_times(times: NDArray[np.int64], date_format: str, description: str) -> str:
    """Return the format and range of times."""
    known_times = times[times != UNKNOWN_TIME]
    if not len(known_times):
        return "unknown: interactions are put in random order"
    first, last = int(known_times.min()), int(known_times.max())
    span = f"{first:,} to {last:,}" if date_format == NUMBER else f"{_day(first)} to {_day(last)}"
    return f"{description}, {span}"


def _day(microseconds: int) -> str:
    return str(np.datetime64(microseconds, "us").astype("datetime64[D]"))


def profile_contents(
    contents: Contents,
    *,
    files: Sequence[str],
    columns: Sequence[str],
    rows: int,
    bad_rows: int,
    repeats: int,
    repeats_are_kept: bool,
    times: str,
    positive_from: float | None,
    decimal: str,
    features: str,
    problems: Sequence[Problem],
) -> Profile:
    """Count what is stored."""
    _, activity = np.unique(contents.users, return_counts=True)
    _, popularity = np.unique(contents.items, return_counts=True)
    is_new = np.append(True, (np.diff(contents.users) != 0) | (np.diff(contents.items) != 0))  # they are sorted
    _, distinct_items = np.unique(contents.users[is_new], return_counts=True)
    quartiles = np.percentile(activity, [0, 25, 50, 75, 100], method="lower").astype(int).tolist()
    return Profile(
        files=tuple(files),
        columns=tuple(columns),
        rows=rows,
        bad_rows=bad_rows,
        users=len(activity),
        items=len(contents.item_ids),
        interactions=len(contents.users),
        activity=tuple(quartiles),
        times=times,
        repeats=repeats,
        repeats_are_kept=repeats_are_kept,
        popular_share=float(np.sort(popularity)[-POPULAR:].sum() / len(contents.users)),
        max_arms=len(contents.item_ids) - int(distinct_items.max()) + 1,
        ratings=_profile_ratings(contents.ratings, positive_from, decimal),
        features=features,
        problems=tuple(problems),
        notes=contents.notes,
    )


def _profile_ratings(ratings: NDArray[np.float64] | None, positive_from: float | None, decimal: str) -> Ratings | None:
    if ratings is None or np.isnan(ratings).all():
        return None
    known_ratings = ratings[~np.isnan(ratings)]
    return Ratings(
        decimal=decimal,
        smallest=float(known_ratings.min()),
        mean=float(known_ratings.mean()),
        largest=float(known_ratings.max()),
        unknown=len(ratings) - len(known_ratings),
        positive_from=positive_from,
        positives=0 if positive_from is None else int((known_ratings >= positive_from).sum()),
    )
