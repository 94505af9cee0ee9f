"""Streams made from prepared data: the order of interactions, and the pools of items."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
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
from data_pipelines.streams import generator_for, generators, make_stream
from data_pipelines.streams.learned import HeldOut, learn_from_held_out, unit_rows
from data_pipelines.tag_events import half_of_users

WINDOW_DAYS = 7
"""A negative that is not taken "then" was not taken in so many days around the positive: half of them on each side."""

DAY = 86_400.0
FIRST_SECOND, LAST_SECOND = 3.15e8, 4.1e9
"""1980 and 2100, in seconds since 1970."""

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
    times: NDArray[np.int64] | None = None,
    only_first: bool = False,
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the pools (T, K) of the interactions in their order, and the position of the positive in each.

    `user_rows` and `items` are all interactions, sorted by user and item; a pair may occur several times. The K-1
    others are drawn one after the other, without replacement, from the items that the user never interacted with:
    uniformly, or `by_popularity`, in proportion to the number of users who did. With the `times` of all interactions,
    they are drawn from the items that the user did not interact with in the `WINDOW_DAYS` days around the positive, in
    proportion to their interactions. Where the interactions are `only_first` ones, they are drawn from the items that
    the user did not interact with then or before: an item that was taken cannot be a positive again. The position of
    the positive is uniform.
    """
    if times is not None:
        if arms < 2:
            raise ValueError(f"arms must be an integer from 2, got {arms!r}")
        items_then = _HistoryThen(user_rows, items, times, item_count, only_first=only_first)
        others = _draw_all_others(random, interactions, items_then, arms)
        return _with_positives(random, others, items[interactions])
    is_new_pair = np.ones(len(items), dtype=bool)
    is_new_pair[1:] = (user_rows[1:] != user_rows[:-1]) | (items[1:] != items[:-1])
    # An item of a random pair is drawn in proportion to the users who interacted with it.
    items_of_pairs = items[is_new_pair] if by_popularity else None
    available = item_count if items_of_pairs is None else len(np.unique(items_of_pairs))
    max_arms = available - int(np.bincount(user_rows[is_new_pair]).max()) + 1
    if not 2 <= arms <= max_arms:
        raise ValueError(
            f"arms must be an integer from 2 to {max_arms} (a pool has one item of the user and items that "
            f"the user never interacted with), got {arms!r}"
        )
    history = _History(user_rows, items, item_count, items_of_pairs)
    others = _draw_all_others(random, user_rows[interactions], history, arms)
    return _with_positives(random, others, items[interactions])


def _draw_all_others(
    random: np.random.Generator, owners: NDArray[np.int64], history: "_History", arms: int
) -> NDArray[np.int32]:
    """Return the others (T, K - 1) of all pools, in blocks; `owners` are what the history knows items of."""
    others = np.empty((len(owners), arms - 1), dtype=np.int32)
    rows_per_block = max(1, CELLS_PER_BLOCK // arms**2)  # every two items of a row are compared
    for start in range(0, len(owners), rows_per_block):
        block = owners[start : start + rows_per_block]
        others[start : start + len(block)] = _draw_others(random, block, history, arms - 1)
    return others


def draw_pools_once(
    random: np.random.Generator,
    user_rows: NDArray[np.int64],
    items: NDArray[np.int32],
    interactions: NDArray[np.int64],
    *,
    item_count: int,
    arms: int,
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the same as `draw_pools`, with pools in which nothing is offered to a user twice.

    The others of all pools of a user are drawn together, uniformly without replacement, from the items that the user
    never interacted with. There must be enough of them.
    """
    others = np.empty((len(interactions), arms - 1), dtype=np.int32)
    steps_by_user = np.argsort(user_rows[interactions], kind="stable")
    users, starts = np.unique(user_rows[interactions][steps_by_user], return_index=True)
    for user, steps in zip(users, np.split(steps_by_user, starts[1:]), strict=True):
        is_free = np.ones(item_count, dtype=bool)
        is_free[items[slice(*np.searchsorted(user_rows, (user, user + 1)))]] = False
        drawn = random.choice(np.flatnonzero(is_free), len(steps) * (arms - 1), replace=False)
        others[steps] = drawn.reshape(len(steps), arms - 1)
    return _with_positives(random, others, items[interactions])


def _with_positives(
    random: np.random.Generator, others: NDArray[np.int32], positives: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return pools with the positive at a random position, and these positions."""
    steps, arms = len(others), others.shape[1] + 1
    positions = random.integers(arms, size=steps)
    rows = np.arange(steps)
    pools = np.empty((steps, arms), dtype=np.int32)
    pools[:, 1:] = others
    pools[:, 0] = pools[rows, positions]
    pools[rows, positions] = positives
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


class _HistoryThen(_History):
    """Which items a user interacted with around the time of an interaction; its owners are interactions.

    An unknown time may be any time. With `only_first`, all earlier times count, too.
    """

    def __init__(
        self,
        user_rows: NDArray[np.int64],
        items: NDArray[np.int32],
        times: NDArray[np.int64],
        item_count: int,
        *,
        only_first: bool,
    ) -> None:
        super().__init__(user_rows, items, item_count, items)
        self._user_rows = user_rows
        is_unknown = times == UNKNOWN_TIME
        distinct = np.unique(times[~is_unknown])
        half = int(WINDOW_DAYS * DAY / 2 / seconds_per_unit(distinct)) if len(distinct) else 0
        self._ends = len(distinct) + 2  # place 0 is before all times, the last one is for unknown times
        place = np.where(is_unknown, self._ends - 1, np.searchsorted(distinct, times) + 1)
        self._first = np.where(is_unknown | only_first, 0, np.searchsorted(distinct, times - half) + 1)
        self._end = np.where(is_unknown, self._ends, np.searchsorted(distinct, times + half, side="right") + 1)
        self._moments = np.sort(self._keys * self._ends + place)

    def contains(self, owners: NDArray[np.int64], items: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Return for each item whether the user interacted with it around the time of the interaction."""
        start = (self._user_rows[owners] * self.item_count + items) * self._ends
        first, end, unknown = (
            np.searchsorted(self._moments, start + place)
            for place in (self._first[owners], self._end[owners], self._ends - 1)
        )
        after = np.searchsorted(self._moments, start + self._ends)
        is_contained: NDArray[np.bool_] = (first < end) | (unknown < after)
        return is_contained


def seconds_per_unit(times: NDArray[np.int64]) -> float:
    """Return the unit of times since 1970: seconds, milliseconds, microseconds or nanoseconds, from 1980 to 2100."""
    middle = float(np.median(np.abs(times))) if len(times) else 0.0
    for unit in (1.0, 1e-3, 1e-6, 1e-9):
        if FIRST_SECOND <= middle * unit <= LAST_SECOND:
            return unit
    raise ValueError(f"times must be dates or a number of seconds since 1970, got times such as {middle:,.0f}")


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
        priorities = history.priorities(random, is_taken)
        needed = is_rejected[rows].sum(axis=1)
        if (short := (~np.isin(priorities, (np.inf, 1 << 62))).sum(axis=1) < needed).any():
            most = others.shape[1] + 1 - int(short.max())
            raise ValueError(f"arms must be at most {most}: a client took nearly all items around one time")
        free_items = np.argsort(priorities, axis=1)
        row, slot = np.nonzero(is_rejected[rows])
        rank = np.arange(len(row)) - np.searchsorted(row, row)
        others[rows[row], slot] = free_items[row, rank]


NEED_TIMES = (("negatives", "not-then"), ("order", "time"))
"""Values of options that make sense only where the times of interactions are known."""

STREAM_VERSION = 1
MAX_DRAWS = 1 << 22
STEPS_PER_BLOCK = 1 << 12

Decisions = dict[str, NDArray[Any]]
"""The client, the pool and the rewards of each step; its time and value, if they are known."""


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
        options: further fields of `DatasetSpec`: `negatives`, `pools`, `repeats`, `order`, `min_interactions`,
            `features`, `repeats_offered`, `max_events_per_user`, `max_events`, `warm_up`.

    Data that are generated or differ from those published cause an `UnofficialDataWarning`, once per process.
    """
    prepared = open_prepared(name, folder)
    if scaling is not None:
        options["scaling"] = scaling
    spec = dataset_spec(dataset=name, arms=arms, dimension=dimension, positive=positive, **options)
    stream = spec.build_from(prepared, seed)
    warn_once(prepared.manifest)
    return stream


def recorded_stream(prepared: Prepared, spec: DatasetSpec, seed: int) -> EventStream:
    """Draw events, order and pools; rewards are 0 or 1, without noise."""
    held_out = None if spec.features == "words" else learn_from_held_out(prepared, spec.features)
    events = _events(prepared if held_out is None else _of_players(prepared, held_out), spec)
    decisions = _rated if spec.pools == "rated" else _sampled
    fields: dict[str, Any] = decisions(seed, events, spec)
    fields["noise"] = np.zeros(len(fields["clients"]))
    if held_out is None:
        fields["items"] = scale(np.ascontiguousarray(prepared.components[:, : spec.dimension]), spec.scaling)
    else:
        fields |= {"held_out_count": held_out.count, "held_out_likes": held_out.likes}
        fields |= _pairs(events, held_out, spec, fields) if spec.features == "profile" else {}
        fields.setdefault("items", held_out.item_features)
    return make_stream(
        **fields,
        name=prepared.name,
        fingerprint=spec.fingerprint(seed),
        source=str(prepared.manifest["source"]),
    )


def _of_players(prepared: Prepared, held_out: HeldOut) -> Prepared:
    """Return the players' interactions with the items of which held-out users tell something; only those are items."""
    rows = np.flatnonzero(half_of_users(prepared.users) & np.isin(prepared.items, held_out.items))
    items = np.searchsorted(held_out.items, prepared.items).astype(np.int32)
    return _at(replace(prepared, items=items, item_ids=prepared.item_ids[held_out.items]), rows)


def _at(events: Prepared, rows: NDArray[np.int64]) -> Prepared:
    """Return some of the interactions."""
    arrays = {name: getattr(events, name) for name in ("users", "items", "times", "ratings", "values")}
    return replace(events, **{name: array[rows] for name, array in arrays.items() if array is not None})


def _pairs(
    events: Prepared, held_out: HeldOut, spec: DatasetSpec, decisions: Mapping[str, NDArray[Any]]
) -> dict[str, NDArray[Any]]:
    """Return a row of features for each offered pair of a client and an item, and the item of each row."""
    offered = decisions["pools"]
    users, user_rows = np.unique(events.users, return_inverse=True)
    first = np.flatnonzero(ranks_by_time(events) < spec.warm_up)
    sums = np.zeros((len(users), held_out.factors.shape[1]))
    np.add.at(sums, user_rows[first], held_out.factors[events.items[first]])
    profiles = unit_rows(sums)[np.searchsorted(users, decisions["clients"])]
    features = np.empty((offered.size, spec.dimension or 0))
    for start in range(0, len(offered), STEPS_PER_BLOCK):
        block = slice(start, start + STEPS_PER_BLOCK)
        rows = slice(start * spec.arms, start * spec.arms + offered[block].size)
        repeated = np.repeat(profiles[block], spec.arms, axis=0)
        features[rows] = held_out.pair_features(repeated, offered[block].ravel())
    pools = np.arange(offered.size, dtype=np.int32).reshape(offered.shape)
    return {"items": features, "item_of_row": offered.ravel(), "pools": pools}


def ranks_by_time(events: Prepared) -> NDArray[np.int64]:
    """Return the place of each interaction among those of its user: by time, at equal times by item.

    Interactions of unknown time come last, in one random order that does not depend on the seed of a stream.
    """
    is_unknown = events.times == UNKNOWN_TIME
    if is_unknown.all():
        raise ValueError(f"features = 'profile' needs the times of interactions, and {events.name} has none")
    shuffled = np.random.Generator(np.random.PCG64(0)).permutation(len(events.users))
    order = np.lexsort((np.where(is_unknown, shuffled, events.items), events.times, is_unknown, events.users))
    return _ranks(order, events.users)


def _ranks(order: NDArray[np.int64], users: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each row its place among the rows of its user, given all rows by user and then by rank."""
    sorted_users = users[order]
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = np.arange(len(order)) - np.searchsorted(sorted_users, sorted_users)
    return ranks


def _events(prepared: Prepared, spec: DatasetSpec) -> Prepared:
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
    if spec.max_events is not None and spec.max_events < len(rows):
        rows = rows[is_of_sample(prepared.users[rows], spec.max_events)]
    return _at(prepared, rows)


def is_of_sample(users: NDArray[np.int64], max_events: int) -> NDArray[np.bool_]:
    """Tell which interactions are those of a random sample of the users, the same for every seed.

    It has at most `max_events` interactions, but at least one user.
    """
    _, user_rows, counts = np.unique(users, return_inverse=True, return_counts=True)
    order = np.random.Generator(np.random.PCG64(0)).permutation(len(counts))
    kept = order[: max(1, int(np.searchsorted(np.cumsum(counts[order]), max_events, side="right")))]
    result: NDArray[np.bool_] = np.isin(user_rows, kept)
    return result


def _positives(events: Prepared) -> NDArray[np.int64]:
    """Return the rows of interactions that are a reward of 1 in a sampled pool.

    These are all rows, or those rated at least as high as the parameter `positive_from` of an imported data set.
    """
    least = events.manifest.get("parameters", {}).get("positive_from")
    if least is None or events.ratings is None:
        return np.arange(len(events.users))
    positives = np.flatnonzero(events.ratings >= least)
    if not len(positives):
        raise ValueError(f"{events.name} has no interaction rated {least:g} or higher")
    return positives


def _played(seed: int, events: Prepared, spec: DatasetSpec) -> NDArray[np.int64]:
    """Return the positives that are played: after the warm-up, and as many per user as is allowed and possible."""
    rows = _positives(events)
    if spec.features == "profile":
        rows = rows[ranks_by_time(events)[rows] >= spec.warm_up]
    users, counts = np.unique(events.users, return_counts=True)
    limits = np.full(len(users), len(events.users) if spec.max_events_per_user is None else spec.max_events_per_user)
    if not spec.repeats_offered:
        limits = np.minimum(limits, (len(events.item_ids) - counts) // (spec.arms - 1))
    priority = generator_for("events", seed).permutation(len(rows))
    place = _ranks(np.lexsort((priority, events.users[rows])), events.users[rows])
    rows = rows[place < limits[np.searchsorted(users, events.users[rows])]]
    if not len(rows):
        raise ValueError(f"no user of {events.name} has enough interactions and items for pools of {spec.arms} arms")
    return rows


def _sampled(seed: int, events: Prepared, spec: DatasetSpec) -> Decisions:
    """Return clients, pools and rewards: the item of each interaction, and items that its user never touched."""
    order_random, pool_random = generators("order", "pools", seed=seed, are_separate=spec.has_separate_generators)
    positives = _played(seed, events, spec)
    interactions = positives[_order(order_random, events.users[positives], events.times[positives], spec)]
    user_rows = np.unique(events.users, return_inverse=True)[1]
    needs_times = [f"{name} = {getattr(spec, name)!r}" for name, value in NEED_TIMES if getattr(spec, name) == value]
    if needs_times and (events.times == UNKNOWN_TIME).all():
        raise ValueError(f"{needs_times[0]} needs the times of interactions, and {events.name} has none")
    draw = draw_pools_once
    if spec.repeats_offered:
        times = events.times if spec.negatives == "not-then" else None
        draw = partial(
            draw_pools, by_popularity=spec.negatives == "popularity", times=times, only_first=spec.repeats == "once"
        )
    item_count = len(events.item_ids)
    pools, positions = draw(pool_random, user_rows, events.items, interactions, item_count=item_count, arms=spec.arms)
    rows = np.arange(len(positions))
    if spec.positive == "first":
        pools[rows, positions], pools[:, 0] = pools[:, 0].copy(), pools[rows, positions]
        positions = np.zeros_like(positions)
    rewards = np.zeros(pools.shape)
    rewards[rows, positions] = 1.0
    fields: Decisions = {"clients": events.users[interactions], "pools": pools, "rewards": rewards}
    if spec.order == "time" and (events.times[interactions] != UNKNOWN_TIME).all():
        fields["times"] = events.times[interactions]
    return fields if events.values is None else {**fields, "values": events.values[interactions]}


def _rated(seed: int, events: Prepared, spec: DatasetSpec) -> Decisions:
    """Return clients, pools and rewards: each pool has K items that its user rated, with reward 1 for positive ones."""
    order_random, pool_random = generators("order", "pools", seed=seed, are_separate=spec.has_separate_generators)
    assert events.ratings is not None, "the specification requires ratings"
    user_rows = np.unique(events.users, return_inverse=True)[1]
    dealt = deal_pools(pool_random, user_rows, spec.arms)
    if not len(dealt):
        raise ValueError(
            f"arms must be at most {np.bincount(user_rows).max()}, the largest number of ratings of a user, "
            f"got {spec.arms}"
        )
    clients = events.users[dealt[:, 0]]
    order = _order(order_random, clients, np.full(len(dealt), UNKNOWN_TIME), spec)
    rewards = (events.ratings[dealt[order]] >= events.manifest["positive_rating"]).astype(np.float64)
    return {"clients": clients[order], "pools": events.items[dealt[order]], "rewards": rewards}


def _order(
    random: np.random.Generator, users: NDArray[np.int64], times: NDArray[np.int64], spec: DatasetSpec
) -> NDArray[np.int64]:
    if spec.order == "shuffled":
        return random.permutation(len(users))
    if spec.order == "time":
        return _order_within_users(random, np.zeros(len(users), dtype=np.int64), times)
    return draw_order(random, users, times)


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
        turn = draws[_ranks(np.argsort(draws, kind="stable"), draws) < remaining[users][draws]]
        turns.append(users[turn])
        remaining[users] -= np.bincount(turn, minlength=len(users))
    return np.concatenate(turns)
