"""Small archives in the official formats, with tables drawn from a generated population."""

import zipfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from data_pipelines.stand_ins import World

LASTFM, DELICIOUS, MOVIELENS = "hetrec2011-lastfm-2k.zip", "hetrec2011-delicious-2k.zip", "ml-20m.zip"


def write_archive(name: str, folder: Path) -> Path:
    """Write one of the three archives into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(folder / name, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, content in MEMBERS[name]().items():
            archive.writestr(zipfile.ZipInfo(member), content, zipfile.ZIP_DEFLATED)  # always with the same date
    return folder / name


def _table(header: str, rows: Iterable[tuple[Any, ...]], separator: str = "\t", end: str = "\r\n") -> str:
    return end.join([header, *(separator.join(map(str, row)) for row in rows), ""])


def _numbers(header: str, *columns: np.ndarray, separator: str = "\t", end: str = "\r\n") -> str:
    return _table(header, zip(*(column.tolist() for column in columns), strict=True), separator, end)


def _encoded(members: Mapping[str, str], encoding: str) -> dict[str, bytes]:
    return {name: text.encode(encoding) for name, text in members.items()}


def lastfm() -> dict[str, bytes]:
    world = World(users=94, items=881, tags=597)
    user, artist = world.interactions(4_641, minimum=1)
    tagger, tagged, tag = world.tag_assignments(9_323, user, artist)
    month, year = (world.random.integers(first, last, size=len(tag)) for first, last in ((1, 13), (2006, 2012)))
    time = (np.datetime64("1970-01", "M") + 12 * (year - 1970) + month - 1).astype("datetime64[ms]").astype(np.int64)
    texts = enumerate(world.tag_texts(" "), start=1)
    assignments = (tagger + 1, tagged + 1, tag + 1)
    members = {
        "artists.dat": _table("id\tname\turl\tpictureURL", ((n, f'Artist "{n}"', "u", "p") for n in range(1, 882))),
        "tags.dat": _table("tagID\ttagValue", texts),
        "user_artists.dat": _numbers("userID\tartistID\tweight", user + 1, artist + 1, np.ones_like(user)),
        "user_taggedartists.dat": _numbers(
            "userID\tartistID\ttagID\tday\tmonth\tyear", *assignments, np.ones_like(tag), month, year
        ),
        "user_taggedartists-timestamps.dat": _numbers("userID\tartistID\ttagID\ttimestamp", *assignments, time),
    }
    return _encoded(members, "latin-1")


def delicious() -> dict[str, bytes]:
    world = World(users=93, items=3_461, tags=2_669)
    user, url = world.interactions(5_239, minimum=1, maximum=100)
    tagger, tagged, tag = world.tag_assignments(21_879, user, url, cover=True)
    site_url, site_tag = world.item_tags(24_356, maximum=10)
    time = 1000 * world.times(tagger, tagged, first=1_100_000_000, last=1_290_000_000)
    bookmarks = ((n, "", f'Page "{n}"\tof a book', f"http://example.org/{n}", "", "e") for n in range(1, 3_462))
    members = {
        "bookmarks.dat": _table("id\tmd5\ttitle\turl\tmd5Principal\turlPrincipal", bookmarks),
        "tags.dat": _table("id\tvalue", enumerate(world.tag_texts("_"), start=1)),
        "user_taggedbookmarks-timestamps.dat": _numbers(
            "userID\tbookmarkID\ttagID\ttimestamp", tagger + 1, tagged + 1, tag + 1, time
        ),
        "bookmark_tags.dat": _numbers(
            "bookmarkID\ttagID\ttagWeight", site_url + 1, site_tag + 1, world.long_tail(len(site_tag), maximum=500)
        ),
    }
    return _encoded(members, "latin-1")


def movielens() -> dict[str, bytes]:
    """Four users have more than 3,000 ratings of at least 1."""
    world = World(users=100, items=4_700, tags=1_932, disliked=40)
    user, movie, rating, time = world.ratings(16_000, most_active=(4, 13_000))
    tagger, tagged, tag = world.tag_assignments(2_000, user[::10], movie[::10])
    texts = world.tag_texts(" ")
    tags = zip((tagger + 1).tolist(), (tagged + 1).tolist(), (f'"{texts[number]}"' for number in tag), strict=True)
    movies = ((n, f'"Movie ""{n}"", The (1995)"', "Drama|Comedy" if n % 3 else "Crime") for n in range(1, 4_801))
    members = {
        "ratings.csv": _numbers(
            "userId,movieId,rating,timestamp", user + 1, movie + 1, rating, time, separator=",", end="\n"
        ),
        "movies.csv": _table("movieId,title,genres", movies, ",", "\n"),
        "tags.csv": _table("userId,movieId,tag,timestamp", ((*row, 1_200_000_000) for row in tags), ",", "\n"),
    }
    return _encoded({f"ml-20m/{name}": text for name, text in members.items()}, "utf-8")


MEMBERS: dict[str, Callable[[], dict[str, bytes]]] = {
    LASTFM: lastfm,
    DELICIOUS: delicious,
    MOVIELENS: movielens,
}
