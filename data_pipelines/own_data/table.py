"""Read a user's table, CSV or Parquet: its encoding, separator and columns, and the rows that cannot be used."""

import codecs
import csv
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
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
    """Raised for a table that can be read with an option of the user; the message names it."""


class BadRowsError(OptionNeededError):
    """Raised for tables with bad rows; the message has all kinds of problems in one line."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        kinds = "; ".join(f"{problem.path} {problem.line()}" for problem in problems)
        super().__init__(one_line(f"{kinds}; {SKIP_OPTION} leaves such rows out"))

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


def find_problem(
    path: Path, requirement: str, is_bad: NDArray[np.bool_], values: Sequence[str], codes: NDArray[np.int32]
) -> Problem | None:
    """Return the problem of the rows for which `is_bad` is true, or None; `values[codes]` are their values."""
    rows = np.flatnonzero(is_bad)
    if not len(rows):
        return None
    examples = tuple((int(row) + 1, shown(values[codes[row]])) for row in rows[:EXAMPLES])
    return Problem(path, requirement, len(rows), examples)


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
BLOCK = 1 << 20


@dataclass(frozen=True)
class TextFormat:
    """How the bytes of a CSV file become fields."""

    encoding: str
    separator: str

    def __str__(self) -> str:
        encoding = ENCODING_NAMES.get(self.encoding, self.encoding)
        shown = "tab" if self.separator == "\t" else repr(self.separator)
        return f"separator {shown}, encoding {encoding}"

    @property
    def changes(self) -> dict[str, str]:
        """The parts that differ from a plain CSV file, for the manifest; UTF-8 is plain, with or without a mark."""
        plain = {"encoding": ("utf-8", "utf-8-sig"), "separator": (",",)}
        return {key: getattr(self, key) for key, values in plain.items() if getattr(self, key) not in values}


def detect_format(path: Path, *, encoding: str | None, separator: str | None) -> TextFormat:
    """Return the format of a text file; parts that are given are not detected."""
    encoding = checked_encoding(encoding) if encoding else detect_encoding(path)
    return TextFormat(encoding, parse_separator(separator) if separator else detect_separator(_sample(path, encoding)))


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
        if _can_decode(path, encoding):
            return encoding
    raise OptionNeededError("it is not text in UTF-8, UTF-16 or Windows-1252; give its encoding with --encoding")


def _blocks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            yield block


def _can_decode(path: Path, encoding: str) -> bool:
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        for block in _blocks(path):
            decoder.decode(block)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def _sample(path: Path, encoding: str) -> str:
    """Return the first complete lines of a file."""
    with path.open(encoding=encoding, newline="") as file:
        text = file.read(SAMPLE_BYTES)
        is_complete = not file.read(1)
    return text if is_complete else text[: max(text.rfind("\n"), text.rfind("\r")) + 1] or text


def detect_separator(sample: str) -> str:
    """Return the separator with which most rows are as long as the header; if several, the one with most columns."""

    def merit(separator: str) -> tuple[float, int]:
        lengths = _row_lengths(sample, separator)
        if not lengths or lengths[0] < 2:
            return 0.0, 0
        return lengths.count(lengths[0]) / len(lengths), lengths[0]

    return max(SEPARATORS, key=merit)


def _row_lengths(sample: str, separator: str) -> list[int]:
    lengths: list[int] = []
    try:
        for row in csv.reader(StringIO(sample, newline=""), delimiter=separator):
            if row:
                lengths.append(len(row))
            if len(lengths) == SAMPLE_ROWS:
                break
    except csv.Error:  # for example a field of 100 kB; only the rows before it are used
        pass
    return lengths


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
        raise OptionNeededError(
            one_line(f"{path} cannot be read: byte 0x{byte:02x} is not {error.encoding}; see --encoding")
        ) from None
    except (ValueError, OSError, LookupError, TypeError, NotImplementedError, ArithmeticError, csv.Error) as error:
        reason = " ".join(str(error).split())[:300] or type(error).__name__
        kind = OptionNeededError if isinstance(error, OptionNeededError) else ValueError
        raise kind(one_line(f"{path} cannot be read: {reason}")) from None


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
