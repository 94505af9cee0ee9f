"""LastFM (HetRec 2011): users and the artists they listened to, an artist's words are all its tags; or tagging events.

The data sets of tagging events are as the paper's authors prepared them: features are made of the same tags.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

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
from data_pipelines.tables.tag_events import TagAssignments, event_contents, half_of_users, words_as_typed
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
    tag_rows = rows_of(tagged["tagID"], tag_ids, member=TAGGED, column="tagID", listed_in=TAGS)
    rows = {ARTISTS: len(item_ids), TAGS: len(tag_ids), LISTENED: len(items), TAGGED: len(tag_rows)}
    assignments = TagAssignments(
        tagged["userID"], tagged["artistID"], tag_rows, _unknown(tag_rows), words_of_tags, rows
    )
    return _listening(item_ids, listened["userID"], items, assignments, f"that are not in {ARTISTS}")


def read_package(archive: Archive, parameters: Parameters) -> Contents:
    """Read the same relations from the package; it has no texts of tags, so each tag is one word, its number."""
    listened = read_parquet_numbers(archive, PACKAGE_LISTENED, PACKAGE_LISTENED_COLUMNS)
    item_ids, items = np.unique(_artist_ids(listened["targetNodeId"], PACKAGE_LISTENED), return_inverse=True)
    tagged = package_assignments(archive)
    tagged = replace(tagged, rows={PACKAGE_LISTENED: len(items), **tagged.rows})
    return _listening(item_ids, listened["sourceNodeId"], items, tagged, "without a listener")


def _listening(
    item_ids: NDArray[np.int64],
    listeners: NDArray[np.int64],
    items: NDArray[np.int64],
    tagged: TagAssignments,
    unlisted: str,
) -> Contents:
    """Return listening relations; tagged artists without a listener in the sample have no row and are ignored."""
    is_listed = np.isin(tagged.item_ids, item_ids)
    words = count_words(
        np.searchsorted(item_ids, tagged.item_ids[is_listed]),
        tagged.tag_rows[is_listed],
        item_count=len(item_ids),
        words_of_tags=tagged.words_of_tags,
    )
    users, item_rows, times = distinct_pairs(listeners, items, _unknown(items))  # there are no times
    ignored = int(np.count_nonzero(~is_listed))
    notes = (f"{ignored:,} tag assignments name artists {unlisted}; ignored",) if ignored else ()
    return Contents(
        users=users, items=item_rows, times=times, item_ids=item_ids, words=words, rows=tagged.rows, notes=notes
    )


def _unknown(rows: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    return np.full(len(rows), UNKNOWN_TIME, dtype=np.int64)


def assignments(archive: Archive) -> TagAssignments:
    """Read the tag assignments with their time stamps; artists that are not in `artists.dat` are included."""
    tag_ids, words_of_tags = read_texts(archive, TAGS, TAG_COLUMNS, split=words_as_typed)
    tagged = read_numbers(archive, TAGGED_TIMES, TAGGED_TIMES_COLUMNS, may_be_negative=("timestamp",))
    return TagAssignments(
        tagged["userID"],
        tagged["artistID"],
        rows_of(tagged["tagID"], tag_ids, member=TAGGED_TIMES, column="tagID", listed_in=TAGS),
        tagged["timestamp"],
        words_of_tags,
        {TAGS: len(tag_ids), TAGGED_TIMES: len(tagged["userID"])},
    )


def package_assignments(archive: Archive) -> TagAssignments:
    """Read the tag assignments from the package; each tag is one word, its number."""
    tagged = read_parquet_numbers(archive, PACKAGE_TAGGED, PACKAGE_TAGGED_COLUMNS)
    tag_ids, tag_rows = np.unique(tagged["tagID"], return_inverse=True)
    return TagAssignments(
        tagged["sourceNodeId"],
        _artist_ids(tagged["targetNodeId"], PACKAGE_TAGGED),
        tag_rows,
        tagged["timestamp"],
        [[str(tag)] for tag in tag_ids.tolist()],
        {PACKAGE_TAGGED: len(tag_rows)},
    )


def _artist_ids(node_ids: NDArray[np.int64], member: str) -> NDArray[np.int64]:
    """Return the ids that artists have in the archive."""
    if len(node_ids) and node_ids.min() < PACKAGE_FIRST_ARTIST:
        raise ArchiveError(f"{member}: the id of an artist must be at least {PACKAGE_FIRST_ARTIST:,}")
    return node_ids - PACKAGE_FIRST_ARTIST


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


def _of_events(name: str, label: str, contents: Callable[[TagAssignments], Contents], **about: Any) -> DataSet:
    """Return a data set of tagging events, read from the archive or from the package."""
    package = replace(
        PACKAGE,
        members={PACKAGE_TAGGED: PACKAGE.members[PACKAGE_TAGGED]},
        read=lambda archive, parameters: contents(package_assignments(archive)),
    )
    return replace(
        DATA_SET,
        name=name,
        label=label,
        packages=(package,),
        limits={TAGS: 5_000_000, TAGGED_TIMES: 50_000_000},
        published_rows={TAGS: 11_946, TAGGED_TIMES: 186_479},
        read=lambda archive, parameters: contents(assignments(archive)),
        reduction="svd",
        stream_defaults={"order": "shuffled", "scaling": "pca"},
        **{"remarks": (), **about},
    )


def _events_of_half(tagged: TagAssignments) -> Contents:
    """Return the events of half the users, with the words of all."""
    return event_contents(tagged, is_player=half_of_users(tagged.users))


def _events_with_other_words(tagged: TagAssignments) -> Contents:
    """Return the events of half the users, with the words of the other half."""
    is_player = half_of_users(tagged.users)
    return event_contents(tagged, is_player=is_player, gives_words=~is_player)


TAGGING_EVENTS = _of_events(
    "lastfm-tagged",
    "LastFM, tagging events (as in the paper)",
    event_contents,
    published=Counts(users=1_892, items=12_523, interactions=96_733),
    leak="An artist's words are the tags of the events that are its positives: a leak, as in the paper.",
)

HALF = Counts(users=946, items=9_629, interactions=49_573)
"""Counted in the complete archive, for the half of the users that takes part."""

OWN_WORDS = _of_events(
    "lastfm-tagged-own-words",
    "LastFM, half of the users, their own words included",
    _events_of_half,
    published=HALF,
    leak=(
        "Half of the users take part, always the same half. An artist's words are the tags of all users: a leak. "
        "Compare with lastfm-tagged-other-words, which has the same events."
    ),
)

OTHER_WORDS = _of_events(
    "lastfm-tagged-other-words",
    "LastFM, half of the users, words of the others only",
    _events_with_other_words,
    published=HALF,
    remarks=(
        "Half of the users take part, always the same half. An artist's words are the tags of the other half: no leak. "
        "Compare with lastfm-tagged-own-words, which has the same events.",
    ),
)
