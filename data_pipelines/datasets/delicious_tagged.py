"""Delicious (HetRec 2011) as the paper's authors prepared it: tagging events, and features made of the same tags."""

import numpy as np

from data_pipelines.data_set import Contents, DataSet, Parameters, rows_of
from data_pipelines.datasets import delicious
from data_pipelines.fetch.archive import Archive
from data_pipelines.tables.number_tables import read_numbers
from data_pipelines.tables.tag_events import TagAssignments, event_contents, words_as_typed
from data_pipelines.tables.text_tables import read_texts

TAGS, TAGGED = delicious.TAGS, delicious.TAGGED


def read(archive: Archive, parameters: Parameters) -> Contents:
    """Read the tag assignments with their time stamps, without those of rare tags."""
    tag_ids, words_of_tags = read_texts(archive, TAGS, delicious.TAG_COLUMNS, split=words_as_typed)
    tagged = read_numbers(archive, TAGGED, delicious.TAGGED_COLUMNS, may_be_empty=("timestamp",))
    tag_rows = rows_of(tagged["tagID"], tag_ids, member=TAGGED, column="tagID", listed_in=TAGS)
    uses = np.bincount(tag_rows, minlength=len(tag_ids))
    is_kept = uses[tag_rows] >= parameters["least_tag_uses"]
    if not is_kept.any():
        raise ValueError(
            f"{TAGGED} has no tag that is used {parameters['least_tag_uses']:g} times; set least_tag_uses lower"
        )
    unknown = int(np.count_nonzero(tagged["timestamp"] == 0))
    note = f"{unknown:,} of {len(tag_rows):,} tag assignments have no time stamp: events of a pair may be taken as one"
    assignments = TagAssignments(
        tagged["userID"][is_kept],
        tagged["bookmarkID"][is_kept],
        tag_rows[is_kept],
        tagged["timestamp"][is_kept],
        words_of_tags,
        {TAGS: len(tag_ids), TAGGED: len(tag_rows)},
        (note,) if unknown else (),
    )
    return event_contents(assignments)


DATA_SET = DataSet(
    name="delicious-tagged",
    label="Delicious, tagging events (as in the paper)",
    archive=delicious.DATA_SET.archive,
    official_url=delicious.DATA_SET.official_url,
    member_sha256={TAGGED: delicious.DATA_SET.member_sha256[TAGGED]},
    limits={TAGS: 10_000_000, TAGGED: 60_000_000},
    licence=delicious.DATA_SET.licence,
    citation=delicious.DATA_SET.citation,
    published=None,
    published_rows={TAGS: 53_388, TAGGED: 437_593},
    remarks=("The paper's Table 2 has 1,847 users and 99,246 interactions.",),
    leak="A URL's words are the tags of the events that are its positives: a leak, as in the paper.",
    parameters={"least_tag_uses": 10},
    groups="tens",
    read=read,
    reduction="svd",
    stream_defaults={"order": "shuffled", "scaling": "pca"},
    stand_in=delicious.generate,
    fallback_size="full",
)
