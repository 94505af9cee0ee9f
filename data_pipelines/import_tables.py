"""Tables of users: CSV or Parquet files whose columns are ids, times and texts."""

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
from data_pipelines.messages import one_line

if TYPE_CHECKING:
    import pandas

PARQUET = (".parquet", ".pq")
MOST_ROWS = 100_000_000
"""Of a Parquet file: a few kilobytes of it can stand for any number of rows."""
LONGEST_ID = 500
"""Ids are kept in an array, each as wide as the longest."""
NO_IDS = ("nan", "NaN", "NaT", "<NA>", "inf", "-inf", "Infinity", "-Infinity")
"""What programs write where a number or a date is missing or impossible; an id was meant."""


def read_table(path: Path) -> "pandas.DataFrame":
    """Read a CSV or Parquet file, or say in one line why not."""
    import pandas

    if not path.is_file():
        raise ValueError(f"{path} is not there; allowed is a CSV or Parquet file")
    try:
        table = _read_parquet(path) if path.suffix in PARQUET else _read_csv(path)
    except (ValueError, OSError, LookupError, TypeError, NotImplementedError, ArithmeticError, csv.Error) as error:
        reason = " ".join(str(error).split())[:300] or type(error).__name__
        raise ValueError(one_line(f"{path} cannot be read: {reason}")) from None
    # pandas takes a first column too many for the names of the rows.
    if not isinstance(table.index, pandas.RangeIndex):
        raise ValueError(f"{path} has rows with more columns than its header; allowed are as many")
    if table.empty:
        raise ValueError(f"{path} has no rows; allowed is at least one")
    return table


def _read_csv(path: Path) -> "pandas.DataFrame":
    import pandas

    _check_rows(path)
    # Ids stay as they are written: 007 is not 7. And no archive is unpacked because a file is called .gz.
    return pandas.read_csv(path, dtype=str, keep_default_na=False, on_bad_lines="error", compression=None)


def _check_rows(path: Path) -> None:
    """Refuse rows of another length than the header: pandas makes up what is missing, and shifts what is too much."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file)
        header = next(reader, [])
        if repeated := [name for name, count in Counter(header).items() if count > 1]:
            raise ValueError(f"its header has {repeated[0]!r} twice; allowed is once")
        for row in reader:
            if row and len(row) != len(header):
                kind = "more" if len(row) > len(header) else "fewer"
                raise ValueError(f"line {reader.line_num} has {kind} columns than its header; allowed are as many")


def _read_parquet(path: Path) -> "pandas.DataFrame":
    import pyarrow.parquet as parquet

    with parquet.ParquetFile(path) as file:
        about = file.metadata
        if about.num_rows > MOST_ROWS:
            raise ValueError(f"it has {about.num_rows:,} rows; allowed are at most {MOST_ROWS:,}")
        if repeated := [name for name, count in Counter(file.schema_arrow.names).items() if count > 1]:
            raise ValueError(f"it has the column {repeated[0]!r} twice; allowed is once")
        # What pandas once noted beside the columns is left alone: the columns are the data.
        table: pandas.DataFrame = file.read().to_pandas(ignore_metadata=True)
    return table


def _column(table: "pandas.DataFrame", path: Path, name: str) -> "pandas.Series[Any]":
    if name not in table.columns:
        raise ValueError(f"{path} has no column {name!r}; allowed are {', '.join(map(repr, table.columns))[:1000]}")
    return table[name]


def _texts(column: "pandas.Series[Any]", path: Path) -> list[str]:
    """Return values as text; a list, bytes or anything else that is no single number or text is refused."""
    values = column.tolist()
    for row, value in enumerate(values, start=1):
        if isinstance(value, bool) or not isinstance(value, str | int | float | Decimal | date | None):
            raise ValueError(
                f"{path} row {row}: {column.name} is a {type(value).__name__}; allowed are numbers and text"
            )
    return [str(value) for value in values]


def read_ids(table: "pandas.DataFrame", path: Path, name: str) -> NDArray[Any]:
    """Return ids as whole numbers where all of them are written as such, else as text."""
    column = _column(table, path, name)
    texts = _texts(column, path)
    for row, (value, is_missing) in enumerate(zip(texts, column.isna().tolist(), strict=True), start=1):
        if is_missing or not value.strip():
            raise ValueError(f"{path} row {row}: {name} is empty; allowed are ids")
        if value in NO_IDS:
            raise ValueError(f"{path} row {row}: {name} is {value!r}; allowed are ids")
        if len(value) > LONGEST_ID or not value.isprintable():
            raise ValueError(
                f"{path} row {row}: {name} is {value[:40]!r}, {len(value):,} characters; "
                f"allowed are ids of at most {LONGEST_ID} that can be printed"
            )
    text = np.array(texts)
    if all(re.fullmatch(r"0|[1-9][0-9]{0,17}", value) for value in np.unique(text).tolist()):
        return text.astype(np.int64)
    return text


def of_one_kind(first: NDArray[Any], second: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return both as numbers or both as text; never cut to a common width, which would make up equals."""
    if first.dtype.kind == second.dtype.kind:
        return first, second
    return first.astype(str), second.astype(str)


def read_times(table: "pandas.DataFrame", path: Path, chosen: str | None) -> tuple[NDArray[np.int64], list[str]]:
    """Return time stamps as whole numbers: as they are, or microseconds of dates."""
    name = chosen or "time"
    if chosen is None and name not in table.columns:
        return np.full(len(table), UNKNOWN_TIME, dtype=np.int64), ["no time column: interactions go in random order"]
    import pandas

    column = _column(table, path, name)
    blank = column.isna() | (pandas.Series(_texts(column, path), index=column.index).str.strip() == "")
    numbers = pandas.to_numeric(column.where(~blank, "0"), errors="coerce")
    if numbers.isna().any():
        dates = pandas.to_datetime(column.where(~blank, "1970-01-01"), errors="coerce", utc=True, format="ISO8601")
        wrong = dates.isna().to_numpy()
        if wrong.any():
            row = int(np.argmax(wrong))
            raise ValueError(
                f"{path} row {row + 1}: {name} is {column.iloc[row]!r}; "
                "allowed are numbers, or dates such as 2024-05-31T12:00:00"
            )
        values = dates.dt.tz_localize(None).to_numpy().astype("datetime64[us]").astype(np.int64)
    else:
        values = _whole_times(numbers.to_numpy(), path, name)
    missing = int(np.count_nonzero(values == UNKNOWN_TIME))
    return values, [f"{missing:,} interactions have no time: they go in random order"] if missing else []


def _whole_times(numbers: NDArray[Any], path: Path, name: str) -> NDArray[np.int64]:
    """Return times as whole numbers; fractions are kept to a millionth."""
    if numbers.dtype.kind in "iu" and numbers.max() <= np.iinfo(np.int64).max:
        return numbers.astype(np.int64)
    with np.errstate(over="ignore", invalid="ignore"):
        millionths = numbers.astype(np.float64) * (1e6 if (numbers % 1 != 0).any() else 1)
    wrong = ~(np.abs(millionths) < 2.0**63)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(f"{path} row {row + 1}: {name} is {numbers[row]}; allowed are numbers below 9e12")
    return np.round(millionths).astype(np.int64)


def read_texts(table: "pandas.DataFrame", path: Path, names: Sequence[str]) -> list[str]:
    """Return the texts of some columns, joined row by row."""
    columns = [_column(table, path, name) for name in names]
    parts = [
        ["" if is_missing else text for text, is_missing in zip(_texts(column, path), column.isna(), strict=True)]
        for column in columns
    ]
    return [" ".join(texts) for texts in zip(*parts, strict=True)]
