"""The user's options for importing a table, and its columns: given by name, or recognised by their names."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from math import isfinite
from pathlib import Path
from typing import Any, Literal, get_args

from data_pipelines.own_data.table import OptionNeededError
from data_pipelines.own_data.values import DECIMAL_MARKS, check_date_format
from data_pipelines.prepare.prepared import MAX_DIMENSION
from data_pipelines.support.messages import did_you_mean, one_line

Features = Literal["words", "co-occurrence", "one-hot"]
FEATURES: tuple[str, ...] = get_args(Features)
Repeats = Literal["once", "keep"]
REPEATS: tuple[str, ...] = get_args(Repeats)


@dataclass(frozen=True, kw_only=True)
class ImportOptions:
    """How to read a table of interactions; columns and formats that are not given are detected.

    Without a time column, or where it is empty or zero, a user's interactions are put in random order.
    """

    items: Path | None = None
    """The table of items; without it, the items are those of the interactions."""
    user_column: str | None = None
    item_column: str | None = None
    time_column: str | None = None
    id_column: str | None = None
    words_column: Sequence[str] | None = None
    rating_column: str | None = None
    positive_from: float | None = None
    """Interactions rated lower have reward 0."""
    features: Features | None = None
    """By default words if there are any, else co-occurrence."""
    repeats: Repeats = "once"
    skip_bad_rows: bool = False
    encoding: str | None = None
    separator: str | None = None
    decimal: str | None = None
    date_format: str | None = None
    dimension: int | None = None

    def given(self) -> dict[str, Any]:
        """Return the options that differ from their defaults, by name."""
        values = {field.name: getattr(self, field.name) for field in fields(ImportOptions)}
        return {name: value for name, value in values.items() if value != getattr(ImportOptions, name)}

    def check(self) -> None:
        """Raise an error for values that cannot be used, whatever the tables contain."""
        for option, value, choices in (
            ("--features", self.features, FEATURES),
            ("--repeats", self.repeats, REPEATS),
            ("--decimal", self.decimal, DECIMAL_MARKS),
        ):
            if value is not None and value not in choices:
                raise ValueError(f"{option} must be one of {' '.join(choices)}, got {value!r}")
        if self.dimension is not None and not 1 <= self.dimension <= MAX_DIMENSION:
            raise ValueError(f"dimension must be an integer from 1 to {MAX_DIMENSION}, got {self.dimension}")
        if self.date_format is not None:
            check_date_format(self.date_format)
        if self.positive_from is not None and self.rating_column is None:
            raise ValueError(f"--positive-from must be used with --rating-column, got {self.positive_from:g} without")
        if self.positive_from is not None and not isfinite(self.positive_from):
            raise ValueError(f"--positive-from must be a finite number, got {self.positive_from:g}")
        if self.words_column is not None and self.features not in (None, "words"):
            raise ValueError(f"--words-column cannot be combined with --features {self.features}")
        if self.id_column is not None and self.items is None:
            raise ValueError(f"--id-column must be used with --items, got {self.id_column!r} without")


MAX_NAMES = 1000


@dataclass(frozen=True)
class Role:
    """What a column is for, the option that names it, and the names by which it is recognised."""

    name: str
    option: str
    default: str
    """The name that takes precedence over all others."""
    names: frozenset[str]


def _with_ids(*names: str) -> frozenset[str]:
    return frozenset(name + ending for name in names for ending in ("", "id", "no", "number", "code", "key"))


_USERS = _with_ids("user", "customer", "client", "visitor", "member", "account", "buyer", "shopper", "reader", "person")
USER = Role("user", "--user-column", "user", _USERS | {"uid"})
_ITEMS = _with_ids("item", "product", "stock", "article", "movie", "film", "book", "artist", "song", "track") | {
    *("sku", "asin", "isbn", "url")
}
ITEM = Role("item", "--item-column", "item", _ITEMS)
ID = Role("item", "--id-column", "item", _ITEMS | {"id", "code"})
_EVENTS = ("event", "order", "invoice", "purchase", "created", "transaction", "visit", "click", "rating")
_EVENT_TIMES = {event + end for event in _EVENTS for end in ("at", "date", "time", "timestamp", "datetime", "on")}
_TIMES = {"time", "timestamp", "date", "datetime", "at", "when", "ts", "day", "unixtime"}
TIME = Role("time", "--time-column", "time", frozenset(_TIMES | _EVENT_TIMES))
_TEXTS = {"words", "description", "title", "name", "text", "tags", "keywords", "category", "categories", "genres"}
_ITEM_TEXTS = {item + text for item in ("item", "product", "article") for text in ("name", "title", "description")}
WORDS = Role("words", "--words-column", "words", frozenset(_TEXTS | _ITEM_TEXTS))
RATING = Role("rating", "--rating-column", "rating", frozenset())


def find_column(path: Path, columns: Sequence[str], role: Role, given: str | None) -> str | None:
    """Return the column that is given or recognised; None if there is none that could be it.

    A given name that does not exist, and several candidates, are errors that name the option.
    """
    if given is not None and given not in columns:
        hint = did_you_mean(given, columns)
        raise ValueError(one_line(f"{path} has no column {given!r}{hint}, see {role.option}; {_listed(columns)}"))
    if given is not None or role.default in columns:
        return role.default if given is None else given
    candidates = [column for column in columns if re.sub(r"[\W_]+", "", column).lower() in role.names]
    if len(candidates) > 1:
        names = ", ".join(map(repr, candidates))
        raise OptionNeededError(
            one_line(f"{path} has several columns that could be the {role.name} ({names}); choose with {role.option}")
        )
    return candidates[0] if candidates else None


def require_column(path: Path, columns: Sequence[str], role: Role, given: str | None) -> str:
    """Return the column that is given or recognised; if there is none, raise an error that names the option."""
    column = find_column(path, columns, role, given)
    if column is None:
        reason = f"has no column {role.default!r} or similar; name it with {role.option}; {_listed(columns)}"
        raise OptionNeededError(one_line(f"{path} {reason}"))
    return column


def _listed(columns: Sequence[str]) -> str:
    return f"its columns are {', '.join(map(repr, columns))[:MAX_NAMES]}"
