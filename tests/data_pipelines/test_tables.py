import sys
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from data_pipelines.fetch import archive as archive_module
from data_pipelines.fetch.archive import Archive, ArchiveError
from data_pipelines.tables.number_tables import read_numbers
from data_pipelines.tables.text_tables import read_csv_rows, read_tab_rows, whole_number


@pytest.fixture
def member(make_archive):
    @contextmanager
    def opened(content: bytes) -> Iterator[Archive]:
        with Archive(make_archive({"table.dat": content}), {"table.dat": 10_000_000}) as archive:
            yield archive

    return opened


def numbers(archive: Archive, columns=("user", "item"), **options):
    return {key: value.tolist() for key, value in read_numbers(archive, "table.dat", columns, **options).items()}


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n"])
def test_numbers_are_read_with_either_line_end(member, line_end: bytes):
    with member(line_end.join([b"user\titem", b"1\t20", b"300000000000\t4", b""])) as archive:
        assert numbers(archive) == {"user": [1, 300_000_000_000], "item": [20, 4]}


def test_the_block_size_does_not_change_the_numbers(member, monkeypatch):
    rows = [(n * 7919 % 10_007, n**3) for n in range(500)]
    text = b"user\titem\r\n" + b"".join(b"%d\t%d\r\n" % row for row in rows)
    for size in (1, 2, 3, 7, 64, 1_000):
        monkeypatch.setattr(archive_module, "BLOCK", size)
        with member(text) as archive:
            assert numbers(archive) == {"user": [u for u, _ in rows], "item": [i for _, i in rows]}


def test_tenths_and_empty_fields_are_read_where_allowed(member):
    with member(b"a,b,c\n1,3.5,\n2,4,17\n3,0.5,0\n") as archive:
        columns = numbers(archive, ("a", "b", "c"), separator=",", tenths=("b",), may_be_empty=("c",))
    assert columns == {"a": [1, 2, 3], "b": [35, 40, 5], "c": [0, 17, 0]}


def test_rows_of_numbers_do_not_become_python_objects(member):
    text = b"user\titem\n" + b"".join(b"%d\t%d\n" % (n, 3 * n) for n in range(1_000, 101_000))
    with member(text) as archive:
        before = sys.getallocatedblocks()
        columns = read_numbers(archive, "table.dat", ("user", "item"), types={"user": np.int32})
        assert sys.getallocatedblocks() - before < 5_000
    assert {column: array.dtype for column, array in columns.items()} == {"user": np.int32, "item": np.int64}
    assert columns["item"].sum() == 3 * sum(range(1_000, 101_000))


def test_a_table_without_rows_is_empty(member):
    with member(b"user\titem\n") as archive:
        assert numbers(archive) == {"user": [], "item": []}


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (b"1", r"line 3 must have 2 columns \(user, item\), got 1"),
        (b"1\t2\t3", r"line 3 must have 2 columns \(user, item\), got 3"),
        (b"", r"line 3 must have 2 columns \(user, item\), got 1"),
        (b"1\t", "line 3: item must be a whole number from 0 to 9223372036854775807, got ''"),
        (b"1\tx", "line 3: item must be .*, got 'x'"),
        (b"-1\t2", "line 3: user must be .*, got '-1'"),
        (b"1.5\t2", "line 3: user must be .*, got '1.5'"),
        (b" 1\t2", "line 3: user must be .*, got ' 1'"),
        (b"1\t2\r3", r"line 3: item must be .*, got '2\\r3'"),
        (b"1\t" + b"9" * 19, "line 3: item must be .*, got '9"),
        (b"1\t\xff", "line 3: item must be .*, got"),
    ],
)
def test_a_malformed_row_of_numbers_names_member_and_line(member, row: bytes, message: str):
    with (
        member(b"user\titem\n1\t2\n" + row + b"\n5\t6\n") as archive,
        pytest.raises(ArchiveError, match=f"^table.dat {message}"),
    ):
        numbers(archive)


def test_a_number_too_large_for_its_type_is_an_error(member):
    with (
        member(b"user\titem\n1\t300\n") as archive,
        pytest.raises(ArchiveError, match="line 2: item must be a whole number from 0 to 255, got '300'"),
    ):
        numbers(archive, types={"item": np.uint8})


@pytest.mark.parametrize("content", [b"", b"user\titem", b"user\titem\n1\t2"])
def test_truncated_numbers_are_an_error(member, content: bytes):
    with member(content) as archive, pytest.raises(ArchiveError, match="the file looks truncated"):
        numbers(archive)


def test_an_unexpected_header_is_an_error(member):
    with (
        member(b"user,item\n1,2\n") as archive,
        pytest.raises(ArchiveError, match=r"line 1 must be 'user\\titem', got 'user,item'"),
    ):
        numbers(archive)


def tab_rows(archive: Archive) -> list[list[str]]:
    return [fields for _, fields in read_tab_rows(archive, "table.dat", ("id", "title", "url"), free_text="title")]


def test_tabs_in_titles_quotes_and_crlf_are_read_correctly(member):
    content = b'id\ttitle\turl\r\n1\ta "quoted\ttitle\tx\r\n2\t"\ty\r\n'
    with member(content) as archive:
        assert tab_rows(archive) == [["1", 'a "quoted\ttitle', "x"], ["2", '"', "y"]]


def test_text_is_utf8_or_else_latin_1(member):
    for encoding in ("utf-8", "utf-8-sig", "latin-1"):
        with member("id\ttitle\turl\n1\tDüsseldorf\x85é\tx\n".encode(encoding)) as archive:
            assert tab_rows(archive) == [["1", "Düsseldorf\x85é", "x"]]


def test_a_row_of_text_with_too_few_columns_names_member_and_line(member):
    with (
        member(b"id\ttitle\turl\n1\tt\tu\n2\tt\n") as archive,
        pytest.raises(ArchiveError, match=r"^table.dat line 3 must have 3 columns \(id, title, url\), got 2"),
    ):
        tab_rows(archive)


def csv_rows(archive: Archive) -> list[list[str]]:
    return [fields for _, fields in read_csv_rows(archive, "table.dat", ("id", "title"))]


def test_quoted_csv_is_read_correctly(member):
    with member(b'id,title\n1,"American President, The (1995)"\n2,"a ""b"""\r\n3,plain\n') as archive:
        assert csv_rows(archive) == [["1", "American President, The (1995)"], ["2", 'a "b"'], ["3", "plain"]]


@pytest.mark.parametrize("row", [b"2", b"2,a,b", b'2,"open', b'2,"a"b', b""])
def test_a_malformed_csv_row_names_member_and_line(member, row: bytes):
    with (
        member(b"id,title\n1,a\n" + row + b"\n") as archive,
        pytest.raises(ArchiveError, match=r"^table.dat line 3 "),
    ):
        csv_rows(archive)


def test_text_with_a_nul_byte_is_refused(member):
    with (
        member(b"id,title\n1,\0\n") as archive,
        pytest.raises(ArchiveError, match="line 2 contains a NUL byte; expected text"),
    ):
        csv_rows(archive)


def test_an_id_must_be_a_whole_number():
    assert whole_number("0017", "m", 1, "id") == 17
    for text in ("", "-1", "1.0", "²", "1" * 30):
        with pytest.raises(ArchiveError, match="m line 4: id must be a whole number from 0, got"):
            whole_number(text, "m", 4, "id")
