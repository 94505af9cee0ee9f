"""Tables with text in them, a few hundred thousand rows at most: tab-separated, or CSV with quotes."""

import csv
import io
from collections.abc import Iterator, Sequence

from data_pipelines.archive import Archive, ArchiveError
from data_pipelines.number_tables import MOST_DIGITS

Row = tuple[int, list[str]]
"""The number of a line and its fields."""


def read_tab_rows(archive: Archive, member: str, columns: Sequence[str], *, free_text: str) -> Iterator[Row]:
    """Yield the rows of a tab-separated member, where quotes mean nothing.

    Titles hold tabs now and then: what a row has too many belongs to the column `free_text`.
    """
    lines = _text(archive, member).split("\n")
    lines.pop()  # what follows the last line end: nothing
    place = columns.index(free_text)
    for number, line in enumerate(lines, start=1):
        fields = line.removesuffix("\r").split("\t")
        extra = len(fields) - len(columns)
        if extra > 0:
            fields[place : place + extra + 1] = ["\t".join(fields[place : place + extra + 1])]
        _check(member, number, fields, columns)
        if number > 1:
            yield number, fields


def read_csv_rows(archive: Archive, member: str, columns: Sequence[str]) -> Iterator[Row]:
    """Yield the rows of a comma-separated member, quoted as in RFC 4180."""
    reader = csv.reader(io.StringIO(_text(archive, member), newline=""), strict=True)
    while True:
        first_line = reader.line_num == 0
        try:
            fields = next(reader, None)
        except csv.Error as error:
            raise ArchiveError(f"{member} line {reader.line_num} is no proper CSV: {error}") from None
        if fields is None:
            return
        _check(member, 1 if first_line else reader.line_num, fields, columns)
        if not first_line:
            yield reader.line_num, fields


def whole_number(text: str, member: str, line: int, column: str) -> int:
    """Return an id, or say in which line of which member it is not one."""
    if not (text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS):
        raise ArchiveError(f"{member} line {line}: {column} is {text[:40]!r}; allowed are whole numbers from 0")
    return int(text)


def _text(archive: Archive, member: str) -> str:
    """Decode a member as UTF-8, or as Latin-1 (the HetRec files) where it is not UTF-8."""
    content = archive.read(member)
    if not content.endswith(b"\n"):
        line = content.count(b"\n") + 1
        raise ArchiveError(f"{member} line {line} has no line end; the file seems to be cut short")
    if b"\0" in content:
        line = content.count(b"\n", 0, content.index(b"\0")) + 1
        raise ArchiveError(f"{member} line {line} holds a zero byte; allowed is text")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("latin-1")


def _check(member: str, line: int, fields: list[str], columns: Sequence[str]) -> None:
    if line == 1 and fields != list(columns):
        raise ArchiveError(f"{member} line 1 is {','.join(fields)[:80]!r}; allowed is {','.join(columns)!r}")
    if len(fields) != len(columns):
        raise ArchiveError(
            f"{member} line {line} has {len(fields)} columns; allowed are {len(columns)}: {', '.join(columns)}"
        )
