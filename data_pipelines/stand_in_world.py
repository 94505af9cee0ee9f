"""A made-up world of users with tastes, items with topics, and tags that follow the topics."""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]

TOPICS = 40
FAVOURITES = 3
OWN_TASTE = 0.8
"""The share of a user's choices that comes from the user's favourite topics."""
PAIRS_A_BLOCK = 1 << 20
SYLLABLES = ("ba", "ce", "di", "fo", "gu", "ka", "le", "mi", "no", "pu", "ra", "se", "ti", "vo", "zu", "né")


class World:
    """Popularity, activity and tag use have long tails; who likes what goes by topic."""

    def __init__(self, *, users: int, items: int, tags: int, disliked: int = 0) -> None:
        self.random = random = np.random.Generator(np.random.PCG64(0))
        self.users, self.items, self.tags, self.disliked = users, items, tags, disliked
        self.item_topics: Integers = random.integers(TOPICS, size=items)
        self.item_topics[items - disliked :] = TOPICS  # nobody's favourite
        self._favourites = random.integers(TOPICS, size=(users, FAVOURITES))
        self._items = _Line(random, self.item_topics)
        self._tags = _Line(random, random.integers(TOPICS, size=tags))

    def activity(self, total: int, owners: int, *, least: int, most: int) -> Integers:
        """Share out `total` with a long tail, each owner getting from `least` to `most`."""
        weights = np.exp(1.1 * self.random.standard_normal(owners))
        spare = max(total - least * owners, 0)
        shares: Integers = np.minimum(least + (spare * weights / weights.sum()).astype(np.int64), most)
        while (missing := total - int(shares.sum())) > 0:
            room = np.flatnonzero(shares < most)
            if not len(room):
                break
            shares[self.random.permutation(room)[:missing]] += 1
        return shares

    def interactions(self, total: int, *, least: int, most: int | None = None) -> tuple[Integers, Integers]:
        """Draw `total` distinct (user, item) pairs."""
        most = min(most or self.items // 4, self.items // 2)
        wanted = self.activity(total, self.users, least=least, most=most)
        return self._distinct_items(np.arange(self.users), wanted, np.full(self.users, self.items))

    def item_tags(self, total: int, *, most: int) -> tuple[Integers, Integers]:
        """Draw distinct (item, tag) pairs, some items with none."""
        wanted = self.activity(total, self.items, least=0, most=most)
        everything = np.arange(self.items)
        return self._distinct_tags(everything, everything, wanted)

    def tag_assignments(
        self, total: int, users: Integers, items: Integers, *, cover: bool = False
    ) -> tuple[Integers, Integers, Integers]:
        """Draw distinct (user, item, tag) of the given pairs; with `cover` every pair has one at least."""
        pairs = len(users)
        weights = self.activity(total, pairs, least=1 if cover else 0, most=max(self.tags // 4, 1))
        pair, tag = self._distinct_tags(np.arange(pairs), items, weights)
        return users[pair], items[pair], tag

    def rating_blocks(
        self, total: int, *, most_active: tuple[int, int]
    ) -> Iterator[tuple[Integers, Integers, Integers, Integers]]:
        """Yield blocks of (user, item, rating in tenths, time).

        Exactly the stated number of users stay above 3,000 ratings of at least 1, with the stated number
        of such ratings in all; the disliked items are never rated above 0.5.
        """
        liked_items = self.items - self.disliked
        heavy_users, heavy_total = most_active
        heavy = np.zeros(self.users, dtype=bool)
        heavy[self.random.permutation(self.users)[:heavy_users]] = True
        wanted = np.empty(self.users, dtype=np.int64)
        wanted[heavy] = self.activity(heavy_total, heavy_users, least=3_001, most=min(9_254, liked_items // 4 * 3))
        light = self.users - heavy_users
        wanted[~heavy] = self.activity(total - heavy_total, light, least=20, most=min(3_000, liked_items // 2))
        width = np.where(heavy, liked_items, self.items)  # the disliked items stand last in line
        ends = np.cumsum(wanted)
        cuts = np.searchsorted(ends, np.arange(0, int(ends[-1]), PAIRS_A_BLOCK))
        for first, stop in zip(cuts, [*cuts[1:], self.users], strict=True):
            if first == stop:
                continue
            block = np.arange(first, stop)
            user, item = self._distinct_items(block, wanted[block], width[block])
            tenths = 5 * self.random.binomial(9, 0.62, size=len(user)) + 5
            tenths[heavy[user] & (tenths < 10)] = 10
            tenths[item >= liked_items] = 5
            joined = 800_000_000 + user * 4_000
            yield user, item, tenths, joined + self.random.integers(30_000_000, size=len(user))

    def times(self, users: Integers, items: Integers, *, first: int, last: int) -> Integers:
        """Draw one time for every distinct (user, item)."""
        pairs, place = np.unique(users * self.items + items, return_inverse=True)
        return self.random.integers(first, last, size=len(pairs))[place]

    def long_tail(self, count: int, *, most: int) -> Integers:
        """Draw whole numbers from 1 to `most`, mostly small."""
        return np.minimum(1 / (1 - self.random.random(count)), most).astype(np.int64)

    def tag_texts(self, joint: str) -> list[str]:
        """Return a text for every tag: one or two words, from a vocabulary smaller than the tags."""
        vocabulary = max(self.tags // 2, 1)
        second = self.random.integers(2 * vocabulary, size=self.tags).tolist()
        return [
            _word(n % vocabulary) + (joint + _word(s) if s < vocabulary else "") + ("" if n < vocabulary else "s")
            for n, s in enumerate(second)
        ]

    def _draw_items(self, owners: Integers) -> Integers:
        topics = self._favourites[owners, self.random.integers(FAVOURITES, size=len(owners))]
        return self._items.draw(topics)

    def _distinct_items(self, owners: Integers, wanted: Integers, width: Integers) -> tuple[Integers, Integers]:
        owner, place = _distinct(owners, wanted, self._draw_items, self.items, width)
        return owner, self._items.line[place]

    def _distinct_tags(self, owners: Integers, items: Integers, wanted: Integers) -> tuple[Integers, Integers]:
        def draw(owner: Integers) -> Integers:
            return self._tags.draw(self.item_topics[items[owner]])

        owner, place = _distinct(owners, wanted, draw, self.tags, np.full(len(owners), self.tags))
        return owner, self._tags.line[place]


class _Line:
    """Things in a line, topic by topic and the popular ones first, to draw places from by popularity."""

    def __init__(self, random: np.random.Generator, topics: Integers) -> None:
        self._random = random
        weights = 1.0 / (10.0 + random.permutation(len(topics)))  # Zipf's law, its head cut off
        self.line = np.lexsort((-weights, topics))
        self._ends = np.cumsum(weights[self.line])
        starts = np.searchsorted(topics[self.line], np.arange(TOPICS + 2))
        self._bounds = np.concatenate([[0.0], self._ends])[starts]

    def draw(self, topics: Integers) -> Integers:
        """Draw a place for each topic: mostly of the topic, now and then of any."""
        low, high = self._bounds[topics], self._bounds[topics + 1]
        # A topic of which there is nothing leaves the whole to choose from.
        own = (self._random.random(len(topics)) < OWN_TASTE) & (high > low)
        low, high = np.where(own, low, 0.0), np.where(own, high, self._ends[-1])
        point = low + self._random.random(len(topics)) * (high - low)
        places: Integers = np.minimum(np.searchsorted(self._ends, point), len(self.line) - 1)
        return places


def _distinct(
    owners: Integers, wanted: Integers, draw: Callable[[Integers], Integers], things: int, width: Integers
) -> tuple[Integers, Integers]:
    """Draw for each owner as many distinct places below `width` as wanted; return (owner, place), sorted.

    A place drawn twice moves on to the next one in line, and at the end of the line back: no draw is
    rejected, so that twenty million take seconds.
    """
    keys = np.repeat(np.arange(len(owners)) * things, wanted)
    keys += draw(np.repeat(owners, wanted))
    keys.sort()
    starts = np.cumsum(wanted) - wanted
    number = np.arange(len(keys)) - np.repeat(starts, wanted)
    row = keys // things
    # Ever higher by one at least: what exceeds its number may only grow, for each owner by itself.
    leap = 2 * things
    place = np.maximum.accumulate(keys - row * things - number + row * leap) - row * leap + number
    place = np.minimum(place, (width - wanted)[row] + number)
    return owners[row], place


def _word(number: int) -> str:
    text = SYLLABLES[number % 16]
    while number := number // 16:
        text += SYLLABLES[number % 16]
    return text
