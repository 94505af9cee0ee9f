"""Read columns of a CSV or Parquet file in bounded memory: each distinct text once, and a number for each row."""

import csv
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from data_pipelines.own_data.problems import EXAMPLES, Problem
from data_pipelines.own_data.text_format import TextFormat, detect_format
from data_pipelines.support.messages import one_line
from data_pipelines.support.text import number_of

PARQUET_SUFFIXES = (".parquet", ".pq")
PARQUET_MARK = b"PAR1"
ZIP_MARK = b"PK\x03\x04"
MAX_ROWS = 10_000_000
"""A file with this many rows and as many distinct times takes about 3 GB of memory."""
MAX_LINE = 1 << 20
BATCH_ROWS = 1 << 16


@dataclass(frozen=True)
class Column:
    """The texts of a column: row r has the text `values[codes[r]]`. An empty text is a missing value."""

    name: str
    values: list[str]
    codes: NDArray[np.int32]


@dataclass(frozen=True)
class Header:
    """The column names of a file, and the format of a CSV file (None: Parquet)."""

    path: Path
    names: list[str]
    text_format: TextFormat | None

    def __str__(self) -> str:
        return "Parquet" if self.text_format is None else f"CSV, {self.text_format}"


@dataclass(frozen=True)
class Table:
    """Some columns of a file; malformed rows, whose texts are all empty, have a different length than the header."""

    path: Path
    row_count: int
    columns: Mapping[str, Column]
    malformed: NDArray[np.int64]
    problems: tuple[Problem, ...]


def read_header(path: Path, *, encoding: str | None = None, separator: str | None = None) -> Header:
    """Read the column names; the error for a file that is not a table is one line."""
    _check_file(path)
    with _one_line_errors(path):
        if _is_parquet(path):
            names, text_format = _parquet_names(path), None
        else:
            text_format = detect_format(path, encoding=encoding, separator=separator)
            names = next(_csv_rows(path, text_format), [])
        _check_names(names)
    return Header(path, names, text_format)


def read_columns(header: Header, names: Sequence[str]) -> Table:
    """Read some columns; more than `MAX_ROWS` rows are refused."""
    with _one_line_errors(header.path):
        if header.text_format is None:
            table = _read_parquet(header.path, list(dict.fromkeys(names)))
        else:
            table = _read_csv(header, list(dict.fromkeys(names)))
    if not table.row_count:
        raise ValueError(f"{header.path} has no rows; expected at least one")
    return table


def with_lines(problem: Problem, header: Header) -> Problem:
    """Return a problem of a CSV file with the lines of its examples, as an editor shows them, instead of the rows.

    A field can contain line breaks, and there may be empty lines; so the file is read again up to the last example.
    """
    if header.text_format is None or problem.unit == "line":
        return problem
    numbers = [row for row, _ in problem.examples]
    first_lines = _first_lines(header.path, header.text_format)
    lines = dict(enumerate(islice(first_lines, max(numbers) + 1)))  # row 0 is the header
    examples = tuple((lines[row], value) for row, value in problem.examples)
    return replace(problem, examples=examples, unit="line")


def _first_lines(path: Path, text_format: TextFormat) -> Iterator[int]:
    """Yield the number of the first line of each row of a CSV file, without empty lines."""
    reader = csv.reader(_lines(path, text_format.encoding), delimiter=text_format.separator, strict=True)
    first_line = 1
    for row in reader:
        if row:
            yield first_line
        first_line = reader.line_num + 1


def _check_file(path: Path) -> None:
    if path.is_dir():
        raise ValueError(one_line(f"{path} is a folder; expected a CSV or Parquet file"))
    if not path.is_file():
        raise ValueError(one_line(f"{path} does not exist; expected a CSV or Parquet file"))
    if not path.stat().st_size:
        raise ValueError(one_line(f"{path} is empty; expected a header and at least one row"))


@contextmanager
def _one_line_errors(path: Path) -> Iterator[None]:
    """Turn errors of Python, csv and pyarrow into one line that names the file."""
    try:
        yield
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise ValueError(
            one_line(f"{path} cannot be read: byte 0x{byte:02x} is not {error.encoding}; see --encoding")
        ) from None
    except (ValueError, OSError, LookupError, TypeError, NotImplementedError, ArithmeticError, csv.Error) as error:
        reason = " ".join(str(error).split())[:300] or type(error).__name__
        raise ValueError(one_line(f"{path} cannot be read: {reason}")) from None


def _is_parquet(path: Path) -> bool:
    with path.open("rb") as file:
        start = file.read(4)
    if start == ZIP_MARK:
        raise ValueError("it is an Excel or ZIP file; save it as CSV")
    return start == PARQUET_MARK or path.suffix.lower() in PARQUET_SUFFIXES


def _check_names(names: Sequence[str]) -> None:
    if repeated := [name for name, count in Counter(names).items() if count > 1]:
        raise ValueError(f"it contains the column {repeated[0]!r} more than once")
    if any(not name.isprintable() for name in names):
        raise ValueError("the first line must be a header of column names, got unprintable characters (a binary file?)")


def _lines(path: Path, encoding: str) -> Iterator[str]:
    """Yield the lines of a text file; NUL and endless lines are refused."""
    with path.open(encoding=encoding, newline="") as file:
        for number, line in enumerate(iter(lambda: file.readline(MAX_LINE), ""), start=1):
            if "\0" in line:
                raise ValueError(f"line {number} contains a NUL byte; expected text (a binary file?)")
            if len(line) == MAX_LINE:
                raise ValueError(f"line {number} must have fewer than {MAX_LINE:,} characters")
            yield line


def _csv_rows(path: Path, text_format: TextFormat) -> Iterator[list[str]]:
    """Yield the rows of a CSV file, without empty lines; the first one is the header."""
    lines = _lines(path, text_format.encoding)
    reader = csv.reader(lines, delimiter=text_format.separator, strict=True)
    try:
        yield from (row for row in reader if row)
    except csv.Error as error:
        raise ValueError(f"line {reader.line_num}: {error}") from None


def _read_csv(header: Header, names: Sequence[str]) -> Table:
    assert header.text_format is not None
    rows = islice(_csv_rows(header.path, header.text_format), 1, None)
    width = len(header.names)
    positions = [header.names.index(name) for name in names]
    builders = [_ColumnBuilder() for _ in names]
    malformed: list[int] = []
    examples: list[tuple[int, str]] = []
    row_count = 0
    while batch := list(islice(rows, BATCH_ROWS)):
        for number, row in enumerate(batch, start=row_count):
            if len(row) != width:
                malformed.append(number)
                if len(examples) < EXAMPLES:
                    examples.append((number + 1, number_of(len(row), "field")))
                batch[number - row_count] = [""] * width
        for builder, position in zip(builders, positions, strict=True):
            builder.add([row[position] for row in batch])
        row_count += len(batch)
        _check_row_count(row_count, is_complete=False)
    columns = {name: builder.column(name) for name, builder in zip(names, builders, strict=True)}
    requirement = f"a row must have {number_of(width, 'field')}, as many as the header"
    problems = (Problem(header.path, requirement, len(malformed), tuple(examples)),) if malformed else ()
    return Table(header.path, row_count, columns, np.array(malformed, dtype=np.int64), problems)


def _check_row_count(count: int, *, is_complete: bool) -> None:
    if count > MAX_ROWS:
        number = f"{count:,}" if is_complete else "more"
        raise ValueError(f"it must have at most {MAX_ROWS:,} rows, got {number}; import a part of it")


class _ColumnBuilder:
    """Collects the texts of a column, batch by batch."""

    def __init__(self) -> None:
        self._batches: list[Any] = []

    def add(self, texts: Any) -> None:
        """Add the texts of a batch: a list, or an array of pyarrow."""
        import pyarrow as pa

        self._batches.append(pa.array(texts, type=pa.large_string()).dictionary_encode())

    def column(self, name: str) -> Column:
        """Return all texts, each distinct one once."""
        import pyarrow as pa

        if not self._batches:
            return Column(name, [], np.empty(0, dtype=np.int32))
        chunks = pa.chunked_array(self._batches).unify_dictionaries().chunks
        codes = np.concatenate([chunk.indices.to_numpy(zero_copy_only=False) for chunk in chunks])
        return Column(name, chunks[0].dictionary.to_pylist(), codes.astype(np.int32))


def _parquet_names(path: Path) -> list[str]:
    import pyarrow.parquet as parquet

    with parquet.ParquetFile(path) as file:
        _check_row_count(file.metadata.num_rows, is_complete=True)
        return list(file.schema_arrow.names)


def _read_parquet(path: Path, names: Sequence[str]) -> Table:
    import pyarrow.parquet as parquet

    builders = {name: _ColumnBuilder() for name in names}
    row_count = 0
    with parquet.ParquetFile(path) as file:
        fields = {name: file.schema_arrow.field(name) for name in names}
        for name, field in fields.items():
            _check_type(name, field.type)
        for batch in file.iter_batches(BATCH_ROWS, columns=[*names]):
            for name in names:
                builders[name].add(_texts(batch.column(name)))
            row_count += batch.num_rows
    columns = {name: builder.column(name) for name, builder in builders.items()}
    return Table(path, row_count, columns, np.empty(0, dtype=np.int64), ())


def _check_type(name: str, kind: Any) -> None:
    """Refuse columns whose values are not single numbers, dates or texts."""
    from pyarrow import types

    kind = kind.value_type if types.is_dictionary(kind) else kind
    tests = (types.is_string, types.is_large_string, types.is_integer, types.is_floating, types.is_decimal)
    if not any(test(kind) for test in (*tests, types.is_date, types.is_timestamp, types.is_null)):
        raise ValueError(f"column {name} must contain numbers or text, got {kind}")


def _texts(array: Any) -> list[str]:
    """Return the values of a Parquet column as Python writes them; missing values and NaN are empty texts."""
    encoded = array if hasattr(array, "dictionary") else array.dictionary_encode()
    distinct = ["" if value is None or value != value else str(value) for value in encoded.dictionary.to_pylist()]
    codes = encoded.indices.fill_null(len(distinct)).to_pylist()
    return list(map([*distinct, ""].__getitem__, codes))
