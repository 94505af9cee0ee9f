"""Streams made from prepared data: the order of interactions, and the pools of items."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from data_pipelines.data_label import warn_once
from data_pipelines.data_set import UNKNOWN_TIME, distinct_rows
from data_pipelines.event_stream import EventStream
from data_pipelines.prepare.features import scale
from data_pipelines.prepare.prepared import DEFAULT_ARMS, Prepared, open_prepared
from data_pipelines.stream_spec import DatasetSpec, dataset_spec
from data_pipelines.streams import generator_for

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


STREAM_VERSION = 1
MAX_DRAWS = 1 << 22

Decisions = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]
"""The client, the pool and the rewards of each step."""


def load(
    name: str,
    *,
    seed: int,
    arms: int = DEFAULT_ARMS,
    dimension: int | None = None,
    scaling: str | None = None,
    positive: str = "anywhere",
    folder: Path | None = None,
    **options: Any,
) -> EventStream:
    """Build the stream for one seed from a prepared data set.

    Args:
        name: a data set prepared by `fedbandit data`.
        seed: determines the order and the pools.
        arms: K, the size of a pool: the item of the interaction and K-1 that its user never interacted with.
        dimension: d; `None` for all prepared components.
        scaling: `standard`, `pca` or `unit`; `None` for the data set's own, `standard` for most.
        positive: the position of the interaction's item in its pool: `anywhere`, a random position, or `first`, as
            in the published script; this reveals the positive to an algorithm that prefers earlier arms.
        folder: the data folder, if it is not `data` or `FEDBANDIT_DATA`.
        options: further fields of `DatasetSpec`: `negatives`, `pools`, `repeats`, `order`, `min_interactions`.

    Data that are generated or differ from those published cause an `UnofficialDataWarning`, once per process.
    """
    prepared = open_prepared(name, folder)
    if scaling is not None:
        options["scaling"] = scaling
    spec = dataset_spec(dataset=name, arms=arms, dimension=dimension, positive=positive, **options)
    stream = spec.build_from(prepared, seed)
    warn_once(prepared.manifest)
    return stream


@dataclass(frozen=True)
class _Events:
    """The interactions that take part, sorted by user and item; `user_rows` number their users.

    `positives` are the rows of interactions that are a reward of 1 in a sampled pool: all of them, unless the data set
    was imported with a minimum rating for positives.
    """

    users: NDArray[np.int64]
    user_rows: NDArray[np.int64]
    items: NDArray[np.int32]
    times: NDArray[np.int64]
    ratings: NDArray[np.float64] | None
    positives: NDArray[np.int64]


def recorded_stream(prepared: Prepared, spec: DatasetSpec, seed: int) -> EventStream:
    """Draw order and pools; rewards are 0 or 1, without noise."""
    order_random, pool_random = _generators(seed, spec)
    events = _events(prepared, spec)
    if spec.pools == "rated":
        clients, pools, rewards = _rated(order_random, pool_random, events, spec, prepared.manifest["positive_rating"])
    else:
        clients, pools, rewards = _sampled(order_random, pool_random, events, spec, len(prepared.item_ids))
    noise = np.zeros(len(clients))
    items = scale(np.ascontiguousarray(prepared.components[:, : spec.dimension]), spec.scaling)
    for array in (items, clients, pools, rewards, noise):
        array.flags.writeable = False
    return EventStream(
        items=items,
        clients=clients,
        pools=pools,
        rewards=rewards,
        noise=noise,
        name=prepared.name,
        fingerprint=spec.fingerprint(seed),
        source=str(prepared.manifest["source"]),
    )


def _generators(seed: int, spec: DatasetSpec) -> tuple[np.random.Generator, np.random.Generator]:
    """Return the generators of the order and of the pools: one for both where no later option is used."""
    if spec.has_separate_generators:
        return generator_for("order", seed), generator_for("pools", seed)
    random = np.random.Generator(np.random.PCG64(seed))
    return random, random


def _events(prepared: Prepared, spec: DatasetSpec) -> _Events:
    """Keep rated interactions for rated pools, the first of each pair if requested, then users with enough of them."""
    rows = np.arange(len(prepared.users))
    if spec.pools == "rated" and prepared.ratings is not None:
        rows = rows[~np.isnan(prepared.ratings)]
    if spec.repeats == "once":
        rows = np.sort(rows[distinct_rows(prepared.users[rows], prepared.items[rows], prepared.times[rows])])
    _, user_rows, counts = np.unique(prepared.users[rows], return_inverse=True, return_counts=True)
    rows = rows[counts[user_rows] >= spec.min_interactions]
    if not len(rows):
        raise ValueError(
            f"min_interactions must be at most {counts.max()}, the largest number of interactions of a user of "
            f"{prepared.name}, got {spec.min_interactions}"
        )
    users = prepared.users[rows]
    ratings = None if prepared.ratings is None else prepared.ratings[rows]
    _, user_rows = np.unique(users, return_inverse=True)
    positives = _positives(prepared, ratings, len(rows))
    return _Events(users, user_rows, prepared.items[rows], prepared.times[rows], ratings, positives)


def _positives(prepared: Prepared, ratings: NDArray[np.float64] | None, count: int) -> NDArray[np.int64]:
    """Return the rows rated at least as high as the data set's parameter `positive_from`; all rows if it has none."""
    least = prepared.manifest.get("parameters", {}).get("positive_from")
    if least is None or ratings is None:
        return np.arange(count)
    positives = np.flatnonzero(ratings >= least)
    if not len(positives):
        raise ValueError(f"{prepared.name} has no interaction rated {least:g} or higher")
    return positives


def _sampled(
    order_random: np.random.Generator,
    pool_random: np.random.Generator,
    events: _Events,
    spec: DatasetSpec,
    item_count: int,
) -> Decisions:
    """Return clients, pools and rewards: the item of each interaction, and items that its user never touched."""
    positives = events.positives
    if spec.order == "shuffled":
        interactions = positives[order_random.permutation(len(positives))]
    else:
        interactions = positives[draw_order(order_random, events.users[positives], events.times[positives])]
    pools, positions = draw_pools(
        pool_random,
        events.user_rows,
        events.items,
        interactions,
        item_count=item_count,
        arms=spec.arms,
        by_popularity=spec.negatives == "popularity",
    )
    rows = np.arange(len(positions))
    if spec.positive == "first":
        pools[rows, positions], pools[:, 0] = pools[:, 0].copy(), pools[rows, positions]
        positions = np.zeros_like(positions)
    rewards = np.zeros(pools.shape)
    rewards[rows, positions] = 1.0
    return events.users[interactions], pools, rewards


def _rated(
    order_random: np.random.Generator,
    pool_random: np.random.Generator,
    events: _Events,
    spec: DatasetSpec,
    positive_rating: float,
) -> Decisions:
    """Return clients, pools and rewards: each pool has K items that its user rated, with reward 1 for positive ones."""
    assert events.ratings is not None, "the specification requires ratings"
    dealt = deal_pools(pool_random, events.user_rows, spec.arms)
    if not len(dealt):
        raise ValueError(
            f"arms must be at most {np.bincount(events.user_rows).max()}, the largest number of ratings of a user, "
            f"got {spec.arms}"
        )
    clients = events.users[dealt[:, 0]]
    if spec.order == "shuffled":
        order = order_random.permutation(len(dealt))
    else:
        order = draw_order(order_random, clients, np.full(len(dealt), UNKNOWN_TIME))
    dealt = dealt[order]
    rewards = (events.ratings[dealt] >= positive_rating).astype(np.float64)
    return clients[order], events.items[dealt], rewards


def draw_order(random: np.random.Generator, users: NDArray[np.int64], times: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the interactions in stream order.

    Each step draws a user uniformly among those with remaining interactions; each user's interactions are in
    order of time, those of unknown time at random positions between them.
    """
    _, user_rows, counts = np.unique(users, return_inverse=True, return_counts=True)
    order_by_user = _order_within_users(random, user_rows, times)
    turns = _draw_turns(random, counts)
    order = np.empty(len(users), dtype=np.int64)
    # A user's first turn gets the user's first interaction, and so on.
    order[np.argsort(turns, kind="stable")] = order_by_user
    return order


def _order_within_users(
    random: np.random.Generator, user_rows: NDArray[np.int64], times: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Shuffle each user's interactions, then sort those of known time among themselves."""
    shuffle = random.permutation(len(user_rows))
    order = np.lexsort((shuffle, user_rows))
    is_known = times != UNKNOWN_TIME
    by_time = np.lexsort((shuffle, times, user_rows))
    order[is_known[order]] = by_time[is_known[by_time]]
    return order


def _draw_turns(random: np.random.Generator, counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Draw a user uniformly among those with remaining interactions, until there are none.

    Users are drawn in blocks, and draws of users who have no interactions left by then are discarded: the
    other draws are uniform among the remaining users.
    """
    remaining = counts.copy()
    turns: list[NDArray[np.int64]] = [np.empty(0, dtype=np.int64)]
    while (total := int(remaining.sum())) > 0:
        users = np.flatnonzero(remaining)
        draws = random.integers(len(users), size=min(total + 16, MAX_DRAWS))
        turn = draws[_occurrence(draws) < remaining[users][draws]]
        turns.append(users[turn])
        remaining[users] -= np.bincount(turn, minlength=len(users))
    return np.concatenate(turns)


def _occurrence(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each value the number of equal values before it."""
    order = np.argsort(values, kind="stable")
    sorted_values = values[order]
    occurrence = np.empty_like(values)
    occurrence[order] = np.arange(len(values)) - np.searchsorted(sorted_values, sorted_values)
    return occurrence
