"""Delicious (HetRec 2011): users and their URLs, a URL's words are the whole site's tags; or tagging events."""

from dataclasses import replace

import numpy as np

from data_pipelines.data_set import Contents, Counts, DataSet, Parameters, distinct_pairs, rows_of
from data_pipelines.fetch.archive import Archive
from data_pipelines.prepare.features import count_words
from data_pipelines.stand_ins import StandIn, World
from data_pipelines.tables.number_tables import read_numbers
from data_pipelines.tables.tag_events import TagAssignments, event_contents, words_as_typed
from data_pipelines.tables.text_tables import read_ids, read_texts

BOOKMARKS, TAGS = "bookmarks.dat", "tags.dat"
TAGGED, SITE_TAGS = "user_taggedbookmarks-timestamps.dat", "bookmark_tags.dat"
BOOKMARK_COLUMNS = ("id", "md5", "title", "url", "md5Principal", "urlPrincipal")
TAG_COLUMNS = ("id", "value")
TAGGED_COLUMNS = ("userID", "bookmarkID", "tagID", "timestamp")
SITE_TAG_COLUMNS = ("bookmarkID", "tagID", "tagWeight")


def read(archive: Archive, parameters: Parameters) -> Contents:
    """Read the distinct (user, URL) pairs, and the site's weighted tags of each URL.

    The tags of the sampled users are not used as words: an item's features would then reveal its positives.
    """
    item_ids = read_ids(archive, BOOKMARKS, BOOKMARK_COLUMNS, free_text="title")
    tag_ids, words_of_tags = read_texts(archive, TAGS, TAG_COLUMNS)
    tagged = read_numbers(archive, TAGGED, TAGGED_COLUMNS, may_be_empty=("timestamp",))
    site = read_numbers(archive, SITE_TAGS, SITE_TAG_COLUMNS, types={"tagWeight": np.int32})
    items = rows_of(tagged["bookmarkID"], item_ids, member=TAGGED, column="bookmarkID", listed_in=BOOKMARKS)
    words = count_words(
        rows_of(site["bookmarkID"], item_ids, member=SITE_TAGS, column="bookmarkID", listed_in=BOOKMARKS),
        rows_of(site["tagID"], tag_ids, member=SITE_TAGS, column="tagID", listed_in=TAGS),
        times_used=site["tagWeight"],
        item_count=len(item_ids),
        words_of_tags=words_of_tags,
        min_uses=int(parameters["least_word_uses"]),
    )
    users, item_rows, times = distinct_pairs(tagged["userID"], items, tagged["timestamp"])
    notes = []
    if (unknown := int(np.count_nonzero(times == 0))) > 0:
        notes.append(f"{unknown:,} of {len(times):,} interactions have no time stamp: they are put in random order")
    if len(site["tagWeight"]) and (site["tagWeight"] == 1).all():
        notes.append(f"every weight in {SITE_TAGS} is 1: the official ones are missing")
    return Contents(
        users=users,
        items=item_rows,
        times=times,
        item_ids=item_ids,
        words=words,
        rows={
            BOOKMARKS: len(item_ids),
            TAGS: len(tag_ids),
            TAGGED: len(tagged["userID"]),
            SITE_TAGS: len(site["tagID"]),
        },
        notes=tuple(notes),
    )


def read_events(archive: Archive, parameters: Parameters) -> Contents:
    """Read the tag assignments with their time stamps, without those of rare tags."""
    tag_ids, words_of_tags = read_texts(archive, TAGS, TAG_COLUMNS, split=words_as_typed)
    tagged = read_numbers(archive, TAGGED, TAGGED_COLUMNS, may_be_empty=("timestamp",))
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


def generate(stand_in: StandIn) -> None:
    """Generate an archive of the same format and size."""
    users, urls, tags = stand_in.count(1_867), stand_in.count(69_226), stand_in.count(53_388)
    world = World(users=users, items=urls, tags=tags)
    user, url = world.interactions(stand_in.count(104_799), minimum=1, maximum=100)
    tagger, tagged_url, tag = world.tag_assignments(stand_in.count(437_593), user, url, cover=True)
    site_url, site_tag = world.item_tags(stand_in.count(487_131), maximum=10)
    numbers = np.arange(1, urls + 1)
    stand_in.write_rows(
        BOOKMARKS,
        BOOKMARK_COLUMNS,
        (f'{n}\t\tPage "{n}"\tof a book\thttp://example.org/{n}\t\texample.org' for n in numbers),
    )
    stand_in.write_rows(TAGS, TAG_COLUMNS, (f"{n + 1}\t{text}" for n, text in enumerate(world.tag_texts("_"))))
    second = world.times(tagger, tagged_url, first=1_100_000_000, last=1_290_000_000)
    stand_in.write_numbers(TAGGED, TAGGED_COLUMNS, [(tagger + 1, tagged_url + 1, tag + 1, second * 1000)])
    weight = world.long_tail(len(site_tag), maximum=500)
    stand_in.write_numbers(SITE_TAGS, SITE_TAG_COLUMNS, [(site_url + 1, site_tag + 1, weight)])


DATA_SET = DataSet(
    name="delicious",
    label="Delicious",
    archive="hetrec2011-delicious-2k.zip",
    official_url="https://files.grouplens.org/datasets/hetrec2011/hetrec2011-delicious-2k.zip",
    member_sha256={  # the hash of the archive itself is not known
        TAGGED: "4c656b703fa8b81da535f132a5a06e27618fff6bab4cdd68e6157ad18bfd7053",
        BOOKMARKS: "b61d676eddd7030ec49173530fc6781fd1da4e9bf1dd916ddfbc94f294d4a2ec",
        SITE_TAGS: "aac5ffe38a0f069f88fd566265233e704fe7aed35c3a457f124a3a5243dc025d",
    },
    limits={BOOKMARKS: 60_000_000, TAGS: 10_000_000, TAGGED: 60_000_000, SITE_TAGS: 40_000_000},
    licence="Non-commercial use only; for commercial use ask Delicious, http://www.delicious.com.",
    citation=(
        "Delicious website, http://www.delicious.com. "
        "I. Cantador, P. Brusilovsky, T. Kuflik: 2nd Workshop on Information Heterogeneity and Fusion in "
        "Recommender Systems (HetRec 2011). Proceedings of RecSys 2011, ACM."
    ),
    published=Counts(users=1_867, items=69_226, interactions=104_799),
    published_rows={BOOKMARKS: 69_226, TAGS: 53_388, TAGGED: 437_593, SITE_TAGS: 487_131},
    remarks=("The paper also reports 1,861 users: those that have contacts.",),
    parameters={"least_word_uses": 10},
    groups="tens",
    read=read,
    stand_in=generate,
    fallback_size="full",
)

TAGGING_EVENTS = replace(
    DATA_SET,
    name="delicious-tagged",
    label="Delicious, tagging events (as in the paper)",
    member_sha256={TAGGED: DATA_SET.member_sha256[TAGGED]},
    limits={TAGS: 10_000_000, TAGGED: 60_000_000},
    published=None,
    published_rows={TAGS: 53_388, TAGGED: 437_593},
    remarks=("The paper's Table 2 has 1,847 users and 99,246 interactions.",),
    leak="A URL's words are the tags of the events that are its positives: a leak, as in the paper.",
    parameters={"least_tag_uses": 10},
    read=read_events,
    reduction="svd",
    stream_defaults={"order": "shuffled", "scaling": "pca"},
)
"""As the paper's authors prepared them: tagging events, and features made of the same tags."""
