"""The data sets beyond the paper's three preparations, read from hand-made archives and packages."""

import hashlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.decomposition import TruncatedSVD

from data_pipelines.data_set import UNKNOWN_TIME, Contents, find_data_set
from data_pipelines.datasets import book_crossing, movielens_1m, online_retail
from data_pipelines.fetch.archive import Archive, ArchiveError
from data_pipelines.prepare.features import truncated_svd
from data_pipelines.streams.recorded import draw_pools
from data_pipelines.tag_events import TagAssignments, event_contents, half_of_users
from tests.data_pipelines.conftest import MakeArchive
from tests.data_pipelines.conftest import read_archive as read

ML_1M = {
    "ml-1m/movies.dat": (
        "2::Jumanji (1995)::Adventure|Children's\n3::Misérables, Les (1958)::Drama\n5::Nothing (2000)::Film-Noir\n"
    ).encode("latin-1"),
    "ml-1m/ratings.dat": b"1::5::3::10\n1::2::5::20\n2::2::1::5\n",
}
ML_1M_PACKAGE = {
    movielens_1m.PACKAGE_MOVIES: (
        "item_id:token\tmovie_title:token\trelease_year:float\tgenre:token\r\n"
        "Jumanji (1995)\tJumanji\t1995\tAdventure Children's\r\n"
        "Misérables, Les (1958)\tMisérables, Les\t1958\tDrama\r\n"
        "Nothing (2000)\tNothing\t2000\tFilm-Noir\r\n"
    ).encode(),
    movielens_1m.PACKAGE_RATINGS: (
        b"user_id:token\titem_id:token\trating:float\ttimestamp:float\r\n"
        b"1m_1\tNothing (2000)\t3\t10\r\n1m_1\tJumanji (1995)\t5\t20\r\n1m_2\tJumanji (1995)\t1\t5\r\n"
    ),
}
SALES = (
    "InvoiceNo,StockCode,Description,Quantity,InvoiceDate,UnitPrice,CustomerID,Country\r\n"
    '1,85A,"LANTERN, WHITE",6,12/1/2010 8:26,2.55,17,United Kingdom\r\n'
    "2,85A,WHITE LANTERN,1,1/31/2011 18:05,2.55,17,United Kingdom\r\n"
    "3,85A,WHITE LANTERN,1,1/31/2011 18:05,2.55,18,France\r\n"
    "C4,9,CUP,-1,12/2/2010 8:26,1,17,France\r\n"
    "5,9,CUP,1,12/2/2010 8:26,1,,France\r\n"
    "6,7,BELL £,2,12/3/2010 0:00,1,17,France\r\n"
)


def read_package(name: str, path: Path, content: Mapping[str, bytes], **parameters: float) -> Contents:
    data_set = find_data_set(name)
    hashes = {member: hashlib.sha256(part).hexdigest() for member, part in content.items()}
    with Archive(path, {member: len(part) for member, part in content.items()}, hashes) as archive:
        return data_set.packages[0].read(archive, {**data_set.parameters, **parameters})


def test_both_forms_of_movielens_1m_are_the_same_apart_from_ids(make_archive: MakeArchive):
    official = read("movielens-1m", make_archive(ML_1M))
    package = read_package("movielens-1m", make_archive(ML_1M_PACKAGE), ML_1M_PACKAGE)
    for array in ("users", "items", "times", "ratings"):
        np.testing.assert_array_equal(getattr(official, array), getattr(package, array))
    assert official.words.vocabulary == package.words.vocabulary
    assert (official.words.counts != package.words.counts).nnz == 0
    assert official.item_ids.tolist() == [2, 5]
    assert package.item_ids.tolist() == [1, 3]
    assert official.users.tolist() == [1, 1, 2]
    assert official.times.tolist() == [20, 10, 5]
    assert official.ratings.tolist() == [5, 3, 1]
    expected = ["1990s", "2000s", "adventure", "children's", "film-noir", "jumanji", "nothing"]
    assert official.words.vocabulary == expected  # genres, title and decade


@pytest.mark.parametrize(
    ("member", "row", "message"),
    [
        ("ratings.dat", b"1::4::3::10\n", "ratings.dat line 4: MovieID 4 is not in movies.dat"),
        ("ratings.dat", b"1::2::6::10\n", "ratings.dat: a rating must be from 1 to 5, got 6"),
        ("ratings.dat", b"1::2::3\n", "ratings.dat line 4 must have 4 columns .*, got 3"),
        ("ratings.dat", b"1::x::3::10\n", "ratings.dat line 4: MovieID must be a whole number from 0"),
        ("movies.dat", b"2::Again (1999)::Drama\n", "movies.dat contains id 2 more than once"),
        ("movies.dat", b"x::Again (1999)::Drama\n", "movies.dat line 4: MovieID must be a whole number"),
        ("movies.dat", b"7::Again\n", "movies.dat line 4 must have 3 columns"),
    ],
)
def test_bad_rows_of_movielens_1m_are_errors(make_archive: MakeArchive, member: str, row: bytes, message: str):
    members = {**ML_1M, f"ml-1m/{member}": ML_1M[f"ml-1m/{member}"] + row}
    with pytest.raises(ArchiveError, match=message):
        read("movielens-1m", make_archive(members))


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (b"1m_2\tNothing (2000)\tx\t5\r\n", "ml-1m.inter line 5: rating must be a whole number from 0, got 'x'"),
        (b"1m_2\tUnknown\t5\t5\r\n", "ml-1m.inter line 5: the movie is not in the list of movies"),
    ],
)
def test_bad_rows_of_the_package_of_movielens_1m_are_errors(make_archive: MakeArchive, row: bytes, message: str):
    ratings = ML_1M_PACKAGE[movielens_1m.PACKAGE_RATINGS] + row
    members = {**ML_1M_PACKAGE, movielens_1m.PACKAGE_RATINGS: ratings}
    with pytest.raises(ArchiveError, match=message):
        read_package("movielens-1m", make_archive(members), members)


def retail(make_archive: MakeArchive, text: str, **parameters: float) -> Contents:
    content = {online_retail.SALES: text.encode("latin-1")}
    return read_package("online-retail", make_archive(content), content, **parameters)


def test_online_retail_keeps_the_first_purchase_of_each_item(make_archive: MakeArchive):
    contents = retail(make_archive, SALES, least_items=1)
    assert contents.item_ids.tolist() == ["7", "85A"]
    assert contents.users.tolist() == [17, 17, 18]
    assert contents.items.tolist() == [0, 1, 1]
    assert contents.times.tolist() == [1291334400, 1291191960, 1296497100]
    assert contents.words.vocabulary == ["bell", "lantern", "white"]
    assert dict(contents.rows) == {online_retail.SALES: 6}


def test_customers_with_few_items_are_left_out(make_archive: MakeArchive):
    assert retail(make_archive, SALES, least_items=2).users.tolist() == [17, 17]
    with pytest.raises(ValueError, match="no customer with 50 items; set least_items lower"):
        retail(make_archive, SALES)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("7,1,A,1,2010-12-31,1,17,X\r\n", r"line 8: InvoiceDate must be like 12/31/2010 8:26, got '2010-12-31'"),
        ("7,1,A,some,12/1/2010 8:26,1,17,X\r\n", "line 8: Quantity must be a whole number from 0, got 'some'"),
        ("7,1,A,1,12/1/2010 8:26,1,me,X\r\n", "line 8: CustomerID must be a whole number from 0, got 'me'"),
    ],
)
def test_bad_rows_of_online_retail_are_errors(make_archive: MakeArchive, row: str, message: str):
    with pytest.raises(ArchiveError, match=message):
        retail(make_archive, SALES + row)


BOOKS = {
    book_crossing.RATINGS: b'"User-ID";"ISBN";"Book-Rating"\r\n"7";"X1";"0"\r\n"7";"X2";"10"\r\n"8";"X1";"5"\r\n',
    book_crossing.BOOKS: (
        b'"ISBN";"Book-Title";"Book-Author";"Year-Of-Publication";"Publisher";"Image-URL-S";"Image-URL-M";"Image-URL-L"'
        b'\r\n"X1";"The \\"Caf\xe9\\"; a novel";"A. Writer";"2002";"Press";"u";"v";"w"\r\n'
        b'"X9";"Not rated";"B";"2001";"Press";"u";"v";"w"\r\n'
    ),
}


def test_book_crossing_keeps_active_readers_and_all_rated_books(make_archive: MakeArchive):
    contents = read_package("book-crossing", make_archive(BOOKS), BOOKS, least_books=2)
    assert contents.users.tolist() == [7, 7]
    assert contents.item_ids.tolist() == ["X1", "X2"]
    assert contents.words.vocabulary == ["a", "café", "novel", "press", "the", "writer"]
    assert contents.words.items_without_words == 1
    assert dict(contents.rows) == {book_crossing.RATINGS: 3, book_crossing.BOOKS: 2}
    with pytest.raises(ValueError, match="no reader with 1000 books; set least_books lower"):
        read_package("book-crossing", make_archive(BOOKS), BOOKS)


DELICIOUS = {
    "tags.dat": b"id\tvalue\r\n10\tLesson_plan-b\r\n11\trare\r\n",
    "user_taggedbookmarks-timestamps.dat": (
        b"userID\tbookmarkID\ttagID\ttimestamp\r\n"
        b"8\t1\t10\t2000\r\n8\t1\t11\t2000\r\n8\t1\t10\t2000\r\n8\t1\t10\t3000\r\n9\t2\t10\t0\r\n9\t3\t11\t0\r\n"
    ),
}


def test_events_of_delicious_are_counted_without_rare_tags(make_archive: MakeArchive):
    contents = read("delicious-tagged", make_archive(DELICIOUS), least_tag_uses=3)
    events = zip(contents.users.tolist(), contents.items.tolist(), contents.times.tolist(), strict=True)
    assert list(events) == [(8, 0, 2000), (8, 0, 3000), (9, 1, UNKNOWN_TIME)]
    assert contents.item_ids.tolist() == [1, 2]
    assert contents.words.vocabulary == ["b", "lesson", "plan"]
    assert contents.words.counts.toarray().tolist() == [[3, 3, 3], [1, 1, 1]]
    with pytest.raises(ValueError, match="no tag that is used 10 times; set least_tag_uses lower"):
        read("delicious-tagged", make_archive(DELICIOUS))


def test_events_of_lastfm_need_consecutive_rows(make_archive: MakeArchive):
    rows = b"5\t1\t7\t-50\n5\t1\t8\t-50\n5\t2\t7\t-50\n5\t1\t7\t-50\n"
    members = {
        "tags.dat": b"tagID\ttagValue\n7\tdeath metal\n8\t80's\n",
        "user_taggedartists-timestamps.dat": b"userID\tartistID\ttagID\ttimestamp\n" + rows,
    }
    contents = read("lastfm-tagged", make_archive(members))
    assert contents.items.tolist() == [0, 0, 1]
    assert contents.times.tolist() == [-50, -50, -50]
    assert contents.words.counts.toarray().tolist() == [[1, 2, 2], [0, 1, 1]]


@pytest.mark.parametrize("shape", [(300, 120), (40, 30)])
def test_the_truncated_svd_is_scikit_learns_up_to_sign(shape: tuple[int, int]):
    dense = np.random.default_rng(0).poisson(0.3, size=shape).astype(float)
    components = truncated_svd(csr_array(dense), 10)
    expected = TruncatedSVD(10, algorithm="arpack", random_state=1).fit_transform(dense)
    signs = np.sign((components * expected).sum(axis=0))
    np.testing.assert_allclose(components, expected * signs, atol=1e-8)


def test_repeated_pairs_do_not_reduce_the_number_of_arms():
    users, items = np.zeros(6, dtype=np.int64), np.array([0, 0, 0, 0, 1, 1], dtype=np.int32)
    random = np.random.default_rng(0)
    pools, positions = draw_pools(random, users, items, np.arange(6), item_count=5, arms=4)
    for row, position, item in zip(pools.tolist(), positions.tolist(), items.tolist(), strict=True):
        assert row[position] == item
        assert sorted(set(row) - {item}) == [2, 3, 4]
    with pytest.raises(ValueError, match="arms must be an integer from 2 to 4"):
        draw_pools(random, users, items, np.arange(6), item_count=5, arms=5)


def tagged(rows: list[tuple[int, int, int, int]]) -> TagAssignments:
    users, items, tags, times = np.array(rows).T
    return TagAssignments(users, items, tags, times, [["a"], ["b"], ["c"]], {})


def words_of(contents: Contents) -> list[dict[str, float]]:
    rows = contents.words.counts.toarray().tolist()
    return [{word: n for word, n in zip(contents.words.vocabulary, row, strict=True) if n} for row in rows]


def test_words_of_other_users_describe_the_items_of_the_players():
    assignments = tagged([(1, 10, 0, 5), (1, 10, 1, 5), (2, 10, 2, 6), (2, 11, 2, 6), (1, 12, 0, 7)])
    plays = assignments.users == 1
    own = event_contents(assignments, is_player=plays)
    other = event_contents(assignments, is_player=plays, gives_words=~plays)
    for contents in (own, other):
        assert contents.users.tolist() == [1, 1]
        assert contents.item_ids.tolist() == [10, 12]
    assert words_of(own) == [{"a": 1, "b": 1, "c": 1}, {"a": 1}]
    assert words_of(other) == [{"c": 1}, {}]


def test_always_the_same_half_of_the_users_plays():
    users = np.repeat(np.arange(100, 111), 3)
    is_player = half_of_users(users)
    assert len(np.unique(users[is_player])) == 6
    assert not set(users[is_player]) & set(users[~is_player])
    np.testing.assert_array_equal(half_of_users(users[::-1])[::-1], is_player)
