"""Tiny archives of the three data sets with damage in one member: refused, or read within bounds."""

import random
from functools import cache

import numpy as np

from data_pipelines.data_set import UNKNOWN_TIME, DataSet, find_data_set
from data_pipelines.fetch.archive import Archive, ArchiveError
from tests.data_pipelines.conftest import LASTFM
from tests.data_pipelines.test_data_sets import DELICIOUS, MOVIELENS
from tests.fuzz.number_tables import FRAGMENTS, zipped
from tests.fuzz.target import Target, damaged, require, require_one_line, scratch

PARAMETERS = {
    "lastfm": {},
    "delicious": {"least_word_uses": 1},
    "movielens": {"least_rating": 1, "observations_above": 1},
}
TINY = {"lastfm": LASTFM, "delicious": DELICIOUS, "movielens": MOVIELENS}


@cache
def _data_set(name: str) -> DataSet:
    return find_data_set(name)


def make(draw: random.Random) -> bytes:
    name = draw.choice(sorted(TINY))
    members = dict(TINY[name])
    if draw.random() < 0.97:
        member = draw.choice(sorted(members))
        members[member] = damaged(draw, members[member], FRAGMENTS, max_damages=2)
    if draw.random() < 0.02:
        del members[draw.choice(sorted(members))]
    return name.encode() + b"\0" + zipped(members)


def check(content: bytes) -> bool:
    name, _, archive_bytes = content.partition(b"\0")
    data_set = _data_set(name.decode())
    path = scratch() / "data_set.zip"
    path.write_bytes(archive_bytes)
    try:
        with Archive(path, data_set.limits) as archive:
            contents = data_set.read(archive, PARAMETERS[data_set.name])
    except ArchiveError as error:
        require_one_line(error)
        return False
    except ValueError as error:
        require_one_line(error, "no item has any words left", "ratings.csv has no user with more than")
        return False
    require(len(contents.users) == len(contents.items) == len(contents.times) > 0, "columns of different lengths")
    require(contents.users.min() >= 0, "a negative user")
    require((contents.times[contents.times != UNKNOWN_TIME] > 0).all(), "a negative time")
    require(contents.items.min() >= 0, "a negative item")
    require(contents.items.max() < len(contents.item_ids), "an item that is not in the catalogue")
    require(contents.words.counts.shape == (len(contents.item_ids), len(contents.words.vocabulary)), "wrong words")
    require(bool((np.diff(contents.item_ids) > 0).all()), "a catalogue with a duplicate item")
    pairs = set(zip(contents.users.tolist(), contents.items.tolist(), strict=True))
    require(len(pairs) == len(contents.users), "a duplicate pair of user and item")
    return True


TARGET = Target("data sets", 8, make, check)
