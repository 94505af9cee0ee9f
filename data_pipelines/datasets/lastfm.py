"""LastFM (HetRec 2011): users and the artists they listened to; an artist's words are all its tags."""

import numpy as np

from data_pipelines.archive import Archive
from data_pipelines.data_set import UNKNOWN_TIME, Contents, Counts, DataSet, Parameters, distinct_pairs, rows_of
from data_pipelines.item_tables import read_ids, read_texts
from data_pipelines.number_tables import read_numbers
from data_pipelines.stand_in import StandIn
from data_pipelines.stand_in_world import World
from data_pipelines.words import count_words

ARTISTS, TAGS = "artists.dat", "tags.dat"
LISTENED, TAGGED = "user_artists.dat", "user_taggedartists.dat"
ARTIST_COLUMNS = ("id", "name", "url", "pictureURL")
TAG_COLUMNS = ("tagID", "tagValue")
LISTENED_COLUMNS = ("userID", "artistID", "weight")
TAGGED_COLUMNS = ("userID", "artistID", "tagID", "day", "month", "year")


def read(archive: Archive, parameters: Parameters) -> Contents:
    """Read listening relations, and the tag assignments of each artist as its words."""
    item_ids = read_ids(archive, ARTISTS, ARTIST_COLUMNS, free_text="name")
    tag_ids, words_of_tags = read_texts(archive, TAGS, TAG_COLUMNS)
    listened = read_numbers(archive, LISTENED, LISTENED_COLUMNS)
    tagged = read_numbers(archive, TAGGED, TAGGED_COLUMNS)
    items = rows_of(listened["artistID"], item_ids, member=LISTENED, column="artistID", listed_in=ARTISTS)
    # LastFM: some tagged artists were listened to by nobody in the sample and are in no catalogue.
    of_items = np.isin(tagged["artistID"], item_ids)
    tag_rows = rows_of(tagged["tagID"], tag_ids, member=TAGGED, column="tagID", listed_in=TAGS)[of_items]
    words = count_words(
        np.searchsorted(item_ids, tagged["artistID"][of_items]),
        tag_rows,
        np.ones(len(tag_rows), dtype=np.int64),
        item_count=len(item_ids),
        words_of_tags=words_of_tags,
    )
    unlisted = int(np.count_nonzero(~of_items))
    unknown = np.full(len(items), UNKNOWN_TIME, dtype=np.int64)  # the archive does not say when
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
        notes=(f"{unlisted:,} tag assignments are of artists not in {ARTISTS}: left out",) if unlisted else (),
    )


def generate(stand_in: StandIn) -> None:
    """Generate an archive of the same format and size."""
    users, artists, tags = stand_in.count(1_892), stand_in.count(17_632), stand_in.count(11_946)
    world = World(users=users, items=artists, tags=tags)
    user, artist = world.interactions(stand_in.count(92_834), least=1)
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


DATA_SET = DataSet(
    name="lastfm",
    archive="hetrec2011-lastfm-2k.zip",
    official_url="https://files.grouplens.org/datasets/hetrec2011/hetrec2011-lastfm-2k.zip",
    sha256="6738f48195667ff03caaab4d32ca9a3133d8cc026b7c3cdaf6ce1010e913c59c",
    limits={ARTISTS: 20_000_000, TAGS: 5_000_000, LISTENED: 20_000_000, TAGGED: 50_000_000},
    licence="Non-commercial use only; for commercial use ask Last.fm, http://www.lastfm.com/about/contact.",
    citation=(
        "Last.fm website, http://www.lastfm.com. "
        "I. Cantador, P. Brusilovsky, T. Kuflik: 2nd Workshop on Information Heterogeneity and Fusion in "
        "Recommender Systems (HetRec 2011). Proceedings of RecSys 2011, ACM."
    ),
    published=Counts(users=1_892, items=17_632, interactions=92_834),
    published_rows={ARTISTS: 17_632, TAGS: 11_946, LISTENED: 92_834, TAGGED: 186_479},
    remarks=("The paper states T = 96,733; the archive's readme and the archive have 92,834.",),
    read=read,
    stand_in=generate,
)
