"""LastFM (HetRec 2011): users and the artists they listened to; an artist's words are all its tags."""

import numpy as np
from numpy.typing import NDArray

from data_pipelines.data_set import (
    UNKNOWN_TIME,
    Contents,
    Counts,
    DataSet,
    Package,
    PackageMember,
    Parameters,
    distinct_pairs,
    rows_of,
)
from data_pipelines.fetch.archive import Archive, ArchiveError
from data_pipelines.prepare.features import count_words
from data_pipelines.stand_ins import StandIn, World
from data_pipelines.tables.number_tables import read_numbers, read_parquet_numbers
from data_pipelines.tables.text_tables import read_ids, read_texts

ARTISTS, TAGS = "artists.dat", "tags.dat"
LISTENED, TAGGED = "user_artists.dat", "user_taggedartists.dat"
TAGGED_TIMES = "user_taggedartists-timestamps.dat"
ARTIST_COLUMNS = ("id", "name", "url", "pictureURL")
TAG_COLUMNS = ("tagID", "tagValue")
LISTENED_COLUMNS = ("userID", "artistID", "weight")
TAGGED_COLUMNS = ("userID", "artistID", "tagID", "day", "month", "year")
TAGGED_TIMES_COLUMNS = ("userID", "artistID", "tagID", "timestamp")

PACKAGE_FOLDER = "graphdatascience/resources/lastfm"
PACKAGE_LISTENED = f"{PACKAGE_FOLDER}/user_listen_artist_rels.parquet.gzip"
PACKAGE_TAGGED = f"{PACKAGE_FOLDER}/user_tag_artist_rels.parquet.gzip"
PACKAGE_LISTENED_COLUMNS = ("sourceNodeId", "targetNodeId")
PACKAGE_TAGGED_COLUMNS = ("sourceNodeId", "targetNodeId", "tagID", "timestamp")
PACKAGE_FIRST_ARTIST = 10_000
"""The package adds this to the ids of artists, so that they differ from those of users."""


def read(archive: Archive, parameters: Parameters) -> Contents:
    """Read listening relations, and the tag assignments of each artist as its words."""
    item_ids = read_ids(archive, ARTISTS, ARTIST_COLUMNS, free_text="name")
    tag_ids, words_of_tags = read_texts(archive, TAGS, TAG_COLUMNS)
    listened = read_numbers(archive, LISTENED, LISTENED_COLUMNS)
    tagged = read_numbers(archive, TAGGED, TAGGED_COLUMNS)
    items = rows_of(listened["artistID"], item_ids, member=LISTENED, column="artistID", listed_in=ARTISTS)
    # LastFM: some tagged artists have no listener in the sample and are missing from the catalogue.
    is_listed = np.isin(tagged["artistID"], item_ids)
    tag_rows = rows_of(tagged["tagID"], tag_ids, member=TAGGED, column="tagID", listed_in=TAGS)[is_listed]
    words = count_words(
        np.searchsorted(item_ids, tagged["artistID"][is_listed]),
        tag_rows,
        np.ones(len(tag_rows), dtype=np.int64),
        item_count=len(item_ids),
        words_of_tags=words_of_tags,
    )
    unlisted = int(np.count_nonzero(~is_listed))
    unknown = np.full(len(items), UNKNOWN_TIME, dtype=np.int64)  # the archive has no times
    users, item_rows, times = distinct_pairs(listened["userID"], items, unknown)
    return Contents(
        users=users,
        items=item_rows,
        times=times,
        item_ids=item_ids,
        words=words,
        rows={
            ARTISTS: len(item_ids),
            TAGS: len(tag_ids),
            LISTENED: len(listened["userID"]),
            TAGGED: len(tagged["userID"]),
        },
        notes=(f"{unlisted:,} tag assignments name artists that are not in {ARTISTS}; ignored",) if unlisted else (),
    )


def read_package(archive: Archive, parameters: Parameters) -> Contents:
    """Read the same relations from the package; it has no texts of tags, so each tag is one word, its number."""
    listened = read_parquet_numbers(archive, PACKAGE_LISTENED, PACKAGE_LISTENED_COLUMNS)
    tagged = read_parquet_numbers(archive, PACKAGE_TAGGED, PACKAGE_TAGGED_COLUMNS)
    item_ids, items = np.unique(artist_ids(listened["targetNodeId"], PACKAGE_LISTENED), return_inverse=True)
    tagged_artists = artist_ids(tagged["targetNodeId"], PACKAGE_TAGGED)
    is_listed = np.isin(tagged_artists, item_ids)
    tag_rows, words_of_tags = numbered_tags(tagged["tagID"][is_listed])
    words = count_words(
        np.searchsorted(item_ids, tagged_artists[is_listed]),
        tag_rows,
        np.ones(len(tag_rows), dtype=np.int64),
        item_count=len(item_ids),
        words_of_tags=words_of_tags,
    )
    unknown = np.full(len(items), UNKNOWN_TIME, dtype=np.int64)
    users, item_rows, times = distinct_pairs(listened["sourceNodeId"], items, unknown)
    unlisted = int(np.count_nonzero(~is_listed))
    return Contents(
        users=users,
        items=item_rows,
        times=times,
        item_ids=item_ids,
        words=words,
        rows={PACKAGE_LISTENED: len(items), PACKAGE_TAGGED: len(tagged_artists)},
        notes=(f"{unlisted:,} tag assignments name artists without a listener; ignored",) if unlisted else (),
    )


def artist_ids(node_ids: NDArray[np.int64], member: str) -> NDArray[np.int64]:
    """Return the ids that artists have in the archive."""
    if len(node_ids) and node_ids.min() < PACKAGE_FIRST_ARTIST:
        raise ArchiveError(f"{member}: the id of an artist must be at least {PACKAGE_FIRST_ARTIST:,}")
    return node_ids - PACKAGE_FIRST_ARTIST


def numbered_tags(tag_ids: NDArray[np.int64]) -> tuple[NDArray[np.int64], list[list[str]]]:
    """Return the position of each tag among the distinct ones, and the word of each of those: its number."""
    distinct, rows = np.unique(tag_ids, return_inverse=True)
    return rows, [[str(tag)] for tag in distinct.tolist()]


def generate(stand_in: StandIn) -> None:
    """Generate an archive of the same format and size."""
    users, artists, tags = stand_in.count(1_892), stand_in.count(17_632), stand_in.count(11_946)
    world = World(users=users, items=artists, tags=tags)
    user, artist = world.interactions(stand_in.count(92_834), minimum=1)
    tagger, tagged_artist, tag = world.tag_assignments(stand_in.count(186_479), user, artist)
    numbers = np.arange(1, artists + 1)
    stand_in.write_rows(
        ARTISTS,
        ARTIST_COLUMNS,
        (f'{n}\tArtist "{n}"\thttp://example.org/{n}\thttp://example.org/{n}.jpg' for n in numbers),
    )
    stand_in.write_rows(TAGS, TAG_COLUMNS, (f"{n + 1}\t{text}" for n, text in enumerate(world.tag_texts(" "))))
    weight = world.random.integers(1, 10_000, size=len(user))
    stand_in.write_numbers(LISTENED, LISTENED_COLUMNS, [(user + 1, artist + 1, weight)])
    day = np.ones_like(tag)
    month, year = (
        world.random.integers(1, 13, size=len(tag)),
        world.random.integers(2006, 2012, size=len(tag)),
    )
    stand_in.write_numbers(TAGGED, TAGGED_COLUMNS, [(tagger + 1, tagged_artist + 1, tag + 1, day, month, year)])
    months = np.datetime64("1970-01", "M") + (12 * (year - 1970) + month - 1)
    time = months.astype("datetime64[ms]").astype(np.int64)
    stand_in.write_numbers(TAGGED_TIMES, TAGGED_TIMES_COLUMNS, [(tagger + 1, tagged_artist + 1, tag + 1, time)])


PACKAGE = Package(
    name="graphdatascience",
    version="2.2",
    size=2_100_910,
    sha256="1e978c3bf5c2cece4282338d224d1efcffa8681733113d576c2205c4d06f549b",
    members={
        PACKAGE_LISTENED: PackageMember(353_081, "19a603a2a4939b9e5bf9c0aac5b9a0d6bcf201eea82c867eadb7a04cbc52f52d"),
        PACKAGE_TAGGED: PackageMember(725_313, "f5a5b917cebefae42641328accd72111c12e2bee403811ec45152a3a5fbf245b"),
    },
    read=read_package,
    note="tags by number",
)


DATA_SET = DataSet(
    name="lastfm",
    label="LastFM",
    archive="hetrec2011-lastfm-2k.zip",
    official_url="https://files.grouplens.org/datasets/hetrec2011/hetrec2011-lastfm-2k.zip",
    sha256="6738f48195667ff03caaab4d32ca9a3133d8cc026b7c3cdaf6ce1010e913c59c",
    packages=(PACKAGE,),
    limits={ARTISTS: 20_000_000, TAGS: 5_000_000, LISTENED: 20_000_000, TAGGED: 50_000_000},
    licence="Non-commercial use only; for commercial use ask Last.fm, http://www.lastfm.com/about/contact.",
    citation=(
        "Last.fm website, http://www.lastfm.com. "
        "I. Cantador, P. Brusilovsky, T. Kuflik: 2nd Workshop on Information Heterogeneity and Fusion in "
        "Recommender Systems (HetRec 2011). Proceedings of RecSys 2011, ACM."
    ),
    published=Counts(users=1_892, items=17_632, interactions=92_834),
    published_rows={ARTISTS: 17_632, TAGS: 11_946, LISTENED: 92_834, TAGGED: 186_479},
    remarks=(
        "The paper states T = 96,733: the tagging events, see lastfm-tagged. There are 92,834 listening relations.",
    ),
    read=read,
    stand_in=generate,
    fallback_size="full",
)
