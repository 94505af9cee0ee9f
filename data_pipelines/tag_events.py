"""Tagging events: the tag assignments of one user to one item at one time are one event."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from data_pipelines.data_set import Contents, marked_times
from data_pipelines.prepare.features import WordCounts, count_words

SEPARATORS = re.compile(r"[\s_-]+")


def words_as_typed(tag: str) -> list[str]:
    """Return the words of a tag, in lower case, split at blanks, `_` and `-` only."""
    return [word for word in SEPARATORS.split(tag.lower()) if word]


@dataclass(frozen=True)
class TagAssignments:
    """Who gave which tag to which item, in the file's order; `tag_rows` are positions in `words_of_tags`."""

    users: NDArray[np.int64]
    item_ids: NDArray[np.int64]
    tag_rows: NDArray[np.integer[Any]]
    times: NDArray[np.int64]
    words_of_tags: Sequence[list[str]]
    rows: Mapping[str, int]
    notes: tuple[str, ...] = ()

    def words(self, item_ids: NDArray[np.int64], gives_words: NDArray[np.bool_] | None = None) -> WordCounts:
        """Count the words of the tags given to the items with these sorted ids; assignments to others are ignored."""
        describes = np.isin(self.item_ids, item_ids)
        if gives_words is not None:
            describes &= gives_words
        return count_words(
            np.searchsorted(item_ids, self.item_ids[describes]),
            self.tag_rows[describes],
            item_count=len(item_ids),
            words_of_tags=self.words_of_tags,
        )


def event_contents(
    tagged: TagAssignments,
    *,
    is_player: NDArray[np.bool_] | None = None,
    gives_words: NDArray[np.bool_] | None = None,
) -> Contents:
    """Return the events and the words that the users typed.

    Consecutive assignments of equal (user, item, time) are one event, so that a (user, item) pair may occur several
    times. The items are those that occur. `is_player` and `gives_words` tell for each assignment whether it is part of
    an event, and whether its words describe the item; by default all do both.
    """
    plays = np.ones(len(tagged.users), dtype=bool) if is_player is None else is_player
    users, item_ids, times = tagged.users[plays], tagged.item_ids[plays], tagged.times[plays]
    is_new = np.ones(len(users), dtype=bool)
    is_new[1:] = (users[1:] != users[:-1]) | (item_ids[1:] != item_ids[:-1]) | (times[1:] != times[:-1])
    occurring_ids, items = np.unique(item_ids, return_inverse=True)
    users, items, times = users[is_new], items[is_new], times[is_new]
    order = np.lexsort((times, items, users))
    return Contents(
        users=users[order],
        items=items[order].astype(np.int32),
        times=marked_times(times[order]),
        item_ids=occurring_ids,
        words=tagged.words(occurring_ids, gives_words),
        rows=tagged.rows,
        notes=tagged.notes,
    )


def half_of_users(users: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Tell for each row whether its user is in a random half of the users, always the same half."""
    distinct = np.unique(users)
    random = np.random.Generator(np.random.PCG64(0))
    half = random.permutation(distinct)[: (len(distinct) + 1) // 2]
    return np.isin(users, half)
