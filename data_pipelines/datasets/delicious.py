"""Delicious (HetRec 2011): users and their URLs, a URL's words are the whole site's tags; or tagging events."""

from dataclasses import replace

import numpy as np

from data_pipelines.data_set import UNKNOWN_TIME, Contents, Counts, DataSet, Parameters
from data_pipelines.datasets.lastfm import HETREC
from data_pipelines.fetch.archive import Archive
from data_pipelines.fetch.tables import read_ids, read_numbers, read_texts, rows_of
from data_pipelines.prepare.features import count_words, split_into_words
from data_pipelines.stand_ins import Integers, Size, World, sized
from data_pipelines.tag_events import TagAssignments, event_contents, words_as_typed

BOOKMARKS, TAGS = "bookmarks.dat", "tags.dat"
TAGGED, SITE_TAGS = "user_taggedbookmarks-timestamps.dat", "bookmark_tags.dat"
BOOKMARK_COLUMNS = ("id", "md5", "title", "url", "md5Principal", "urlPrincipal")
TAG_COLUMNS = ("id", "value")
TAGGED_COLUMNS = ("userID", "bookmarkID", "tagID", "timestamp")


def read(archive: Archive, parameters: Parameters) -> Contents:
    """Read the distinct (user, URL) pairs, and the site's weighted tags of each URL.

    The tags of the sampled users are not used as words: an item's features would then reveal its positives.
    """
    item_ids = read_ids(archive, BOOKMARKS, BOOKMARK_COLUMNS, free_text="title")
    tag_ids, words_of_tags = read_texts(archive, TAGS, TAG_COLUMNS)
    tagged = read_numbers(archive, TAGGED, TAGGED_COLUMNS, may_be_empty=("timestamp",))
    site = read_numbers(archive, SITE_TAGS, ("bookmarkID", "tagID", "tagWeight"), types={"tagWeight": np.int32})
    words = count_words(
        rows_of(site["bookmarkID"], item_ids, member=SITE_TAGS, column="bookmarkID", listed_in=BOOKMARKS),
        rows_of(site["tagID"], tag_ids, member=SITE_TAGS, column="tagID", listed_in=TAGS),
        times_used=site["tagWeight"],
        item_count=len(item_ids),
        words_of_tags=words_of_tags,
        min_uses=int(parameters["least_word_uses"]),
    )
    contents = Contents.of_pairs(
        tagged["userID"],
        rows_of(tagged["bookmarkID"], item_ids, member=TAGGED, column="bookmarkID", listed_in=BOOKMARKS),
        tagged["timestamp"],
        item_ids=item_ids,
        words=words,
        rows={
            BOOKMARKS: len(item_ids),
            TAGS: len(tag_ids),
            TAGGED: len(tagged["userID"]),
            SITE_TAGS: len(site["tagID"]),
        },
    )
    notes = []
    if (unknown := int(np.count_nonzero(contents.times == UNKNOWN_TIME))) > 0:
        total = len(contents.times)
        notes.append(f"{unknown:,} of {total:,} interactions have no time stamp: they are put in random order")
    if len(site["tagWeight"]) and (site["tagWeight"] == 1).all():
        notes.append(f"every weight in {SITE_TAGS} is 1: the official ones are missing")
    return replace(contents, notes=tuple(notes))


def read_events(archive: Archive, parameters: Parameters) -> Contents:
    """Read the tag assignments with their time stamps."""
    tag_ids, words_of_tags = read_texts(archive, TAGS, TAG_COLUMNS, split=words_as_typed)
    tagged = read_numbers(archive, TAGGED, TAGGED_COLUMNS, may_be_empty=("timestamp",))
    tag_rows = rows_of(tagged["tagID"], tag_ids, member=TAGGED, column="tagID", listed_in=TAGS)
    unknown = int(np.count_nonzero(tagged["timestamp"] == 0))
    note = f"{unknown:,} of {len(tag_rows):,} tag assignments have no time stamp: events of a pair may be taken as one"
    assignments = TagAssignments(
        tagged["userID"],
        tagged["bookmarkID"],
        tag_rows,
        tagged["timestamp"],
        words_of_tags,
        {TAGS: len(tag_ids), TAGGED: len(tag_rows)},
        (note,) if unknown else (),
    )
    return _without_rare_tags(assignments, parameters)


def _without_rare_tags(tagged: TagAssignments, parameters: Parameters) -> Contents:
    is_kept = np.bincount(tagged.tag_rows)[tagged.tag_rows] >= parameters["least_tag_uses"]
    if not is_kept.any():
        raise ValueError(
            f"{TAGGED} has no tag that is used {parameters['least_tag_uses']:g} times; set least_tag_uses lower"
        )
    kept = {name: getattr(tagged, name)[is_kept] for name in ("users", "item_ids", "tag_rows", "times")}
    return event_contents(replace(tagged, **kept))


def generate(size: Size, parameters: Parameters) -> Contents:
    """Generate (user, URL) pairs and the site's tags of the same size."""
    texts, tagged, (urls, tags, weights) = _generated(size)
    item_count = sized(size, 69_226)
    words = count_words(
        urls,
        tags,
        times_used=weights,
        item_count=item_count,
        words_of_tags=[split_into_words(text) for text in texts],
        min_uses=int(parameters["least_word_uses"]),
    )
    rows = {BOOKMARKS: item_count, SITE_TAGS: len(tags), **tagged.rows}
    item_ids = np.arange(1, item_count + 1)
    return Contents.of_pairs(tagged.users, tagged.item_ids - 1, tagged.times, item_ids=item_ids, words=words, rows=rows)


def generate_events(size: Size, parameters: Parameters) -> Contents:
    """Generate tagging events of the same size."""
    texts, tagged, _ = _generated(size)
    return _without_rare_tags(replace(tagged, words_of_tags=[words_as_typed(text) for text in texts]), parameters)


def _generated(size: Size) -> tuple[list[str], TagAssignments, tuple[Integers, Integers, Integers]]:
    """Return the texts of tags, the users' assignments, still without words, and the site's (URLs, tags, weights)."""
    world = World(users=sized(size, 1_867), items=sized(size, 69_226), tags=sized(size, 53_388))
    users, urls = world.interactions(sized(size, 104_799), minimum=1, maximum=100)
    taggers, tagged_urls, tags = world.tag_assignments(sized(size, 437_593), users, urls, cover=True)
    site_urls, site_tags = world.item_tags(sized(size, 487_131), maximum=10)
    texts = world.tag_texts("_")
    milliseconds = 1000 * world.times(taggers, tagged_urls, first=1_100_000_000, last=1_290_000_000)
    rows = {TAGS: len(texts), TAGGED: len(tags)}
    tagged = TagAssignments(taggers + 1, tagged_urls + 1, tags, milliseconds, (), rows)
    return texts, tagged, (site_urls, site_tags, world.long_tail(len(site_tags), maximum=500))


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
    citation=f"Delicious website, http://www.delicious.com. {HETREC}",
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
    stand_in=generate_events,
    reduction="svd",
    stream_defaults={"order": "shuffled", "scaling": "pca"},
)
"""As the paper's authors prepared them: tagging events, and features made of the same tags."""
