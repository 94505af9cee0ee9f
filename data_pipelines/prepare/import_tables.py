"""The user's own tables: CSV or Parquet files with columns of ids, times and texts."""

import csv
import re
from collections import Counter
from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from data_pipelines.data_set import UNKNOWN_TIME
from data_pipelines.support.messages import one_line

if TYPE_CHECKING:
    import pandas

PARQUET = (".parquet", ".pq")
MAX_ROWS = 100_000_000
"""Limit for Parquet files: a few kilobytes can encode any number of rows."""
MAX_ID_LENGTH = 500
"""Ids are kept in an array in which each takes as much memory as the longest."""
NO_IDS = ("nan", "NaN", "NaT", "<NA>", "inf", "-inf", "Infinity", "-Infinity")
"""Common spellings of missing values, rejected as ids."""


def read_table(path: Path) -> "pandas.DataFrame":
    """Read a CSV or Parquet file; the error for one that cannot be read is one line."""
    import pandas

    if not path.is_file():
        raise ValueError(f"{path} does not exist; expected a CSV or Parquet file")
    try:
        table = _read_parquet(path) if path.suffix in PARQUET else _read_csv(path)
    except (ValueError, OSError, LookupError, TypeError, NotImplementedError, ArithmeticError, csv.Error) as error:
        reason = " ".join(str(error).split())[:300] or type(error).__name__
        raise ValueError(one_line(f"{path} cannot be read: {reason}")) from None
    # If rows have one column more than the header, pandas uses the first column as row names.
    if not isinstance(table.index, pandas.RangeIndex):
        raise ValueError(f"{path} has rows with more columns than the header")
    if table.empty:
        raise ValueError(f"{path} has no rows; expected at least one")
    return table


def _read_csv(path: Path) -> "pandas.DataFrame":
    import pandas

    _check_rows(path)
    # Ids are read as text: 007 is not 7. Files are never decompressed, even if the name ends in .gz.
    return pandas.read_csv(path, dtype=str, keep_default_na=False, on_bad_lines="error", compression=None)


def _check_rows(path: Path) -> None:
    """Reject rows that are not as long as the header: pandas would fill missing fields and shift surplus ones."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file)
        header = next(reader, [])
        if repeated := [name for name, count in Counter(header).items() if count > 1]:
            raise ValueError(f"the header contains {repeated[0]!r} more than once")
        for row in reader:
            if row and len(row) != len(header):
                comparison = "more" if len(row) > len(header) else "fewer"
                raise ValueError(f"line {reader.line_num} has {comparison} columns than the header")


def _read_parquet(path: Path) -> "pandas.DataFrame":
    import pyarrow.parquet as parquet

    with parquet.ParquetFile(path) as file:
        row_count = file.metadata.num_rows
        if row_count > MAX_ROWS:
            raise ValueError(f"it must have at most {MAX_ROWS:,} rows, got {row_count:,}")
        if repeated := [name for name, count in Counter(file.schema_arrow.names).items() if count > 1]:
            raise ValueError(f"it contains the column {repeated[0]!r} more than once")
        # Metadata of pandas is ignored: only the columns are data.
        table: pandas.DataFrame = file.read().to_pandas(ignore_metadata=True)
    return table


def _column(table: "pandas.DataFrame", path: Path, name: str) -> "pandas.Series[Any]":
    if name not in table.columns:
        raise ValueError(f"{path} has no column {name!r}; its columns are {', '.join(map(repr, table.columns))[:1000]}")
    return table[name]


def _texts(column: "pandas.Series[Any]", path: Path) -> list[str]:
    """Return values as text; anything but a single number, date or text, such as a list or bytes, is rejected."""
    values = column.tolist()
    for row, value in enumerate(values, start=1):
        if isinstance(value, bool) or not isinstance(value, str | int | float | Decimal | date | None):
            raise ValueError(f"{path} row {row}: {column.name} must be a number or text, got a {type(value).__name__}")
    return [str(value) for value in values]


def read_ids(table: "pandas.DataFrame", path: Path, name: str) -> NDArray[Any]:
    """Return ids as whole numbers if all of them are written as such, else as text."""
    column = _column(table, path, name)
    texts = _texts(column, path)
    for row, (value, is_missing) in enumerate(zip(texts, column.isna().tolist(), strict=True), start=1):
        if is_missing or not value.strip():
            raise ValueError(f"{path} row {row}: {name} must be an id, got an empty field")
        if value in NO_IDS:
            raise ValueError(f"{path} row {row}: {name} must be an id, got {value!r}")
        if len(value) > MAX_ID_LENGTH or not value.isprintable():
            raise ValueError(
                f"{path} row {row}: {name} must be at most {MAX_ID_LENGTH} printable characters, "
                f"got {value[:40]!r}, {len(value):,} characters"
            )
    text = np.array(texts)
    if all(re.fullmatch(r"0|[1-9][0-9]{0,17}", value) for value in np.unique(text).tolist()):
        return text.astype(np.int64)
    return text


def of_one_kind(first: NDArray[Any], second: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return both as numbers or both as text; ids are never truncated, which would make different ids equal."""
    if first.dtype.kind == second.dtype.kind:
        return first, second
    return first.astype(str), second.astype(str)


def read_times(table: "pandas.DataFrame", path: Path, column_name: str | None) -> tuple[NDArray[np.int64], list[str]]:
    """Return time stamps as whole numbers: numbers as they are, dates in microseconds; and notes for the manifest."""
    name = column_name or "time"
    if column_name is None and name not in table.columns:
        return np.full(len(table), UNKNOWN_TIME, dtype=np.int64), [
            "no time column: interactions are put in random order"
        ]
    import pandas

    column = _column(table, path, name)
    is_blank = column.isna() | (pandas.Series(_texts(column, path), index=column.index).str.strip() == "")
    numbers = pandas.to_numeric(column.where(~is_blank, "0"), errors="coerce")
    if numbers.isna().any():
        dates = pandas.to_datetime(column.where(~is_blank, "1970-01-01"), errors="coerce", utc=True, format="ISO8601")
        is_invalid = dates.isna().to_numpy()
        if is_invalid.any():
            row = int(np.argmax(is_invalid))
            raise ValueError(
                f"{path} row {row + 1}: {name} must be a number or a date such as 2024-05-31T12:00:00, "
                f"got {column.iloc[row]!r}"
            )
        values = dates.dt.tz_localize(None).to_numpy().astype("datetime64[us]").astype(np.int64)
    else:
        values = _whole_times(numbers.to_numpy(), path, name)
    missing = int(np.count_nonzero(values == UNKNOWN_TIME))
    return values, [f"{missing:,} interactions have no time: they are put in random order"] if missing else []


def _whole_times(numbers: NDArray[Any], path: Path, name: str) -> NDArray[np.int64]:
    """Return times as whole numbers; if there are fractions, in millionths."""
    if numbers.dtype.kind in "iu" and numbers.max() <= np.iinfo(np.int64).max:
        return numbers.astype(np.int64)
    with np.errstate(over="ignore", invalid="ignore"):
        millionths = numbers.astype(np.float64) * (1e6 if (numbers % 1 != 0).any() else 1)
    is_too_large = ~(np.abs(millionths) < 2.0**63)
    if is_too_large.any():
        row = int(np.argmax(is_too_large))
        raise ValueError(f"{path} row {row + 1}: {name} must be a number below 9e12, got {numbers[row]}")
    return np.round(millionths).astype(np.int64)


def read_texts(table: "pandas.DataFrame", path: Path, names: Sequence[str]) -> list[str]:
    """Return the texts of some columns, joined row by row."""
    columns = [_column(table, path, name) for name in names]
    parts = [
        ["" if is_missing else text for text, is_missing in zip(_texts(column, path), column.isna(), strict=True)]
        for column in columns
    ]
    return [" ".join(texts) for texts in zip(*parts, strict=True)]
