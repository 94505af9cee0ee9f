"""Pools: each interaction's item among K-1 others that this user never touched."""

import numpy as np
from numpy.typing import NDArray

MOST_ROUNDS = 64
CELLS_A_BLOCK = 1 << 23
MOST_BITS = 1 << 30


def draw_pools(
    random: np.random.Generator,
    user_rows: NDArray[np.int64],
    items: NDArray[np.int32],
    interactions: NDArray[np.int64],
    *,
    item_count: int,
    arms: int,
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the pools (T, K) of the interactions in their order, and the place of the positive in each.

    `user_rows` and `items` are all interactions, sorted by user and item. The K-1 others are distinct and
    uniform among the items that the user never touched; the place of the positive is uniform.
    """
    _check(user_rows, item_count, arms)
    touched = _Touched(user_rows, items, item_count)
    pools = np.empty((len(interactions), arms), dtype=np.int32)
    rows_a_block = max(1, CELLS_A_BLOCK // arms**2)  # within a row every item is compared with every other
    for start in range(0, len(interactions), rows_a_block):
        block = interactions[start : start + rows_a_block]
        pools[start : start + len(block), 1:] = _draw_others(random, user_rows[block], touched, arms - 1)
    places = random.integers(arms, size=len(interactions))
    rows = np.arange(len(interactions))
    pools[:, 0] = pools[rows, places]
    pools[rows, places] = items[interactions]
    return pools, places


def _check(user_rows: NDArray[np.int64], item_count: int, arms: int) -> None:
    most = item_count - int(np.bincount(user_rows).max()) + 1
    if not isinstance(arms, int | np.integer) or isinstance(arms, bool) or not 2 <= arms <= most:
        raise ValueError(
            f"arms is {arms!r}; allowed are integers from 2 to {most}: "
            "an item of the user's and items that the user never touched"
        )


def _draw_others(
    random: np.random.Generator,
    users: NDArray[np.int64],
    touched: "_Touched",
    count: int,
) -> NDArray[np.int32]:
    """Draw slot by slot, and draw again whatever the user touched or the row already has.

    Of equal draws in a row one that was kept before, or else the first, stays: each slot is then uniform
    among what the user never touched and the slots kept before it do not have.
    """
    item_count = touched.item_count
    others = random.integers(item_count, size=(len(users), count), dtype=np.int32)
    wrong = touched.contains(users[:, None], others)
    earlier = np.tri(count, k=-1, dtype=bool)
    wrong |= ((others[:, :, None] == others[:, None, :]) & earlier).any(axis=2)
    for _ in range(MOST_ROUNDS):
        rows, slots = np.nonzero(wrong)
        if not len(rows):
            return others
        others[rows, slots] = random.integers(item_count, size=len(rows), dtype=np.int32)
        # Slots still open when this one was drawn do not count unless they come first.
        rivals = ~wrong[rows] | earlier[slots]
        rivals[np.arange(len(rows)), slots] = False
        drawn = others[rows, slots]
        repeated = ((others[rows] == drawn[:, None]) & rivals).any(axis=1)
        wrong[rows, slots] = repeated | touched.contains(users[rows], drawn)
    _fill_by_search(random, others, wrong, users, touched)
    return others


class _Touched:
    """Who touched what: a table of bits where it is small, else a sorted list to search in."""

    def __init__(self, user_rows: NDArray[np.int64], items: NDArray[np.int32], item_count: int) -> None:
        self.item_count = item_count
        self._keys = user_rows * item_count + items
        self._bits: NDArray[np.uint8] | None = None
        cells = (int(user_rows.max()) + 1) * item_count
        if cells <= MOST_BITS:
            self._bits = np.zeros(cells // 8 + 1, dtype=np.uint8)
            np.bitwise_or.at(self._bits, self._keys >> 3, _bit(self._keys))

    def contains(self, user_rows: NDArray[np.int64], items: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Return which of the items the user touched."""
        keys = user_rows * self.item_count + items
        found: NDArray[np.bool_]
        if self._bits is not None:
            found = (self._bits[keys >> 3] & _bit(keys)) != 0
        else:
            places = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
            found = self._keys[places] == keys
        return found


def _bit(keys: NDArray[np.int64]) -> NDArray[np.uint8]:
    return np.left_shift(np.uint8(1), (keys & 7).astype(np.uint8))


def _fill_by_search(
    random: np.random.Generator,
    others: NDArray[np.int32],
    wrong: NDArray[np.bool_],
    users: NDArray[np.int64],
    touched: _Touched,
) -> None:
    """Fill the slots of users who touched nearly everything: order what is left at random, take the first."""
    stuck = np.flatnonzero(wrong.any(axis=1))
    item_count = touched.item_count
    rows_a_block = max(1, CELLS_A_BLOCK // item_count)
    every_item = np.arange(item_count, dtype=np.int32)
    for start in range(0, len(stuck), rows_a_block):
        rows = stuck[start : start + rows_a_block]
        taken = touched.contains(users[rows][:, None], every_item[None, :])
        row, slot = np.nonzero(~wrong[rows])
        taken[row, others[rows][row, slot]] = True
        priority = random.integers(1 << 62, size=taken.shape)
        priority[taken] = 1 << 62
        free = np.argsort(priority, axis=1)
        row, slot = np.nonzero(wrong[rows])
        rank = np.arange(len(row)) - np.searchsorted(row, row)
        others[rows[row], slot] = free[row, rank]
