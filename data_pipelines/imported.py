"""Your own data: two tables, CSV or Parquet, to a prepared data set like the others."""

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from data_pipelines.catalogue import data_set_names
from data_pipelines.data_set import UNKNOWN_TIME, Contents, distinct_pairs
from data_pipelines.prepared import DEFAULT_DIMENSION, prepare
from data_pipelines.safe_files import locked, sha256_of
from data_pipelines.words import count_words, split_into_words

if TYPE_CHECKING:
    import pandas

NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
RESERVED = ("archives", "import", "pictures", "show", "stand-ins")


@dataclass(frozen=True, kw_only=True)
class ImportRequest:
    """Which files to import and what their columns are called.

    Without a column `time`, or where it is empty or zero, a user's interactions go in random order.
    """

    name: str
    interactions: Path
    items: Path
    user_column: str = "user"
    item_column: str = "item"
    time_column: str | None = None
    id_column: str = "item"
    words_column: Sequence[str] = ("words",)
    dimension: int = DEFAULT_DIMENSION


def import_data_set(request: ImportRequest, folder: Path) -> dict[str, Any]:
    """Read the two tables and prepare them under `folder`; return the manifest."""
    _check_name(request.name)
    if request.dimension < 1:
        raise ValueError(f"dimension is {request.dimension}; allowed are integers from 1")
    contents = _read(request)
    counts = asdict(contents.counts)
    about = {
        "name": request.name,
        "source": "imported",
        "origin": "files of the user",
        "archive": None,
        "members": {"interactions": sha256_of(request.interactions), "items": sha256_of(request.items)},
        "verified": "imported: nothing to verify (sha256 recorded)",
        "counts": {"observed": counts, "published": None},
        "rows": {"observed": dict(contents.rows), "published": {}},
        "differences": [],
        "notes": list(contents.notes),
        "remarks": [],
        "parameters": {
            "columns": {
                "user": request.user_column,
                "item": request.item_column,
                "time": request.time_column,
                "id": request.id_column,
                "words": list(request.words_column),
            }
        },
        "groups": "quantiles",
        "licence": "of the user",
        "citation": "of the user",
    }
    with locked(folder, request.name):
        return prepare(contents, about, dimension=request.dimension, folder=folder / request.name)


def _check_name(name: str) -> None:
    taken = (*data_set_names(), *RESERVED)
    if not NAME.fullmatch(name) or name in taken:
        raise ValueError(
            f"name is {name!r}; allowed are small letters, digits, - and _, but not {', '.join(taken)}"
        )


def _read(request: ImportRequest) -> Contents:
    clicks, items = _table(request.interactions), _table(request.items)
    item_ids = _ids(items, request.items, request.id_column)
    if len(distinct := np.unique(item_ids)) < len(item_ids):
        values, counts = np.unique(item_ids, return_counts=True)
        raise ValueError(f"{request.items} lists item {values[np.argmax(counts > 1)]} twice; allowed is once")
    order = np.argsort(item_ids)
    taken = _ids(clicks, request.interactions, request.item_column).astype(distinct.dtype, copy=False)
    unknown = ~np.isin(taken, distinct)
    if unknown.any():
        row = int(np.argmax(unknown))
        raise ValueError(
            f"{request.interactions} row {row + 1}: {request.item_column} is {taken[row]}; "
            f"allowed are the items of {request.items}"
        )
    labels, users = np.unique(_ids(clicks, request.interactions, request.user_column), return_inverse=True)
    are_numbers = labels.dtype.kind == "i"
    times, notes = _times(clicks, request)
    users, item_rows, times = distinct_pairs(
        labels[users] if are_numbers else users, np.searchsorted(distinct, taken), times
    )
    if repeated := len(taken) - len(users):
        notes.append(f"{repeated:,} interactions repeat a (user, item) and count once")
    words = [split_into_words(text) for text in _texts(items, request)]
    rows = np.arange(len(item_ids))
    return Contents(
        users=users,
        items=item_rows,
        times=times,
        item_ids=distinct,
        words=count_words(
            rows,
            rows,
            np.ones(len(rows), dtype=np.int64),
            item_count=len(rows),
            words_of_tags=[words[place] for place in order],
        ),
        rows={"interactions": len(taken), "items": len(item_ids)},
        notes=tuple(notes),
        user_labels=None if are_numbers else labels,
    )


def _table(path: Path) -> "pandas.DataFrame":
    import pandas

    if not path.is_file():
        raise ValueError(f"{path} is not there; allowed is a CSV or Parquet file")
    try:
        if path.suffix in (".parquet", ".pq"):
            table = pandas.read_parquet(path)
        else:
            # Ids stay as they are written: 007 is not 7.
            table = pandas.read_csv(path, dtype=str, keep_default_na=False, on_bad_lines="error")
    except (ValueError, OSError, pandas.errors.ParserError) as error:
        raise ValueError(f"{path} cannot be read: {str(error).splitlines()[0]}") from None
    if table.empty:
        raise ValueError(f"{path} has no rows; allowed is at least one")
    return table


def _column(table: "pandas.DataFrame", path: Path, name: str) -> "pandas.Series[Any]":
    if name not in table.columns:
        raise ValueError(f"{path} has no column {name!r}; allowed are {', '.join(map(str, table.columns))}")
    return table[name]


def _ids(table: "pandas.DataFrame", path: Path, name: str) -> NDArray[Any]:
    """Return ids as whole numbers where all of them are written as such, else as text."""
    column = _column(table, path, name)
    text = np.array([str(value) for value in column.tolist()])
    empty = column.isna().to_numpy() | (text == "")
    if empty.any():
        raise ValueError(f"{path} row {int(np.argmax(empty)) + 1}: {name} is empty; allowed are ids")
    if all(re.fullmatch(r"0|[1-9][0-9]{0,17}", value) for value in np.unique(text).tolist()):
        return text.astype(np.int64)
    return text


def _times(table: "pandas.DataFrame", request: ImportRequest) -> tuple[NDArray[np.int64], list[str]]:
    """Return time stamps as whole numbers: as they are, or microseconds of dates."""
    name = request.time_column or "time"
    if request.time_column is None and name not in table.columns:
        return np.full(len(table), UNKNOWN_TIME, dtype=np.int64), [
            "no time column: interactions go in random order"
        ]
    import pandas

    column = _column(table, request.interactions, name)
    blank = column.isna() | (column.astype(str) == "")
    numbers = pandas.to_numeric(column.where(~blank, "0"), errors="coerce")
    if numbers.isna().any():
        dates = pandas.to_datetime(
            column.where(~blank, "1970-01-01"), errors="coerce", utc=True, format="ISO8601"
        )
        wrong = dates.isna().to_numpy()
        if wrong.any():
            row = int(np.argmax(wrong))
            raise ValueError(
                f"{request.interactions} row {row + 1}: {name} is {column.iloc[row]!r}; "
                "allowed are numbers, or dates such as 2024-05-31T12:00:00"
            )
        values = dates.dt.tz_localize(None).to_numpy().astype("datetime64[us]").astype(np.int64)
    else:
        values = numbers.to_numpy().astype(np.int64)
    missing = int(np.count_nonzero(values == UNKNOWN_TIME))
    return values, [f"{missing:,} interactions have no time: they go in random order"] if missing else []


def _texts(table: "pandas.DataFrame", request: ImportRequest) -> list[str]:
    columns = [_column(table, request.items, name) for name in request.words_column]
    parts = [column.where(~column.isna(), "").astype(str).tolist() for column in columns]
    return [" ".join(texts) for texts in zip(*parts, strict=True)]
