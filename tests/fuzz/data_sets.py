"""Tiny archives of the three data sets with damage in one member: refused, or read within bounds."""

import random
from functools import cache

import numpy as np

from data_pipelines.data_set import DataSet, find_data_set
from data_pipelines.fetch.archive import Archive, ArchiveError
from tests.fuzz.number_tables import FRAGMENTS, zipped
from tests.fuzz.target import Target, damaged, require, require_one_line, scratch

PARAMETERS = {
    "lastfm": {},
    "delicious": {"least_word_uses": 1},
    "movielens": {"least_rating": 1, "observations_above": 1},
}
TINY = {
    "lastfm": {
        "artists.dat": "id\tname\turl\tpictureURL\r\n1\tA\tu\tp\r\n2\tB\tC\tu\tp\r\n3\tD\tu\tp\r\n",
        "tags.dat": "tagID\ttagValue\r\n7\tdeath metal\r\n8\t80's pop\r\n",
        "user_artists.dat": "userID\tartistID\tweight\r\n5\t1\t10\r\n5\t2\t3\r\n9\t3\t1\r\n",
        "user_taggedartists.dat": "userID\tartistID\ttagID\tday\tmonth\tyear\r\n"
        "5\t1\t7\t1\t4\t2009\r\n9\t2\t8\t1\t5\t2010\r\n",
    },
    "delicious": {
        "bookmarks.dat": "id\tmd5\ttitle\turl\tmd5Principal\turlPrincipal\r\n"
        "1\tm\tOne\tu\tm\tp\r\n2\tm\tTwo\tu\tm\tp\r\n",
        "tags.dat": "id\tvalue\r\n1\tcollection_development\r\n2\tlibraries\r\n",
        "user_taggedbookmarks-timestamps.dat": "userID\tbookmarkID\ttagID\ttimestamp\r\n"
        "8\t1\t1\t1289255362000\r\n9\t2\t2\t0\r\n",
        "bookmark_tags.dat": "bookmarkID\ttagID\ttagWeight\r\n1\t1\t276\r\n2\t2\t3\r\n",
    },
    "movielens": {
        "ml-20m/ratings.csv": "userId,movieId,rating,timestamp\n1,2,3.5,1112486027\n1,3,4.0,\n2,2,0.5,1\n",
        "ml-20m/movies.csv": "movieId,title,genres\n"
        '2,"Jumanji, The (1995)",Adventure|Fantasy\n3,Heat,(no genres listed)\n',
        "ml-20m/tags.csv": 'userId,movieId,tag,timestamp\n1,2,"Mark ""x"" Waters",1240597180\n',
    },
}


@cache
def _data_set(name: str) -> DataSet:
    return find_data_set(name)


def make(draw: random.Random) -> bytes:
    name = draw.choice(sorted(TINY))
    members = {member: text.encode() for member, text in TINY[name].items()}
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
    require(contents.times.min() >= 0, "a negative time")
    require(contents.items.min() >= 0, "a negative item")
    require(contents.items.max() < len(contents.item_ids), "an item that is not in the catalogue")
    require(contents.words.counts.shape == (len(contents.item_ids), len(contents.words.vocabulary)), "wrong words")
    require(bool((np.diff(contents.item_ids) > 0).all()), "a catalogue with a duplicate item")
    pairs = set(zip(contents.users.tolist(), contents.items.tolist(), strict=True))
    require(len(pairs) == len(contents.users), "a duplicate pair of user and item")
    return True


TARGET = Target("data sets", 8, make, check)
