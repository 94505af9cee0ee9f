"""Tables with text, of at most a few hundred thousand rows: tab-separated, or CSV with quotes."""

import csv
import io
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from data_pipelines.data_set import unique_ids
from data_pipelines.fetch.archive import Archive, ArchiveError
from data_pipelines.prepare.features import split_into_words
from data_pipelines.tables.number_tables import MAX_DIGITS

Row = tuple[int, list[str]]
"""A line number and the fields of the line."""


def read_tab_rows(archive: Archive, member: str, columns: Sequence[str], *, free_text: str) -> Iterator[Row]:
    """Yield the rows of a tab-separated member; quotes have no special meaning.

    Some titles contain tabs: surplus fields of a row belong to the column `free_text`.
    """
    lines = read_text(archive, member).split("\n")
    lines.pop()  # the empty text after the last newline
    position = columns.index(free_text)
    for number, line in enumerate(lines, start=1):
        fields = line.removesuffix("\r").split("\t")
        extra = len(fields) - len(columns)
        if extra > 0:
            fields[position : position + extra + 1] = ["\t".join(fields[position : position + extra + 1])]
        _check(member, number, fields, columns)
        if number > 1:
            yield number, fields


def read_double_colon_rows(archive: Archive, member: str, columns: Sequence[str]) -> Iterator[Row]:
    """Yield the rows of a member without a header, with `::` between fields, as in MovieLens 1M."""
    lines = read_text(archive, member).split("\n")
    lines.pop()  # the empty text after the last newline
    for number, line in enumerate(lines, start=1):
        fields = line.removesuffix("\r").split("::")
        _check_count(member, number, fields, columns)
        yield number, fields


def read_csv_rows(
    archive: Archive, member: str, columns: Sequence[str], *, delimiter: str = ",", escape: str | None = None
) -> Iterator[Row]:
    """Yield the rows of a comma-separated member, quoted as in RFC 4180, or with an escape character for quotes."""
    text = io.StringIO(read_text(archive, member), newline="")
    reader = csv.reader(text, strict=True, delimiter=delimiter, escapechar=escape, doublequote=escape is None)
    while True:
        first_line = reader.line_num == 0
        try:
            fields = next(reader, None)
        except csv.Error as error:
            raise ArchiveError(f"{member} line {reader.line_num} is not valid CSV: {error}") from None
        if fields is None:
            return
        _check(member, 1 if first_line else reader.line_num, fields, columns)
        if not first_line:
            yield reader.line_num, fields


def whole_number(text: str, member: str, line: int, column: str) -> int:
    """Return an id; anything else is an error that names member and line."""
    if not (text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS):
        raise ArchiveError(f"{member} line {line}: {column} must be a whole number from 0, got {text[:40]!r}")
    return int(text)


def read_text(archive: Archive, member: str) -> str:
    """Decode a member as UTF-8, or as Latin-1 (the HetRec files) if it is not UTF-8."""
    content = archive.read(member)
    if not content.endswith(b"\n"):
        line = content.count(b"\n") + 1
        raise ArchiveError(f"{member} line {line} has no newline at the end; the file looks truncated")
    if b"\0" in content:
        line = content.count(b"\n", 0, content.index(b"\0")) + 1
        raise ArchiveError(f"{member} line {line} contains a NUL byte; expected text")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("latin-1")


def _check(member: str, line: int, fields: list[str], columns: Sequence[str]) -> None:
    if line == 1 and fields != list(columns):
        raise ArchiveError(f"{member} line 1 must be {','.join(columns)!r}, got {','.join(fields)[:80]!r}")
    _check_count(member, line, fields, columns)


def _check_count(member: str, line: int, fields: list[str], columns: Sequence[str]) -> None:
    if len(fields) != len(columns):
        raise ArchiveError(
            f"{member} line {line} must have {len(columns)} columns ({', '.join(columns)}), got {len(fields)}"
        )


def read_ids(archive: Archive, member: str, columns: Sequence[str], *, free_text: str) -> NDArray[np.int64]:
    """Return the ids of a table, sorted; the first column is the id, and `free_text` may contain tabs."""
    rows = read_tab_rows(archive, member, columns, free_text=free_text)
    return unique_ids([whole_number(fields[0], member, line, columns[0]) for line, fields in rows], member)


def read_texts(
    archive: Archive, member: str, columns: Sequence[str], *, split: Callable[[str], list[str]] = split_into_words
) -> tuple[NDArray[np.int64], list[list[str]]]:
    """Return the sorted ids of a table with the columns id and text, and the words of each text."""
    texts = [
        (whole_number(fields[0], member, line, columns[0]), split(fields[1]))
        for line, fields in read_tab_rows(archive, member, columns, free_text=columns[1])
    ]
    return unique_ids([identifier for identifier, _ in texts], member), [words for _, words in sorted(texts)]
