from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from data_pipelines.fetch.archive import Archive, ArchiveError
from data_pipelines.fetch.tables import read_csv_rows, read_numbers, read_rows


@pytest.fixture
def member(make_archive):
    @contextmanager
    def opened(content: bytes) -> Iterator[Archive]:
        with Archive(make_archive({"table.dat": content}), {"table.dat": 10_000_000}) as archive:
            yield archive

    return opened


def numbers(archive: Archive, columns=("user", "item"), **options: Any) -> dict[str, list[float]]:
    return {key: value.tolist() for key, value in read_numbers(archive, "table.dat", columns, **options).items()}


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n"])
def test_numbers_are_read_with_either_line_end(member, line_end: bytes):
    with member(line_end.join([b"user\titem", b"1\t20", b"300000000000\t4", b""])) as archive:
        assert numbers(archive) == {"user": [1, 300_000_000_000], "item": [20, 4]}


def test_decimals_empty_and_negative_fields_are_read_where_allowed(member):
    with member(b"a,b,c\n1,3.5,\n2,4,17\n3,0.5,-1\n") as archive:
        columns = numbers(
            archive,
            ("a", "b", "c"),
            separator=",",
            types={"b": np.float32},
            may_be_empty=("c",),
            may_be_negative=("c",),
        )
    assert columns == {"a": [1, 2, 3], "b": [3.5, 4, 0.5], "c": [0, 17, -1]}


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
        (b"0x1\t2", "line 3: user must be .*, got '0x1'"),
        (b"1\t2\r3", r"line 3: item must be .*, got '2\\r3'"),
        (b"1\t2\r3\t4", "line 3 must have 2 columns"),
        (b"1\t" + b"9" * 19, "line 3: item must be .*, got '9"),
        (b"1\t\xff", "line 3: item must be .*, got"),
        (b"1\t\0", "line 3: item must be .*, got"),
        (b"1\t" + b"2" * 70_000, "line 3: item must be .*, got"),
    ],
)
def test_a_malformed_row_of_numbers_names_member_and_line(member, row: bytes, message: str):
    with (
        member(b"user\titem\n1\t2\n" + row + b"\n5\t6\n") as archive,
        pytest.raises(ArchiveError, match=f"^table.dat {message}"),
    ):
        numbers(archive)


@pytest.mark.parametrize(
    ("field", "options", "message"),
    [
        (b"300", {"types": {"item": np.uint8}}, "a whole number from 0 to 255, got '300'"),
        (b"-", {"may_be_negative": ("item",)}, "a whole number up to 9223372036854775807, got '-'"),
        (b"1.2.3", {"types": {"item": np.float32}}, r"a number from 0 to 3\.4\d+e\+38, got '1\.2\.3'"),
    ],
)
def test_the_error_for_a_number_says_what_is_expected(member, field: bytes, options: dict[str, Any], message: str):
    with (
        member(b"user\titem\n1\t" + field + b"\n") as archive,
        pytest.raises(ArchiveError, match=f"line 2: item must be {message}"),
    ):
        numbers(archive, **options)


@pytest.mark.parametrize("content", [b"", b"user\titem", b"user\titem\n1\t2"])
def test_truncated_numbers_are_an_error(member, content: bytes):
    with member(content) as archive, pytest.raises(ArchiveError, match="the file looks truncated"):
        numbers(archive)


def test_a_line_that_never_ends_is_an_error(member):
    with (
        member(b"<html>" + b"x" * 100_000) as archive,
        pytest.raises(ArchiveError, match=r"^table.dat line 1 is longer than 65,536 bytes; expected a row of numbers"),
    ):
        numbers(archive)


def test_an_unexpected_header_is_an_error(member):
    with (
        member(b"user,item\n1,2\n") as archive,
        pytest.raises(ArchiveError, match=r"line 1 must be 'user\\titem', got 'user,item'"),
    ):
        numbers(archive)


def tab_rows(archive: Archive) -> list[list[str]]:
    return [fields for _, fields in read_rows(archive, "table.dat", ("id", "title", "url"), free_text="title")]


def test_tabs_in_titles_quotes_and_crlf_are_read_correctly(member):
    content = b'id\ttitle\turl\r\n1\ta "quoted\ttitle\tx\r\n2\t"\ty\r\n'
    with member(content) as archive:
        assert tab_rows(archive) == [["1", 'a "quoted\ttitle', "x"], ["2", '"', "y"]]


def test_text_is_utf8_or_else_latin_1(member):
    for encoding in ("utf-8", "utf-8-sig", "latin-1"):
        with member("id\ttitle\turl\n1\tDüsseldorf\x85é\tx\n".encode(encoding)) as archive:
            assert tab_rows(archive) == [["1", "Düsseldorf\x85é", "x"]]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"id\ttitle\turl\n1\tt\tu\n2\tt\n", r"line 3 must have 3 columns \(id, title, url\), got 2"),
        (b"id\ttitle\n1\tt\n", r"line 1 must be 'id\\ttitle\\turl', got 'id\\ttitle'"),
        (b"id\ttitle\turl\n1\tt\tu", "line 2 has no newline at the end; the file looks truncated"),
    ],
)
def test_malformed_text_names_member_and_line(member, content: bytes, message: str):
    with member(content) as archive, pytest.raises(ArchiveError, match=f"^table.dat {message}"):
        tab_rows(archive)


def csv_rows(archive: Archive) -> list[list[str]]:
    return [fields for _, fields in read_csv_rows(archive, "table.dat", ("id", "title"))]


def test_quoted_csv_is_read_correctly(member):
    with member(b'id,title\n1,"American President, The (1995)"\n2,"a ""b"""\r\n3,plain\n') as archive:
        assert csv_rows(archive) == [["1", "American President, The (1995)"], ["2", 'a "b"'], ["3", "plain"]]


@pytest.mark.parametrize("row", [b"2", b"2,a,b", b'2,"open', b'2,"a"b', b"", b"2,\0"])
def test_a_malformed_csv_row_names_member_and_line(member, row: bytes):
    with member(b"id,title\n1,a\n" + row + b"\n") as archive, pytest.raises(ArchiveError, match=r"^table.dat line 3 "):
        csv_rows(archive)
