"""LastFM (HetRec 2011): users and the artists they listened to, an artist's words are all its tags; or tagging events.

The data sets of tagging events are as the paper's authors prepared them: features are made of the same tags.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from data_pipelines.data_set import UNKNOWN_TIME, Contents, Counts, DataSet, Package, PackageMember, Parameters
from data_pipelines.fetch.archive import Archive, ArchiveError
from data_pipelines.fetch.tables import read_ids, read_numbers, read_parquet_numbers, read_texts, rows_of
from data_pipelines.prepare.features import split_into_words
from data_pipelines.stand_ins import Integers, Size, World, sized
from data_pipelines.tag_events import TagAssignments, event_contents, half_of_users, words_as_typed

Split = Callable[[str], list[str]]

ARTISTS, TAGS = "artists.dat", "tags.dat"
LISTENED, TAGGED = "user_artists.dat", "user_taggedartists.dat"
TAGGED_TIMES = "user_taggedartists-timestamps.dat"
ARTIST_COLUMNS = ("id", "name", "url", "pictureURL")
TAGGED_COLUMNS = {
    TAGGED: ("userID", "artistID", "tagID", "day", "month", "year"),
    TAGGED_TIMES: ("userID", "artistID", "tagID", "timestamp"),
}

PACKAGE_FOLDER = "graphdatascience/resources/lastfm"
PACKAGE_LISTENED = f"{PACKAGE_FOLDER}/user_listen_artist_rels.parquet.gzip"
PACKAGE_TAGGED = f"{PACKAGE_FOLDER}/user_tag_artist_rels.parquet.gzip"
PACKAGE_FIRST_ARTIST = 10_000
"""The package adds this to the ids of artists, so that they differ from those of users."""


def read(archive: Archive, parameters: Parameters) -> Contents:
    """Read listening relations, and the tag assignments of each artist as its words."""
    item_ids = read_ids(archive, ARTISTS, ARTIST_COLUMNS, free_text="name")
    listened = read_numbers(archive, LISTENED, ("userID", "artistID", "weight"))
    items = rows_of(listened["artistID"], item_ids, member=LISTENED, column="artistID", listed_in=ARTISTS)
    tagged = assignments(archive, TAGGED, split_into_words)
    rows = {ARTISTS: len(item_ids), LISTENED: len(items), **tagged.rows}
    return _listening(item_ids, listened["userID"], items, replace(tagged, rows=rows), f"that are not in {ARTISTS}")


def read_package(archive: Archive, parameters: Parameters) -> Contents:
    """Read the same relations from the package; it has no texts of tags, so each tag is one word, its number."""
    listened = read_parquet_numbers(archive, PACKAGE_LISTENED, ("sourceNodeId", "targetNodeId"))
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
    ignored = int(np.count_nonzero(~np.isin(tagged.item_ids, item_ids)))
    notes = (f"{ignored:,} tag assignments name artists {unlisted}; ignored",) if ignored else ()
    words = tagged.words(item_ids)
    return Contents.of_pairs(listeners, items, None, item_ids=item_ids, words=words, rows=tagged.rows, notes=notes)


def assignments(archive: Archive, member: str = TAGGED_TIMES, split: Split = words_as_typed) -> TagAssignments:
    """Read the tag assignments; artists that are not in `artists.dat` are included."""
    tag_ids, words_of_tags = read_texts(archive, TAGS, ("tagID", "tagValue"), split=split)
    tagged = read_numbers(archive, member, TAGGED_COLUMNS[member], may_be_negative=("timestamp",))
    return TagAssignments(
        tagged["userID"],
        tagged["artistID"],
        rows_of(tagged["tagID"], tag_ids, member=member, column="tagID", listed_in=TAGS),
        tagged.get("timestamp", np.full(len(tagged["userID"]), UNKNOWN_TIME)),
        words_of_tags,
        {TAGS: len(tag_ids), member: len(tagged["userID"])},
    )


def package_assignments(archive: Archive) -> TagAssignments:
    """Read the tag assignments from the package; each tag is one word, its number."""
    tagged = read_parquet_numbers(archive, PACKAGE_TAGGED, ("sourceNodeId", "targetNodeId", "tagID", "timestamp"))
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


def _generated(size: Size, member: str, split: Split) -> tuple[Integers, Integers, TagAssignments]:
    """Return listeners, the artists they listened to, by position, and tag assignments."""
    tag_count = sized(size, 11_946)
    world = World(users=sized(size, 1_892), items=sized(size, 17_632), tags=tag_count)
    users, artists = world.interactions(sized(size, 92_834), minimum=1)
    taggers, tagged_artists, tags = world.tag_assignments(sized(size, 186_479), users, artists)
    words_of_tags = [split(text) for text in world.tag_texts(" ")]
    months = np.datetime64("2006-01", "M") + world.random.integers(72, size=len(tags))
    times = months.astype("datetime64[ms]").astype(np.int64)
    rows = {TAGS: tag_count, member: len(tags)}
    return users + 1, artists, TagAssignments(taggers + 1, tagged_artists + 1, tags, times, words_of_tags, rows)


def generate(size: Size, parameters: Parameters) -> Contents:
    """Generate listening relations and tag assignments of the same size."""
    users, artists, tagged = _generated(size, TAGGED, split_into_words)
    item_ids = np.arange(1, sized(size, 17_632) + 1)
    rows = {ARTISTS: len(item_ids), LISTENED: len(users), **tagged.rows}
    return _listening(item_ids, users, artists, replace(tagged, rows=rows), "")


HETREC = (
    "I. Cantador, P. Brusilovsky, T. Kuflik: 2nd Workshop on Information Heterogeneity and Fusion in "
    "Recommender Systems (HetRec 2011). Proceedings of RecSys 2011, ACM."
)

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
    citation=f"Last.fm website, http://www.lastfm.com. {HETREC}",
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
        stand_in=lambda size, parameters: contents(_generated(size, TAGGED_TIMES, words_as_typed)[2]),
        reduction="svd",
        stream_defaults={"order": "shuffled", "scaling": "pca"},
        **{"remarks": (), **about},
    )


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
    lambda tagged: event_contents(tagged, is_player=half_of_users(tagged.users)),
    published=HALF,
    leak=(
        "Half of the users take part, always the same half. An artist's words are the tags of all users: a leak. "
        "Compare with lastfm-tagged-other-words, which has the same events."
    ),
)

OTHER_WORDS = _of_events(
    "lastfm-tagged-other-words",
    "LastFM, half of the users, words of the others only",
    lambda tagged: event_contents(
        tagged, is_player=half_of_users(tagged.users), gives_words=~half_of_users(tagged.users)
    ),
    published=HALF,
    remarks=(
        "Half of the users take part, always the same half. An artist's words are the tags of the other half: no leak. "
        "Compare with lastfm-tagged-own-words, which has the same events.",
    ),
)
