import numpy as np
import pytest

from data_pipelines.data_set import UNKNOWN_TIME, data_set_names, find_data_set
from data_pipelines.fetch.archive import ArchiveError
from tests.data_pipelines.conftest import read_archive as read

DELICIOUS = {
    "bookmarks.dat": (
        b"id\tmd5\ttitle\turl\tmd5Principal\turlPrincipal\r\n"
        b'1\tab\tA "title\twith a tab\thttp://a\tcd\ta\r\n2\t\tB\t\t\t\r\n'
    ),
    "tags.dat": b"id\tvalue\r\n10\tlesson_plan\r\n11\teduca\xe7\xe3o\r\n12\tplan\r\n",
    "user_taggedbookmarks-timestamps.dat": (
        b"userID\tbookmarkID\ttagID\ttimestamp\r\n"
        b"8\t1\t10\t2000\r\n8\t1\t11\t1000\r\n8\t2\t11\t0\r\n9\t2\t10\t0\r\n9\t2\t12\t7000\r\n"
    ),
    "bookmark_tags.dat": b"bookmarkID\ttagID\ttagWeight\r\n1\t10\t276\r\n1\t11\t3\r\n2\t12\t5\r\n",
}
MOVIELENS = {
    "ml-20m/movies.csv": (
        b"movieId,title,genres\n2,Jumanji (1995),Adventure|Children\n"
        b'1,"President, The (1995)",Comedy\n3,Nothing,(no genres listed)\n4,Hated,Horror\n'
    ),
    "ml-20m/ratings.csv": (
        b"userId,movieId,rating,timestamp\n1,1,3.5,10\n1,2,1.0,5\n1,4,0.5,7\n2,3,5.0,9\n2,4,0.5,1\n3,1,4.0,2\n"
    ),
    "ml-20m/tags.csv": (b'userId,movieId,tag,timestamp\n1,1,"Board Game, really",3\n2,2,comedy,4\n3,1,Comedy,4\n'),
}


def test_lastfm_is_read(make_archive, lastfm_members):
    contents = read("lastfm", make_archive(lastfm_members))
    assert contents.users.tolist() == [5, 5, 9]
    assert contents.items.tolist() == [0, 1, 2]
    assert contents.times.tolist() == [UNKNOWN_TIME] * 3
    assert contents.item_ids.tolist() == [1, 2, 3]
    assert contents.words.vocabulary == ["80's", "death", "metal", "pop"]
    assert contents.words.counts.toarray().tolist() == [[0, 2, 2, 0], [1, 0, 0, 1], [0, 0, 0, 0]]


def test_delicious_uses_the_sites_tags_and_the_earliest_known_time(make_archive):
    contents = read("delicious", make_archive(DELICIOUS), least_word_uses=1)
    pairs = list(zip(contents.users.tolist(), contents.items.tolist(), contents.times.tolist(), strict=True))
    assert pairs == [(8, 0, 1000), (8, 1, UNKNOWN_TIME), (9, 1, 7000)]
    assert contents.words.vocabulary == ["educação", "lesson", "plan"]
    assert contents.words.counts.toarray().tolist() == [[3, 276, 276], [0, 0, 5]]


def test_movielens_drops_low_ratings_before_counting_the_activity_of_users(make_archive):
    contents = read("movielens", make_archive(MOVIELENS), observations_above=1)
    assert contents.users.tolist() == [1, 1]
    assert contents.item_ids[contents.items].tolist() == [1, 2]
    assert contents.times.tolist() == [10, 5]
    # Movie 3 stays, although only a dropped user rated it; movie 4 has only ratings below 1.
    assert contents.item_ids.tolist() == [1, 2, 3]


def test_the_filters_of_movielens_are_parameters(make_archive):
    path = make_archive(MOVIELENS)
    assert read("movielens", path, observations_above=0, least_rating=0.5).counts.users == 3
    assert read("movielens", path, observations_above=0, least_rating=4).users.tolist() == [2, 3]
    with pytest.raises(ValueError, match="no user with more than 3000 ratings of at least 1"):
        read("movielens", path)


@pytest.mark.parametrize("name", ["lastfm", "delicious"])
def test_the_order_of_rows_does_not_matter(make_archive, lastfm_members, name: str):
    members = {"lastfm": lastfm_members, "delicious": DELICIOUS}[name]
    options = {"least_word_uses": 1} if name == "delicious" else {}
    reversed_members = {}
    for member, content in members.items():
        header, *rows = content.splitlines(keepends=True)
        reversed_members[member] = header + b"".join(reversed(rows))
    first = read(name, make_archive(members), **options)
    second = read(name, make_archive(reversed_members), **options)
    for array in ("users", "items", "times", "item_ids"):
        np.testing.assert_array_equal(getattr(first, array), getattr(second, array))
    assert (first.words.counts != second.words.counts).nnz == 0


@pytest.mark.parametrize(
    ("member", "row", "message"),
    [
        ("user_artists.dat", b"5\t4\t1", "user_artists.dat line 5: artistID 4 is not in artists.dat"),
        ("user_taggedartists.dat", b"5\t1\t99\t1\t1\t2009", "line 5: tagID 99 is not in tags.dat"),
        ("artists.dat", b"3\tC\tu\tp", "artists.dat contains id 3 more than once"),
        ("tags.dat", b"8\tx", "tags.dat contains id 8 more than once"),
        ("artists.dat", b"4\tC\tu", r"artists.dat line 5 must have 4 columns .*, got 3"),
    ],
)
def test_inconsistent_rows_are_errors(make_archive, lastfm_members, member, row, message):
    lastfm_members[member] += row + b"\r\n"
    with pytest.raises(ArchiveError, match=message):
        read("lastfm", make_archive(lastfm_members))


def test_an_archive_without_interactions_or_words_is_refused(make_archive, lastfm_members):
    without_interactions = {**lastfm_members, "user_artists.dat": b"userID\tartistID\tweight\n"}
    with pytest.raises(ArchiveError, match="the data set has no interactions"):
        read("lastfm", make_archive(without_interactions))
    without_words = {**lastfm_members, "tags.dat": b"tagID\ttagValue\n7\t???\n8\t!\n"}
    with pytest.raises(ValueError, match="no item has any words left"):
        read("lastfm", make_archive(without_words))


@pytest.mark.parametrize("name", data_set_names())
def test_every_declaration_is_complete(name: str):
    data_set = find_data_set(name)
    assert data_set.name == name
    assert data_set.archive is not None or data_set.packages
    if data_set.archive is not None:
        assert data_set.archive.endswith(".zip")
        assert data_set.official_url is not None
        assert data_set.official_url.startswith("https://")
        assert data_set.read is not None
        assert set(data_set.member_sha256) | set(data_set.published_rows) <= set(data_set.limits)
    assert all(url.startswith("https://") for url in data_set.copies)
    hashes = [data_set.sha256, *data_set.member_sha256.values()]
    for package in data_set.packages:
        hashes += [package.sha256, *(member.sha256 for member in package.members.values())]
    for sha256 in filter(None, hashes):
        assert len(sha256) == 64
        int(sha256, 16)
    assert data_set.licence
    assert data_set.citation
