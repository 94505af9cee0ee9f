"""Your own data: two tables, CSV or Parquet, to a prepared data set like the others."""

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from data_pipelines.catalogue import data_set_names
from data_pipelines.data_set import Contents, distinct_pairs
from data_pipelines.import_tables import of_one_kind, read_ids, read_table, read_texts, read_times
from data_pipelines.prepared import DEFAULT_DIMENSION, MOST_DIMENSIONS, prepare
from data_pipelines.safe_files import locked, sha256_of
from data_pipelines.words import count_words, split_into_words

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
    if not 1 <= request.dimension <= MOST_DIMENSIONS:
        raise ValueError(f"dimension is {request.dimension}; allowed are integers from 1 to {MOST_DIMENSIONS}")
    contents = read_contents(request)
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
        raise ValueError(f"name is {name!r}; allowed are small letters, digits, - and _, but not {', '.join(taken)}")


def read_contents(request: ImportRequest) -> Contents:
    """Read the two tables and nothing else."""
    clicks, items = read_table(request.interactions), read_table(request.items)
    item_ids, taken = of_one_kind(
        read_ids(items, request.items, request.id_column),
        read_ids(clicks, request.interactions, request.item_column),
    )
    if len(distinct := np.unique(item_ids)) < len(item_ids):
        values, counts = np.unique(item_ids, return_counts=True)
        raise ValueError(f"{request.items} lists item {str(values[np.argmax(counts > 1)])!r} twice; allowed is once")
    order = np.argsort(item_ids)
    unknown = ~np.isin(taken, distinct)
    if unknown.any():
        row = int(np.argmax(unknown))
        raise ValueError(
            f"{request.interactions} row {row + 1}: {request.item_column} is {str(taken[row])!r}; "
            f"allowed are the items of {request.items}"
        )
    labels, users = np.unique(read_ids(clicks, request.interactions, request.user_column), return_inverse=True)
    are_numbers = labels.dtype.kind == "i"
    times, notes = read_times(clicks, request.interactions, request.time_column)
    users, item_rows, times = distinct_pairs(
        labels[users] if are_numbers else users, np.searchsorted(distinct, taken), times
    )
    if repeated := len(taken) - len(users):
        notes.append(f"{repeated:,} interactions repeat a (user, item) and count once")
    words = [split_into_words(text) for text in read_texts(items, request.items, request.words_column)]
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
