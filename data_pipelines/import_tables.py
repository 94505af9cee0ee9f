"""Tables of users: CSV or Parquet files whose columns are ids, times and texts."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from data_pipelines.data_set import UNKNOWN_TIME

if TYPE_CHECKING:
    import pandas

PARQUET = (".parquet", ".pq")


def read_table(path: Path) -> "pandas.DataFrame":
    """Read a CSV or Parquet file, or say in one line why not."""
    import pandas

    if not path.is_file():
        raise ValueError(f"{path} is not there; allowed is a CSV or Parquet file")
    try:
        if path.suffix in PARQUET:
            table = pandas.read_parquet(path)
        else:
            # Ids stay as they are written: 007 is not 7.
            table = pandas.read_csv(path, dtype=str, keep_default_na=False, on_bad_lines="error")
    except (ValueError, OSError, KeyError, TypeError, NotImplementedError) as error:
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        raise ValueError(f"{path} cannot be read: {reason}") from None
    # pandas takes a first column too many for the names of the rows.
    if not isinstance(table.index, pandas.RangeIndex) and path.suffix not in PARQUET:
        raise ValueError(f"{path} has rows with more columns than its header; allowed are as many")
    if table.empty:
        raise ValueError(f"{path} has no rows; allowed is at least one")
    return table


def _column(table: "pandas.DataFrame", path: Path, name: str) -> "pandas.Series[Any]":
    if name not in table.columns:
        raise ValueError(f"{path} has no column {name!r}; allowed are {', '.join(map(repr, table.columns))}")
    return table[name]


def read_ids(table: "pandas.DataFrame", path: Path, name: str) -> NDArray[Any]:
    """Return ids as whole numbers where all of them are written as such, else as text."""
    column = _column(table, path, name)
    text = np.array([str(value) for value in column.tolist()])
    empty = column.isna().to_numpy() | (text == "")
    if empty.any():
        raise ValueError(f"{path} row {int(np.argmax(empty)) + 1}: {name} is empty; allowed are ids")
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
    blank = column.isna() | (column.astype(str) == "")
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
    parts = [column.where(~column.isna(), "").astype(str).tolist() for column in columns]
    return [" ".join(texts) for texts in zip(*parts, strict=True)]
