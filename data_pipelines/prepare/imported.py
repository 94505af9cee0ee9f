"""Import your own data: from two tables, CSV or Parquet, to a prepared data set like the others."""

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from data_pipelines.catalogue import data_set_names
from data_pipelines.data_set import Contents, distinct_pairs
from data_pipelines.prepare.import_tables import of_one_kind, read_ids, read_table, read_texts, read_times
from data_pipelines.prepare.prepared import DEFAULT_DIMENSION, MAX_DIMENSION, prepare
from data_pipelines.prepare.words import count_words, split_into_words
from data_pipelines.support.files import locked, sha256_of

NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
RESERVED = ("archives", "import", "pictures", "show", "stand-ins")


@dataclass(frozen=True, kw_only=True)
class ImportRequest:
    """The files to import and the names of their columns.

    Without a column `time`, or where it is empty or zero, a user's interactions are put in random order.
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
    if not 1 <= request.dimension <= MAX_DIMENSION:
        raise ValueError(f"dimension must be an integer from 1 to {MAX_DIMENSION}, got {request.dimension}")
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
    reserved_names = (*data_set_names(), *RESERVED)
    if not NAME.fullmatch(name) or name in reserved_names:
        raise ValueError(
            f"name must consist of lower-case letters, digits, - and _, and not be one of {', '.join(reserved_names)}, "
            f"got {name!r}"
        )


def read_contents(request: ImportRequest) -> Contents:
    """Read the two tables."""
    clicks, items = read_table(request.interactions), read_table(request.items)
    item_ids, clicked_items = of_one_kind(
        read_ids(items, request.items, request.id_column),
        read_ids(clicks, request.interactions, request.item_column),
    )
    if len(distinct := np.unique(item_ids)) < len(item_ids):
        values, counts = np.unique(item_ids, return_counts=True)
        raise ValueError(f"{request.items} contains item {str(values[np.argmax(counts > 1)])!r} more than once")
    order = np.argsort(item_ids)
    is_unknown = ~np.isin(clicked_items, distinct)
    if is_unknown.any():
        row = int(np.argmax(is_unknown))
        raise ValueError(
            f"{request.interactions} row {row + 1}: {request.item_column} must be an item of {request.items}, "
            f"got {str(clicked_items[row])!r}"
        )
    labels, users = np.unique(read_ids(clicks, request.interactions, request.user_column), return_inverse=True)
    are_numbers = labels.dtype.kind == "i"
    times, notes = read_times(clicks, request.interactions, request.time_column)
    users, item_rows, times = distinct_pairs(
        labels[users] if are_numbers else users, np.searchsorted(distinct, clicked_items), times
    )
    if repeated := len(clicked_items) - len(users):
        notes.append(f"{repeated:,} interactions repeat a (user, item) pair and are counted once")
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
            words_of_tags=[words[row] for row in order],
        ),
        rows={"interactions": len(clicked_items), "items": len(item_ids)},
        notes=tuple(notes),
        user_labels=None if are_numbers else labels,
    )
