"""Pools: the item of each interaction and K-1 items that its user never interacted with; or K items the user rated."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

MAX_ROUNDS = 64
CELLS_PER_BLOCK = 1 << 23
MAX_BITS = 1 << 30


def draw_pools(
    random: np.random.Generator,
    user_rows: NDArray[np.int64],
    items: NDArray[np.int32],
    interactions: NDArray[np.int64],
    *,
    item_count: int,
    arms: int,
    by_popularity: bool = False,
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the pools (T, K) of the interactions in their order, and the position of the positive in each.

    `user_rows` and `items` are all interactions, sorted by user and item; a pair may occur several times. The K-1
    others are drawn one after the other, without replacement, from the items that the user never interacted with:
    uniformly, or `by_popularity`, in proportion to the number of users who did. The position of the positive is
    uniform.
    """
    is_new_pair = np.ones(len(items), dtype=bool)
    is_new_pair[1:] = (user_rows[1:] != user_rows[:-1]) | (items[1:] != items[:-1])
    # An item of a random pair is drawn in proportion to the users who interacted with it.
    items_of_pairs = items[is_new_pair] if by_popularity else None
    available = item_count if items_of_pairs is None else len(np.unique(items_of_pairs))
    _check(arms, available - int(np.bincount(user_rows[is_new_pair]).max()) + 1)
    history = _History(user_rows, items, item_count, items_of_pairs)
    pools = np.empty((len(interactions), arms), dtype=np.int32)
    rows_per_block = max(1, CELLS_PER_BLOCK // arms**2)  # every two items of a row are compared
    for start in range(0, len(interactions), rows_per_block):
        block = interactions[start : start + rows_per_block]
        pools[start : start + len(block), 1:] = _draw_others(random, user_rows[block], history, arms - 1)
    positions = random.integers(arms, size=len(interactions))
    rows = np.arange(len(interactions))
    pools[:, 0] = pools[rows, positions]
    pools[rows, positions] = items[interactions]
    return pools, positions


def deal_pools(random: np.random.Generator, user_rows: NDArray[np.int64], arms: int) -> NDArray[np.int64]:
    """Deal each user's interactions into pools of K, in random order; fewer than K left-over interactions are not used.

    Returns the interactions (P, K) of all pools, by user.
    """
    order = np.lexsort((random.permutation(len(user_rows)), user_rows))
    counts = np.bincount(user_rows)
    place = np.arange(len(user_rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    is_used = place < np.repeat(counts // arms * arms, counts)
    return order[is_used].reshape(-1, arms)


def _check(arms: int, max_arms: int) -> None:
    if not 2 <= arms <= max_arms:
        raise ValueError(
            f"arms must be an integer from 2 to {max_arms} (a pool has one item of the user and items that "
            f"the user never interacted with), got {arms!r}"
        )


def _draw_others(
    random: np.random.Generator,
    users: NDArray[np.int64],
    history: "_History",
    count: int,
) -> NDArray[np.int32]:
    """Draw all slots, then redraw those whose item the user interacted with or the row already has.

    If draws in a row are equal, the one accepted in an earlier round is kept, or else the first. So each slot is drawn
    from the items that the user never interacted with and that no previously accepted slot contains.
    """
    others = history.draw(random, (len(users), count))
    is_rejected = history.contains(users[:, None], others)
    is_earlier = np.tri(count, k=-1, dtype=bool)
    is_rejected |= ((others[:, :, None] == others[:, None, :]) & is_earlier).any(axis=2)
    for _ in range(MAX_ROUNDS):
        rows, slots = np.nonzero(is_rejected)
        if not len(rows):
            return others
        others[rows, slots] = history.draw(random, (len(rows),))
        # Compare with accepted slots, and with slots redrawn in this round only if they are earlier in the row.
        rivals = ~is_rejected[rows] | is_earlier[slots]
        rivals[np.arange(len(rows)), slots] = False
        new_items = others[rows, slots]
        is_repeated = ((others[rows] == new_items[:, None]) & rivals).any(axis=1)
        is_rejected[rows, slots] = is_repeated | history.contains(users[rows], new_items)
    _fill_by_search(random, others, is_rejected, users, history)
    return others


class _History:
    """Which user interacted with which item: a table of bits if that is small enough, else a sorted list.

    `items_of_pairs` are the items of all distinct pairs, to draw items by popularity; None to draw uniformly.
    """

    def __init__(
        self,
        user_rows: NDArray[np.int64],
        items: NDArray[np.int32],
        item_count: int,
        items_of_pairs: NDArray[np.int32] | None,
    ) -> None:
        self.item_count = item_count
        self._items_of_pairs = items_of_pairs
        self._keys = user_rows * item_count + items
        self._bits: NDArray[np.uint8] | None = None
        cells = (int(user_rows.max()) + 1) * item_count
        if cells <= MAX_BITS:
            self._bits = np.zeros(cells // 8 + 1, dtype=np.uint8)
            np.bitwise_or.at(self._bits, self._keys >> 3, _bit(self._keys))

    def draw(self, random: np.random.Generator, size: tuple[int, ...]) -> NDArray[np.int32]:
        """Draw items, uniformly or by popularity."""
        if self._items_of_pairs is None:
            return random.integers(self.item_count, size=size, dtype=np.int32)
        return self._items_of_pairs[random.integers(len(self._items_of_pairs), size=size)]

    def priorities(self, random: np.random.Generator, is_taken: NDArray[np.bool_]) -> NDArray[Any]:
        """Return random numbers (rows, items); the items of a row in their order are drawn without replacement.

        By popularity they are exponential, divided by the number of users. Taken items come last.
        """
        if self._items_of_pairs is None:
            priority = random.integers(1 << 62, size=is_taken.shape)
            priority[is_taken] = 1 << 62
            return priority
        popularity = np.bincount(self._items_of_pairs, minlength=self.item_count)
        times = random.standard_exponential(is_taken.shape)
        priority = np.full(times.shape, np.inf)
        np.divide(times, popularity, out=priority, where=~is_taken & (popularity > 0))
        return priority

    def contains(self, user_rows: NDArray[np.int64], items: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Return for each item whether the user interacted with it."""
        keys = user_rows * self.item_count + items
        is_contained: NDArray[np.bool_]
        if self._bits is not None:
            is_contained = (self._bits[keys >> 3] & _bit(keys)) != 0
        else:
            positions = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
            is_contained = self._keys[positions] == keys
        return is_contained


def _bit(keys: NDArray[np.int64]) -> NDArray[np.uint8]:
    return np.left_shift(np.uint8(1), (keys & 7).astype(np.uint8))


def _fill_by_search(
    random: np.random.Generator,
    others: NDArray[np.int32],
    is_rejected: NDArray[np.bool_],
    users: NDArray[np.int64],
    history: _History,
) -> None:
    """Fill the slots of users who interacted with nearly all items: order the free items, take the first ones."""
    incomplete_rows = np.flatnonzero(is_rejected.any(axis=1))
    item_count = history.item_count
    rows_per_block = max(1, CELLS_PER_BLOCK // item_count)
    every_item = np.arange(item_count, dtype=np.int32)
    for start in range(0, len(incomplete_rows), rows_per_block):
        rows = incomplete_rows[start : start + rows_per_block]
        is_taken = history.contains(users[rows][:, None], every_item[None, :])
        row, slot = np.nonzero(~is_rejected[rows])
        is_taken[row, others[rows][row, slot]] = True
        free_items = np.argsort(history.priorities(random, is_taken), axis=1)
        row, slot = np.nonzero(is_rejected[rows])
        rank = np.arange(len(row)) - np.searchsorted(row, row)
        others[rows[row], slot] = free_items[row, rank]
