"""Pools: the item of each interaction and K-1 items that its user never interacted with."""

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
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the pools (T, K) of the interactions in their order, and the position of the positive in each.

    `user_rows` and `items` are all interactions, sorted by user and item; a pair may occur several times. The K-1
    others are distinct and uniform among the items that the user never interacted with; the position of the positive
    is uniform.
    """
    _check(user_rows, items, item_count, arms)
    history = _History(user_rows, items, item_count)
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


def _check(user_rows: NDArray[np.int64], items: NDArray[np.int32], item_count: int, arms: int) -> None:
    is_new_pair = np.ones(len(items), dtype=bool)
    is_new_pair[1:] = (user_rows[1:] != user_rows[:-1]) | (items[1:] != items[:-1])
    max_arms = item_count - int(np.bincount(user_rows[is_new_pair]).max()) + 1
    if not isinstance(arms, int | np.integer) or isinstance(arms, bool) or not 2 <= arms <= max_arms:
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

    Of equal draws in a row, the one accepted in an earlier round stays, or else the first. So each slot is
    uniform among the items that the user never interacted with and that no slot accepted before it has.
    """
    item_count = history.item_count
    others = random.integers(item_count, size=(len(users), count), dtype=np.int32)
    is_rejected = history.contains(users[:, None], others)
    is_earlier = np.tri(count, k=-1, dtype=bool)
    is_rejected |= ((others[:, :, None] == others[:, None, :]) & is_earlier).any(axis=2)
    for _ in range(MAX_ROUNDS):
        rows, slots = np.nonzero(is_rejected)
        if not len(rows):
            return others
        others[rows, slots] = random.integers(item_count, size=len(rows), dtype=np.int32)
        # Compare with accepted slots, and with slots redrawn in this round only if they are earlier in the row.
        rivals = ~is_rejected[rows] | is_earlier[slots]
        rivals[np.arange(len(rows)), slots] = False
        new_items = others[rows, slots]
        is_repeated = ((others[rows] == new_items[:, None]) & rivals).any(axis=1)
        is_rejected[rows, slots] = is_repeated | history.contains(users[rows], new_items)
    _fill_by_search(random, others, is_rejected, users, history)
    return others


class _History:
    """Which user interacted with which item: a table of bits if that is small enough, else a sorted list."""

    def __init__(self, user_rows: NDArray[np.int64], items: NDArray[np.int32], item_count: int) -> None:
        self.item_count = item_count
        self._keys = user_rows * item_count + items
        self._bits: NDArray[np.uint8] | None = None
        cells = (int(user_rows.max()) + 1) * item_count
        if cells <= MAX_BITS:
            self._bits = np.zeros(cells // 8 + 1, dtype=np.uint8)
            np.bitwise_or.at(self._bits, self._keys >> 3, _bit(self._keys))

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
    """Fill the slots of users who interacted with nearly all items: shuffle the free items, take the first ones."""
    incomplete_rows = np.flatnonzero(is_rejected.any(axis=1))
    item_count = history.item_count
    rows_per_block = max(1, CELLS_PER_BLOCK // item_count)
    every_item = np.arange(item_count, dtype=np.int32)
    for start in range(0, len(incomplete_rows), rows_per_block):
        rows = incomplete_rows[start : start + rows_per_block]
        is_taken = history.contains(users[rows][:, None], every_item[None, :])
        row, slot = np.nonzero(~is_rejected[rows])
        is_taken[row, others[rows][row, slot]] = True
        priority = random.integers(1 << 62, size=is_taken.shape)
        priority[is_taken] = 1 << 62
        free_items = np.argsort(priority, axis=1)
        row, slot = np.nonzero(is_rejected[rows])
        rank = np.arange(len(row)) - np.searchsorted(row, row)
        others[rows[row], slot] = free_items[row, rank]
