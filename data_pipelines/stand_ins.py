"""Stand-ins: a generated population of users, items and tags, from which data sets make contents of their kind."""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from data_pipelines.support.progress import progress

Integers = NDArray[np.int64]
Size = Literal["full", "small"]

SMALL_SHARE = 20
TOPICS = 40
FAVOURITES = 3
OWN_TASTE = 0.8
"""The share of a user's choices from the user's favourite topics."""
PAIRS_PER_BLOCK = 1 << 20
SYLLABLES = ("ba", "ce", "di", "fo", "gu", "ka", "le", "mi", "no", "pu", "ra", "se", "ti", "vo", "zu", "né")


def sized(size: Size, full: int, small: int | None = None) -> int:
    """Return `full` for a stand-in of full size, else `small` or a fixed share of `full`."""
    if size == "full":
        return full
    return small if small is not None else max(full // SMALL_SHARE, 1)


class World:
    """Popularity, activity and tag use have long tails; users prefer items of their favourite topics."""

    def __init__(self, *, users: int, items: int, tags: int, disliked: int = 0) -> None:
        self.random = random = np.random.Generator(np.random.PCG64(0))
        self.users, self.items, self.tags, self.disliked = users, items, tags, disliked
        self.item_topics: Integers = random.integers(TOPICS, size=items)
        self.item_topics[items - disliked :] = TOPICS  # not a favourite of any user
        self._favourites = random.integers(TOPICS, size=(users, FAVOURITES))
        self._items = _Ranking(random, self.item_topics)
        self._tags = _Ranking(random, random.integers(TOPICS, size=tags))

    def activity(self, total: int, owners: int, *, minimum: int, maximum: int) -> Integers:
        """Distribute `total` over the owners with a long tail, from `minimum` to `maximum` for each."""
        weights = np.exp(1.1 * self.random.standard_normal(owners))
        spare = max(total - minimum * owners, 0)
        shares: Integers = np.minimum(minimum + (spare * weights / weights.sum()).astype(np.int64), maximum)
        while (missing := total - int(shares.sum())) > 0:
            extendable = np.flatnonzero(shares < maximum)
            if not len(extendable):
                break
            shares[self.random.permutation(extendable)[:missing]] += 1
        return shares

    def interactions(self, total: int, *, minimum: int, maximum: int | None = None) -> tuple[Integers, Integers]:
        """Draw `total` distinct (user, item) pairs."""
        maximum = min(maximum or self.items // 4, self.items // 2)
        counts = self.activity(total, self.users, minimum=minimum, maximum=maximum)
        return self._distinct_items(np.arange(self.users), counts, np.full(self.users, self.items))

    def item_tags(self, total: int, *, maximum: int) -> tuple[Integers, Integers]:
        """Draw distinct (item, tag) pairs; some items get none."""
        counts = self.activity(total, self.items, minimum=0, maximum=maximum)
        items = np.arange(self.items)
        return self._distinct_tags(items, items, counts)

    def tag_assignments(
        self, total: int, users: NDArray[Any], items: NDArray[Any], *, cover: bool = False
    ) -> tuple[NDArray[Any], NDArray[Any], Integers]:
        """Draw distinct (user, item, tag) triples for the given pairs; with `cover` at least one for every pair."""
        pairs = len(users)
        counts = self.activity(total, pairs, minimum=1 if cover else 0, maximum=max(self.tags // 4, 1))
        pair, tag = self._distinct_tags(np.arange(pairs), items, counts)
        return users[pair], items[pair], tag

    def ratings(
        self, total: int, *, most_active: tuple[int, int]
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float32], Integers]:
        """Draw (users, items, ratings, times), in blocks of users to save memory.

        `most_active` is the number of users with more than 3,000 ratings of at least 1, and the total number
        of these ratings. The disliked items are never rated above 0.5.
        """
        liked_items = self.items - self.disliked
        heavy_users, heavy_total = most_active
        is_heavy = np.zeros(self.users, dtype=bool)
        is_heavy[self.random.permutation(self.users)[:heavy_users]] = True
        counts = np.empty(self.users, dtype=np.int64)
        counts[is_heavy] = self.activity(
            heavy_total, heavy_users, minimum=3_001, maximum=min(9_254, liked_items // 4 * 3)
        )
        counts[~is_heavy] = self.activity(
            total - heavy_total, self.users - heavy_users, minimum=20, maximum=min(3_000, liked_items // 2)
        )
        width = np.where(is_heavy, liked_items, self.items)  # the disliked items are the last ones
        ends = np.cumsum(counts)
        cuts = np.searchsorted(ends, np.arange(PAIRS_PER_BLOCK, int(ends[-1]), PAIRS_PER_BLOCK))
        blocks: list[tuple[NDArray[Any], ...]] = []
        with progress("generating ratings", total, unit="ratings") as reporter:
            for block in np.split(np.arange(self.users), cuts):
                user, item = self._distinct_items(block, counts[block], width[block])
                rating = (self.random.binomial(9, 0.62, size=len(user)) + 1) / 2
                rating[is_heavy[user] & (rating < 1)] = 1
                rating[item >= liked_items] = 0.5
                time = 800_000_000 + user * 4_000 + self.random.integers(30_000_000, size=len(user))
                blocks.append((user.astype(np.int32), item.astype(np.int32), rating.astype(np.float32), time))
                reporter.update(len(user))
        users, items, ratings, times = (np.concatenate(column) for column in zip(*blocks, strict=True))
        return users, items, ratings, times

    def times(self, users: Integers, items: Integers, *, first: int, last: int) -> Integers:
        """Draw one time for every distinct (user, item)."""
        pairs, pair_of_row = np.unique(users * self.items + items, return_inverse=True)
        return self.random.integers(first, last, size=len(pairs))[pair_of_row]

    def long_tail(self, count: int, *, maximum: int) -> Integers:
        """Draw whole numbers from 1 to `maximum`, mostly small."""
        return np.minimum(1 / (1 - self.random.random(count)), maximum).astype(np.int64)

    def tag_texts(self, joint: str) -> list[str]:
        """Return a text for every tag: one or two words from a vocabulary smaller than the number of tags."""
        vocabulary = max(self.tags // 2, 1)
        second = self.random.integers(2 * vocabulary, size=self.tags).tolist()
        return [
            _word(n % vocabulary) + (joint + _word(s) if s < vocabulary else "") + ("" if n < vocabulary else "s")
            for n, s in enumerate(second)
        ]

    def _draw_items(self, owners: Integers) -> Integers:
        topics = self._favourites[owners, self.random.integers(FAVOURITES, size=len(owners))]
        return self._items.draw(topics)

    def _distinct_items(self, owners: Integers, counts: Integers, width: Integers) -> tuple[Integers, Integers]:
        owner, position = _distinct(owners, counts, self._draw_items, self.items, width)
        return owner, self._items.order[position]

    def _distinct_tags(self, owners: Integers, items: Integers, counts: Integers) -> tuple[Integers, Integers]:
        def draw(owner: Integers) -> Integers:
            return self._tags.draw(self.item_topics[items[owner]])

        owner, position = _distinct(owners, counts, draw, self.tags, np.full(len(owners), self.tags))
        return owner, self._tags.order[position]


class _Ranking:
    """Items or tags ordered by topic and then by popularity; positions are drawn by popularity."""

    def __init__(self, random: np.random.Generator, topics: Integers) -> None:
        self._random = random
        weights = 1.0 / (10.0 + random.permutation(len(topics)))  # Zipf's law without its head
        self.order = np.lexsort((-weights, topics))
        self._ends = np.cumsum(weights[self.order])
        starts = np.searchsorted(topics[self.order], np.arange(TOPICS + 2))
        self._bounds = np.concatenate([[0.0], self._ends])[starts]

    def draw(self, topics: Integers) -> Integers:
        """Draw a position for each topic: mostly within the topic, sometimes from all topics."""
        low, high = self._bounds[topics], self._bounds[topics + 1]
        # For an empty topic, draw from all topics.
        is_own_topic = (self._random.random(len(topics)) < OWN_TASTE) & (high > low)
        low, high = np.where(is_own_topic, low, 0.0), np.where(is_own_topic, high, self._ends[-1])
        point = low + self._random.random(len(topics)) * (high - low)
        positions: Integers = np.minimum(np.searchsorted(self._ends, point), len(self.order) - 1)
        return positions


def _distinct(
    owners: Integers, counts: Integers, draw: Callable[[Integers], Integers], total: int, width: Integers
) -> tuple[Integers, Integers]:
    """Draw `counts` distinct positions below `width` for each owner, out of `total`; return (owner, position), sorted.

    A position drawn twice moves to the next one, and back from the end: no draw is rejected, so that
    twenty million draws take seconds.
    """
    keys = np.repeat(np.arange(len(owners)) * total, counts)
    keys += draw(np.repeat(owners, counts))
    keys.sort()
    starts = np.cumsum(counts) - counts
    rank = np.arange(len(keys)) - np.repeat(starts, counts)
    row = keys // total
    # Positions are distinct if, within each owner, (position - rank) never decreases.
    leap = 2 * total
    position = np.maximum.accumulate(keys - row * total - rank + row * leap) - row * leap + rank
    position = np.minimum(position, (width - counts)[row] + rank)
    return owners[row], position


def _word(number: int) -> str:
    text = SYLLABLES[number % 16]
    while number := number // 16:
        text += SYLLABLES[number % 16]
    return text
