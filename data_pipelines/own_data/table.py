"""Read a user's table, CSV or Parquet: its encoding, separator and columns, and the rows that cannot be used."""

import codecs
import csv
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import StringIO
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from data_pipelines.support.messages import one_line
from data_pipelines.support.text import number_of

EXAMPLES = 3
MAX_SHOWN = 40
SKIP_OPTION = "--skip-bad-rows"


@dataclass(frozen=True)
class Problem:
    """One kind of bad rows of one file; `examples` are (number of the row or line from 1, value), at most three."""

    path: Path
    requirement: str
    """The rule that the rows violate, such as `user must be an id`."""
    count: int
    examples: tuple[tuple[int, str], ...]
    unit: Literal["row", "line"] = "row"
    """What the numbers of the examples count: rows of data, or lines of the file with its header."""

    def line(self) -> str:
        """Return the problem with its first example, without the file."""
        number, value = self.examples[0]
        return one_line(f"{self.unit} {number}: {self.requirement}, got {value} ({number_of(self.count, 'row')})")

    def summary(self) -> str:
        """Return the count and the examples, for a report of the rows that are left out."""
        examples = ", ".join(f"{value} ({self.unit} {number})" for number, value in self.examples)
        more = ", …" if self.count > len(self.examples) else ""
        count = number_of(self.count, "row")
        return one_line(f"{count} of {self.path.name}: {self.requirement}, got {examples}{more}")


class OptionNeededError(ValueError):
    """Raised for a table that can be read with an option of the user; the message names it.

    `options` are words to add to the command.
    """

    def __init__(self, message: str, options: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.options = tuple(options)


class BadRowsError(OptionNeededError):
    """Raised for tables with bad rows; the message has all kinds of problems in one line."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        kinds = "; ".join(f"{problem.path} {problem.line()}" for problem in problems)
        super().__init__(one_line(f"{kinds}; {SKIP_OPTION} leaves such rows out"), [SKIP_OPTION])

    def lines(self) -> list[str]:
        """Return the message in several lines: one per file and one per kind of problem."""
        lines = []
        for path in dict.fromkeys(problem.path for problem in self.problems):
            lines.append(one_line(f"{path} has bad rows ({SKIP_OPTION} leaves them out):"))
            lines += [f"  {problem.line()}" for problem in self.problems if problem.path == path]
        return lines


def shown(value: str) -> str:
    """Return a value for a message."""
    if not value.strip():
        return "an empty field"
    return repr(value) if len(value) <= MAX_SHOWN else f"{value[:MAX_SHOWN]!r}, {len(value):,} characters"


SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "vertical bar"}
SEPARATOR_NAMES = {name.replace(" ", "-"): separator for separator, name in SEPARATORS.items()}
MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
"""Byte order marks; those of UTF-32 start with those of UTF-16 and come first."""
ENCODING_NAMES = {
    "utf-8": "UTF-8",
    "utf-8-sig": "UTF-8 with byte order mark",
    "utf-16": "UTF-16",
    "utf-16-le": "UTF-16",
    "utf-16-be": "UTF-16",
    "utf-32": "UTF-32",
    "cp1252": "Windows-1252",
}
SAMPLE_BYTES = 1 << 16
SAMPLE_ROWS = 200


def checked_encoding(name: str) -> str:
    """Return the canonical name of an encoding; UTF-8 includes files with a byte order mark."""
    try:
        codec = codecs.lookup(name)
        "".encode(name)
    except (LookupError, ValueError, TypeError):
        raise ValueError(f"--encoding must be a text encoding such as utf-8, utf-16 or cp1252, got {name!r}") from None
    return "utf-8-sig" if codec.name == "utf-8" else codec.name


def parse_separator(text: str) -> str:
    """Return the separator that an option names, by its character or its name."""
    separator = SEPARATOR_NAMES.get(text.lower(), "\t" if text == "\\t" else text)
    if len(separator) != 1 or separator in '"\r\n\0' or not (separator.isprintable() or separator == "\t"):
        names = ", ".join(SEPARATOR_NAMES)
        raise ValueError(f"--separator must be one character or one of {names}, got {text!r}")
    return separator


def detect_encoding(path: Path) -> str:
    """Return the encoding: that of a byte order mark, else UTF-8, UTF-16 or Windows-1252, whichever fits first."""
    with path.open("rb") as file:
        start = file.read(SAMPLE_BYTES)
    for mark, encoding in MARKS:
        if start.startswith(mark):
            return encoding
    if (zeros := start.count(0)) and zeros >= len(start) // 4:
        return "utf-16-le" if start[1::2].count(0) >= start[::2].count(0) else "utf-16-be"
    for encoding in ("utf-8", "cp1252"):
        with suppress(UnicodeDecodeError):
            for _ in _blocks(path, encoding):
                pass
            return encoding
    raise OptionNeededError("it is not text in UTF-8, UTF-16 or Windows-1252; give its encoding with --encoding")


def detect_separator(sample: str) -> str:
    """Return the separator with which most rows are as long as the header; if several, the one with most columns."""

    def merit(separator: str) -> tuple[float, int]:
        lengths = []
        with suppress(csv.Error):  # for example a field of 100 kB; only the rows before it are used
            rows = filter(None, csv.reader(StringIO(sample, newline=""), delimiter=separator))
            for row in islice(rows, SAMPLE_ROWS):
                lengths.append(len(row))
        if not lengths or lengths[0] < 2:
            return 0.0, 0
        return lengths.count(lengths[0]) / len(lengths), lengths[0]

    return max(SEPARATORS, key=merit)


PARQUET_SUFFIXES = (".parquet", ".pq")
PARQUET_MARK = b"PAR1"
ZIP_MARK = b"PK\x03\x04"
MAX_ROWS = 10_000_000
"""A file with this many rows and as many distinct times takes about 3 GB of memory."""
MAX_BYTES = 1 << 32
"""The columns of a Parquet file must be smaller than this when decompressed: a small file can contain much."""
MAX_LINE = 1 << 20
BLOCK_BYTES = 1 << 22


@dataclass(frozen=True)
class Header:
    """The column names of a file, and the encoding and separator of a CSV file (None: Parquet)."""

    path: Path
    names: list[str]
    encoding: str | None = None
    separator: str | None = None

    def __str__(self) -> str:
        if self.encoding is None:
            return "Parquet"
        separator = "tab" if self.separator == "\t" else repr(self.separator)
        return f"CSV, separator {separator}, encoding {ENCODING_NAMES.get(self.encoding, self.encoding)}"

    @property
    def changes(self) -> dict[str, str]:
        """How a file differs from a plain CSV file, for the manifest; UTF-8 is plain, with or without a mark."""
        plain = {"encoding": (None, "utf-8", "utf-8-sig"), "separator": (None, ",")}
        return {key: getattr(self, key) for key, values in plain.items() if getattr(self, key) not in values}


@dataclass(frozen=True)
class Column:
    """The texts of a column: row r has the text `values[codes[r]]`. An empty text is a missing value."""

    name: str
    values: Any
    """The distinct texts, an array of pyarrow."""
    codes: NDArray[np.int32]


class Table:
    """Some columns of a file, without rows whose length differs from that of the header, and the problems of its rows.

    `row_count` are all rows of the file; `is_bad` tells which rows of the columns cannot be used.
    """

    def __init__(self, header: Header, columns: Mapping[str, Column], malformed: Sequence[tuple[int, int]]) -> None:
        self.header, self.columns = header, columns
        self._malformed = np.array([row for row, _ in malformed], dtype=np.int64)
        self.is_bad = np.zeros(len(next(iter(columns.values())).codes), dtype=bool)
        self.row_count = len(self.is_bad) + len(malformed)
        self.problems: list[Problem] = []
        if malformed:
            requirement = f"a row must have {number_of(len(header.names), 'field')}, as many as the header"
            examples = [(row, number_of(fields, "field")) for row, fields in malformed[:EXAMPLES]]
            self._add_problem(requirement, len(malformed), examples)

    def reject(self, column: Column, requirement: str, is_bad: NDArray[np.bool_]) -> None:
        """Mark rows as bad, because of their value in a column."""
        rows = np.flatnonzero(is_bad)
        if len(rows):
            self.is_bad |= is_bad
            numbers = np.delete(np.arange(self.row_count), self._malformed)
            examples = [(int(numbers[row]), shown(column.values[column.codes[row]].as_py())) for row in rows[:EXAMPLES]]
            self._add_problem(f"{column.name} must {requirement}", len(rows), examples)

    def _add_problem(self, requirement: str, count: int, examples: Sequence[tuple[int, str]]) -> None:
        """Add a problem; the examples have rows from 0.

        Those of a CSV file are shown with their lines, as an editor shows them. A field can contain line breaks, and
        there may be empty lines; so the file is read again up to the last example.
        """
        unit: Literal["row", "line"] = "row"
        lines = {row: row + 1 for row, _ in examples}
        if self.header.encoding is not None:
            unit = "line"
            with _one_line_errors(self.header.path):
                rows = islice(_csv_rows(self.header), max(lines) + 2)
                lines = {row: line for row, (line, _) in enumerate(rows, start=-1)}  # the first row is the header
        numbered = tuple((lines[row], value) for row, value in examples)
        self.problems.append(Problem(self.header.path, requirement, count, numbered, unit))


def read_header(path: Path, *, encoding: str | None = None, separator: str | None = None) -> Header:
    """Read the column names; the error for a file that is not a table is one line."""
    if path.is_dir():
        raise ValueError(one_line(f"{path} is a folder; expected a CSV or Parquet file"))
    if not path.is_file():
        raise ValueError(one_line(f"{path} does not exist; expected a CSV or Parquet file"))
    if not path.stat().st_size:
        raise ValueError(one_line(f"{path} is empty; expected a header and at least one row"))
    with _one_line_errors(path):
        with path.open("rb") as file:
            start = file.read(4)
        if start == ZIP_MARK:
            raise ValueError("it is an Excel or ZIP file; save it as CSV")
        if start == PARQUET_MARK or path.suffix.lower() in PARQUET_SUFFIXES:
            header = Header(path, _parquet_names(path))
        else:
            encoding = checked_encoding(encoding) if encoding else detect_encoding(path)
            sample = next(_blocks(path, encoding, SAMPLE_BYTES), "")
            separator = parse_separator(separator) if separator else detect_separator(sample)
            _, names = next(_csv_rows(Header(path, [], encoding, separator)), (1, []))
            header = Header(path, names, encoding, separator)
        if repeated := [name for name, count in Counter(header.names).items() if count > 1]:
            raise ValueError(f"it contains the column {repeated[0]!r} more than once")
        if any(not name.isprintable() for name in header.names):
            raise ValueError(
                "the first line must be a header of column names, got unprintable characters (a binary file?)"
            )
    return header


def read_columns(header: Header, names: Sequence[str]) -> Table:
    """Read some columns; more than `MAX_ROWS` rows are refused."""
    names = list(dict.fromkeys(names))
    with _one_line_errors(header.path):
        table = _read_parquet(header, names) if header.encoding is None else _read_csv(header, names)
    if not table.row_count:
        raise ValueError(f"{header.path} has no rows; expected at least one")
    return table


def sample_rows(header: Header) -> list[list[str]]:
    """Return the first rows as texts."""
    with _one_line_errors(header.path):
        if header.encoding is not None:
            return [row for _, row in islice(_csv_rows(header), 1, SAMPLE_ROWS + 1)]
        import pyarrow.parquet as parquet

        with parquet.ParquetFile(header.path) as file:
            rows = next(file.iter_batches(SAMPLE_ROWS), None)
        return (
            []
            if rows is None
            else [["" if each is None else str(each) for each in row.values()] for row in rows.to_pylist()]
        )


@contextmanager
def _one_line_errors(path: Path) -> Iterator[None]:
    """Turn errors of Python, csv and pyarrow into one line that names the file."""
    try:
        yield
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise OptionNeededError(
            one_line(f"{path} cannot be read: byte 0x{byte:02x} is not {error.encoding}; see --encoding")
        ) from None
    except (ValueError, OSError, LookupError, TypeError, NotImplementedError, ArithmeticError, csv.Error) as error:
        reason = " ".join(str(error).split())[:300] or type(error).__name__
        kind = OptionNeededError if isinstance(error, OptionNeededError) else ValueError
        raise kind(one_line(f"{path} cannot be read: {reason}")) from None


def _blocks(path: Path, encoding: str, size: int = MAX_LINE // 2) -> Iterator[str]:
    """Yield the text of a file in blocks of `size` characters."""
    with path.open(encoding=encoding, newline="") as file:
        yield from iter(lambda: file.read(size), "")


def _lines(header: Header) -> Iterator[str]:
    """Yield the lines of a text file; NUL and endless lines are refused."""
    with header.path.open(encoding=header.encoding, newline="") as file:
        for number, line in enumerate(iter(lambda: file.readline(MAX_LINE), ""), start=1):
            if "\0" in line:
                raise ValueError(f"line {number} contains a NUL byte; expected text (a binary file?)")
            if len(line) == MAX_LINE:
                raise ValueError(f"line {number} must have fewer than {MAX_LINE:,} characters")
            yield line


def _csv_rows(header: Header) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a CSV file, each with the number of its first line, without empty lines; the header first."""
    csv.field_size_limit(MAX_LINE)
    reader = csv.reader(_lines(header), delimiter=str(header.separator), strict=True)
    first_line = 1
    try:
        for row in reader:
            if row:
                yield first_line, row
            first_line = reader.line_num + 1
    except csv.Error as error:
        raise ValueError(f"line {reader.line_num}: {error}") from None


def _read_csv(header: Header, names: Sequence[str]) -> Table:
    """Read some columns with pyarrow, batch by batch; rows of another length than the header are left out."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    assert header.encoding is not None
    # pyarrow accepts NUL, endless lines and quotes that are not closed; the csv module refuses them.
    is_plain = all(
        "\n" in text and '"' not in text and "\0" not in text for text in _blocks(header.path, header.encoding)
    )
    for _ in () if is_plain else _csv_rows(header):
        pass
    malformed: list[tuple[int, int]] = []

    def leave_out(row: Any) -> str:
        malformed.append((row.number - 2, row.actual_columns))  # pyarrow counts from 1, the header included
        return "skip"

    encoding = header.encoding.removesuffix("-sig")  # pyarrow skips the mark
    batches = arrow_csv.open_csv(
        header.path,
        read_options=arrow_csv.ReadOptions(use_threads=False, block_size=BLOCK_BYTES, encoding=encoding),
        parse_options=arrow_csv.ParseOptions(
            delimiter=header.separator, newlines_in_values=True, invalid_row_handler=leave_out
        ),
        convert_options=arrow_csv.ConvertOptions(
            include_columns=names,
            column_types=dict.fromkeys(header.names, pa.dictionary(pa.int32(), pa.large_string())),
            null_values=[],
        ),
    )

    def limited() -> Iterator[Any]:
        row_count = 0
        for batch in batches:
            row_count += batch.num_rows
            if row_count + len(malformed) > MAX_ROWS:
                raise ValueError(f"it must have at most {MAX_ROWS:,} rows, got more; import a part of it")
            yield batch

    table = pa.Table.from_batches(limited(), schema=batches.schema)
    return Table(header, {name: _column(name, table.column(name)) for name in names}, malformed)


def _parquet_names(path: Path) -> list[str]:
    import pyarrow.parquet as parquet

    with parquet.ParquetFile(path) as file:
        if (count := file.metadata.num_rows) > MAX_ROWS:
            raise ValueError(f"it must have at most {MAX_ROWS:,} rows, got {count:,}; import a part of it")
        return list(file.schema_arrow.names)


def _read_parquet(header: Header, names: Sequence[str]) -> Table:
    """Read some columns; their types and sizes are checked before anything is decompressed."""
    import pyarrow.parquet as parquet

    schema = parquet.read_schema(header.path)
    for name in names:
        _check_type(name, schema.field(name).type)
    # Each distinct text is read once, however often it occurs.
    with parquet.ParquetFile(header.path, read_dictionary=names) as file:
        groups = [file.metadata.row_group(number) for number in range(file.metadata.num_row_groups)]
        sizes = [group.column(number) for group in groups for number in range(group.num_columns)]
        size = sum(column.total_uncompressed_size for column in sizes if column.path_in_schema in names)
        if size > MAX_BYTES:
            raise ValueError(
                f"the columns must have at most {MAX_BYTES:,} bytes, got {size:,} bytes after decompression"
            )
        table = file.read(columns=[*names])
    return Table(header, {name: _column(name, table.column(name)) for name in names}, ())


def _check_type(name: str, kind: Any) -> None:
    """Refuse columns whose values are not single numbers, dates or texts."""
    from pyarrow import types

    kind = kind.value_type if types.is_dictionary(kind) else kind
    tests = (types.is_string, types.is_large_string, types.is_integer, types.is_floating, types.is_decimal)
    if not any(test(kind) for test in (*tests, types.is_date, types.is_timestamp, types.is_null)):
        raise ValueError(f"column {name} must contain numbers or text, got {kind}")


def _column(name: str, array: Any) -> Column:
    """Return a column as texts, as Python writes the values; missing values and NaN are empty texts."""
    import pyarrow as pa

    encoded = array.combine_chunks()
    encoded = encoded if pa.types.is_dictionary(encoded.type) else encoded.dictionary_encode()
    values, codes = encoded.dictionary, encoded.indices
    if values.type != pa.large_string() or values.null_count or codes.null_count:
        texts = ["" if value is None or value != value else str(value) for value in values.to_pylist()]
        distinct = pa.array([*texts, ""], pa.large_string()).dictionary_encode()
        values, codes = distinct.dictionary, distinct.indices.take(codes.fill_null(len(texts)))
    return Column(name, values, np.asarray(codes).astype(np.int32, copy=False))
