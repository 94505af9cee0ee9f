"""Tables of whole numbers: text, read in blocks of bytes by array operations, and Parquet.

Text is read without creating a Python object per row: a file of twenty million rows takes seconds and, unlike with a
general CSV reader, every byte is checked: anything but exactly the declared columns is an error that names member and
line.
"""

import io
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from data_pipelines.fetch.archive import Archive, ArchiveError
from data_pipelines.support.messages import one_line

Numbers = NDArray[Any]

NEWLINE, RETURN, POINT, ZERO, MINUS = b"\n"[0], b"\r"[0], b"."[0], b"0"[0], b"-"[0]
MAX_DIGITS = 18
"""More digits may not fit into 64 bits."""


def read_numbers(
    archive: Archive,
    member: str,
    columns: Sequence[str],
    *,
    separator: str = "\t",
    tenths: Collection[str] = (),
    may_be_empty: Collection[str] = (),
    may_be_negative: Collection[str] = (),
    types: Mapping[str, DTypeLike] | None = None,
) -> dict[str, Numbers]:
    """Read a member whose header is `columns` and whose fields are whole numbers from 0.

    Args:
        archive: contains the member.
        member: the name of the table.
        columns: the header, in order.
        separator: one byte between fields.
        tenths: columns that may have one digit after a point; they are returned in tenths.
        may_be_empty: columns in which an empty field means 0.
        may_be_negative: columns whose numbers may be below 0.
        types: narrower integer types for some columns, to save memory.
    """
    reader = _Reader(member, columns, separator, tenths, may_be_empty, may_be_negative, types or {})
    for block in archive.blocks(member):
        reader.feed(block)
    return reader.finish()


def parse_numbers(content: bytes, member: str, columns: Sequence[str], *, lines_before: int = 0) -> dict[str, Numbers]:
    """Read rows of whole numbers from 0 with tabs between them, without a header.

    `lines_before` is the number of lines of the member before these rows, for the messages.
    """
    reader = _Reader(member, columns, "\t", (), (), (), {}, has_header=False, lines=lines_before)
    reader.feed(content)
    return reader.finish()


class _Reader:
    def __init__(
        self,
        member: str,
        columns: Sequence[str],
        separator: str,
        tenths: Collection[str],
        may_be_empty: Collection[str],
        may_be_negative: Collection[str],
        types: Mapping[str, DTypeLike],
        *,
        has_header: bool = True,
        lines: int = 0,
    ) -> None:
        self._member, self._columns, self._separator = member, columns, separator
        self._tenths, self._may_be_empty, self._may_be_negative = tenths, may_be_empty, may_be_negative
        self._types = {column: np.dtype(types.get(column, np.int64)) for column in columns}
        self._parts: dict[str, list[Numbers]] = {column: [] for column in columns}
        self._rest = b""
        self._lines = lines
        self._header_is_next = has_header

    def feed(self, block: bytes) -> None:
        """Parse the complete lines received so far and keep the rest."""
        cut = block.rfind(b"\n") + 1
        if not cut:
            self._rest += block
            if len(self._rest) > 1 << 16 and self._header_is_next:
                self._check_header(self._rest[: 1 << 16])
            return
        lines, self._rest = self._rest + block[:cut], block[cut:]
        if self._header_is_next:
            header, _, lines = lines.partition(b"\n")
            self._check_header(header)
            self._lines, self._header_is_next = 1, False
        if lines:
            self._parse(np.frombuffer(lines, dtype=np.uint8))

    def finish(self) -> dict[str, Numbers]:
        if self._rest or self._header_is_next:
            raise ArchiveError(
                f"{self._member} line {self._lines + 1} has no newline at the end; the file looks truncated"
            )
        # One column at a time, so that parts and result are never both in memory for all columns.
        return {
            column: np.concatenate([np.empty(0, self._types[column]), *self._parts.pop(column)])
            for column in self._columns
        }

    def _check_header(self, line: bytes) -> None:
        expected = self._separator.join(self._columns)
        header = line.removeprefix(b"\xef\xbb\xbf").removesuffix(b"\r")
        if header != expected.encode():
            raise ArchiveError(
                f"{self._member} line 1 must be {expected!r}, got {header[:80].decode(errors='replace')!r}"
            )

    def _parse(self, text: NDArray[np.uint8]) -> None:
        stops = np.flatnonzero((text == ord(self._separator)) | (text == NEWLINE))
        count = len(self._columns)
        line_ends = text[stops] == NEWLINE
        rows = int(np.count_nonzero(line_ends))
        if len(stops) != rows * count or not line_ends[count - 1 :: count].all():
            self._report_wrong_count(np.diff(np.flatnonzero(line_ends), prepend=-1))
        starts = np.empty_like(stops)
        starts[0], starts[1:] = 0, stops[:-1] + 1
        for number, column in enumerate(self._columns):
            first, stop = starts[number::count], stops[number::count]
            if number == count - 1:
                stop = stop - ((stop > first) & (text[stop - 1] == RETURN))
            values = self._values(text, first, stop, column)
            self._parts[column].append(values.astype(self._types[column]))
        self._lines += rows

    def _values(
        self, text: NDArray[np.uint8], first: NDArray[np.int64], stop: NDArray[np.int64], column: str
    ) -> NDArray[np.int64]:
        if column in self._may_be_negative:
            is_negative = (stop > first) & (text[first] == MINUS)
            values, is_valid = _whole_numbers(text, first + is_negative, stop)
            values = np.where(is_negative, -values, values)
        elif column not in self._tenths:
            values, is_valid = _whole_numbers(text, first, stop)
        else:
            has_point = (stop - first >= 3) & (text[stop - 2] == POINT)
            values, is_valid = _whole_numbers(text, first, stop - 2 * has_point)
            last_digit = text[stop - 1] - np.uint8(ZERO)
            is_valid &= ~has_point | (last_digit <= 9)
            values = 10 * values + np.where(has_point, last_digit, 0)
        if column in self._may_be_empty:
            is_valid |= stop == first
        is_valid &= values <= np.iinfo(self._types[column]).max
        if not is_valid.all():
            row = int(np.argmin(is_valid))
            field = text[first[row] : stop[row]].tobytes()[:40].decode(errors="replace")
            start = "up" if column in self._may_be_negative else "from 0"
            raise ArchiveError(
                f"{self._member} line {self._lines + row + 1}: {column} must be a whole number {start} to "
                f"{np.iinfo(self._types[column]).max}{', in tenths' if column in self._tenths else ''}, got {field!r}"
            )
        return values

    def _report_wrong_count(self, fields_per_line: NDArray[np.int64]) -> None:
        row = int(np.argmax(fields_per_line != len(self._columns)))
        raise ArchiveError(
            f"{self._member} line {self._lines + row + 1} must have {len(self._columns)} columns "
            f"({', '.join(self._columns)}), got {fields_per_line[row]}"
        )


def _whole_numbers(
    text: NDArray[np.uint8], first: NDArray[np.int64], stop: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the numbers written in text[first:stop], and which of them are valid."""
    lengths = stop - first
    is_valid = (lengths >= 1) & (lengths <= MAX_DIGITS)
    values = np.zeros(len(first), dtype=np.int64)
    shortest = int(lengths.min())
    for exponent in range(min(int(lengths.max()), MAX_DIGITS)):
        digits = text[np.maximum(stop - 1 - exponent, 0)] - np.uint8(ZERO)
        if exponent >= shortest:
            digits[lengths <= exponent] = 0
        is_valid &= digits <= 9
        values += digits * np.int64(10**exponent)
    return values, is_valid


MAX_ROWS = 100_000_000
"""A few kilobytes of Parquet can encode any number of rows."""


def read_parquet_numbers(archive: Archive, member: str, columns: Sequence[str]) -> dict[str, NDArray[np.int64]]:
    """Return some columns of a Parquet member; each must contain whole numbers, none missing."""
    import pyarrow
    import pyarrow.parquet as parquet

    content = archive.read(member)
    try:
        with parquet.ParquetFile(io.BytesIO(content)) as file:
            if file.metadata.num_rows > MAX_ROWS:
                raise ArchiveError(f"{member} must have at most {MAX_ROWS:,} rows, got {file.metadata.num_rows:,}")
            if missing := [name for name in columns if name not in file.schema_arrow.names]:
                raise ArchiveError(f"{member} has no column {missing[0]!r}")
            table = file.read(columns=list(columns))
    except (pyarrow.ArrowException, OSError) as error:
        raise ArchiveError(one_line(f"{member} is not a readable Parquet file: {str(error)[:300]}")) from None
    return {name: _checked_numbers(table[name], member, name) for name in columns}


def _checked_numbers(column: object, member: str, name: str) -> NDArray[np.int64]:
    values = np.asarray(column)
    if values.dtype != np.int64:  # missing values would make it floating-point
        raise ArchiveError(f"{member}: {name} must contain whole numbers, got {values.dtype}")
    return values
