"""A made-up world of users with tastes, items with topics, and tags that follow the topics."""

from collections.abc import Callable, Iterator
from typing import Any

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

    def __init__(self, random: np.random.Generator, users: int, items: int, tags: int) -> None:
        self.random, self.users, self.items, self.tags = random, users, items, tags
        self.item_topics: Integers = random.integers(TOPICS, size=items)
        self._favourites = random.integers(TOPICS, size=(users, FAVOURITES))
        self._items_by_topic = _ByTopic(random, self.item_topics)
        self._tags_by_topic = _ByTopic(random, random.integers(TOPICS, size=tags))

    def activity(self, total: int, owners: int, *, least: int, most: int) -> Integers:
        """Share out `total` with a long tail, each owner getting from `least` to `most`."""
        weights = np.exp(1.1 * self.random.standard_normal(owners))
        spare = max(total - least * owners, 0)
        shares = np.minimum(least + (spare * weights / weights.sum()).astype(np.int64), most)
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
        return self._distinct(np.arange(self.users), wanted, self._draw_items, self.items)

    def item_tags(self, total: int, *, most: int) -> tuple[Integers, Integers]:
        """Draw distinct (item, tag) pairs, some items with none."""
        wanted = self.activity(total, self.items, least=0, most=most)
        return self._distinct(np.arange(self.items), wanted, self._draw_tags, self.tags)

    def tag_assignments(
        self, total: int, users: Integers, items: Integers, *, cover: bool = False
    ) -> tuple[Integers, Integers, Integers]:
        """Draw distinct (user, item, tag) of the given pairs; with `cover` every pair has one at least."""
        pairs = len(users)
        weights = self.activity(total, pairs, least=1 if cover else 0, most=max(self.tags // 4, 1))
        pair, tag = self._distinct(
            np.arange(pairs), weights, lambda owners: self._draw_tags(items[owners]), self.tags
        )
        return users[pair], items[pair], tag

    def rating_blocks(
        self, total: int, *, most_active: tuple[int, int], liked_items: int
    ) -> Iterator[tuple[Integers, Integers, Integers, Integers]]:
        """Yield blocks of (user, item, rating in tenths, time).

        Exactly the stated number of users stay above 3,000 ratings of at least 1, with the stated number
        of such ratings in all; items from `liked_items` on are never rated above 0.5.
        """
        heavy_users, heavy_total = most_active
        heavy = np.zeros(self.users, dtype=bool)
        heavy[self.random.permutation(self.users)[:heavy_users]] = True
        wanted = np.empty(self.users, dtype=np.int64)
        wanted[heavy] = self.activity(
            heavy_total, heavy_users, least=3_001, most=min(9_254, liked_items // 4 * 3)
        )
        light = self.users - heavy_users
        wanted[~heavy] = self.activity(
            total - heavy_total, light, least=20, most=min(3_000, liked_items // 2)
        )
        ends = np.cumsum(wanted)
        cuts = np.searchsorted(ends, np.arange(0, int(ends[-1]), PAIRS_A_BLOCK))
        for first, stop in zip(cuts, [*cuts[1:], self.users], strict=True):
            if first == stop:
                continue
            block = np.arange(first, stop)

            def draw(owners: Integers) -> Integers:
                drawn = self._draw_items(owners)
                unwanted = heavy[owners] & (drawn >= liked_items)
                return np.where(unwanted, drawn % liked_items, drawn)

            user, item = self._distinct(block, wanted[block], draw, self.items, liked_items)
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
            _word(n % vocabulary)
            + (joint + _word(s) if s < vocabulary else "")
            + ("" if n < vocabulary else "s")
            for n, s in enumerate(second)
        ]

    def _draw_items(self, owners: Integers) -> Integers:
        topics = self._favourites[owners, self.random.integers(FAVOURITES, size=len(owners))]
        return self._items_by_topic.draw(topics)

    def _draw_tags(self, items: Integers) -> Integers:
        return self._tags_by_topic.draw(self.item_topics[items])

    def _distinct(
        self,
        owners: Integers,
        wanted: Integers,
        draw: Callable[[Integers], Integers],
        width: int,
        uniform_below: int | None = None,
    ) -> tuple[Integers, Integers]:
        """Draw for each owner as many distinct things as wanted; return (owner, thing), sorted."""
        finished: list[Integers] = []
        keys = np.empty(0, dtype=np.int64)
        missing = wanted.copy()
        for attempt in range(1_000):
            again = np.repeat(owners, np.where(missing > 0, missing + missing // 4 + 1, 0))
            if not len(again):
                break
            # The popular things run out for the very active: then any thing will do.
            any_thing = attempt >= 6
            drawn = (
                self.random.integers(uniform_below or width, size=len(again)) if any_thing else draw(again)
            )
            keys = np.unique(np.concatenate([keys, again * width + drawn]))
            keys = self._trim(keys, owners, wanted, width)
            have = np.bincount(np.searchsorted(owners, keys // width), minlength=len(owners))
            done = (have == wanted) & (missing > 0)
            missing = np.where(missing > 0, wanted - have, 0)
            is_done = done[np.searchsorted(owners, keys // width)]
            finished.append(keys[is_done])
            keys = keys[~is_done]
        everything = np.sort(np.concatenate([*finished, keys]))
        return everything // width, everything % width

    def _trim(self, keys: Integers, owners: Integers, wanted: Integers, width: int) -> Integers:
        """Leave each owner a random choice of at most as many as wanted."""
        place = np.searchsorted(owners, keys // width)
        order = np.lexsort((self.random.integers(1 << 32, size=len(keys)), place))
        sorted_place = place[order]
        rank = np.arange(len(keys)) - np.searchsorted(sorted_place, sorted_place)
        return np.sort(keys[order[rank < wanted[sorted_place]]])


class _ByTopic:
    """Draws things by popularity, of a topic or, now and then, of any."""

    def __init__(self, random: np.random.Generator, topics: NDArray[Any]) -> None:
        self._random = random
        weights = 1.0 / (10.0 + random.permutation(len(topics)))  # Zipf's law, its head cut off
        self._order = np.argsort(topics, kind="stable")
        self._ends = np.cumsum(weights[self._order])
        starts = np.searchsorted(topics[self._order], np.arange(TOPICS + 1))
        self._bounds = np.concatenate([[0.0], self._ends])[starts]

    def draw(self, topics: Integers) -> Integers:
        low, high = self._bounds[topics], self._bounds[topics + 1]
        # A topic of which there is nothing leaves the whole to choose from.
        own = (self._random.random(len(topics)) < OWN_TASTE) & (high > low)
        low, high = np.where(own, low, 0.0), np.where(own, high, self._ends[-1])
        point = low + self._random.random(len(topics)) * (high - low)
        drawn: Integers = self._order[np.minimum(np.searchsorted(self._ends, point), len(self._order) - 1)]
        return drawn


def _word(number: int) -> str:
    text = SYLLABLES[number % 16]
    while number := number // 16:
        text += SYLLABLES[number % 16]
    return text
