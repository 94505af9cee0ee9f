"""Tables inside archives: whole numbers, text, and Parquet. An error is one line that names member and line.

Tables of numbers are parsed by pyarrow in blocks, without a Python object per row: twenty million rows take seconds.
pyarrow is more lenient than the formats (it accepts ` 1` and `0x1`) and does not name lines, so each block is checked
for bytes that cannot be in it, and the line to blame is searched for only in a block that was refused.

Tables of text have at most about a million rows. They are read by Python's csv module where fields are quoted, because
pyarrow accepts malformed quotes, and are split at the separator otherwise, because some titles contain tabs.
"""

import csv
import io
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from data_pipelines.fetch.archive import Archive, ArchiveError
from data_pipelines.prepare.features import split_into_words
from data_pipelines.support.messages import one_line

Numbers = NDArray[Any]
Row = tuple[int, list[str]]
"""A line number and the fields of the line."""

MAX_DIGITS = 18
"""More digits may not fit into 64 bits."""
MAX_LINE = 1 << 16
MAX_ROWS = 100_000_000
"""A few kilobytes of Parquet can encode any number of rows."""


def read_numbers(
    archive: Archive,
    member: str,
    columns: Sequence[str],
    *,
    separator: str = "\t",
    has_header: bool = True,
    types: Mapping[str, DTypeLike] | None = None,
    may_be_empty: Collection[str] = (),
    may_be_negative: Collection[str] = (),
) -> dict[str, Numbers]:
    """Read a member whose header is `columns` and whose fields are whole numbers from 0.

    Args:
        archive: contains the member.
        member: the name of the table.
        columns: the header, in order.
        separator: the text between fields.
        has_header: whether the first line is the header.
        types: other types than 64-bit integers for some columns: narrower ones, or floating-point for decimals.
        may_be_empty: columns in which an empty field means 0.
        may_be_negative: columns whose numbers may be below 0.
    """
    dtypes = {column: np.dtype((types or {}).get(column, np.int64)) for column in columns}
    has_decimals = any(dtype.kind == "f" for dtype in dtypes.values())
    allowed = b"0123456789\n" + separator.encode() + b"-" * bool(may_be_negative) + b"." * has_decimals
    parts: dict[str, list[Numbers]] = {column: [np.empty(0, dtype)] for column, dtype in dtypes.items()}
    line = 1
    for lines in _blocks_of_lines(archive, member):
        if line == 1 and has_header:
            header, _, lines = lines.partition(b"\n")
            _check_header(member, header.decode(errors="replace"), columns, separator)
            line = 2
        is_plain = not lines.translate(None, allowed)
        numbers = _parsed(lines.replace(separator.encode(), b"\t"), dtypes, may_be_empty) if is_plain else None
        if numbers is None or any(numbers[name].min(initial=0) < 0 for name in columns if name not in may_be_negative):
            raise _first_error(lines, line, member, separator, dtypes, may_be_empty, may_be_negative)
        for column in columns:
            parts[column].append(numbers[column])
        line += lines.count(b"\n")
    if line == 1 and has_header:
        raise _truncated(member, line)
    # One column at a time, so that parts and result are never both in memory for all columns.
    return {column: np.concatenate(parts.pop(column)) for column in columns}


def _blocks_of_lines(archive: Archive, member: str) -> Iterator[bytes]:
    """Yield a member in blocks of complete lines, with newlines as line ends."""
    line, rest = 1, b""
    for block in archive.blocks(member):
        lines, newline, end = block.rpartition(b"\n")
        if newline:
            lines, rest = rest + lines + newline, end
            line += lines.count(b"\n")
            yield lines.replace(b"\r\n", b"\n")
        else:
            rest += block
        if len(rest) > MAX_LINE:
            raise ArchiveError(f"{member} line {line} is longer than {MAX_LINE:,} bytes; expected a row of numbers")
    if rest:
        raise _truncated(member, line)


def _parsed(
    lines: bytes, dtypes: Mapping[str, np.dtype[Any]], may_be_empty: Collection[str]
) -> dict[str, Numbers] | None:
    """Return the columns of a block of lines, or None if pyarrow cannot read it as the declared numbers."""
    import pyarrow
    from pyarrow.csv import ConvertOptions, ParseOptions, ReadOptions, read_csv

    if not lines:
        return {name: np.empty(0, dtype) for name, dtype in dtypes.items()}
    column_types = {name: pyarrow.from_numpy_dtype(dtype) for name, dtype in dtypes.items()}
    try:
        table = read_csv(
            pyarrow.BufferReader(lines),
            ReadOptions(column_names=list(dtypes), use_threads=False, block_size=len(lines)),
            ParseOptions(delimiter="\t", quote_char=False, ignore_empty_lines=False),
            ConvertOptions(column_types=column_types, null_values=[""]),
        )
    except pyarrow.ArrowInvalid:
        return None
    if any(table[name].null_count for name in dtypes if name not in may_be_empty):
        return None
    return {name: table[name].fill_null(0).to_numpy() for name in dtypes}


def _first_error(
    lines: bytes,
    first_line: int,
    member: str,
    separator: str,
    dtypes: Mapping[str, np.dtype[Any]],
    may_be_empty: Collection[str],
    may_be_negative: Collection[str],
) -> ArchiveError:
    """Return the error for the first line of a block that is not as declared."""
    for number, line in enumerate(lines.decode(errors="replace").split("\n"), start=first_line):
        fields = line.split(separator)
        _check_count(member, number, fields, list(dtypes))
        for (column, dtype), field in zip(dtypes.items(), fields, strict=True):
            is_whole = dtype.kind != "f"
            limit = int(np.iinfo(dtype).max) if is_whole else float(np.finfo(dtype).max)
            pattern = "-?" * (column in may_be_negative) + "[0-9]+" + r"(\.[0-9]+)?" * (not is_whole)
            is_number = re.fullmatch(pattern, field) and abs(Decimal(field)) <= limit
            if is_number or (column in may_be_empty and not field):
                continue
            kind = (
                f"a {'whole ' if is_whole else ''}number {'up' if column in may_be_negative else 'from 0'} to {limit}"
            )
            return ArchiveError(f"{member} line {number}: {column} must be {kind}, got {field[:40]!r}")
    return ArchiveError(f"{member} is not a table of {', '.join(dtypes)} from line {first_line} on")


def read_parquet_numbers(archive: Archive, member: str, columns: Sequence[str]) -> dict[str, NDArray[np.int64]]:
    """Return some columns of a Parquet member; each must contain whole numbers, none missing."""
    import pyarrow
    import pyarrow.parquet as parquet

    try:
        with parquet.ParquetFile(io.BytesIO(archive.read(member))) as file:
            if file.metadata.num_rows > MAX_ROWS:
                raise ArchiveError(f"{member} must have at most {MAX_ROWS:,} rows, got {file.metadata.num_rows:,}")
            if missing := [name for name in columns if name not in file.schema_arrow.names]:
                raise ArchiveError(f"{member} has no column {missing[0]!r}")
            table = file.read(columns=list(columns))
    except (pyarrow.ArrowException, OSError) as error:
        raise ArchiveError(one_line(f"{member} is not a readable Parquet file: {str(error)[:300]}")) from None
    numbers = {name: np.asarray(table[name]) for name in columns}
    for name, values in numbers.items():
        if values.dtype != np.int64:  # missing values would make it floating-point
            raise ArchiveError(f"{member}: {name} must contain whole numbers, got {values.dtype}")
    return numbers


def read_rows(
    archive: Archive,
    member: str,
    columns: Sequence[str],
    *,
    separator: str = "\t",
    has_header: bool = True,
    free_text: str | None = None,
) -> Iterator[Row]:
    """Yield the rows of a table in which quotes have no special meaning.

    Some titles contain the separator: surplus fields of a row belong to the column `free_text`.
    """
    start = columns.index(free_text) if free_text else 0
    for number, line in enumerate(_text(archive, member).split("\n")[:-1], start=1):
        fields = line.removesuffix("\r").split(separator)
        if free_text and (surplus := len(fields) - len(columns)) > 0:
            fields[start : start + surplus + 1] = [separator.join(fields[start : start + surplus + 1])]
        if number == 1 and has_header:
            _check_header(member, separator.join(fields), columns, separator)
            continue
        _check_count(member, number, fields, columns)
        yield number, fields


def read_csv_rows(
    archive: Archive, member: str, columns: Sequence[str], *, delimiter: str = ",", escape: str | None = None
) -> Iterator[Row]:
    """Yield the rows of a comma-separated member, quoted as in RFC 4180, or with an escape character for quotes."""
    text = io.StringIO(_text(archive, member), newline="")
    reader = csv.reader(text, strict=True, delimiter=delimiter, escapechar=escape, doublequote=escape is None)
    try:
        _check_header(member, delimiter.join(next(reader)), columns, delimiter)
        for fields in reader:
            _check_count(member, reader.line_num, fields, columns)
            yield reader.line_num, fields
    except csv.Error as error:
        raise ArchiveError(f"{member} line {reader.line_num} is not valid CSV: {error}") from None


def _text(archive: Archive, member: str) -> str:
    """Decode a member as UTF-8, or as Latin-1 (the HetRec files) if it is not UTF-8."""
    content = archive.read(member)
    if not content.endswith(b"\n"):
        raise _truncated(member, content.count(b"\n") + 1)
    if b"\0" in content:
        line = content.count(b"\n", 0, content.index(b"\0")) + 1
        raise ArchiveError(f"{member} line {line} contains a NUL byte; expected text")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("latin-1")


def _truncated(member: str, line: int) -> ArchiveError:
    return ArchiveError(f"{member} line {line} has no newline at the end; the file looks truncated")


def _check_header(member: str, line: str, columns: Sequence[str], separator: str) -> None:
    header, expected = line.removeprefix("\ufeff").removesuffix("\r"), separator.join(columns)
    if header != expected:
        raise ArchiveError(f"{member} line 1 must be {expected!r}, got {header[:80]!r}")


def _check_count(member: str, line: int, fields: list[str], columns: Sequence[str]) -> None:
    if len(fields) != len(columns):
        raise ArchiveError(
            f"{member} line {line} must have {len(columns)} columns ({', '.join(columns)}), got {len(fields)}"
        )


def whole_number(text: str, member: str, line: int, column: str) -> int:
    """Return an id; anything else is an error that names member and line."""
    if not (text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS):
        raise ArchiveError(f"{member} line {line}: {column} must be a whole number from 0, got {text[:40]!r}")
    return int(text)


def rows_by_id(rows: Iterable[Row], member: str, column: str) -> dict[int, list[str]]:
    """Return the fields of rows by their id, the first field, sorted; a repeated id or no row at all is an error."""
    fields_of: dict[int, list[str]] = {}
    for line, fields in rows:
        identifier = whole_number(fields[0], member, line, column)
        if identifier in fields_of:
            raise ArchiveError(f"{member} contains id {identifier} more than once")
        fields_of[identifier] = fields
    if not fields_of:
        raise ArchiveError(f"{member} has no rows; expected at least one")
    return dict(sorted(fields_of.items()))


def read_ids(archive: Archive, member: str, columns: Sequence[str], *, free_text: str) -> NDArray[np.int64]:
    """Return the ids of a table, sorted; the first column is the id, and `free_text` may contain tabs."""
    return np.array([*rows_by_id(read_rows(archive, member, columns, free_text=free_text), member, columns[0])])


def read_texts(
    archive: Archive, member: str, columns: Sequence[str], *, split: Callable[[str], list[str]] = split_into_words
) -> tuple[NDArray[np.int64], list[list[str]]]:
    """Return the sorted ids of a table with the columns id and text, and the words of each text."""
    fields_of = rows_by_id(read_rows(archive, member, columns, free_text=columns[1]), member, columns[0])
    return np.array([*fields_of]), [split(text) for _, text in fields_of.values()]


def rows_of(
    ids: NDArray[Any], catalogue: NDArray[Any], *, member: str, column: str, listed_in: str, first_line: int = 2
) -> NDArray[np.int64]:
    """Return the position of each id in the sorted `catalogue`; an unknown id is an error that names its line."""
    positions = np.searchsorted(catalogue, ids)
    is_known = positions < len(catalogue)
    is_known[is_known] = catalogue[positions[is_known]] == ids[is_known]
    if not is_known.all():
        row = int(np.argmin(is_known))
        raise ArchiveError(f"{member} line {row + first_line}: {column} {ids[row]} is not in {listed_in}")
    return positions
