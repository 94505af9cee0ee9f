"""Tagging events: the tag assignments of one user to one item at one time are one event."""

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from data_pipelines.data_set import Contents
from data_pipelines.prepare.words import count_words

SEPARATORS = re.compile(r"[\s_-]+")


def words_as_typed(tag: str) -> list[str]:
    """Return the words of a tag, in lower case, split at blanks, `_` and `-` only."""
    return [word for word in SEPARATORS.split(tag.lower()) if word]


def event_contents(
    users: NDArray[np.int64],
    item_ids: NDArray[np.int64],
    tag_rows: NDArray[np.integer[Any]],
    times: NDArray[np.int64],
    *,
    words_of_tags: list[list[str]],
    rows: dict[str, int],
    notes: tuple[str, ...] = (),
) -> Contents:
    """Return the events and the words that the users typed; the arguments are tag assignments, in the file's order.

    Consecutive assignments of equal (user, item, time) are one event, so that a (user, item) pair may occur several
    times. The items are those that occur. `tag_rows` are positions in `words_of_tags`.
    """
    is_new = np.ones(len(users), dtype=bool)
    is_new[1:] = (users[1:] != users[:-1]) | (item_ids[1:] != item_ids[:-1]) | (times[1:] != times[:-1])
    occurring_ids, items = np.unique(item_ids, return_inverse=True)
    words = count_words(
        items,
        tag_rows,
        np.ones(len(items), dtype=np.int64),
        item_count=len(occurring_ids),
        words_of_tags=words_of_tags,
    )
    users, items, times = users[is_new], items[is_new], times[is_new]
    order = np.lexsort((times, items, users))
    return Contents(
        users=users[order],
        items=items[order].astype(np.int32),
        times=times[order],
        item_ids=occurring_ids,
        words=words,
        rows=rows,
        notes=notes,
    )
